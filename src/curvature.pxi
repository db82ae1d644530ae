# Binding of the forms that pair rows with each other or with factors, part of _compiled.pyx;
# kernels/numpy_sweeps.py says what they are.

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

# A quadratic form of sparse rows takes pairs of their entries where a row has, on average, fewer
# entries than the factor has columns by this factor: it allows for uneven rows and for gathering.
cdef ptrdiff_t FEW_ENTRIES = 8


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
