/* The loops over dense blocks, for one type of number.
 *
 * Include with T (the type) and NAME (a suffix for functions) defined. `centred` is a constant
 * wherever the inline functions are called, so that each combination is compiled by itself.
 */
#include "cpu.h"
#include "quad.h"

/* Numbers of a cache line. */
#define LINE ((ptrdiff_t)(64 / sizeof(T)))

/* x_rj minus the column's centre, in double. */
#define READ(a, j) ((double)(a)[j] - (centred ? centre[j] : 0.0))

/* Bytes to the rows to ask for: the next block's, or none where rows are so short that the
 * processor, which foresees reads within a page of memory, does better alone. */
static ALWAYS_INLINE ptrdiff_t NAME(rows_ahead)(const block *b)
{
    ptrdiff_t row = b->rows->n_columns * (ptrdiff_t)sizeof(T);
    return row < 2048 ? 0 : b->count * b->stride * (ptrdiff_t)sizeof(T);
}

#define QUAD_LOAD NAME(quad_load)
#define LOAD(a, j)                                                                               \
    (centred ? quad_minus(QUAD_LOAD((a) + (j)), quad_load_double(centre + (j)))                  \
             : QUAD_LOAD((a) + (j)))

/* Products of four rows with coef: each coefficient is loaded once for the four. `last` holds
 * those of the columns that whole quads leave over, in the places they have in a row's last quad.
 * Meanwhile half of the rows `ahead` is asked for, and by add4 the other half: memory is busy all
 * the time, though each block is read twice. */
static ALWAYS_INLINE void NAME(dot4)(const T *restrict a, ptrdiff_t stride, ptrdiff_t n,
                                     const double *restrict coef, quad last,
                                     const double *restrict centre, int centred, ptrdiff_t ahead,
                                     double *restrict out)
{
    const T *restrict a1 = a + stride, *restrict a2 = a1 + stride, *restrict a3 = a2 + stride;
    quad s0 = quad_all(0), s1 = s0, s2 = s0, s3 = s0, t0 = s0, t1 = s0, t2 = s0, t3 = s0;
    ptrdiff_t j = 0;
    for (; j + 8 <= n; j += 8) {
        if (ahead && j % LINE == 0) {
            PREFETCH(a + j, ahead);
            PREFETCH(a1 + j, ahead);
        }
        quad c = quad_load_double(coef + j), d = quad_load_double(coef + j + 4);
        s0 = quad_add_product(s0, LOAD(a, j), c);
        s1 = quad_add_product(s1, LOAD(a1, j), c);
        s2 = quad_add_product(s2, LOAD(a2, j), c);
        s3 = quad_add_product(s3, LOAD(a3, j), c);
        t0 = quad_add_product(t0, LOAD(a, j + 4), d);
        t1 = quad_add_product(t1, LOAD(a1, j + 4), d);
        t2 = quad_add_product(t2, LOAD(a2, j + 4), d);
        t3 = quad_add_product(t3, LOAD(a3, j + 4), d);
    }
    if (j + 4 <= n) {
        quad c = quad_load_double(coef + j);
        s0 = quad_add_product(s0, LOAD(a, j), c);
        s1 = quad_add_product(s1, LOAD(a1, j), c);
        s2 = quad_add_product(s2, LOAD(a2, j), c);
        s3 = quad_add_product(s3, LOAD(a3, j), c);
        j += 4;
    }
    if (j < n) {
        t0 = quad_add_product(t0, LOAD(a, n - 4), last);
        t1 = quad_add_product(t1, LOAD(a1, n - 4), last);
        t2 = quad_add_product(t2, LOAD(a2, n - 4), last);
        t3 = quad_add_product(t3, LOAD(a3, n - 4), last);
    }
    s0 = quad_plus(s0, t0), s1 = quad_plus(s1, t1);
    s2 = quad_plus(s2, t2), s3 = quad_plus(s3, t3);
    quad_transpose(&s0, &s1, &s2, &s3);
    s0 = quad_plus(quad_plus(s0, s1), quad_plus(s2, s3));
    quad_store(out, quad_plus(s0, quad_all(coef[n])));
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
    ptrdiff_t ahead = NAME(rows_ahead)(b);
    double last[4] = {0, 0, 0, 0};
    for (ptrdiff_t j = n / 4 * 4; j < n; j++) last[j - (n - 4)] = coef[j];
    /* a block of narrow rows is small: all of the next is asked for at once, then this one gives
     * work to the arithmetic while it comes */
    ptrdiff_t numbers = n * (ptrdiff_t)sizeof(T) <= NARROW_BYTES ? b->count * b->stride : 0;
    for (ptrdiff_t j = 0; j < numbers; j += LINE)
        PREFETCH(a + j, numbers * (ptrdiff_t)sizeof(T));
    for (; i + 4 <= b->count; i += 4)
        NAME(dot4)(a + i * b->stride, b->stride, n, coef, quad_load_double(last), b->centre,
                   centred, ahead, out + i);
    for (; i < b->count; i++)
        out[i] = NAME(dot1)(a + i * b->stride, n, coef, b->centre, centred);
}

