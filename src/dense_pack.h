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
    vec4 r0 = LOAD(a, j), r1 = LOAD(a + stride, j);
    vec4 r2 = LOAD(a + 2 * stride, j), r3 = LOAD(a + 3 * stride, j);
    vec4_transpose(&r0, &r1, &r2, &r3);
    vec4_store(out + j * ld, r0);
    vec4_store(out + (j + 1) * ld, r1);
    vec4_store(out + (j + 2) * ld, r2);
    vec4_store(out + (j + 3) * ld, r3);
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

static void NAME(dense_pack)(const rows *view, ptrdiff_t start, ptrdiff_t count,
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

/* Rows of a part, whose numbers lie side by side. */
static ALWAYS_INLINE void NAME(copy_rows)(const T *a, ptrdiff_t stride, const submatrix *p,
                                          const double *centre, int centred,
                                          double *restrict out, ptrdiff_t ld)
{
    for (ptrdiff_t i = 0; i < p->n_rows; i++) {
        const T *restrict x = a + i * stride;
        double *restrict to = out + i * ld, r = p->row_scale ? p->row_scale[i] : 1.0;
#pragma omp simd
        for (ptrdiff_t j = 0; j < p->n_columns; j++) to[j] = READ(x, j) * r;
    }
}

/* Columns of a part, whose numbers lie side by side, turned in squares of four by four. */
static ALWAYS_INLINE void NAME(copy_columns)(const T *a, ptrdiff_t stride, const submatrix *p,
                                             const double *centre, int centred,
                                             double *restrict out, ptrdiff_t ld)
{
    ptrdiff_t whole_rows = p->n_rows / 4 * 4, whole_columns = p->n_columns / 4 * 4;
    const double *row_scale = p->row_scale;
    for (ptrdiff_t j = 0; j < whole_columns; j += 4)
        for (ptrdiff_t i = 0; i < whole_rows; i += 4) {
            const T *x = a + j * stride + i;
            vec4 r[4] = {VEC4_LOAD(x), VEC4_LOAD(x + stride), VEC4_LOAD(x + 2 * stride),
                         VEC4_LOAD(x + 3 * stride)};
            vec4_transpose(&r[0], &r[1], &r[2], &r[3]);
            for (int k = 0; k < 4; k++) {
                if (centred) r[k] = vec4_minus(r[k], vec4_load_double(centre + j));
                if (row_scale) r[k] = vec4_times(r[k], vec4_all(row_scale[i + k]));
                vec4_store(out + (i + k) * ld + j, r[k]);
            }
        }
    for (ptrdiff_t i = 0; i < p->n_rows; i++)
        for (ptrdiff_t j = i < whole_rows ? whole_columns : 0; j < p->n_columns; j++)
            out[i * ld + j] = ((double)a[j * stride + i] - (centred ? centre[j] : 0.0))
                            * (row_scale ? row_scale[i] : 1.0);
}

/* out[i * ld + j] = row_scale_i z_ij for a part of the rows from `start` on. */
static void NAME(dense_copy)(const rows *view, ptrdiff_t start, const submatrix *p,
                                    double *restrict out, ptrdiff_t ld)
{
    ptrdiff_t down = view->row_stride, right = view->column_stride, size = (ptrdiff_t)sizeof(T);
    const char *first = view->values + (start + p->row) * down + p->column * right;
    const double *centre = view->centre ? view->centre + p->column : NULL;
    const T *a = (const T *)first;
    int whole = (uintptr_t)first % sizeof(T) == 0;
    if (whole && right == size && down % size == 0) {
        if (centre) NAME(copy_rows)(a, down / size, p, centre, 1, out, ld);
        else NAME(copy_rows)(a, down / size, p, NULL, 0, out, ld);
    } else if (whole && down == size && right % size == 0) {
        if (centre) NAME(copy_columns)(a, right / size, p, centre, 1, out, ld);
        else NAME(copy_columns)(a, right / size, p, NULL, 0, out, ld);
    } else {
        for (ptrdiff_t i = 0; i < p->n_rows; i++)
            for (ptrdiff_t j = 0; j < p->n_columns; j++) {
                T value;
                memcpy(&value, first + i * down + j * right, sizeof value);
                out[i * ld + j] = ((double)value - (centre ? centre[j] : 0.0))
                                * (p->row_scale ? p->row_scale[i] : 1.0);
            }
    }
}
