/* The loops over dense blocks, for one type of number.
 *
 * Include with T (the type) and NAME (a suffix for functions) defined. `centred` is a constant
 * wherever the inline functions are called, so that each combination is compiled by itself.
 */
#include "cpu.h"

/* Numbers of a cache line. */
#define LINE ((ptrdiff_t)(64 / sizeof(T)))

/* x_rj minus the column's centre, in double. */
#define READ(a, j) ((double)(a)[j] - (centred ? centre[j] : 0.0))

/* Products of four rows with coef: each coefficient is loaded once for the four. */
static ALWAYS_INLINE void NAME(dot4)(const T *restrict a, ptrdiff_t stride, ptrdiff_t n,
                                     const double *restrict coef, const double *restrict centre,
                                     int centred, double *restrict out)
{
    const T *restrict a1 = a + stride, *restrict a2 = a1 + stride, *restrict a3 = a2 + stride;
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
    for (ptrdiff_t j = 0; j < n; j++) {
        double c = coef[j];
        s0 += READ(a, j) * c;
        s1 += READ(a1, j) * c;
        s2 += READ(a2, j) * c;
        s3 += READ(a3, j) * c;
    }
    out[0] = s0 + coef[n];
    out[1] = s1 + coef[n];
    out[2] = s2 + coef[n];
    out[3] = s3 + coef[n];
}

static ALWAYS_INLINE double NAME(dot1)(const T *restrict a, ptrdiff_t n,
                                       const double *restrict coef,
                                       const double *restrict centre, int centred)
{
    double s = 0;
#pragma omp simd reduction(+ : s)
    for (ptrdiff_t j = 0; j < n; j++) s += READ(a, j) * coef[j];
    return s + coef[n];
}

static ALWAYS_INLINE void NAME(dot_rows)(const block *b, const double *coef, int centred,
                                         double *out)
{
    const T *a = (const T *)b->values;
    ptrdiff_t n = b->rows->n_columns, i = 0;
    for (; i + 4 <= b->count; i += 4)
        NAME(dot4)(a + i * b->stride, b->stride, n, coef, b->centre, centred, out + i);
    for (; i < b->count; i++)
        out[i] = NAME(dot1)(a + i * b->stride, n, coef, b->centre, centred);
}

/* Four rows into the gradient. The line-by-line outer loop asks for the rows `ahead`, so that
 * memory is busy while the block is added from cache. */
static ALWAYS_INLINE void NAME(add4)(const T *restrict a, ptrdiff_t stride, ptrdiff_t n,
                                     const double *restrict pull, const double *restrict centre,
                                     int centred, ptrdiff_t ahead, double *restrict gradient)
{
    const T *restrict a1 = a + stride, *restrict a2 = a1 + stride, *restrict a3 = a2 + stride;
    double p0 = pull[0], p1 = pull[1], p2 = pull[2], p3 = pull[3];
    for (ptrdiff_t first = 0; first < n; first += LINE) {
        ptrdiff_t last = first + LINE < n ? first + LINE : n;
        PREFETCH(a + first, ahead);
        PREFETCH(a1 + first, ahead);
        PREFETCH(a2 + first, ahead);
        PREFETCH(a3 + first, ahead);
#pragma omp simd
        for (ptrdiff_t j = first; j < last; j++)
            gradient[j] += (READ(a, j) * p0 + READ(a1, j) * p1)
                         + (READ(a2, j) * p2 + READ(a3, j) * p3);
    }
}

static ALWAYS_INLINE void NAME(add_rows)(const block *b, const double *pull, int centred,
                                         double *gradient)
{
    const T *a = (const T *)b->values;
    const double *restrict centre = b->centre;
    ptrdiff_t n = b->rows->n_columns, i = 0;
    ptrdiff_t ahead = b->count * b->stride * (ptrdiff_t)sizeof(T);
    for (; i + 4 <= b->count; i += 4)
        NAME(add4)(a + i * b->stride, b->stride, n, pull + i, centre, centred, ahead, gradient);
    for (; i < b->count; i++) {
        const T *restrict row = a + i * b->stride;
        double p = pull[i];
#pragma omp simd
        for (ptrdiff_t j = 0; j < n; j++) gradient[j] += READ(row, j) * p;
    }
}

