# Binding of the left-out scores, part of _compiled.pyx; kernels/numpy_left_out.py says what they are.

cdef extern from "left_out.h" nogil:
    ctypedef struct left_out_shifts:
        ptrdiff_t n, weights_step
        const double *weights
        const double *log_margins
        const double *hessian_weights
        const double *leverage
        double *first_order
        double *left
        double *shift
    ctypedef struct left_out_scores:
        ptrdiff_t n, weights_step, offset_step, sign_step
        const double *weights
        const double *offset
        const double *functional_margins
        const int8_t *sign
        const double *shift
        double *scores
    double left_out_fill(const left_out_shifts *s, int n_threads)
    double left_out_score(const left_out_scores *s, int n_threads)


def shifts(target_, at, leverage, n_threads=1):
    cdef ptrdiff_t n = len(leverage)
    cdef int threads = usable(n_threads)
    cdef left_out_shifts s
    cdef const double[::1] q = target_.weights, a = _vector(leverage, n, "leverage")
    cdef const double[::1] x = _vector(at.log_margins, n, "log_margins")
    cdef const double[::1] c = _vector(at.hessian_weights, n, "hessian_weights")
    cdef double[:, ::1] out = np.empty((3, n))
    cdef double least
    if q.shape[0] != 1:
        _check_length(q.shape[0], n, "weights")
    s.n, s.weights_step, s.leverage = n, q.shape[0] != 1, address(a)
    s.weights, s.log_margins, s.hessian_weights = address(q), address(x), address(c)
    if n > 0:
        s.first_order, s.left, s.shift = &out[0, 0], &out[1, 0], &out[2, 0]
    with nogil:
        least = left_out_fill(&s, threads)
    check(0)
    return *out.base, least


def left_out_scores_of(target_, functional_margins, shift=None, n_threads=1):
    cdef ptrdiff_t n = len(functional_margins)
    cdef int threads = usable(n_threads)
    cdef left_out_scores s
    cdef const double[::1] q = target_.weights, y = target_.offset
    cdef const int8_t[::1] sign = target_.sign
    cdef const double[::1] t = _vector(functional_margins, n, "functional_margins")
    cdef const double[::1] moved = None if shift is None else _vector(shift, n, "shift")
    cdef double[::1] out = None if shift is None else np.empty(n)
    cdef double apart
    for values, name in ((target_.sign, "sign"), (target_.weights, "weights"),
                         (target_.offset, "offset")):
        if len(values) != 1:
            _check_length(len(values), n, name)
    s.n, s.weights, s.offset, s.functional_margins = n, address(q), address(y), address(t)
    s.sign, s.shift, s.scores = &sign[0], address(moved), <double *>address(out)
    s.weights_step, s.offset_step = q.shape[0] != 1, y.shape[0] != 1
    s.sign_step = sign.shape[0] != 1
    with nogil:
        apart = left_out_score(&s, threads)
    check(0)
    return None if shift is None else out.base, apart
