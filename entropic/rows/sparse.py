"""Sparse rows in compressed form, unsorted and repeated indices included."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .dense import BLOCK_ENTRIES, even_ranges, largest


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
        self._check()

    @classmethod
    def of(cls, matrix):
        return cls(matrix.data, matrix.indices, matrix.indptr, matrix.shape[1])

    def _check(self):
        """Refuse indices that point outside: neither SciPy nor the kernels look again."""
        starts, columns = self.starts, self.columns
        held = min(len(self.values), len(columns))
        if starts[0] < 0 or starts[-1] > held or np.any(starts[1:] < starts[:-1]):
            raise ValueError(
                f"The CSR indptr must rise from at least 0 to at most {held}; rebuild the matrix."
            )
        if len(columns) and (columns.min() < 0 or columns.max() >= self.n_columns):
            entry = int(np.argmax((columns < 0) | (columns >= self.n_columns)))
            raise ValueError(
                f"The CSR indices hold column {columns[entry]} at entry {entry}, outside the "
                f"matrix's {self.n_columns} columns; rebuild the matrix."
            )

    @property
    def n_entries(self):
        """Numbers that one sweep works on."""
        return int(self.starts[-1]) - int(self.starts[0])

    def entries_per_row(self):
        """Stored numbers of each row, as float64."""
        return np.diff(self.starts).astype(np.float64)

    def entries_per_column(self):
        """Stored numbers of each column, as float64."""
        used = self.columns[self.starts[0] : self.starts[-1]]
        return np.bincount(used, minlength=self.n_columns).astype(np.float64)

    def ranges(self):
        """Row ranges of about ``BLOCK_ENTRIES`` numbers were every column filled, or 4096 rows."""
        step = max(4096, BLOCK_ENTRIES // max(1, self.n_columns))
        return even_ranges(self.n_samples, step)

    def block(self, start, stop):
        """Rows ``start:stop`` as a float64 CSR matrix."""
        first, last = int(self.starts[start]), int(self.starts[stop])
        parts = (
            self.values[first:last].astype(np.float64, copy=False),
            self.columns[first:last],
            self.starts[start : stop + 1] - self.starts[start],
        )
        return sp.csr_array(parts, shape=(stop - start, self.n_columns), copy=False)

    def compiled_view(self, views):
        """How the compiled kernels see these rows; ``views`` is their RowView."""
        return views.sparse(self.values, self.columns, self.starts, self.n_columns)

    def take(self, indices):
        """The rows with these indices, copied."""
        whole = sp.csr_array((self.values, self.columns, self.starts), shape=self.shape)
        return SparseRows.of(whole[indices])

    def largest_entry(self):
        """A bound on the size of the numbers."""
        return largest(self.values)

    def with_columns(self, kept):
        """The rows with the columns ``kept`` only, which hold every number there is."""
        place = np.zeros(self.n_columns, dtype=self.columns.dtype)
        place[kept] = np.arange(len(kept), dtype=place.dtype)
        return SparseRows(self.values, place[self.columns], self.starts, len(kept))

    @property
    def shape(self):
        return self.n_samples, self.n_columns


def magnitudes(block):
    """``|block|``, or more: scipy's ``abs`` adds up repeated indices in the caller's arrays."""
    if not sp.issparse(block):
        return np.abs(block)
    return sp.csr_array((np.abs(block.data), block.indices, block.indptr), shape=block.shape)