/* Four rows into the gradient: for rows so wide that a block has few of them. */
static ALWAYS_INLINE void NAME(add4)(const T *restrict a, ptrdiff_t stride, ptrdiff_t n,
                                     const double *restrict pull, const double *restrict centre,
                                     int centred, ptrdiff_t ahead, double *restrict gradient)
{
    const T *restrict a1 = a + stride, *restrict a2 = a1 + stride, *restrict a3 = a2 + stride;
    quad p0 = quad_all(pull[0]), p1 = quad_all(pull[1]);
    quad p2 = quad_all(pull[2]), p3 = quad_all(pull[3]);
    ptrdiff_t j = 0;
    for (; j + 4 <= n; j += 4) {
        if (ahead && j % LINE == 0) {
            PREFETCH(a2 + j, ahead);
            PREFETCH(a3 + j, ahead);
        }
        quad g = quad_load_double(gradient + j);
        g = quad_add_product(g, LOAD(a, j), p0);
        g = quad_add_product(g, LOAD(a1, j), p1);
        g = quad_add_product(g, LOAD(a2, j), p2);
        g = quad_add_product(g, LOAD(a3, j), p3);
        quad_store(gradient + j, g);
    }
    for (; j < n; j++)
        gradient[j] += (READ(a, j) * pull[0] + READ(a1, j) * pull[1])
                     + (READ(a2, j) * pull[2] + READ(a3, j) * pull[3]);
}

/* All rows into up to four quads of columns, the sums in registers: for narrower rows. A quad
 * begins at most at n - 4, so that a row's last may overlap the one before. Two rows at a time,
 * for additions take longer than loads. */
static ALWAYS_INLINE void NAME(add_strip)(const T *restrict a, ptrdiff_t stride, ptrdiff_t count,
                                          ptrdiff_t n, ptrdiff_t first, int quads,
                                          const double *restrict pull,
                                          const double *restrict centre, int centred,
                                          double *restrict gradient)
{
    ptrdiff_t j0 = first, j1 = first + 4, j2 = first + 8, j3 = first + 12, i = 0;
    ptrdiff_t end = n - 4, last = first + 4 * (quads - 1);
    if (quads == 1) j0 = last > end ? end : last;
    if (quads == 2) j1 = last > end ? end : last;
    if (quads == 3) j2 = last > end ? end : last;
    if (quads == 4) j3 = last > end ? end : last;
    quad s0 = quad_all(0), s1 = s0, s2 = s0, s3 = s0, t0 = s0, t1 = s0, t2 = s0, t3 = s0;
    for (; i + 2 <= count; i += 2) {
        const T *restrict x = a + i * stride, *restrict y = x + stride;
        quad p = quad_all(pull[i]), q = quad_all(pull[i + 1]);
        s0 = quad_add_product(s0, LOAD(x, j0), p);
        t0 = quad_add_product(t0, LOAD(y, j0), q);
        if (quads > 1) s1 = quad_add_product(s1, LOAD(x, j1), p);
        if (quads > 1) t1 = quad_add_product(t1, LOAD(y, j1), q);
        if (quads > 2) s2 = quad_add_product(s2, LOAD(x, j2), p);
        if (quads > 2) t2 = quad_add_product(t2, LOAD(y, j2), q);
        if (quads > 3) s3 = quad_add_product(s3, LOAD(x, j3), p);
        if (quads > 3) t3 = quad_add_product(t3, LOAD(y, j3), q);
    }
    if (i < count) {
        const T *restrict x = a + i * stride;
        quad p = quad_all(pull[i]);
        s0 = quad_add_product(s0, LOAD(x, j0), p);
        if (quads > 1) s1 = quad_add_product(s1, LOAD(x, j1), p);
        if (quads > 2) s2 = quad_add_product(s2, LOAD(x, j2), p);
        if (quads > 3) s3 = quad_add_product(s3, LOAD(x, j3), p);
    }
    double sums[16];
    quad_store(sums, quad_plus(s0, t0));
    quad_store(sums + 4, quad_plus(s1, t1));
    quad_store(sums + 8, quad_plus(s2, t2));
    quad_store(sums + 12, quad_plus(s3, t3));
    ptrdiff_t shift = last > end ? last - end : 0; /* places of the last that overlap */
    for (ptrdiff_t k = 0; k < 4 * (quads - 1); k++) gradient[first + k] += sums[k];
    for (ptrdiff_t k = shift; k < 4; k++)
        gradient[last - shift + k] += sums[4 * (quads - 1) + k];
}

