# Arrays as C reads and fills them, of the right lengths, part of _compiled.pyx.

cdef int _check_length(ptrdiff_t length, ptrdiff_t expected, name) except -1:
    if length != expected:
        raise ValueError(f"{name} has {length} numbers; {expected} are needed")
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


cdef const double *address(const double[::1] array) noexcept nogil:
    return &array[0] if array is not None and array.shape[0] > 0 else NULL
