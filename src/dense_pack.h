/* Copies of dense rows in the order that another kernel wants, as doubles.
 *
 * Part of dense_kernels.h, which defines T, NAME, READ and LOAD.
 */

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
