# Binding of Newton's steps, part of _compiled.pyx; kernels/numpy_sweeps.py says what they are.

cdef extern from "newton.h" nogil:
    ctypedef struct newton_point:
        double *state
        double *coef
        double *gradient
        double *curvature
        double *functional_margins
        double *log_margins
        double *hessian_weights
        double value, entropy, gap
    ctypedef struct newton_problem:
        const rows *view
        const c_box *box
        target target
        const double *mean
        const double *scale
        int constant
        double goal, sharp, armijo, promised, straight
        ptrdiff_t most
        int (*told)(void *listener, double gap, double objective, double length) noexcept
        void *listener
    ctypedef struct newton_run:
        ptrdiff_t n_steps, n_reads
        int polished
    int c_newton_steps "IN_USE(newton_steps)"(
        const newton_problem *p, newton_point *points, newton_run *run)


cdef class Listener:
    """A Python function that is told of each point, and the error that it raised."""

    cdef object function, error


cdef int tell(void *listener, double gap, double objective, double length) noexcept with gil:
    me = <Listener>listener
    try:
        step = (length, "cholesky") if length > 0 else ()
        return bool(me.function(gap, objective, *step))
    except BaseException as error:
        me.error = error
        return 1


def newton_steps(RowView view, design, BoxView box, target_, state, rules, told):
    cdef Problems problems = Problems(view, 1)
    cdef Listener listener = Listener()
    cdef ptrdiff_t n = box.box.n, samples = problems.samples, k
    cdef double[:, ::1] vectors, kept
    cdef double[:, :, ::1] matrices
    cdef newton_problem p
    cdef newton_point points[2]
    cdef newton_run run
    cdef int status
    if not curvature_fits(&view.rows) or n == 0 or samples == 0:
        return None
    problems.aim(problems.each, target_)
    mean, scale, p.constant = design
    _check_length(n, view.rows.n_columns + p.constant, "box")
    p.mean = p.scale = NULL
    if mean is not None:
        p.mean = problems.read(mean, view.rows.n_columns, "mean")
    if scale is not None:
        p.scale = problems.read(scale, view.rows.n_columns, "scale")
    p.view, p.box, p.target = &view.rows, &box.box, problems.each.target
    p.goal, p.sharp, p.armijo, p.promised, p.most, p.straight = rules
    p.told, p.listener, listener.function = tell, <void *>listener, told
    arrays = [(np.empty((3, n)), np.empty((1, n, n)), np.empty((3, samples))) for _ in range(2)]
    for k in range(2):
        vectors, matrices, kept = arrays[k]
        points[k].state, points[k].coef = &vectors[0, 0], &vectors[1, 0]
        points[k].gradient, points[k].curvature = &vectors[2, 0], &matrices[0, 0, 0]
        points[k].functional_margins, points[k].log_margins = &kept[0, 0], &kept[1, 0]
        points[k].hessian_weights = &kept[2, 0]
    arrays[0][0][0] = state
    with nogil:
        status = c_newton_steps(&p, points, &run)
    check(status)
    if listener.error is not None:
        raise listener.error
    (state, coef, gradient), (curvature,), samples_ = arrays[run.n_steps % 2]
    at = points[0].value, points[0].entropy, points[0].gap
    return state, coef, gradient, curvature, samples_, at, run.n_steps, run.n_reads, run.polished
