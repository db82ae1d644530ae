# Binding of the ranking, part of _compiled.pyx; kernels/numpy_ranking.py says what is computed.

cdef extern from "ranking.h" nogil:
    ctypedef struct ranking_pools:
        int64_t *starts
        double *total
        double *good
        double *middle
    ptrdiff_t ranking_part(ptrdiff_t n, const double *scores, const int8_t *good, double *out)
    ptrdiff_t ranking_merge(
        const double *bad, ptrdiff_t n_bad, const double *good, ptrdiff_t n_good, double unit,
        double *values, double *bad_weight, double *good_weight)
    ptrdiff_t ranking_pool(
        ptrdiff_t n, const double *bad, const double *good, const ranking_pools *out)


def part_by_class(scores, positive):
    cdef const double[::1] each = np.ascontiguousarray(scores, dtype=np.float64)
    cdef const int8_t[::1] good = np.ascontiguousarray(positive, dtype=bool).view(np.int8)
    cdef double[::1] out = np.empty(each.shape[0])
    cdef ptrdiff_t n_bad = 0
    _check_length(good.shape[0], each.shape[0], "positive")
    if each.shape[0] > 0:
        with nogil:
            n_bad = ranking_part(each.shape[0], &each[0], &good[0], &out[0])
    return out.base, n_bad


def merge_classes(const double[::1] parted, ptrdiff_t n_bad, double unit):
    cdef ptrdiff_t n = parted.shape[0], count = 0
    cdef double[:, ::1] out = np.empty((3, n))
    if not 0 <= n_bad <= n:
        raise ValueError(f"of {n} scores {n_bad} cannot be of one class")
    if n > 0:
        with nogil:
            count = ranking_merge(&parted[0], n_bad, &parted[0] + n_bad, n - n_bad, unit,
                                  &out[0, 0], &out[1, 0], &out[2, 0])
    return tuple(out.base[:, :count])


def pools(const double[::1] bad, const double[::1] good):
    cdef ptrdiff_t n = bad.shape[0], count = 0
    cdef int64_t[::1] starts = np.empty(n, dtype=np.int64)
    cdef double[:, ::1] out = np.empty((3, n))
    cdef ranking_pools found
    _check_length(good.shape[0], n, "good")
    if n > 0:
        found.starts, found.total = &starts[0], &out[0, 0]
        found.good, found.middle = &out[1, 0], &out[2, 0]
        with nogil:
            count = ranking_pool(n, &bad[0], &good[0], &found)
    return starts.base[:count], out.base[0, :count], out.base[1, :count], out.base[2]
