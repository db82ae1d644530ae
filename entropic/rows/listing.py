"""The listing k -> n(k) of monomials: how many there are, in which order, what a row makes of them.

The order is scikit-learn's: by degree, and within a degree lexicographic in the features
``a_1 <= ... <= a_d`` of the monomial. So the monomials of degree d whose first feature is i are
x_i times a *suffix* of those of degree d - 1, namely the ones whose first feature is not before i
(after i, where powers are left out). Everything here is that one rule: ``starts[d - 1][i]``
says where the monomials of degree d with first feature i begin (docs/mathematics.md, section 6.1).
"""

from __future__ import annotations

from math import comb

import numpy as np
import scipy.sparse as sp

from entropic.kernels.cached import cached_property

LARGEST_INDEX = np.iinfo(np.int64).max


class Listing:
    """All monomials of degree 1 to ``degree`` in ``n_features`` variables.

    Parameters
    ----------
    n_features, degree : int
    interaction_only : bool
        Leave out powers of a feature above the first.

    Attributes
    ----------
    n_monomials : int
        Their number, a Python int of any size.
    """

    def __init__(self, n_features, degree, interaction_only=False):
        self.n_features, self.degree = int(n_features), int(degree)
        self.interaction_only = bool(interaction_only)
        self.shift = int(self.interaction_only)
        if interaction_only:
            highest = min(self.degree, self.n_features)
            self.n_monomials = sum(comb(self.n_features, d) for d in range(1, highest + 1))
        else:
            self.n_monomials = comb(self.n_features + self.degree, self.degree) - 1

    @cached_property
    def starts(self):
        """int64 arrays of length n_features + 1, one a degree (see above)."""
        if self.n_monomials > LARGEST_INDEX:
            raise OverflowError(f"{self.n_monomials} monomials cannot be numbered in 64 bits.")
        length = np.ones(self.n_features, dtype=np.int64)
        starts = []
        for _ in range(self.degree):
            start = np.zeros(self.n_features + 1, dtype=np.int64)
            np.cumsum(length, out=start[1:])
            starts.append(start)
            rest = start[-1] - start
            length = rest[1:] if self.interaction_only else rest[:-1]
        return starts

    @cached_property
    def offsets(self):
        """Column at which each degree begins, and the total at the end: int64 (degree + 1,)."""
        return np.concatenate([[0], np.cumsum([start[-1] for start in self.starts])])

    def features_of(self, column):
        """The features whose product the column is, repeated as often as their power."""
        degree = int(np.searchsorted(self.offsets, column, side="right"))
        rank = int(column) - int(self.offsets[degree - 1])
        features = []
        for start in reversed(self.starts[:degree]):
            first = int(np.searchsorted(start, rank, side="right")) - 1
            features.append(first)
            rank -= int(start[first])
            degree -= 1
            if degree:
                rank += int(self.starts[degree - 1][first + self.shift])
        return tuple(features)

    def expand(self, features, combine=np.multiply):
        """Every monomial of columns given as rows.

        Parameters
        ----------
        features : float64 array of shape (n_features, n)
        combine : ufunc
            What takes the place of the product.

        Returns
        -------
        array of shape (n_monomials, n)
        """
        out = np.empty((self.n_monomials, features.shape[1]))
        out[: self.n_features] = features
        for d in range(1, self.degree):
            lower, upper = self.starts[d - 1], self.starts[d]
            previous = out[self.offsets[d - 1] : self.offsets[d]]
            current = out[self.offsets[d] : self.offsets[d + 1]]
            for i in range(self.n_features):
                suffix = previous[lower[i + self.shift] :]
                combine(features[i], suffix, out=current[upper[i] : upper[i + 1]])
        return out

    def filled(self, n_nonzeros):
        """How many monomials a row with so many nonzeros fills, as a Python int."""
        return Listing(n_nonzeros, self.degree, self.interaction_only).n_monomials

    def expand_sparse(self, block):
        """Products of the nonzeros of each row.

        Parameters
        ----------
        block : float64 CSR array of shape (n, n_features), sorted, without duplicates

        Returns
        -------
        values, columns, starts : arrays
            Of CSR form, the columns int64 and sorted within a row.
        """
        n_nonzeros, ends = block.nnz, block.indptr[1:].astype(np.int64)
        per_row = np.diff(block.indptr)
        feature = block.indices.astype(np.int64)
        # Of one degree: its products, their ranks, and where those begin whose first factor is
        # the j-th nonzero (the last entry being the number of products).
        values, ranks = block.data, feature
        begin = np.arange(n_nonzeros + 1)
        parts = [(values, ranks, begin[np.append(0, ends)])]
        for d in range(1, self.degree):
            row_end = np.repeat(begin[ends], per_row)
            suffix = begin[self.shift : self.shift + n_nonzeros]
            length = row_end - suffix
            following = np.append(0, np.cumsum(length))
            source = np.repeat(suffix - following[:-1], length) + np.arange(following[-1])
            move = self.starts[d][feature] - self.starts[d - 1][feature + self.shift]
            values = np.repeat(block.data, length) * values[source]
            ranks = np.repeat(move, length) + ranks[source]
            begin = following
            parts.append((values, ranks + self.offsets[d], begin[np.append(0, ends)]))
        return _interleave(parts)


def _interleave(parts):
    """Join CSR parts side by side: each row's entries of the first, then of the second, ..."""
    starts = sum(part[2] for part in parts)
    values, columns = np.empty(starts[-1]), np.empty(starts[-1], dtype=np.int64)
    place = starts[:-1].copy()
    for part_values, part_columns, part_starts in parts:
        length = np.diff(part_starts)
        target = np.repeat(place - part_starts[:-1], length) + np.arange(part_starts[-1])
        values[target], columns[target] = part_values, part_columns
        place += length
    return values, columns, starts


def canonical(block):
    """The block with sorted and unique indices; a copy where it is not so already."""
    if not block.has_canonical_format:
        block = sp.csr_array(block, copy=True)
        block.sum_duplicates()
    return block
