"""Linear splines of single features, by which a hyperplane follows a curve in each of them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from entropic import checks
from entropic.model_format import stored

from . import limits


@stored("LinearSplines")
class LinearSplines:
    """B-splines of degree 1 in the place of every feature of more than two values.

    A feature with the knots ``k_1 < ... < k_n`` becomes n columns. The j-th is 1 at ``k_j``, falls
    in straight lines to 0 at the knots beside it and is 0 beyond; below the first and above the
    last knot all are constant. A row's columns of a feature add up to 1, and a linear function
    of them is a continuous, piecewise linear function of the feature.

    Parameters
    ----------
    knots : float array of shape (n_knots_in_all,)
        Those of all features, one feature after the other, rising within each.
    counts : int array of shape (n_features,)
        How many of them belong to each feature; 0 for one that stays as it is.
    """

    def __init__(self, knots, counts):
        self.knots, self.counts = knots, counts

    @classmethod
    def of(cls, X, weights, n_knots):
        """Knots at equal steps through the sorted distinct values of every feature.

        A value that many rows share takes one step like any other. Rows of weight 0 have no say.

        Parameters
        ----------
        X : float array of shape (n_samples, n_features)
        weights : array of shape (n_samples,) or (1,), or None
        n_knots : int

        Returns
        -------
        LinearSplines

        Raises
        ------
        ValueError
            If X is sparse.
        """
        if sp.issparse(X):
            raise ValueError(
                "n_knots needs dense rows, since splines of a zero are not zero, and X is sparse; "
                "use n_knots=0 or X.toarray()."
            )
        if weights is not None:
            X = X[np.broadcast_to(weights > 0, len(X))]
        chosen = [_knots(np.unique(column), n_knots) for column in X.T]
        counts = np.array([len(knots) for knots in chosen])
        return cls(np.concatenate(chosen).astype(np.float64), counts)

    @property
    def n_columns(self):
        """Columns that the features become."""
        return int(np.maximum(self.counts, 1).sum())

    def transform(self, X):
        """The columns of checked rows.

        Parameters
        ----------
        X : float array or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_columns), of the type of X
        """
        if sp.issparse(X):
            X = limits.stored(X)
        out = np.zeros((len(X), self.n_columns), dtype=X.dtype)
        rows, start = np.arange(len(X)), 0
        for column, knots in zip(X.T, self._by_feature(), strict=True):
            if not len(knots):
                out[:, start] = column
                start += 1
                continue
            inside = np.clip(column, knots[0], knots[-1])
            left = np.clip(np.searchsorted(knots, inside, "right") - 1, 0, len(knots) - 2)
            low = knots[left] / 2  # the difference of two halves is always a number
            share = (inside / 2 - low) / (knots[left + 1] / 2 - low)
            out[rows, start + left] = 1 - share
            out[rows, start + left + 1] = share
            start += len(knots)
        return out

    def names(self, features=None):
        """Names of the columns: that of the feature, with the knot in brackets.

        Parameters
        ----------
        features : sequence of str or None
            None is x0, x1 and so on.
        """
        if features is None:
            features = [f"x{number}" for number in range(len(self.counts))]
        names = []
        for name, knots in zip(features, self._by_feature(), strict=True):
            names += [f"{name}[{knot:.6g}]" for knot in knots] if len(knots) else [name]
        return np.array(names, dtype=object)

    def sums(self, values):
        """Of one number a column, the sums over the columns of each feature."""
        ends = np.cumsum(np.maximum(self.counts, 1))
        return np.add.reduceat(values, np.append(0, ends[:-1]))

    def _by_feature(self):
        return np.split(self.knots, np.cumsum(self.counts)[:-1])

    def check(self, n_features):
        """Refuse attributes, as of a file, that do not fit each other or the features."""
        counts, knots = self.counts, self.knots
        fitting = checks.is_array(counts, "i", n_features) and checks.is_array(knots, "f", None)
        if (
            not fitting
            or np.any((counts < 0) | (counts == 1) | (counts > len(knots)))
            or counts.sum() != len(knots)
            or not np.isfinite(knots).all()
            or any(np.any(np.diff(own) <= 0) for own in self._by_feature())
        ):
            raise ValueError("its splines are damaged")


def _knots(values, n_knots):
    """Of sorted distinct values; none where a straight line says as much."""
    if len(values) > 2:
        values = values[np.unique(np.rint(np.linspace(0, len(values) - 1, n_knots)).astype(int))]
        # nearer together they are one value
        apart = np.diff(values / 2, prepend=-np.inf) > checks.SMALLEST_DEVIATION
        values = values[apart]
    return values if len(values) > 2 else values[:0]
