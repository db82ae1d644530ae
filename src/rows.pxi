# Binding of rows as the compiled loops read them, part of _compiled.pyx.

cdef extern from "rows.h" nogil:
    ctypedef enum rows_kind:
        ROWS_SPARSE
        ROWS_MONOMIALS
    ctypedef struct products "struct monomials"
    ctypedef struct rows:
        rows_kind kind
        ptrdiff_t n_samples, n_columns
        int is_float
        const char *values
        ptrdiff_t row_stride, column_stride
        const double *centre
        const void *columns
        const void *starts
        int wide_columns, wide_starts
        ptrdiff_t n_entries
        const products *monomials
    void rows_choose_kind "IN_USE(rows_choose_kind)"(rows *view)
    ptrdiff_t row_start(const rows *view, ptrdiff_t row)

cdef extern from "monomials.h" nogil:
    ctypedef struct products "struct monomials":
        const rows *features
        const double *inverse_scale
        const int64_t *starts
        const int64_t *offsets
        ptrdiff_t degree, shift


cdef class RowView:
    """Where the numbers of some rows lie, checked once; keeps the arrays alive."""

    cdef rows rows
    cdef products products
    cdef Py_buffer buffer
    cdef object kept
    cdef int held

    def __dealloc__(self):
        if self.held:
            PyBuffer_Release(&self.buffer)

    @staticmethod
    def dense(values, centre=None):
        """Rows of a two-dimensional array of float32 or float64, any strides, read-only too."""
        cdef RowView view = RowView()
        cdef const double[::1] middle
        if values.dtype.char not in "fd" or not values.dtype.isnative or values.ndim != 2:
            raise TypeError("rows are two-dimensional arrays of native float32 or float64")
        PyObject_GetBuffer(values, &view.buffer, PyBUF_STRIDES)
        view.held = 1
        view.rows.is_float = values.dtype.char == "f"
        view.rows.values = <const char *>view.buffer.buf
        view.rows.n_samples, view.rows.n_columns = view.buffer.shape[0], view.buffer.shape[1]
        view.rows.row_stride, view.rows.column_stride = view.buffer.strides[0], view.buffer.strides[1]
        if centre is not None:
            middle = centre
            _check_length(middle.shape[0], view.rows.n_columns, "centre")
            if middle.shape[0] > 0:
                view.rows.centre = &middle[0]
        rows_choose_kind(&view.rows)
        view.kept = (values, centre)
        return view

    @staticmethod
    def sparse(values, columns, starts, n_columns):
        """Compressed sparse rows. The caller has checked that all columns are in range."""
        cdef RowView view = RowView()
        cdef const char[::1] value_bytes, column_bytes, start_bytes
        for array, codes in ((values, "fd"), (columns, "ilq"), (starts, "ilq")):
            if array.dtype.char not in codes or not array.dtype.isnative or array.ndim != 1:
                raise TypeError("CSR parts are native float32 or float64, int32 or int64 vectors")
            if not (array.flags.c_contiguous and array.flags.aligned):
                raise TypeError("CSR parts are contiguous and aligned")
        view.rows.kind = ROWS_SPARSE
        view.rows.is_float = values.dtype.char == "f"
        view.rows.wide_columns = columns.dtype.itemsize == 8
        view.rows.wide_starts = starts.dtype.itemsize == 8
        view.rows.n_samples, view.rows.n_columns = len(starts) - 1, n_columns
        value_bytes, column_bytes = values.view(np.int8), columns.view(np.int8)
        start_bytes = starts.view(np.int8)
        if value_bytes.shape[0] > 0:
            view.rows.values = &value_bytes[0]
            view.rows.columns = &column_bytes[0]
        view.rows.starts = &start_bytes[0]
        view.rows.n_entries = row_start(&view.rows, view.rows.n_samples)
        if view.rows.n_entries > min(len(values), len(columns)):
            raise ValueError("the CSR row starts pass the end of the entries")
        view.kept = (values, columns, starts)
        return view

    @staticmethod
    def monomials(RowView features, starts, offsets, shift, factor=None):
        """Products of up to ``len(starts) >= 2`` dense features (rows/listing.py)."""
        cdef RowView view = RowView()
        cdef const int64_t[:, ::1] begin = np.ascontiguousarray(starts, dtype=np.int64)
        cdef const int64_t[::1] degrees = np.ascontiguousarray(offsets, dtype=np.int64)
        cdef const double[::1] scale
        if features.rows.kind in (ROWS_SPARSE, ROWS_MONOMIALS) or begin.shape[0] < 2:
            raise TypeError("monomials need dense features and a degree of at least 2")
        _check_length(begin.shape[1], features.rows.n_columns + 1, "starts")
        _check_length(degrees.shape[0], begin.shape[0] + 1, "offsets")
        view.rows.kind = ROWS_MONOMIALS
        view.rows.n_samples = features.rows.n_samples
        view.rows.n_columns = degrees[begin.shape[0]]
        view.products.features = &features.rows
        view.products.starts, view.products.offsets = &begin[0, 0], &degrees[0]
        view.products.degree, view.products.shift = begin.shape[0], shift
        if factor is not None:
            scale = factor
            _check_length(scale.shape[0], features.rows.n_columns, "factor")
            view.products.inverse_scale = &scale[0]
        view.rows.monomials = &view.products
        view.kept = (features, begin.base, degrees.base, factor)
        return view
