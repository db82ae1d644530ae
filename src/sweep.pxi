# Binding of the sweeps, part of _compiled.pyx; kernels/numpy_sweeps.py says what they are.

cdef extern from "loss.h" nogil:
    ctypedef struct loss:
        pass
    loss loss_of "IN_USE(loss_of)"(double slack, int inequality)
    double loss_block "IN_USE(loss_block)"(
        const loss *l, ptrdiff_t count, const double *functional_margins, const double *weights,
        double *log_margins, double *hessian_weights)

cdef extern from "sweep.h" nogil:
    ctypedef struct target:
        const int8_t *sign
        const double *weights
        const double *offset
        ptrdiff_t sign_step, weights_step, offset_step
        loss loss
    ctypedef struct problem:
        const double *coef
        target target
        double *scores
        double *functional_margins
        double *log_margins
        double *hessian_weights
        double value
        double *gradient
        double *curvature
    int sweep_scores "IN_USE(sweep_scores)"(
        const rows *view, problem *problems, ptrdiff_t n_problems, int n_threads)
    int sweep_evaluate "IN_USE(sweep_evaluate)"(
        const rows *view, problem *problems, ptrdiff_t n_problems, int n_threads)
    int sweep_hessp "IN_USE(sweep_hessp)"(
        const rows *view, problem *problems, ptrdiff_t n_problems, int n_threads)
    int sweep_curvature "IN_USE(sweep_curvature)"(
        const rows *view, problem *problems, ptrdiff_t n_problems, int n_threads)
    int sweep_rmatvec "IN_USE(sweep_rmatvec)"(
        const rows *view, const double *pointwise_gradient, int n_threads, double *out)
    int sweep_moments "IN_USE(sweep_moments)"(
        const rows *view, const double *weights, ptrdiff_t weights_step, double total,
        int n_threads, double *mean, double *variance)


cdef extern from "several.h" nogil:
    int curvatures_together "IN_USE(curvatures_together)"(const rows *view, ptrdiff_t n_matrices)


cdef class Problems:
    """Problems on the same rows, and the arrays that they read and fill."""

    cdef problem *each
    cdef ptrdiff_t count, size, samples
    cdef list kept

    def __cinit__(self, RowView view, ptrdiff_t count):
        self.count, self.kept = count, []
        self.size, self.samples = view.rows.n_columns + 1, view.rows.n_samples
        self.each = <problem *>calloc(count + 1, sizeof(problem))
        if self.each == NULL:
            raise MemoryError("no memory for the problems of a sweep")

    def __dealloc__(self):
        free(self.each)

    cdef const double *read(self, array, ptrdiff_t length, name) except? NULL:
        """Address of an array that is read."""
        cdef const double[::1] vector = _vector(array, length, name)
        self.kept.append(vector)
        return &vector[0]

    cdef int aim(self, problem *p, target_) except -1:
        """Set a problem's target."""
        cdef const int8_t[::1] sign = target_.sign
        cdef const double[::1] weights = target_.weights, offset = target_.offset
        for name, length in (("sign", len(sign)), ("weights", len(weights)),
                             ("offset", len(offset))):
            if length != 1:
                _check_length(length, self.samples, name)
        self.kept.append(target_)
        p.target.sign, p.target.weights, p.target.offset = &sign[0], &weights[0], &offset[0]
        p.target.sign_step, p.target.weights_step = len(sign) != 1, len(weights) != 1
        p.target.offset_step = len(offset) != 1
        p.target.loss = loss_of(target_.loss.slack, target_.loss.inequality)
        return 0


def scores_each(RowView view, coefs, n_threads=1):
    cdef Problems problems = Problems(view, len(coefs))
    cdef double[:, ::1] out = np.empty((problems.count, problems.samples))
    cdef int threads = usable(n_threads), status
    cdef ptrdiff_t k
    for k in range(problems.count):
        problems.each[k].coef = problems.read(coefs[k], problems.size, "coef")
        problems.each[k].scores = &out[k, 0]
    with nogil:
        status = sweep_scores(&view.rows, problems.each, problems.count, threads)
    check(status)
    return out.base


def scores(RowView view, coef, n_threads=1):
    return scores_each(view, (coef,), n_threads)[0]