/* Four columns at a time: the products are read and written once for the four. */
static ALWAYS_INLINE void NAME(dot_columns)(const block *b, const double *coef, int centred,
                                            double *restrict out)
{
    const T *a = (const T *)b->values;
    const double *centre = b->centre;
    ptrdiff_t n = b->rows->n_columns, count = b->count, j = 0;
    for (ptrdiff_t i = 0; i < count; i++) out[i] = coef[n];
    for (; j + 4 <= n; j += 4) {
        const T *restrict x0 = a + j * b->stride, *restrict x1 = x0 + b->stride,
                *restrict x2 = x1 + b->stride, *restrict x3 = x2 + b->stride;
        double c0 = coef[j], c1 = coef[j + 1], c2 = coef[j + 2], c3 = coef[j + 3];
        double m0 = 0, m1 = 0, m2 = 0, m3 = 0;
        if (centred) m0 = centre[j], m1 = centre[j + 1], m2 = centre[j + 2], m3 = centre[j + 3];
#pragma omp simd
        for (ptrdiff_t i = 0; i < count; i++)
            out[i] += ((x0[i] - m0) * c0 + (x1[i] - m1) * c1)
                    + ((x2[i] - m2) * c2 + (x3[i] - m3) * c3);
    }
    for (; j < n; j++) {
        const T *restrict x = a + j * b->stride;
        double c = coef[j], m = centred ? centre[j] : 0.0;
#pragma omp simd
        for (ptrdiff_t i = 0; i < count; i++) out[i] += (x[i] - m) * c;
    }
}

static ALWAYS_INLINE void NAME(add_columns)(const block *b, const double *restrict pull,
                                            int centred, double *restrict gradient)
{
    const T *a = (const T *)b->values;
    const double *centre = b->centre;
    ptrdiff_t n = b->rows->n_columns, count = b->count, j = 0;
    for (; j + 4 <= n; j += 4) {
        const T *restrict x0 = a + j * b->stride, *restrict x1 = x0 + b->stride,
                *restrict x2 = x1 + b->stride, *restrict x3 = x2 + b->stride;
        double m0 = 0, m1 = 0, m2 = 0, m3 = 0, s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        if (centred) m0 = centre[j], m1 = centre[j + 1], m2 = centre[j + 2], m3 = centre[j + 3];
#pragma omp simd reduction(+ : s0, s1, s2, s3)
        for (ptrdiff_t i = 0; i < count; i++) {
            double p = pull[i];
            s0 += (x0[i] - m0) * p;
            s1 += (x1[i] - m1) * p;
            s2 += (x2[i] - m2) * p;
            s3 += (x3[i] - m3) * p;
        }
        gradient[j] += s0;
        gradient[j + 1] += s1;
        gradient[j + 2] += s2;
        gradient[j + 3] += s3;
    }
    for (; j < n; j++) {
        const T *restrict x = a + j * b->stride;
        double m = centred ? centre[j] : 0.0, s = 0;
#pragma omp simd reduction(+ : s)
        for (ptrdiff_t i = 0; i < count; i++) s += (x[i] - m) * pull[i];
        gradient[j] += s;
    }
}

CLONES static void NAME(dense_dot)(const block *b, const double *coef, double *out)
{
    if (b->kind == ROWS_CONTIGUOUS) {
        if (b->centre) NAME(dot_rows)(b, coef, 1, out);
        else NAME(dot_rows)(b, coef, 0, out);
    } else {
        if (b->centre) NAME(dot_columns)(b, coef, 1, out);
        else NAME(dot_columns)(b, coef, 0, out);
    }
}

CLONES static void NAME(dense_add)(const block *b, const double *pull, double *gradient)
{
    if (b->kind == ROWS_CONTIGUOUS) {
        if (b->centre) NAME(add_rows)(b, pull, 1, gradient);
        else NAME(add_rows)(b, pull, 0, gradient);
    } else {
        if (b->centre) NAME(add_columns)(b, pull, 1, gradient);
        else NAME(add_columns)(b, pull, 0, gradient);
    }
}

