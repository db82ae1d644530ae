"""DaskEntropicClassifier: the same fit on rows that lie on the workers of a cluster.

Blocks are loaded once, stay where they are, and every worker sums over its own: a pass sends a few
vectors of one number a column out, and one vector and one matrix a worker back. Where a worker is
lost, the scheduler makes its blocks anew elsewhere and the pass is repeated.
"""

from __future__ import annotations

import asyncio
import inspect
import time
import weakref
from collections import defaultdict
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
from .rows.parts import fold
from .rows.stream import Batches, PlacedBatch, as_matrix
from .rows.survey import Survey
from .uncertainty.mixin import _learned

try:
    import dask
    import dask.array as da
    import distributed
except ImportError as error:
    raise ImportError(
        f"{error.name} is missing; pip install 'entropic-classifier[dask]' brings it."
    ) from error

# Seconds for which a cluster may be without a worker before a fit gives up; on a busy machine one
# takes half of it to start.
PATIENCE = 60.0
# Passes that are tried anew, one after the other, before a fit gives up.
TRIES = 20
# Seconds within which the scheduler notices that a worker is gone.
NOTICED = 5.0
# Of each worker: the codes of the labels of its blocks, which take longer to find than to keep.
CODES: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
# What is raised for a worker that is gone, or no longer holds a block.
LOST = (OSError, KeyError, TimeoutError)


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
        return X.map_blocks(_of_block, model, method, n_columns, dtype=dtype, meta=meta, **shape)

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


def _of_block(block, model, method, n_columns):
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


def blocks(columns):
    """Delayed blocks ``(X, y)`` or ``(X, y, weight)``, one a partition.

    Raises
    ------
    ValueError
        If the collections are partitioned differently.
    """
    X, *others = columns
    if isinstance(X, da.Array):
        X = X.rechunk({1: -1})
        known = not np.isnan(X.chunks[0]).any()
        others = [
            other.rechunk((X.chunks[0],))
            if isinstance(other, da.Array) and known and other.shape == X.shape[:1]
            else other
            for other in others
        ]
    delayed = [np.ravel(values.to_delayed()).tolist() for values in (X, *others)]
    if len({len(parts) for parts in delayed}) > 1:
        raise ValueError(
            f"X has {len(delayed[0])} partitions and y or sample_weight "
            f"{' and '.join(str(len(parts)) for parts in delayed[1:])}; repartition them alike."
        )
    block = dask.delayed(_block, pure=False)
    return [block(number, *parts) for number, parts in enumerate(zip(*delayed, strict=True))]


def _block(number, X, *others):
    """One partition as arrays; frames are converted once."""
    try:
        X = as_matrix(X)
        X = X if sp.issparse(X) else np.ascontiguousarray(X)
        return number, X, *(np.asarray(values) for values in others)
    except (ValueError, TypeError) as error:
        raise ValueError(f"partition {number}: {error}") from None


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


