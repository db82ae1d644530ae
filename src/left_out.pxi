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
        const left_out_shifts *by
        double *scores
    ctypedef struct left_out_found:
        double separation, least, moved
    double left_out_fill "IN_USE(left_out_fill)"(const left_out_shifts *s, int n_threads)
    left_out_found left_out_score "IN_USE(left_out_score)"(const left_out_scores *s, int n_threads)


cdef class Shifts:
    """What shifts are made of, and the arrays that this is read from."""

    cdef left_out_shifts of
    cdef object kept

    def __init__(self, target_, at, leverage):
        cdef ptrdiff_t n = len(leverage)
        cdef const double[::1] q = target_.weights, a = _vector(leverage, n, "leverage")
        cdef const double[::1] x = _vector(at.log_margins, n, "log_margins")
        cdef const double[::1] c = _vector(at.hessian_weights, n, "hessian_weights")
        if q.shape[0] != 1:
            _check_length(q.shape[0], n, "weights")
        self.kept = q, a, x, c
        self.of.n, self.of.weights_step, self.of.leverage = n, q.shape[0] != 1, address(a)
        self.of.weights, self.of.log_margins = address(q), address(x)
        self.of.hessian_weights = address(c)


def shifts(target_, at, leverage, n_threads=1):
    cdef Shifts s = Shifts(target_, at, leverage)
    cdef int threads = usable(n_threads)
    cdef double[:, ::1] out = np.empty((3, s.of.n))
    cdef double least
    if s.of.n > 0:
        s.of.first_order, s.of.left, s.of.shift = &out[0, 0], &out[1, 0], &out[2, 0]
    with nogil:
        least = left_out_fill(&s.of, threads)
    check(0)
    return *out.base, least


cdef _scores(target_, functional_margins, shift, Shifts by, n_threads):
    cdef ptrdiff_t n = len(functional_margins)
    cdef int threads = usable(n_threads)
    cdef left_out_scores s
    cdef left_out_found found
    cdef const double[::1] q = target_.weights, y = target_.offset
    cdef const int8_t[::1] sign = target_.sign
    cdef const double[::1] t = _vector(functional_margins, n, "functional_margins")
    cdef const double[::1] moved = None if shift is None else _vector(shift, n, "shift")
    cdef double[::1] out = None if shift is None and by is None else np.empty(n)
    for values, name in ((target_.sign, "sign"), (target_.weights, "weights"),
                         (target_.offset, "offset")):
        if len(values) != 1:
            _check_length(len(values), n, name)
    s.n, s.weights, s.offset, s.functional_margins = n, address(q), address(y), address(t)
    s.sign, s.shift, s.scores = &sign[0], address(moved), <double *>address(out)
    s.weights_step, s.offset_step = q.shape[0] != 1, y.shape[0] != 1
    s.sign_step, s.by = sign.shape[0] != 1, NULL
    if by is not None:
        _check_length(by.of.n, n, "leverage")
        s.by = &by.of
    with nogil:
        found = left_out_score(&s, threads)
    check(0)
    return None if out is None else out.base, found


def left_out_scores_of(target_, functional_margins, shift=None, n_threads=1):
    scores, found = _scores(target_, functional_margins, shift, None, n_threads)
    return scores, found["separation"]


def left_out_scores_by(target_, at, leverage, n_threads=1):
    by = Shifts(target_, at, leverage)
    scores, found = _scores(target_, at.functional_margins, None, by, n_threads)
    return scores, found["separation"], found["least"], found["moved"]