def evaluate_each(RowView view, list each, n_threads=1):
    cdef Problems problems = Problems(view, len(each))
    cdef ptrdiff_t n = problems.size, samples = problems.samples, k
    cdef double[:, ::1] gradients = np.empty((problems.count, n))
    cdef double[:, ::1] matrix
    cdef int threads = usable(n_threads), status, fits = curvature_fits(&view.rows)
    cdef problem *p
    if problems.count == 0:
        return []
    fits = fits and curvatures_together(&view.rows, sum([bool(asked[2]) for asked in each]))
    matrices, later = [None] * problems.count, {}  # later: in reads of their own, by the problem
    for k in range(problems.count):
        coef, target_, curvature, functional_margins, log_margins, hessian_weights = each[k]
        p = problems.each + k
        p.coef = problems.read(coef, n, "coef")
        problems.aim(p, target_)
        p.gradient = &gradients[k, 0]
        p.functional_margins = _filled(functional_margins, samples, "functional_margins")
        p.log_margins = _filled(log_margins, samples, "log_margins")
        if curvature and not fits:
            later[k] = np.empty(samples) if hessian_weights is None else hessian_weights
            hessian_weights = later[k]
        elif curvature:
            matrix = np.empty((n, n))
            matrices[k], p.curvature = matrix.base, &matrix[0, 0]
        p.hessian_weights = _filled(hessian_weights, samples, "hessian_weights")
    with nogil:
        status = sweep_evaluate(&view.rows, problems.each, problems.count, threads)
    check(status)
    for k, matrix_ in zip(later, curvature_each(view, list(later.values()), threads)):
        matrices[k] = matrix_
    return [(problems.each[k].value, gradients.base[k], matrices[k])
            for k in range(problems.count)]


def evaluate(RowView view, coef, target_, curvature=False, n_threads=1, functional_margins=None,
             log_margins=None, hessian_weights=None):
    kept = functional_margins, log_margins, hessian_weights
    return evaluate_each(view, [(coef, target_, curvature, *kept)], n_threads)[0]


def hessp_each(RowView view, list each, n_threads=1):
    cdef Problems problems = Problems(view, len(each))
    cdef double[:, ::1] out = np.empty((problems.count, problems.size))
    cdef int threads = usable(n_threads), status
    cdef ptrdiff_t k
    if problems.count == 0:
        return []
    for k, (hessian_weights, vector) in enumerate(each):
        problems.each[k].hessian_weights = <double *>problems.read(
            hessian_weights, problems.samples, "hessian_weights")
        problems.each[k].coef = problems.read(vector, problems.size, "vector")
        problems.each[k].gradient = &out[k, 0]
    with nogil:
        status = sweep_hessp(&view.rows, problems.each, problems.count, threads)
    check(status)
    return list(out.base)


def hessp(RowView view, hessian_weights, vector, n_threads=1):
    return hessp_each(view, [(hessian_weights, vector)], n_threads)[0]


def rmatvec(RowView view, pointwise_gradient, n_threads=1):
    cdef const double[::1] v = _vector(
        pointwise_gradient, view.rows.n_samples, "pointwise_gradient")
    cdef double[::1] out = np.empty(view.rows.n_columns + 1)
    cdef int threads = usable(n_threads), status
    with nogil:
        status = sweep_rmatvec(&view.rows, &v[0], threads, &out[0])
    check(status)
    return out.base


def curvature_each(RowView view, list each, n_threads=1):
    cdef Problems problems = Problems(view, len(each))
    cdef ptrdiff_t n = problems.size, k
    cdef double[:, :, ::1] out = np.empty((problems.count, n, n))
    cdef int threads = usable(n_threads), status
    if problems.count == 0:
        return []
    for k in range(problems.count):
        problems.each[k].hessian_weights = <double *>problems.read(
            each[k], problems.samples, "hessian_weights")
        problems.each[k].curvature = &out[k, 0, 0]
    with nogil:
        status = sweep_curvature(&view.rows, problems.each, problems.count, threads)
    check(status)
    return list(out.base)


def curvature(RowView view, hessian_weights, n_threads=1):
    return curvature_each(view, [hessian_weights], n_threads)[0]


def moments(RowView view, weights, n_threads=1):
    cdef const double[::1] v = np.ascontiguousarray(weights, dtype=np.float64)
    cdef ptrdiff_t step = v.shape[0] != 1
    cdef double[::1] mean = np.empty(view.rows.n_columns)
    cdef double[::1] variance = np.empty(view.rows.n_columns)
    cdef double total = np.sum(v) if step else v[0] * view.rows.n_samples
    cdef int threads = usable(n_threads), status
    if step:
        _check_length(v.shape[0], view.rows.n_samples, "weights")
    with nogil:
        status = sweep_moments(&view.rows, &v[0], step, total, threads, &mean[0], &variance[0])
    check(status)
    return mean.base, variance.base
