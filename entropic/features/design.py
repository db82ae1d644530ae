"""The design: rows and the algebra that scales them and gives them a constant.

Scaling is never a copy of the data. A design row is ``((row - mean)/scale, 1)``, so that its
product with coefficients is the product of the stored row with ``coef/scale`` plus one number,
and the transposed product is corrected by a term of rank one (docs/mathematics.md, section 6.2).
"""

from __future__ import annotations

from threading import Lock

import numpy as np

from entropic.rows import rows_of
from entropic.rows.sparse import magnitudes


class Design:
    """Rows × scaling × constant, with nothing expanded.

    Parameters
    ----------
    rows : rows object (rows/dense.py)
    mean, scale : arrays of shape (n_columns,) or None
        Subtracted from, and divided into, the columns. ``None`` leaves them as they are.
    constant : bool
        Whether the design has the constant monomial, as its last column.
    """

    def __init__(self, rows, mean=None, scale=None, constant=False):
        self.rows, self.constant = rows, bool(constant)
        self.mean, self.scale = mean, scale
        self.n_samples = rows.n_samples
        self.n_features = rows.n_columns + self.constant
        self._latest, self._making = {}, Lock()

    def stored(self, most):
        """The same design with its monomials, up to ``most`` numbers, made once and kept."""
        rows = self.rows
        if not hasattr(rows, "listing") or rows.n_entries > most:
            return self
        rows = rows_of(rows.block(0, rows.n_samples))
        return Design(rows, self.mean, self.scale, self.constant)

    def to_rows(self, coef):
        """Coefficients for the stored rows, the constant last, that give the same scores.

        They are ``coef`` itself where nothing is scaled.
        """
        if self.constant and self.scale is None and self.mean is None:
            return coef
        columns = coef[: self.rows.n_columns]
        if self.scale is not None:
            columns = columns / self.scale
        constant = coef[-1] if self.constant else 0.0
        if self.mean is not None:
            constant = constant - self.mean @ columns
        inner = np.empty(self.rows.n_columns + 1)
        inner[:-1], inner[-1] = columns, constant
        return inner

    def from_rows(self, gradient):
        """The transpose of ``to_rows``: a gradient of the stored rows, as one of the design's."""
        if self.constant and self.scale is None and self.mean is None:
            return gradient
        out = gradient.copy() if self.constant else gradient[:-1].copy()
        columns = out[: self.rows.n_columns]
        if self.mean is not None:
            columns -= self.mean * gradient[-1]
        if self.scale is not None:
            columns /= self.scale
        return out

    def curvature_from_rows(self, curvature):
        """The curvature of the stored rows, as the design's. May reuse its memory."""
        if self.mean is not None:
            curvature[:-1] -= np.outer(self.mean, curvature[-1])
            curvature[:, :-1] -= np.outer(curvature[:, -1], self.mean)
        if self.scale is not None:
            curvature[:-1] /= self.scale[:, None]
            curvature[:, :-1] /= self.scale
        return curvature if self.constant else curvature[:-1, :-1]

    def matrix_to_rows(self, matrix):
        """``to_rows`` for every column of a matrix of shape (n_features, k)."""
        out = np.zeros((self.rows.n_columns + 1, matrix.shape[1]))
        out[: len(matrix)] = matrix
        if self.scale is not None:
            out[:-1] /= self.scale[:, None]
        if self.mean is not None:
            out[-1] -= self.mean @ out[:-1]
        return out

    def gram_to_rows(self, scale):
        """What makes ``Phi diag(scale) Phi^T`` of design rows Phi from the stored rows.

        Returns
        -------
        inner : array of shape (n_columns + 1,)
            Scale between the stored rows with their constant.
        shift : array of shape (n_columns + 1,) or None
            Coefficients whose scores are added to every row and to every column of the result.
        """
        inner = np.zeros(self.rows.n_columns + 1)
        inner[: len(scale)] = scale
        if self.scale is not None:
            inner[:-1] /= self.scale**2
        if self.mean is None:
            return inner, None
        # (z - mu) s (z' - mu) = z s z' - mu s z - mu s z' + mu s mu
        between = self.mean * inner[:-1]
        return inner, np.append(-between, 0.5 * (self.mean @ between))

    def absolute_products(self, coef, multipliers):
        """``|Phi| coef`` and ``|Phi|^T multipliers`` for numbers that are not negative, or more.

        Where a mean is subtracted by algebra, the sizes of both its parts are counted. These sums
        bound what rounding may have done to the products themselves.

        Returns
        -------
        by_sample : array of shape (n_samples,)
        by_column : array of shape (n_features,)
        """
        n_columns = self.rows.n_columns
        scale = 1.0 if self.scale is None else self.scale
        mean = 0.0 if self.mean is None else np.abs(self.mean)
        columns = coef[:n_columns] / scale
        always = float(np.sum(mean * columns)) + (coef[-1] if self.constant else 0.0)
        by_sample, by_column = np.empty(self.n_samples), np.zeros(n_columns)
        for start, stop in self.rows.ranges():
            block = magnitudes(self.rows.block(start, stop))
            by_sample[start:stop] = block @ columns + always
            by_column += block.T @ multipliers[start:stop]
        total = float(np.sum(multipliers))
        by_column = (by_column + mean * total) / scale
        return by_sample, np.append(by_column, total) if self.constant else by_column

    def restricted(self, used):
        """The design of some of its columns, the constant among them, for sparse rows.

        Asked for the same columns again, it is the same: several problems on the same rows share
        their reads by it.
        """

        def make():
            kept = used[:-1] if self.constant else used
            parts = (None if part is None else part[kept] for part in (self.mean, self.scale))
            return Design(self.rows.with_columns(kept), *parts, self.constant)

        return self._shared("columns", used, make)

    def take(self, indices):
        """The design of some of the rows."""
        return Design(self.rows.take(indices), self.mean, self.scale, self.constant)

    def sampled(self, indices):
        """``take``; the same design where the same rows are asked for again."""
        return self._shared("rows", indices, lambda: self.take(indices))

    def _shared(self, kind, key, make):
        """The latest design of a kind, where it was made for the same key."""
        with self._making:
            latest = self._latest.get(kind)
            if latest is None or not (latest[0] is key or np.array_equal(latest[0], key)):
                latest = self._latest[kind] = key, make()
            return latest[1]
