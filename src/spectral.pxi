# Binding of the spectral iteration, part of _compiled.pyx: one call that leaves the interpreter
# alone until it ends, but for a look at the signals now and then (threads.h).

cdef extern from "dual.h" nogil:
    ctypedef struct dual_problem:
        const rows *rows
        const double *mean
        const double *scale
        int constant
        const int8_t *sign
        const double *weights
        const double *offset
        int one_sign, one_weight, one_offset
        loss loss
        c_box box
        int n_threads


cdef extern from "spectral.h" nogil:
    ctypedef enum spectral_status:
        SPECTRAL_CONVERGED
        SPECTRAL_MAX_ITER
        SPECTRAL_PRECISION
        SPECTRAL_INTERRUPTED
        SPECTRAL_ABANDONED
        SPECTRAL_NO_MEMORY
    enum:
        SPECTRAL_FIGURES
        SPECTRAL_MEMORY
    ctypedef struct spectral_rule:
        int adaptive, memory
        double first, goal_gap, goal_norm
        long long max_iter
    ctypedef struct spectral_callback:
        void *self
        int (*call)(void *self, const double *figures) noexcept nogil
    ctypedef struct spectral_result:
        long long n_iter
        double n_reads, gap, objective, gradient_norm
        ptrdiff_t n_recorded
    spectral_status spectral_iterate "IN_USE(spectral_iterate)"(
        const dual_problem *problem, double *scaled_multipliers, double *tau,
        double *primal_residual,
        const spectral_rule *rule, spectral_callback callback, double *record, ptrdiff_t capacity,
        spectral_result *result)


cdef class Caller:
    """A callback of Python's, and the exception with which it ended the iteration."""

    cdef object callback, error

    def __cinit__(self, callback):
        self.callback = callback


cdef int call_python(void *caller, const double *figures) noexcept with gil:
    try:
        told = [figures[k] for k in range(SPECTRAL_FIGURES - 1)]
        return 1 if (<Caller>caller).callback(*told) else 0
    except BaseException as error:
        (<Caller>caller).error = error
        return -1


def iterate(
    RowView view not None, design, target, box, double[::1] scaled_multipliers not None,
    double[::1] tau not None, double[::1] primal_residual not None, rule, *, double goal_gap,
    double goal_norm, long long max_iter, double[:, ::1] record not None, int n_threads=1, callback=None,
):
    """The spectral iteration on the rows of a view."""
    cdef const double[::1] mean = design.mean, scale = design.scale
    cdef const int8_t[::1] sign = target.sign
    cdef const double[::1] weights = target.weights, offset = target.offset
    cdef const double[::1] lower = box.lower, upper = box.upper
    cdef const double[::1] centre = box.centre, half_width = box.half_width
    cdef ptrdiff_t m = view.rows.n_samples, n = design.n_features
    if scaled_multipliers.shape[0] != m or primal_residual.shape[0] != m or tau.shape[0] != n:
        raise ValueError("scaled_multipliers, primal_residual and tau must fit the design.")
    for length in (len(sign), len(weights), len(offset)):
        if length not in (1, m):
            raise ValueError("sign, weights and offset must have one number a sample, or one.")
    for length in (len(lower), len(upper), len(centre), len(half_width)):
        if length != n:
            raise ValueError("the box must have one interval a column of the design.")
    if n != view.rows.n_columns + bool(design.constant):
        raise ValueError("the design must have the columns of its rows.")
    for part in (design.mean, design.scale):
        if part is not None and len(part) != view.rows.n_columns:
            raise ValueError("mean and scale must have one number a column.")
    if record.shape[1] != SPECTRAL_FIGURES or not 1 <= rule.memory <= SPECTRAL_MEMORY:
        raise ValueError("record or rule has the wrong size.")
    cdef dual_problem problem
    problem.rows = &view.rows
    problem.mean, problem.scale = address(mean), address(scale)
    problem.constant = design.constant
    problem.sign, problem.one_sign = &sign[0], sign.shape[0] == 1
    problem.weights, problem.one_weight = &weights[0], weights.shape[0] == 1
    problem.offset, problem.one_offset = &offset[0], offset.shape[0] == 1
    problem.loss = loss_of(target.loss.slack, target.loss.inequality)
    problem.box.n, problem.box.entropy_weight = n, box.entropy_weight
    problem.box.lower, problem.box.upper = &lower[0], &upper[0]
    problem.box.centre, problem.box.half_width = &centre[0], &half_width[0]
    problem.n_threads = usable(n_threads)
    cdef spectral_rule chosen
    chosen.adaptive, chosen.memory, chosen.first = rule.adaptive, rule.memory, rule.first
    chosen.goal_gap, chosen.goal_norm, chosen.max_iter = goal_gap, goal_norm, max_iter
    cdef Caller caller = Caller(callback)
    cdef spectral_callback called
    called.self = <void *>caller
    called.call = NULL
    if callback is not None:
        called.call = call_python
    cdef spectral_result result
    cdef spectral_status status
    with nogil:
        status = spectral_iterate(
            &problem, &scaled_multipliers[0], &tau[0], &primal_residual[0], &chosen, called,
            &record[0, 0], record.shape[0], &result)
    check(-1 if status == SPECTRAL_NO_MEMORY else 0)
    if caller.error is not None:
        raise caller.error
    return dict(
        status={
            SPECTRAL_CONVERGED: "converged",
            SPECTRAL_MAX_ITER: "max_iter",
            SPECTRAL_PRECISION: "precision",
            SPECTRAL_INTERRUPTED: "interrupted",
        }[status],
        n_iter=result.n_iter,
        n_reads=result.n_reads,
        gap=result.gap,
        objective=result.objective,
        gradient_norm=result.gradient_norm,
        n_recorded=result.n_recorded,
    )