static ALWAYS_INLINE void NAME(add_strips)(const block *b, const double *pull, int centred,
                                           double *gradient)
{
    const T *a = (const T *)b->values;
    ptrdiff_t n = b->rows->n_columns, stride = b->stride, count = b->count, j = 0;
#define STRIP(quads)                                                                             \
    NAME(add_strip)(a, stride, count, n, j, quads, pull, b->centre, centred, gradient)
    for (; j + 12 < n; j += 16) STRIP(4);
    if (j + 8 < n) STRIP(3);
    else if (j + 4 < n) STRIP(2);
    else if (j < n) STRIP(1);
#undef STRIP
}

static ALWAYS_INLINE void NAME(add_rows)(const block *b, const double *pull, int centred,
                                         double *gradient)
{
    const T *a = (const T *)b->values;
    const double *restrict centre = b->centre;
    ptrdiff_t n = b->rows->n_columns, i = 0;
    ptrdiff_t ahead = NAME(rows_ahead)(b);
    if (!ahead) {
        NAME(add_strips)(b, pull, centred, gradient);
        return;
    }
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
        quad d0 = quad_all(c0), d1 = quad_all(c1), d2 = quad_all(c2), d3 = quad_all(c3);
        quad n0 = quad_all(m0), n1 = quad_all(m1), n2 = quad_all(m2), n3 = quad_all(m3);
        ptrdiff_t i = 0;
        for (; i + 4 <= count; i += 4) {
            quad s = quad_load_double(out + i);
            s = quad_add_product(s, quad_minus(QUAD_LOAD(x0 + i), n0), d0);
            s = quad_add_product(s, quad_minus(QUAD_LOAD(x1 + i), n1), d1);
            s = quad_add_product(s, quad_minus(QUAD_LOAD(x2 + i), n2), d2);
            s = quad_add_product(s, quad_minus(QUAD_LOAD(x3 + i), n3), d3);
            quad_store(out + i, s);
        }
        for (; i < count; i++)
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
        quad n0 = quad_all(m0), n1 = quad_all(m1), n2 = quad_all(m2), n3 = quad_all(m3);
        quad q0 = quad_all(0), q1 = q0, q2 = q0, q3 = q0;
        ptrdiff_t i = 0;
        for (; i + 4 <= count; i += 4) {
            quad p = quad_load_double(pull + i);
            q0 = quad_add_product(q0, quad_minus(QUAD_LOAD(x0 + i), n0), p);
            q1 = quad_add_product(q1, quad_minus(QUAD_LOAD(x1 + i), n1), p);
            q2 = quad_add_product(q2, quad_minus(QUAD_LOAD(x2 + i), n2), p);
            q3 = quad_add_product(q3, quad_minus(QUAD_LOAD(x3 + i), n3), p);
        }
        s0 = quad_sum(q0), s1 = quad_sum(q1), s2 = quad_sum(q2), s3 = quad_sum(q3);
        for (; i < count; i++) {
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

/* out[j * ld + i] = z_ij, byte by byte, so that any stride and alignment will do. */
static ALWAYS_INLINE void NAME(pack_any)(const char *first, ptrdiff_t row_stride,
                                         ptrdiff_t column_stride, ptrdiff_t count, ptrdiff_t n,
                                         const double *centre, double *restrict out, ptrdiff_t ld)
{
    for (ptrdiff_t i = 0; i < count; i++)
        for (ptrdiff_t j = 0; j < n; j++) {
            T value;
            memcpy(&value, first + i * row_stride + j * column_stride, sizeof value);
            out[j * ld + i] = (double)value - (centre ? centre[j] : 0.0);
        }
}

/* Columns j, ..., j + 3 of four rows, turned. */
static ALWAYS_INLINE void NAME(pack_square)(const T *a, ptrdiff_t stride, ptrdiff_t j,
                                            const double *restrict centre, int centred,
                                            double *restrict out, ptrdiff_t ld)
{
    quad r0 = LOAD(a, j), r1 = LOAD(a + stride, j);
    quad r2 = LOAD(a + 2 * stride, j), r3 = LOAD(a + 3 * stride, j);
    quad_transpose(&r0, &r1, &r2, &r3);
    quad_store(out + j * ld, r0);
    quad_store(out + (j + 1) * ld, r1);
    quad_store(out + (j + 2) * ld, r2);
    quad_store(out + (j + 3) * ld, r3);
}

/* The same for rows whose numbers lie side by side, in squares of four by four; the last square
 * of a row lies partly on the one before it. */
static ALWAYS_INLINE void NAME(pack_rows)(const T *a, ptrdiff_t stride, ptrdiff_t count,
                                          ptrdiff_t n, const double *centre, int centred,
                                          double *restrict out, ptrdiff_t ld)
{
    ptrdiff_t whole = n < 4 ? 0 : count / 4 * 4;
    for (ptrdiff_t i = 0; i < whole; i += 4) {
        const T *x = a + i * stride;
        ptrdiff_t j = 0;
        for (; j + 4 <= n; j += 4) NAME(pack_square)(x, stride, j, centre, centred, out + i, ld);
        if (j < n) NAME(pack_square)(x, stride, n - 4, centre, centred, out + i, ld);
    }
    for (ptrdiff_t i = whole; i < count; i++)
        for (ptrdiff_t j = 0; j < n; j++) out[j * ld + i] = READ(a + i * stride, j);
}

CLONES static void NAME(dense_pack)(const rows *view, ptrdiff_t start, ptrdiff_t count,
                                    double *out, ptrdiff_t ld)
{
    const char *first = view->values + start * view->row_stride;
    ptrdiff_t n = view->n_columns, size = (ptrdiff_t)sizeof(T);
    if (view->column_stride != size || view->row_stride % size != 0
        || (uintptr_t)first % sizeof(T) != 0)
        NAME(pack_any)(first, view->row_stride, view->column_stride, count, n, view->centre, out,
                       ld);
    else if (view->centre)
        NAME(pack_rows)((const T *)first, view->row_stride / size, count, n, view->centre, 1, out,
                        ld);
    else
        NAME(pack_rows)((const T *)first, view->row_stride / size, count, n, NULL, 0, out, ld);
}

/* out[i * ld + j] = z_ij. */
CLONES static void NAME(dense_copy)(const rows *view, ptrdiff_t start, ptrdiff_t count,
                                    double *restrict out, ptrdiff_t ld)
{
    const char *first = view->values + start * view->row_stride;
    for (ptrdiff_t i = 0; i < count; i++)
        for (ptrdiff_t j = 0; j < view->n_columns; j++) {
            T value;
            memcpy(&value, first + i * view->row_stride + j * view->column_stride, sizeof value);
            out[i * ld + j] = (double)value - (view->centre ? view->centre[j] : 0.0);
        }
}

CLONES static void NAME(dense_squares)(const block *b, const double *restrict share,
                                       const double *restrict mean, double *restrict squares,
                                       double *restrict drift)
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
                drift[j] += q * z;
            }
        }
        return;
    }
    for (ptrdiff_t j = 0; j < n; j++) {
        const T *restrict x = a + j * b->stride;
        double m = centre ? centre[j] : 0.0, middle = mean[j], s = 0, d = 0;
#pragma omp simd reduction(+ : s, d)
        for (ptrdiff_t i = 0; i < b->count; i++) {
            double z = (double)x[i] - m - middle;
            s += share[i] * z * z;
            d += share[i] * z;
        }
        squares[j] += s;
        drift[j] += d;
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
#undef LOAD
#undef QUAD_LOAD
#undef LINE