/* out[j * ld + i] = z_ij. Byte by byte, so that any stride and alignment will do. */
CLONES static void NAME(dense_pack)(const rows *view, ptrdiff_t start, ptrdiff_t count,
                                    double *restrict out, ptrdiff_t ld)
{
    ptrdiff_t n = view->n_columns;
    const char *first = view->values + start * view->row_stride;
    int by_rows = imaxabs(view->row_stride) >= imaxabs(view->column_stride);
    for (ptrdiff_t outer = 0; outer < (by_rows ? count : n); outer++) {
        for (ptrdiff_t inner = 0; inner < (by_rows ? n : count); inner++) {
            ptrdiff_t i = by_rows ? outer : inner, j = by_rows ? inner : outer;
            T value;
            memcpy(&value, first + i * view->row_stride + j * view->column_stride, sizeof value);
            out[j * ld + i] = (double)value - (view->centre ? view->centre[j] : 0.0);
        }
    }
}

CLONES static void NAME(dense_squares)(const block *b, const double *restrict share,
                                       const double *restrict mean, double *restrict squares)
{
    const T *a = (const T *)b->values;
    const double *centre = b->centre;
    ptrdiff_t n = b->rows->n_columns;
    if (b->kind == ROWS_CONTIGUOUS) {
        for (ptrdiff_t i = 0; i < b->count; i++) {
            const T *restrict row = a + i * b->stride;
            double q = share[i];
#pragma omp simd
            for (ptrdiff_t j = 0; j < n; j++) {
                double z = (double)row[j] - (centre ? centre[j] : 0.0) - mean[j];
                squares[j] += q * z * z;
            }
        }
        return;
    }
    for (ptrdiff_t j = 0; j < n; j++) {
        const T *restrict x = a + j * b->stride;
        double m = centre ? centre[j] : 0.0, middle = mean[j], s = 0;
#pragma omp simd reduction(+ : s)
        for (ptrdiff_t i = 0; i < b->count; i++) {
            double z = (double)x[i] - m - middle;
            s += share[i] * z * z;
        }
        squares[j] += s;
    }
}

/* strips[(j/4) depth 4 + (first + i) 4 + j%4] = scale_i z_ij. */
CLONES static void NAME(dense_pack_columns)(const block *b, const double *restrict scale,
                                            ptrdiff_t first, ptrdiff_t depth,
                                            double *restrict strips)
{
    const T *a = (const T *)b->values;
    const double *centre = b->centre;
    ptrdiff_t n = b->rows->n_columns;
    for (ptrdiff_t j = 0; j < n; j++) {
        double *restrict out = strips + (j / 4) * depth * 4 + first * 4 + j % 4;
        double m = centre ? centre[j] : 0.0;
        if (b->kind == ROWS_COLUMNS) {
            const T *restrict x = a + j * b->stride;
            for (ptrdiff_t i = 0; i < b->count; i++) out[4 * i] = (x[i] - m) * scale[i];
        } else if (j % 4 == 0 && j + 4 <= n) {
            double m0[4] = {m, 0, 0, 0};
            if (centre) memcpy(m0, centre + j, sizeof m0);
            for (ptrdiff_t i = 0; i < b->count; i++) {
                const T *restrict x = a + i * b->stride + j;
                for (int k = 0; k < 4; k++) out[4 * i + k] = (x[k] - m0[k]) * scale[i];
            }
            j += 3;
        } else {
            for (ptrdiff_t i = 0; i < b->count; i++)
                out[4 * i] = (a[i * b->stride + j] - m) * scale[i];
        }
    }
}

/* strips[(i/4) depth 4 + j 4 + i%4] = scale_(first + j) z_i(first + j), for `depth` columns. */
CLONES static void NAME(dense_pack_rows)(const block *b, const double *restrict scale,
                                         ptrdiff_t first, ptrdiff_t depth, ptrdiff_t ld,
                                         double *restrict strips)
{
    const T *a = (const T *)b->values;
    ptrdiff_t row = b->kind == ROWS_CONTIGUOUS ? b->stride : 1;
    ptrdiff_t column = b->kind == ROWS_CONTIGUOUS ? 1 : b->stride;
    for (ptrdiff_t i = 0; i < b->count; i++) {
        double *restrict out = strips + (i / 4) * ld * 4 + i % 4;
        for (ptrdiff_t j = first; j < first + depth; j++) {
            double z = (double)a[i * row + j * column] - (b->centre ? b->centre[j] : 0.0);
            out[4 * (j - first)] = z * scale[j];
        }
    }
}

#undef READ
#undef LINE