class WorkerParts:
    """Rows that workers hold.

    Parameters
    ----------
    client : distributed.Client
    delayed : list of delayed blocks
    """

    wants_digest = False

    def __init__(self, client, delayed):
        self.client, self.futures = client, client.compute(delayed)
        self.places = None

    def run(self, task):
        """What a task finds of all parts; repeated where a worker was lost on the way."""
        for _ in range(TRIES):
            if self.places is None:
                self.places = self._places()
            try:
                answers = self.client.run(
                    _work, task, self.places, workers=list(self.places), on_error="return"
                )
            except LOST:
                answers = {}
            found = self._whole(answers)
            if found is not None:
                return fold_found(task, found)
            self.places = None
        raise RuntimeError(
            f"A pass over the rows was begun {TRIES} times and a worker was lost each time; look "
            "at the workers' logs and memory."
        )

    def close(self):
        """The fit is done."""

    def _whole(self, answers):
        """What the workers found, in the order of their first block; None if one was lost."""
        found, lost = {}, []
        for place, answer in answers.items():
            if isinstance(answer, _Failure):
                raise ValueError(answer.message)
            if isinstance(answer, LOST):
                lost.append(place)
            elif isinstance(answer, BaseException):
                raise answer
            else:
                found[self.places[place][0]] = answer
        if lost or len(found) < len(self.places):
            self._let_go(lost)
            return None
        return [found[key] for key in sorted(found)]

    def _let_go(self, lost):
        """Wait until the scheduler knows that workers are gone, unless they are not after all."""
        end = time.monotonic() + NOTICED
        while time.monotonic() < end:
            time.sleep(0.05)
            if not set(lost) & set(self.client.scheduler_info(n_workers=-1)["workers"]):
                return

    def _places(self):
        """The blocks that each worker is to work on, once all are in memory."""
        while True:
            self._wait()
            order = {future.key: number for number, future in enumerate(self.futures)}
            held, n_held = defaultdict(list), 0
            for key, places in self.client.who_has(self.futures).items():
                if places:
                    # of several copies the one whose worker has least to do
                    least = min(places, key=lambda place: (len(held[place]), place))
                    held[least].append(key)
                    n_held += 1
            if n_held == len(self.futures):
                return {place: sorted(keys, key=order.get) for place, keys in held.items() if keys}
            time.sleep(0.05)

    def _wait(self):
        """Wait until all blocks are in memory.

        Raises
        ------
        RuntimeError
            If there is no worker for long, or a block cannot be made.
        """
        alone_since = lost_since = None
        while True:
            try:
                distributed.wait(self.futures, timeout=1.0)
            except TimeoutError:
                pass
            except Exception as error:
                raise RuntimeError(f"The cluster's scheduler is gone: {error}") from error
            states = {future.status for future in self.futures}
            if states == {"finished"}:
                return
            for future in self.futures:
                if future.status == "error":
                    reason = future.exception()
                    if isinstance(reason, ValueError):
                        raise ValueError(str(reason)) from None
                    raise RuntimeError(f"A block of rows could not be made: {reason}") from reason
            if self.client.status != "running":
                raise RuntimeError("The cluster's scheduler is gone; start a cluster anew.")
            now = time.monotonic()
            workers = self.client.scheduler_info(n_workers=-1)["workers"]
            alone_since = None if workers else alone_since or now
            if alone_since is not None and now - alone_since > PATIENCE:
                raise RuntimeError(
                    f"The cluster has had no worker for {PATIENCE:g} seconds; the fit is given up. "
                    "Start workers and fit again."
                )
            # blocks are lost for a moment, until the scheduler has them made elsewhere
            lost_since = (lost_since or now) if workers and "lost" in states else None
            if "cancelled" in states or (lost_since is not None and now - lost_since > PATIENCE):
                raise RuntimeError(
                    "Blocks of rows were lost with their worker and cannot be made again, as if "
                    "they had been scattered; give collections made of files or functions."
                )


class _Failure:
    """Rows that cannot be used: no reason to try again."""

    def __init__(self, message):
        self.message = message


async def _work(task, places, dask_worker):
    """On a worker: do a task to its own blocks, beside the thread that answers the scheduler."""
    keys = places[dask_worker.address]
    held = {key: dask_worker.data[key] for key in keys}  # KeyError: a block has moved
    codes = CODES.setdefault(dask_worker, {})
    for key in list(codes):
        if key not in dask_worker.data:
            codes.pop(key, None)
    return await asyncio.to_thread(_folded, task, held, codes, dask_worker.state.nthreads)


def _folded(task, held, codes, n_threads):
    task, survey = task.with_threads(n_threads), isinstance(task, Survey)
    encode, batches = task.encoder(), []
    try:
        for key, (number, X, y, *weight) in held.items():
            if not survey:
                known = codes.get(key)
                y = codes[key] = encode(y)[0] if known is None else known
            batches.append(PlacedBatch.at(f"partition {number}", 0, X, y, *weight))
        rows = Batches(batches, checked=not survey, may_be_empty=True, joins=not survey)
        with one_library_thread:
            return fold(task, rows.parts(encode if survey else _known))
    except ValueError as error:
        return _Failure(str(error))


def _known(codes):
    return codes, ()


def fold_found(task, found):
    """What workers found, together; workers without rows found nothing."""
    total = None
    for each in found:
        if each is not None:
            total = each if total is None else task.join(total, each)
    if total is None:
        raise ValueError("The partitions hold no rows; give at least two, of different classes.")
    return total
