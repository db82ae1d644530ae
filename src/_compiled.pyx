# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Bindings of the compiled sweeps. The numbers are made in C, without the interpreter.

What each function computes is said in kernels/numpy_sweeps.py, its twin of the same name. Rows
come as a :class:`RowView`.
"""

import os

import numpy as np
from scipy.linalg import cython_blas, cython_lapack

from cpython.exc cimport PyErr_CheckSignals
from cpython.buffer cimport PyBUF_STRIDES, PyBuffer_Release, PyObject_GetBuffer
from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer
from libc.stdint cimport int8_t, int64_t
from libc.stdlib cimport calloc, free

cdef extern from "levels.h" nogil:
    const char *level_name(int level)
    int level_supported(int level)
    void level_use(int level)

include "rows.pxi"

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

cdef extern from "blas.h" nogil:
    void blas_load(void *dsyrk, void *dgemm, void *dpotrf, void *dpotrs)

cdef extern from "curvature.h" nogil:
    int curvature_fits "IN_USE(curvature_fits)"(const rows *view)
    int sweep_gram "IN_USE(sweep_gram)"(
        const rows *view, const double *scale, int n_threads, double *out)
    ctypedef struct quadratic_form:
        const double *factor
        ptrdiff_t width
        const double *weights
        double *out
    void sweep_pairs "IN_USE(sweep_pairs)"(
        const rows *view, const quadratic_form *form, int n_threads)
    ctypedef struct cubic_form:
        const double *mean
        const double *scale
        const double *factor
        const double *squares
        double slope
        ptrdiff_t width
    int sweep_cubic_forms "IN_USE(sweep_cubic_forms)"(
        const rows *view, const cubic_form *form, int n_threads, double *out)
    int sweep_quadratic_forms "IN_USE(sweep_quadratic_forms)"(
        const rows *view, const quadratic_form *each, ptrdiff_t n_forms, int n_threads)

cdef extern from "threads.h" nogil:
    enum:
        MOST_THREADS
    void each_task(ptrdiff_t n_tasks, int n_threads,
                   void (*body)(void *work, ptrdiff_t task, int worker) noexcept nogil,
                   void *work)
    int chunks_stopped(int forget)
    void chunks_ask(int (*callback)() noexcept nogil)
    void threads_forget()

cdef void *routine(library, name, start) except NULL:
    """Address of a routine of SciPy's BLAS or LAPACK whose first arguments are of these types."""
    capsule = library.__pyx_capi__[name]
    cdef const char *signature = PyCapsule_GetName(capsule)
    if not signature.startswith(b"void (" + start):
        raise ImportError(f"SciPy has a {name} of other arguments: {signature.decode()}")
    return PyCapsule_GetPointer(capsule, signature)


blas_load(routine(cython_blas, "dsyrk", b"char *, char *, int *, int *, "),
          routine(cython_blas, "dgemm", b"char *, char *, int *, int *, int *, "),
          routine(cython_lapack, "dpotrf", b"char *, int *, "),
          routine(cython_lapack, "dpotrs", b"char *, int *, int *, "))

# What stopped the sweep of the main thread, the only one that signals come to.
cdef object stopped_by = None


cdef int signal_came() noexcept with gil:
    """Whether a signal such as Ctrl-C came in."""
    global stopped_by
    try:
        PyErr_CheckSignals()
    except BaseException as error:
        stopped_by = error
        return 1
    return 0


chunks_ask(signal_came)

# A quadratic form of sparse rows takes pairs of their entries where a row has, on average, fewer
# entries than the factor has columns by this factor: it allows for uneven rows and for gathering.
cdef ptrdiff_t FEW_ENTRIES = 8

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: threads_forget())


# What set_simd_level knows: the levels' numbers in levels.c, by name, best first.
cdef dict levels = {}
cdef int built = 0
while level_name(built) != NULL:
    if level_supported(built):
        levels[level_name(built).decode()] = built
    built += 1
cdef object level_in_use = None


def simd_levels():
    """The instruction sets that the kernels were built for and this machine has, best first."""
    return list(levels)


def simd_level():
    """The instruction set the kernels run at, one of ``simd_levels()``."""
    return level_in_use


def set_simd_level(name):
    """Run the kernels at another of ``simd_levels()`` from now on; not while a sweep runs."""
    global level_in_use
    level_use(levels[name])
    level_in_use = name


set_simd_level(simd_levels()[0])


cdef int usable(n_threads) except -1:
    return max(1, min(int(n_threads), MOST_THREADS))


cdef class Calls:
    """Calls of a Python function that threads share out."""

    cdef object function, error
    cdef list arguments, results


cdef void call(void *work, ptrdiff_t task, int worker) noexcept with gil:
    cdef Calls calls = <Calls>work
    try:
        if calls.error is None:
            calls.results[task] = calls.function(*calls.arguments[task])
    except BaseException as error:
        calls.error = error


