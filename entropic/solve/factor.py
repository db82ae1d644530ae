"""Cholesky factors of the two forms of Newton's matrix, safe at any size of entry.

Both matrices are the identity plus a matrix without negative eigenvalues. In exact arithmetic
they cannot fail to factor; in floating point they can, when their largest eigenvalue exceeds
1e16, and products of large entries can overflow. So every factor is of the matrix scaled to a
diagonal of ones, which is formed without passing through the unscaled one.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lapack


class Factor:
    """Factor of ``I + diag(r) H diag(r)``, and the solution of systems with it.

    Parameters
    ----------
    matrix : array of shape (n, n)
        H, symmetric without negative eigenvalues; kept as it is.
    scale : array of shape (n,)
        r, not negative.
    """

    def __init__(self, matrix, scale):
        diagonal = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
        # t = sqrt(1 + r^2 H_jj): the diagonal of t^-1 (I + r H r) t^-1 is then one
        self.inverse = 1 / np.hypot(1.0, scale * diagonal)
        ratio, shift = scale * self.inverse, 0.0
        while True:
            scaled = matrix * ratio
            scaled *= ratio[:, None]
            scaled.flat[:: len(scaled) + 1] += self.inverse**2 + shift
            try:
                # the transpose of a symmetric array in C order is itself in Fortran order
                self.factor = cho_factor(scaled.T, overwrite_a=True, check_finite=False)
                return
            except LinAlgError:
                # Rounding made it indefinite. Any shift leaves a direction of descent.
                shift = max(4 * shift, len(scaled) * np.finfo(np.float64).eps)

    def solve(self, right):
        """``x`` with ``(I + r H r) x = right``."""
        return self.inverse * cho_solve(self.factor, self.inverse * right, check_finite=False)

    def inverse_root(self):
        """``B``, (n, n), with ``B B^T = (I + r H r)^-1``."""
        upper, _ = lapack.dtrtri(self.factor[0], lower=self.factor[1])
        return self.inverse[:, None] * np.triu(upper)
