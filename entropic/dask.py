"""DaskEntropicClassifier: the same fit on rows that lie on the workers of a cluster."""

from __future__ import annotations

import inspect
from contextlib import contextmanager

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from . import checks
from .batch_fit import SAMPLE_ROWS
from .classifier import EntropicClassifier
from .features.splines import LinearSplines
from .kernels.library_threads import one_library_thread
from .progress import fit_task
from .rollback import all_or_nothing
from .rows.journal import Journal
from .uncertainty.mixin import _learned

try:
    import dask
    import distributed

    from .rows.workers import WorkerParts, blocks
except ImportError as error:
    raise ImportError(
        f"{error.name} is missing; pip install 'entropic-classifier[dask]' brings it."
    ) from error


class DaskEntropicClassifier(EntropicClassifier):
    """:class:`EntropicClassifier` for dask arrays and dataframes.

    The same optimum as in one memory, whatever the partitions: some may be empty or of one class.
    What a fit leaves is what ``fit_batches`` leaves; a saved model is an EntropicClassifier's. All
    other methods are those of :class:`EntropicClassifier`, for rows in memory.

    Parameters
    ----------
    degree : int
        As in :class:`EntropicClassifier`, and so are all others but ``client``. ``n_jobs=None``
        takes each worker's threads.
    client : distributed.Client or None
        None takes the client there is, or else a cluster on this machine while the fit lasts.

    Notes
    -----
    ``decision_function``, ``predict``, ``predict_proba``, ``predict_log_proba``, ``in_band`` and
    ``predict_set`` of a dask collection are dask collections, computed when asked for.
    """

    def __init__(self, degree=1, *, client=None, **parameters):
        super().__init__(degree, **parameters)
        self.client = client

    # scikit-learn reads the parameters off the signature
    __init__.__signature__ = inspect.signature(EntropicClassifier.__init__).replace(  # type: ignore[attr-defined]
        parameters=[
            *inspect.signature(EntropicClassifier.__init__).parameters.values(),
            inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None),
        ]
    )

    def __sklearn_clone__(self):
        """A clone with the same client, of which there is no copy."""
        own = {name: clone(value, safe=False) for name, value in self._parameters().items()}
        return type(self)(**own, client=self.client)

    def __getstate__(self):
        return super().__getstate__() | {"client": None}

    def _parameters(self):
        parameters = self.get_params(deep=False)
        del parameters["client"]
        return parameters

    def fit(self, X, y, sample_weight=None, checkpoint=None):
        """Find the separating surface of rows on a cluster.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features)
        y : dask array or series of shape (n_samples,)
            Labels, in partitions as X.
        sample_weight : dask array or series of shape (n_samples,), or None
            In partitions as X.
        checkpoint : str, path-like or None
            A file of this process, not of the workers, that keeps what each pass has found: see
            :meth:`fit_batches`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the rows or a parameter cannot be used; the message says where and why.
        RuntimeError
            If the cluster has lost all workers, or blocks that cannot be made again.
        """
        self._check_parameters()
        self._check_streamed()
        columns = [X, y] if sample_weight is None else [X, y, sample_weight]
        for name, values in zip(("X", "y", "sample_weight"), columns, strict=False):
            if not dask.is_dask_collection(values):
                raise ValueError(
                    f"{name} is {type(values).__name__!r} and no dask array or dataframe; use "
                    "EntropicClassifier for rows in memory."
                )
        cluster = a_client(self.client)
        with all_or_nothing(self), fit_task(self), cluster as client, one_library_thread:
            self._learn_columns(X)
            parts = WorkerParts(client, self._with_splines(client, blocks(columns)))
            if checkpoint is not None:
                parts = Journal(parts, checkpoint, self._problem())
            self._fit_parts(parts, None)
            parts.close()
        return self

    def _with_splines(self, client, delayed):
        """The blocks as splines, where they are wanted, with knots learned from rows of each."""
        self.splines_ = None
        if not self.n_knots:
            return delayed
        n_rows = -(-SAMPLE_ROWS // max(len(delayed), 1))
        some = [dask.delayed(_some_rows)(block, n_rows) for block in delayed]
        sample = client.gather(client.compute(some))
        stack = sp.vstack if sp.issparse(sample[0]) else np.concatenate
        self.splines_ = LinearSplines.of(stack(sample), None, self.n_knots)
        return [dask.delayed(_as_splines)(block, self.splines_) for block in delayed]

    def _learn_columns(self, X):
        """Names and number of the features, of which dask knows without a look at the rows."""
        named = hasattr(X, "columns")
        if X.ndim != 2 or not (named or np.isfinite(X.shape[1])):
            raise ValueError(f"X has shape {X.shape}; give rows of a known number of features.")
        empty = X._meta if named else np.empty((0, X.shape[1]))
        validate_data(self, empty, reset=True, skip_check_array=True)

    # ------------------------------------------------------------- prediction

    def _lazily(self, method, X, dtype=np.float64, columns=None):
        """A method of the model on each block of a dask collection, when it is asked for."""
        check_is_fitted(self)
        model, n_columns = self._in_memory(), len(columns or ())
        if hasattr(X, "columns"):
            import pandas as pd

            meta = pd.Series(dtype=dtype) if columns is None else pd.DataFrame(
                {name: pd.Series(dtype=dtype) for name in columns})  # fmt: skip
            return X.map_partitions(_of_frame, model, method, columns, meta=meta)
        X = X.rechunk({1: -1})
        shape = dict(drop_axis=1) if columns is None else dict(chunks=(X.chunks[0], (n_columns,)))
        meta = np.empty((0,) * (1 if columns is None else 2), dtype=dtype)
        return X.map_blocks(_of_block, model, method, dtype=dtype, meta=meta, **shape)

    def _in_memory(self):
        """The model as an EntropicClassifier."""
        model = EntropicClassifier()
        vars(model).update(vars(self))
        vars(model).pop("client", None)
        model.callback = None
        return model

    def decision_function(self, X):
        """As :meth:`EntropicClassifier.decision_function`; of dask collections lazily."""
        if dask.is_dask_collection(X):
            columns = self.classes_.tolist() if len(self.classes_) > 2 else None
            return self._lazily("decision_function", X, columns=columns)
        return super().decision_function(X)

    def predict(self, X):
        """As :meth:`EntropicClassifier.predict`; of dask collections lazily."""
        if dask.is_dask_collection(X):
            return self._lazily("predict", X, self.classes_.dtype)
        return super().predict(X)

    @available_if(_learned("calibration_"))
    def predict_proba(self, X):
        """As :meth:`EntropicClassifier.predict_proba`; of dask collections lazily."""
        if dask.is_dask_collection(X):
            return self._lazily("predict_proba", X, columns=self.classes_.tolist())
        return super().predict_proba(X)

    @available_if(_learned("calibration_"))
    def predict_log_proba(self, X):
        """As :meth:`EntropicClassifier.predict_log_proba`; of dask collections lazily."""
        if dask.is_dask_collection(X):
            return self._lazily("predict_log_proba", X, columns=self.classes_.tolist())
        return super().predict_log_proba(X)

    @available_if(_learned("band_"))
    def in_band(self, X):
        """As :meth:`EntropicClassifier.in_band`; of dask collections lazily."""
        if dask.is_dask_collection(X):
            return self._lazily("in_band", X, np.bool_)
        return super().in_band(X)

    @available_if(_learned("band_"))
    def predict_set(self, X):
        """As :meth:`EntropicClassifier.predict_set`; of dask collections lazily."""
        if dask.is_dask_collection(X):
            return self._lazily("predict_set", X, np.bool_, self.classes_.tolist())
        return super().predict_set(X)

    def save(self, path):
        """Write the model to a file, as an EntropicClassifier: it is read without dask."""
        check_is_fitted(self)
        self._in_memory().save(path)


def _of_block(block, model, method):
    if not len(block):
        empty = getattr(model, method)(np.zeros((1, model.n_features_in_)))
        return empty[:0]
    return getattr(model, method)(block)


def _of_frame(frame, model, method, columns):
    import pandas as pd

    if not len(frame):
        row = pd.DataFrame(np.zeros((1, frame.shape[1])), columns=frame.columns)
        values = getattr(model, method)(row)[:0]
    else:
        values = getattr(model, method)(frame)
    if columns is None:
        return pd.Series(values, index=frame.index)
    return pd.DataFrame(values, index=frame.index, columns=columns)


# --------------------------------------------------------------------- the cluster


@contextmanager
def a_client(client):
    """A client: the one given, the one there is, or one of a cluster while it is needed."""
    if client is not None:
        yield client
        return
    try:
        yield_client = distributed.get_client()
    except ValueError:
        yield_client = None
    if yield_client is not None:
        yield yield_client
        return
    with (
        distributed.LocalCluster(dashboard_address=None) as cluster,
        distributed.Client(cluster) as own,
    ):
        yield own


def _some_rows(block, n_rows):
    """Rows of a block with weight, at equal steps."""
    _, X, _, *weight = block
    counted = np.flatnonzero(weight[0] > 0) if weight else np.arange(X.shape[0])
    return X[counted[:: max(1, -(-len(counted) // n_rows))]]


def _as_splines(block, splines):
    number, X, *others = block
    try:
        checks.check_finite(X, "X")
    except ValueError as error:
        raise ValueError(f"partition {number}: {error}") from None
    return number, splines.transform(X), *others