def each_call(function, list arguments, n_threads):
    """``[function(*each) for each in arguments]``; the first error ends it and is raised."""
    cdef Calls calls = Calls()
    cdef ptrdiff_t count = len(arguments)
    cdef int threads = usable(n_threads)
    calls.function, calls.arguments, calls.results = function, arguments, [None] * count
    with nogil:
        each_task(count, threads, call, <void *>calls)
    check(0)
    if calls.error is not None:
        raise calls.error
    return calls.results


cdef int _check_length(ptrdiff_t length, ptrdiff_t expected, name) except -1:
    if length != expected:
        raise ValueError(f"{name} has {length} numbers; {expected} are needed")
    return 0


cdef int check(int status) except -1:
    """Raise what a sweep could not: that a signal ended it, or that memory was short."""
    global stopped_by
    if chunks_stopped(1):
        error, stopped_by = stopped_by, None
        raise error
    if status != 0:
        raise MemoryError("no memory for the work arrays of a sweep")
    return 0


cdef const double[::1] _vector(array, ptrdiff_t length, name):
    cdef const double[::1] vector = np.ascontiguousarray(array, dtype=np.float64)
    _check_length(vector.shape[0], length, name)
    return vector


cdef double *_filled(array, ptrdiff_t length, name) except? NULL:
    """Address of a per-sample array to be filled, or NULL."""
    cdef double[::1] vector
    if array is None or length == 0:
        return NULL
    vector = array
    _check_length(vector.shape[0], length, name)
    return &vector[0]


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


def gram(RowView view, scale, n_threads=1):
    cdef const double[::1] v = _vector(scale, view.rows.n_columns + 1, "scale")
    cdef double[:, ::1] out = np.empty((view.rows.n_samples, view.rows.n_samples))
    cdef int threads = usable(n_threads), status
    with nogil:
        status = sweep_gram(&view.rows, &v[0], threads, &out[0, 0])
    check(status)
    return out.base


def quadratic_forms_each(RowView view, list each, n_threads=1):
    cdef ptrdiff_t samples = view.rows.n_samples, size = view.rows.n_columns + 1, together = 0
    cdef double[:, ::1] out = np.empty((len(each), samples))
    cdef const double[:, ::1] matrix, lines
    cdef const double[::1] wanted
    cdef int threads = usable(n_threads), status = 0
    cdef quadratic_form *forms = <quadratic_form *>calloc(len(each) + 1, sizeof(quadratic_form))
    cdef quadratic_form *form
    cdef list kept = []
    if forms == NULL:
        raise MemoryError("no memory for the problems of a sweep")
    try:
        for k, (factor, weights) in enumerate(each):
            lines = np.ascontiguousarray(factor, dtype=np.float64)
            _check_length(lines.shape[0], size, "factor")
            form = forms + together
            form.factor, form.width, form.weights = &lines[0, 0], lines.shape[1], NULL
            form.out = &out[<ptrdiff_t>k, 0]
            if weights is not None:
                wanted = _vector(weights, samples, "weights")
                form.weights = address(wanted)
                kept.append(wanted)
            if (view.rows.kind == ROWS_SPARSE and size <= 4 * form.width
                    and FEW_ENTRIES * view.rows.n_entries < form.width * samples):
                matrix = np.dot(lines, np.transpose(lines))
                form.factor, form.width = &matrix[0, 0], size
                with nogil:
                    sweep_pairs(&view.rows, form, threads)
                check(0)
                continue
            kept.append(lines)
            together += 1
        if together:
            with nogil:
                status = sweep_quadratic_forms(&view.rows, forms, together, threads)
        check(status)
    finally:
        free(forms)
    return list(out.base)


def quadratic_forms(RowView view, factor, weights=None, n_threads=1):
    return quadratic_forms_each(view, [(factor, weights)], n_threads)[0]


def cubic_forms(RowView view, mean, scale, factor, squares, double slope, n_threads=1):
    cdef ptrdiff_t n = view.rows.n_columns, samples = view.rows.n_samples
    cdef const double[:, ::1] lines = np.ascontiguousarray(factor, dtype=np.float64)
    cdef const double[::1] middle = None if mean is None else _vector(mean, n, "mean")
    cdef const double[::1] deviation = _vector(scale, n, "scale")
    cdef const double[::1] each = _vector(squares, n, "squares")
    cdef double[::1] out = np.empty(samples)
    cdef int threads = usable(n_threads), status
    cdef cubic_form form
    if view.rows.kind == ROWS_SPARSE or n == 0 or samples == 0:
        return None
    _check_length(lines.shape[0], n + 1, "factor")
    if lines.shape[1] < n + 3:
        raise ValueError(f"factor has {lines.shape[1]} columns; {n + 3} are needed at least")
    form.mean, form.scale, form.squares = address(middle), &deviation[0], &each[0]
    form.factor, form.width, form.slope = &lines[0, 0], lines.shape[1], slope
    with nogil:
        status = sweep_cubic_forms(&view.rows, &form, threads, &out[0])
    check(status)
    return out.base


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


include "box.pxi"
include "left_out.pxi"
include "newton.pxi"
include "ranking.pxi"
include "samples.pxi"
include "spectral.pxi"
