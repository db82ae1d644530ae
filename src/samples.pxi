# Binding of sums over samples, part of _compiled.pyx; kernels/numpy_sweeps.py says what they are.

cdef extern from "samples.h" nogil:
    ctypedef struct certificate_sums:
        double squares, multipliers, residuals, least
    int samples_certificate "IN_USE(samples_certificate)"(
        ptrdiff_t n, const double *weights, ptrdiff_t weights_step, const double *offset,
        ptrdiff_t offset_step, int inequality, const double *functional_margins,
        const double *log_margins, int n_threads, certificate_sums *out)
    ptrdiff_t samples_changed "IN_USE(samples_changed)"(
        ptrdiff_t n, const double *before, const double *after, double share, ptrdiff_t most,
        int64_t *places)


def sample_sums(target_, functional_margins, log_margins, n_threads=1):
    cdef ptrdiff_t n = len(functional_margins)
    cdef const double[::1] t = _vector(functional_margins, n, "functional_margins")
    cdef const double[::1] x = _vector(log_margins, n, "log_margins")
    cdef const double[::1] q = target_.weights, y = target_.offset
    cdef int threads = usable(n_threads), inequality = target_.loss.inequality, status
    cdef certificate_sums found
    for values, name in ((target_.weights, "weights"), (target_.offset, "offset")):
        if len(values) != 1:
            _check_length(len(values), n, name)
    with nogil:
        status = samples_certificate(n, address(q), q.shape[0] != 1, address(y), y.shape[0] != 1,
                                     inequality, address(t), address(x), threads, &found)
    check(status)
    return found.squares, found.multipliers, found.residuals, found.least


def changed(before, after, double share, ptrdiff_t most):
    cdef ptrdiff_t n = len(before), found
    cdef const double[::1] old = _vector(before, n, "before"), new = _vector(after, n, "after")
    cdef int64_t[::1] places = np.empty(most + 1, dtype=np.int64)
    with nogil:
        found = samples_changed(n, address(old), address(new), share, most, &places[0])
    return None if found < 0 else places.base[:found]


def losses(double slack, bint inequality, functional_margins, weights):
    """The loss alone, for tests: sum of weighted values, log-margins, Hessian weights."""
    cdef ptrdiff_t count = len(functional_margins), begin
    cdef const double[::1] t = _vector(functional_margins, count, "functional_margins")
    cdef const double[::1] q = _vector(weights, count, "weights")
    cdef double[::1] log_margins = np.empty(count), hessian_weights = np.empty(count)
    cdef loss l = loss_of(slack, inequality)
    cdef double value = 0
    for begin in range(0, count, 256):
        value += loss_block(&l, min(256, count - begin), &t[begin], &q[begin],
                            &log_margins[begin], &hessian_weights[begin])
    return value, log_margins.base, hessian_weights.base
