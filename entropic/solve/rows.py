"""Where the numbers of the rows lie: the one view of data that kernels and fallback share.

A *row* here is what is stored; the *design row* that the mathematics speaks of is the row
scaled, signed and given a constant, which is algebra on the outside (data/design.py). Every
kernel takes coefficients of length ``n_columns + 1``: one a column, the constant last.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


class DenseRows:
    """Rows of a two-dimensional float32 or float64 array, in whatever order it is stored.

    Parameters
    ----------
    values : array of shape (n_samples, n_columns)
        Native byte order; any strides; never written to, never copied.
    centre : array of shape (n_columns,) or None
        Subtracted from each row *as it is read*, in double precision: columns far from zero
        then cost no accuracy, and the data are not copied.
    """

    def __init__(self, values, centre=None):
        self.values = values
        self.centre = None if centre is None else np.ascontiguousarray(centre, dtype=np.float64)
        self.n_samples, self.n_columns = values.shape

    @property
    def columns(self):
        return None

    def block(self, start, stop):
        """Rows ``start:stop`` as float64, centred."""
        block = self.values[start:stop].astype(np.float64, copy=False)
        return block if self.centre is None else block - self.centre

    def take(self, indices):
        """The rows with these indices, copied."""
        return DenseRows(self.values[indices], self.centre)

    def centred(self, centre):
        """The same rows read with another centre."""
        return DenseRows(self.values, centre)


class SparseRows:
    """Rows in compressed sparse row form: float32 or float64 values, int32 or int64 indices.

    Indices may be unsorted and repeated (repeated entries add up); nothing is ever sorted or
    summed in place, since the arrays belong to the caller.

    Parameters
    ----------
    values, columns, starts : arrays
        ``data``, ``indices`` and ``indptr`` of the CSR form.
    n_columns : int
    """

    centre = None

    def __init__(self, values, columns, starts, n_columns):
        self.values, self.columns, self.starts = values, columns, starts
        self.n_samples, self.n_columns = len(starts) - 1, int(n_columns)

    @classmethod
    def of(cls, matrix):
        return cls(matrix.data, matrix.indices, matrix.indptr, matrix.shape[1])

    def block(self, start, stop):
        """Rows ``start:stop`` as a float64 CSR matrix."""
        first, last = int(self.starts[start]), int(self.starts[stop])
        parts = (
            self.values[first:last].astype(np.float64, copy=False),
            self.columns[first:last],
            self.starts[start : stop + 1] - self.starts[start],
        )
        return sp.csr_array(parts, shape=(stop - start, self.n_columns), copy=False)

    def take(self, indices):
        """The rows with these indices, copied."""
        whole = sp.csr_array((self.values, self.columns, self.starts), shape=self.shape)
        return SparseRows.of(whole[indices])

    @property
    def shape(self):
        return self.n_samples, self.n_columns


def rows_of(matrix):
    """Rows of a dense array or a CSR matrix that has passed the checks."""
    return SparseRows.of(matrix) if sp.issparse(matrix) else DenseRows(matrix)
