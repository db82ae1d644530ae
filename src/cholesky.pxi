# Binding of the blocked Cholesky factor, part of _compiled.pyx.

cdef extern from "cholesky.h" nogil:
    int cholesky_factor(double *matrix, ptrdiff_t n, int n_threads)
    void cholesky_invert(double *matrix, ptrdiff_t n, int n_threads)


def factor_symmetric(double[:, ::1] matrix, n_threads=1):
    """L with ``L L^T = matrix`` in the lower triangle. Returns whether the matrix has none."""
    cdef int threads = usable(n_threads), failed
    _check_length(matrix.shape[1], matrix.shape[0], "matrix")
    if matrix.shape[0] == 0:
        return False
    with nogil:
        failed = cholesky_factor(&matrix[0, 0], matrix.shape[0], threads)
    check(0)
    return failed != 0


def invert_factor(double[:, ::1] matrix, n_threads=1):
    """The upper triangle of ``L^-T`` in place of L, with zeros below."""
    cdef int threads = usable(n_threads)
    _check_length(matrix.shape[1], matrix.shape[0], "matrix")
    if matrix.shape[0] > 0:
        with nogil:
            cholesky_invert(&matrix[0, 0], matrix.shape[0], threads)
    check(0)
