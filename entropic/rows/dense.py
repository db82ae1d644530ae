"""Dense rows, read where they lie, and the blocks in which every kind of rows is read."""

from __future__ import annotations

import numpy as np

# Numbers in a block that NumPy works on at once.
BLOCK_ENTRIES = 1 << 17


def even_ranges(n_samples, step):
    """Row ranges of ``step`` rows, the last one shorter."""
    for start in range(0, n_samples, step):
        yield start, min(start + step, n_samples)


def largest(values):
    """The largest magnitude of some numbers, without a copy of them; 0 of none."""
    return max(float(values.max()), -float(values.min())) if values.size else 0.0


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

    @property
    def n_entries(self):
        """Numbers that one sweep works on."""
        return self.values.size

    def ranges(self):
        """Row ranges of about ``BLOCK_ENTRIES`` numbers."""
        return even_ranges(self.n_samples, max(1, BLOCK_ENTRIES // max(1, self.n_columns)))

    def block(self, start, stop):
        """Rows ``start:stop`` as float64, centred."""
        block = self.values[start:stop].astype(np.float64, copy=False)
        return block if self.centre is None else block - self.centre

    def compiled_view(self, views):
        """How the compiled kernels see these rows; ``views`` is their RowView."""
        return views.dense(self.values, self.centre)

    def take(self, indices):
        """The rows with these indices, copied."""
        # take() is several times as fast where numbers lie side by side, and copies all elsewhere
        whole = self.values.flags.c_contiguous
        values = self.values.take(indices, axis=0) if whole else self.values[indices]
        return DenseRows(values, self.centre)

    def largest_entry(self):
        """A bound on the size of the numbers."""
        shift = 0.0 if self.centre is None else float(np.max(np.abs(self.centre), initial=0.0))
        return largest(self.values) + shift

    def centred(self, centre):
        """The same rows read with another centre."""
        return DenseRows(self.values, centre)
