"""Rows of monomials that are never stored: products are made as a block of rows is read.

A row here is the list of monomials of a row of features, the features standardised on the way:
``z -> (z - centre) * inverse_scale``, a centre only where the rows are dense. It offers what the
other kinds of rows offer (rows/dense.py), so every sweep works on it; memory is one block.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .dense import BLOCK_ENTRIES, even_ranges
from .listing import canonical

# A block of dense rows has this many rows where its expansion still fits in 2**23 numbers.
FEWEST_ROWS = 16


class MonomialRows:
    """The monomials of some rows.

    Parameters
    ----------
    base : DenseRows or SparseRows
        The features; a dense base brings its own centre.
    listing : Listing
    inverse_scale : array of shape (n_features,) or None
        Multiplied onto the (centred) features: one over their deviation, 0 for a constant.
    kept : int64 array or None
        The columns of the listing that there are, in rising order, for sparse rows that fill
        only few of very many. None is all.
    """

    centre = None

    def __init__(self, base, listing, inverse_scale=None, kept=None):
        self.base, self.listing, self.inverse_scale, self.kept = base, listing, inverse_scale, kept
        self.n_samples = base.n_samples
        self.n_columns = listing.n_monomials if kept is None else len(kept)

    @property
    def columns(self):
        return self.base.columns

    @property
    def n_entries(self):
        """Numbers that one sweep works on, a Python int of any size."""
        if self.columns is None:
            return self.n_samples * self.n_columns
        return int(self.entries_per_row().sum())

    @property
    def shape(self):
        return self.n_samples, self.n_columns

    def ranges(self):
        """Row ranges whose expanded block stays in the processor's cache, or near it."""
        if self.columns is None:
            size = max(1, self.n_columns)
            step = max(1, BLOCK_ENTRIES // size, min(FEWEST_ROWS, (1 << 23) // size))
            yield from even_ranges(self.n_samples, step)
            return
        filled = self.entries_per_row()
        start, room = 0, 4 * BLOCK_ENTRIES
        total = np.append(0.0, np.cumsum(filled))
        while start < self.n_samples:
            stop = int(np.searchsorted(total, total[start] + room, side="right")) - 1
            stop = max(start + 1, stop)
            yield start, stop
            start = stop

    def entries_per_row(self):
        """How many products each row of a sparse base has, as float64 (they may be huge)."""
        per_row = np.diff(self.base.starts)
        sizes, inverse = np.unique(per_row, return_inverse=True)
        filled = [float(self.listing.filled(int(size))) for size in sizes]
        return np.asarray(filled)[inverse]

    def entries_per_column(self):
        """How many rows of a sparse base fill each column, as float64."""
        total = np.zeros(self.n_columns)
        for start, stop in self.ranges():
            total += np.bincount(self.block(start, stop).indices, minlength=self.n_columns)
        return total

    def block(self, start, stop):
        """Rows ``start:stop``: a float64 array, or CSR where the base is sparse."""
        features = self.base.block(start, stop)
        if sp.issparse(features):
            return self._sparse_block(features)
        columns = np.ascontiguousarray(features.T)
        if self.inverse_scale is not None:
            columns = columns * self.inverse_scale[:, None]
        return self.listing.expand(columns).T

    def _sparse_block(self, features):
        features = canonical(features)
        if self.inverse_scale is not None:
            scaled = features.data * self.inverse_scale[features.indices]
            parts = (scaled, features.indices, features.indptr)
            features = sp.csr_array(parts, shape=features.shape)
        values, columns, starts = self.listing.expand_sparse(features)
        if self.kept is not None:
            values, columns, starts = select(values, columns, starts, self.kept)
        if max(self.n_columns, len(values)) < np.iinfo(np.int32).max:
            columns, starts = columns.astype(np.int32), starts.astype(np.int32)
        shape = (len(starts) - 1, self.n_columns)
        return sp.csr_array((values, columns, starts), shape=shape)

    def compiled_view(self, views):
        """How the compiled kernels see these rows: products of dense features only."""
        if self.columns is not None or self.listing.degree == 1:
            return None
        starts = np.array(self.listing.starts)
        features = getattr(self.base, "compiled_view", lambda views: None)(views)
        if features is None:
            return None
        return views.monomials(
            features, starts, self.listing.offsets, self.listing.shift, self.inverse_scale
        )

    def largest_entry(self):
        """A bound: no monomial of a row is larger than the power of its largest feature."""
        base = self.base.largest_entry()
        if self.inverse_scale is not None:
            base *= float(np.max(self.inverse_scale))
        return max(base, 1.0) ** self.listing.degree

    def take(self, indices):
        """The rows with these indices, their features copied."""
        return MonomialRows(self.base.take(indices), self.listing, self.inverse_scale, self.kept)

    def occupied(self):
        """The columns of the listing that some row of a sparse base fills, in rising order."""
        found = np.empty(0, dtype=np.int64)
        waiting, size = [], 0
        for start, stop in self.ranges():
            _, columns, _ = self.listing.expand_sparse(canonical(self.base.block(start, stop)))
            waiting.append(np.unique(columns))
            size += len(waiting[-1])
            if size > len(found) + 4 * BLOCK_ENTRIES:
                found, waiting, size = np.unique(np.concatenate([found, *waiting])), [], 0
        return np.unique(np.concatenate([found, *waiting]))


def select(values, columns, starts, kept):
    """CSR entries in the columns ``kept``, numbered by their place there."""
    place = np.searchsorted(kept, columns)
    if len(kept):
        there = kept[np.minimum(place, len(kept) - 1)] == columns
    else:
        there = np.zeros(len(columns), dtype=bool)
    before = np.append(0, np.cumsum(there))
    return values[there], place[there], before[starts]
