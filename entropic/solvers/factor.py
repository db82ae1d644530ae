"""Cholesky factors of the two forms of Newton's matrix, safe at any size of entry.

Both matrices are the identity plus a matrix without negative eigenvalues. In exact arithmetic
they cannot fail to factor; in floating point they can, when their largest eigenvalue exceeds
1e16, and products of large entries can overflow. So every factor is of the matrix scaled to a
diagonal of ones, which is formed without passing through the unscaled one (docs/mathematics.md,
section 3.5).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from entropic.kernels.library_threads import one_library_thread

BLOCK = 128  # columns of a triangle whose squares are summed at once
# A factor serves while the roots of the box's inverse Hessian are within these ratios of its own.
NARROWER, WIDER = 0.5, 2.0


class Factor:
    """Factor of ``I + diag(r) H diag(r)``, and what follows from it.

    Parameters
    ----------
    matrix : array of shape (n, n)
        H, symmetric without negative eigenvalues.
    scale : array of shape (n,)
        r, not negative.
    overwrite : bool
        Whether the matrix, a float64 array in C order, may be used up; else it is kept as it is.
    """

    def __init__(self, matrix, scale, overwrite=False):
        diagonal = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
        self.load = scale * diagonal
        # t = sqrt(1 + r^2 H_jj): the diagonal of t^-1 (I + r H r) t^-1 is then one
        self.inverse = 1 / np.hypot(1.0, self.load)
        ratio, ones = scale * self.inverse, self.inverse**2 + (self.load * self.inverse) ** 2
        scaled = np.multiply(matrix, ratio, out=matrix if overwrite else None)
        scaled *= ratio[:, None]
        shift = 0.0
        while True:
            scaled.flat[:: len(scaled) + 1] = ones + shift
            # the transpose of a symmetric array in C order is itself in Fortran order
            with one_library_thread:
                self.factor, failed = lapack.dpotrf(scaled.T, clean=False, overwrite_a=True)
            if not failed:
                return
            # Rounding made it indefinite. Any shift leaves a direction of descent. What the
            # attempt has overwritten is still there on the other side of the diagonal.
            shift = max(4 * shift, len(scaled) * np.finfo(np.float64).eps)
            scaled = np.triu(scaled, 1)
            scaled += scaled.T

    def solve(self, right):
        """``x`` with ``(I + r H r) x = right``."""
        if not len(right):  # LAPACK knows no empty matrix
            return np.zeros(0)
        x, _ = lapack.dpotrs(self.factor, self.inverse * right)
        return self.inverse * x

    def inverse_root(self, scale=1.0):
        """``diag(scale) B`` with ``B B^T = (I + r H r)^-1``, (n, n), in Fortran order.

        The factor is used up: B takes its place in memory.
        """
        with one_library_thread:
            upper, _ = lapack.dtrtri(self.factor, overwrite_c=True)
        upper *= (scale * self.inverse)[:, None]
        for column in range(len(upper)):  # what is below the diagonal belongs to no triangle
            upper[column + 1 :, column] = 0.0
        return upper

    def used_and_left(self):
        """The diagonals of ``P (I + P)^-1 P`` and of ``(I + P)^-1``, where ``P = r H r``.

        The factor is used up. Neither is a difference of larger numbers. With ``I + P = L L^T`` and
        ``X = L^-1`` the first is that of ``(X P)^T (X P)``, and ``X P = L^T - X``, in which the
        two triangles meet on the diagonal only: there it is ``s / sqrt(1 + s)``, where
        ``1 + s = L_ii^2``.

        Returns
        -------
        used, left : arrays of shape (n,)
            ``used`` may pass the range of numbers where ``P_ii**2`` does.
        """
        before, _ = _squares_above(self.factor)
        with one_library_thread:
            upper, _ = lapack.dtrtri(self.factor, overwrite_c=True)
        _, after = _squares_above(upper) * self.inverse**2
        left = (self.inverse * upper.diagonal()) ** 2 + after
        with np.errstate(over="ignore", invalid="ignore"):
            before = before / self.inverse**2
            surplus = np.maximum(self.load**2 - before, 0.0)
            return before + surplus**2 / (1 + surplus) + after, left


class LastingFactor:
    """A factor of ``I + diag(r) H diag(r)`` that stays in use for other roots r near its own.

    The matrix is ``r (r^-2 + H) r``. In between, where H counts, a change of r changes little::

        (I + r H r)^-1 = r^-1 (r^-2 + H)^-1 r^-1  ~  r^-1 r0 (I + r0 H r0)^-1 r0 r^-1

    Parameters
    ----------
    matrix : array of shape (n, n)
        H.
    root : array of shape (n,)
        r0.
    """

    def __init__(self, matrix, root):
        self.matrix, self.root, self.factor = matrix, root, Factor(matrix, root)

    def at(self, root):
        """That of the same H at another root."""
        return self if root is self.root else LastingFactor(self.matrix, root)

    def serves(self, root):
        """Whether a root is near enough."""
        with np.errstate(divide="ignore", invalid="ignore"):  # far out on a bound roots are 0
            ratio = root / self.root
        return root is self.root or bool(ratio.min() >= NARROWER and ratio.max() <= WIDER)

    def solve(self, root, right):
        """``x`` with ``(I + r H r) x = right``, nearly."""
        if root is self.root:
            return self.factor.solve(right)
        ratio = self.root / root
        return ratio * self.factor.solve(ratio * right)

    def solve_in_w(self, right):
        """``x`` with ``(r0^-2 + H) x = right``."""
        return self.root * self.factor.solve(self.root * right)


def _squares_above(upper):
    """Sums of the squares above the diagonal, by column and by row."""
    sums = np.zeros((2, len(upper)))
    columns, rows = sums
    for start in range(0, len(upper), BLOCK):
        stop = min(start + BLOCK, len(upper))
        squares = np.square(upper[:stop, start:stop])
        squares[start:] = np.triu(squares[start:], 1)
        columns[start:stop] = squares.sum(axis=0)
        rows[:stop] += squares.sum(axis=1)
    return sums
