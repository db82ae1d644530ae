"""What sweeps and factors cost, by the shape of the data.

M samples, N features (of the design), z stored numbers, and

    pairs  = sum_i n_i (n_i + 1) / 2     n_i numbers stored in row i; M N (N + 1)/2 when dense
    cross  = sum_j m_j (m_j + 1) / 2     m_j numbers stored in column j; N M (M + 1)/2 when dense

The times per unit were measured on one core of a current x86-64 machine. Only their ratios
matter, and only to about a factor of two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .monomial_rows import MonomialRows

# Seconds a unit of work.
DENSE_NUMBER = 5e-10  # one stored number in one sweep
STREAMED_NUMBER = 3e-10  # one number made as it is needed
SPARSE_NUMBER = 2.5e-9
SAMPLE = 2e-8  # the loss and its derivatives
DENSE_PAIR = 6e-11  # one product inside a block-wise matrix product
SPARSE_PAIR = 1.5e-9  # one product scattered into a matrix
FACTOR_FLOP = 6e-11  # one multiply-add of a Cholesky factor
FACTOR_NUMBER = 6e-10  # one number of a factor in solving with it, there and back
CALL = 5e-5  # a sweep's fixed cost


@dataclass(frozen=True)
class Work:
    """Sizes of the data that decide what a step costs.

    Attributes
    ----------
    n_samples, n_features : int
    entries : int
        Stored numbers, z.
    pairs, cross : int
        Products in a curvature of the features' and of the samples' side.
    sparse : bool
    random_access : bool
        Whether single rows can be taken and per-sample arrays are kept: rows in memory. What can
        only be streamed is solved with the curvature that comes with each read, where it fits.
    streamed : bool
        Whether numbers are made as they are needed: no sweep waits for memory.
    """

    n_samples: int
    n_features: int
    entries: int
    pairs: int
    cross: int
    sparse: bool = False
    random_access: bool = True
    streamed: bool = False

    @classmethod
    def dense(cls, n_samples, n_features, random_access=True, streamed=False):
        """Rows of which every number is stored, or computed as it is needed."""
        m, n = int(n_samples), int(n_features)
        pairs, cross = m * n * (n + 1) // 2, n * m * (m + 1) // 2
        return cls(m, n, m * n, pairs, cross, False, random_access, streamed)

    @classmethod
    def of(cls, design):
        """Sizes of a design in memory."""
        rows = design.rows
        n_samples, n_features = int(design.n_samples), int(design.n_features)
        if rows.columns is None:
            return cls.dense(n_samples, n_features, streamed=isinstance(rows, MonomialRows))
        in_row = rows.entries_per_row() + float(design.constant)
        entries = float(in_row.sum())
        # The columns' counts take a read of the indices; without them their mean, from below.
        in_column = np.full(n_features, entries / n_features)
        if n_features > n_samples:
            in_column = rows.entries_per_column().astype(np.float64)
        pairs, cross = (float(count @ (count + 1)) / 2 for count in (in_row, in_column))
        return cls(n_samples, n_features, int(entries), int(pairs), int(cross), True)

    def part(self, n_samples):
        """Sizes of so many of the rows."""
        share = n_samples / max(1, self.n_samples)
        sizes = dict(entries=int(share * self.entries), pairs=int(share * self.pairs))
        return replace(self, n_samples=n_samples, cross=int(share**2 * self.cross), **sizes)

    @property
    def sweep(self):
        """Seconds of one sweep."""
        number = STREAMED_NUMBER if self.streamed else DENSE_NUMBER
        number = SPARSE_NUMBER if self.sparse else number
        return CALL + self.entries * number + self.n_samples * SAMPLE

    @property
    def curvature(self):
        """Seconds of forming the N × N curvature, beyond the sweep."""
        return self.pairs * (SPARSE_PAIR if self.sparse else DENSE_PAIR) + self.n_features**2 * 1e-9

    @property
    def gram(self):
        """Seconds of forming the M × M matrix."""
        return self.cross * (SPARSE_PAIR if self.sparse else DENSE_PAIR) + self.n_samples**2 * 1e-9

    @property
    def cholesky(self):
        """Seconds that a Cholesky step adds to its sweep."""
        return self.curvature + factor_time(self.n_features)

    @property
    def dual(self):
        """Seconds that a dual step adds to its sweep."""
        return self.gram + factor_time(self.n_samples) + 2 * self.sweep

    @property
    def solve(self):
        """Seconds of solving with an N × N factor."""
        return CALL + self.n_features**2 * FACTOR_NUMBER

    @property
    def cholesky_bytes(self):
        return 16 * self.n_features**2

    @property
    def dual_bytes(self):
        return 16 * self.n_samples**2

    @property
    def cg_bytes(self):
        return 8 * (12 * self.n_features + 4 * self.n_samples)


def factor_time(size):
    """Seconds of a Cholesky factor of a size × size matrix."""
    return size**3 / 3 * FACTOR_FLOP + size**2 * 2e-9
