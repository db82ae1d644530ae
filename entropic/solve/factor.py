"""Cholesky factors of the two forms of Newton's matrix, safe at any size of entry.

Both matrices are the identity plus a matrix without negative eigenvalues. In exact arithmetic
they cannot fail to factor; in floating point they can, when their largest eigenvalue exceeds
1e16, and products of large entries can overflow. So every factor is of the matrix scaled to a
diagonal of ones, which is formed without passing through the unscaled one.
"""

from __future__ import annotations

import threading
from functools import cache

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lapack
from threadpoolctl import ThreadpoolController

# Sizes between which a factor is made on one thread: below, the library does so by itself; above,
# several threads earn the time that their start and their waiting for each other cost.
ONE_THREAD = range(48, 1024)


class _OneThread:
    """A context in which the linear algebra library runs on one thread.

    The library's number of threads is the process's, so the first to enter sets it and the last
    to leave sets it back: contexts that overlap in several threads must not save each other's.
    """

    def __init__(self):
        self.lock, self.depth, self.limit = threading.Lock(), 0, None

    def __enter__(self):
        with self.lock:
            if self.depth == 0:
                self.limit = _controller().limit(limits=1, user_api="blas")
            self.depth += 1

    def __exit__(self, *_):
        with self.lock:
            self.depth -= 1
            if self.depth == 0:
                self.limit.restore_original_limits()


@cache
def _controller():
    return ThreadpoolController()


_one_thread = _OneThread()


def _on_threads_for(size, function, *arguments, **options):
    """Call a routine of the library on as many threads as suit a matrix of this size."""
    if size not in ONE_THREAD:
        return function(*arguments, **options)
    with _one_thread:
        return function(*arguments, **options)


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
                self.factor = _on_threads_for(
                    len(scaled), cho_factor, scaled.T, overwrite_a=True, check_finite=False
                )
                return
            except LinAlgError:
                # Rounding made it indefinite. Any shift leaves a direction of descent.
                shift = max(4 * shift, len(scaled) * np.finfo(np.float64).eps)

    def solve(self, right):
        """``x`` with ``(I + r H r) x = right``."""
        return self.inverse * cho_solve(self.factor, self.inverse * right, check_finite=False)

    def inverse_root(self):
        """``B``, (n, n), with ``B B^T = (I + r H r)^-1``."""
        root, lower = self.factor
        upper, _ = _on_threads_for(len(root), lapack.dtrtri, root, lower=lower)
        return self.inverse[:, None] * np.triu(upper)
