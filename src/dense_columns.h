/* Products and gradients of a block whose columns lie side by side in memory, a few at a time.
 *
 * Part of dense_kernels.h, which defines T, NAME and QUAD_LOAD.
 */

/* out += the products of `width` columns from j on with their coefficients: what is in `out` is
 * read and written once for all of them. */
static ALWAYS_INLINE void NAME(dot_few)(const block *b, ptrdiff_t j, int width,
                                        const double *restrict coef, int centred,
                                        double *restrict out)
{
    const T *restrict x = (const T *)b->values + j * b->stride;
    ptrdiff_t stride = b->stride, i = 0;
    double middle[MOST_COLUMNS];
    for (int k = 0; k < width; k++) middle[k] = centred ? b->centre[j + k] : 0.0;
    for (; i + 4 <= b->count; i += 4) {
        quad even = quad_load_double(out + i), odd = quad_all(0);
#pragma GCC unroll 8
        for (int k = 0; k < width; k++) {
            quad z = QUAD_LOAD(x + k * stride + i), c = quad_all(coef[j + k]);
            if (centred) z = quad_minus(z, quad_all(middle[k]));
            if (k % 2) odd = quad_add_product(odd, z, c);
            else even = quad_add_product(even, z, c);
        }
        quad_store(out + i, width > 1 ? quad_plus(even, odd) : even);
    }
    for (; i < b->count; i++)
        for (int k = 0; k < width; k++) out[i] += (x[k * stride + i] - middle[k]) * coef[j + k];
}

/* gradient_j, ... += the products of `width` columns with pull, each in a sum of its own: additions
 * take longer than loads. */
static ALWAYS_INLINE void NAME(add_few)(const block *b, ptrdiff_t j, int width,
                                        const double *restrict pull, int centred,
                                        double *restrict gradient)
{
    const T *restrict x = (const T *)b->values + j * b->stride;
    ptrdiff_t stride = b->stride, i = 0;
    double middle[MOST_COLUMNS];
    quad sums[MOST_COLUMNS];
#pragma GCC unroll 8
    for (int k = 0; k < width; k++) {
        middle[k] = centred ? b->centre[j + k] : 0.0;
        sums[k] = quad_all(0);
    }
    for (; i + 4 <= b->count; i += 4) {
        quad p = quad_load_double(pull + i);
#pragma GCC unroll 8
        for (int k = 0; k < width; k++) {
            quad z = QUAD_LOAD(x + k * stride + i);
            if (centred) z = quad_minus(z, quad_all(middle[k]));
            sums[k] = quad_add_product(sums[k], z, p);
        }
    }
#pragma GCC unroll 8
    for (int k = 0; k < width; k++) {
        double sum = quad_sum(sums[k]);
        for (ptrdiff_t r = i; r < b->count; r++) sum += (x[k * stride + r] - middle[k]) * pull[r];
        gradient[j + k] += sum;
    }
}

static ALWAYS_INLINE void NAME(dot_columns)(const block *b, const double *coef, int centred,
                                            double *restrict out)
{
    ptrdiff_t n = b->rows->n_columns, j = 0;
    for (ptrdiff_t i = 0; i < b->count; i++) out[i] = coef[n];
    for (; j + 8 <= n; j += 8) NAME(dot_few)(b, j, 8, coef, centred, out);
    if (j + 4 <= n) NAME(dot_few)(b, j, 4, coef, centred, out), j += 4;
    if (j + 2 <= n) NAME(dot_few)(b, j, 2, coef, centred, out), j += 2;
    if (j < n) NAME(dot_few)(b, j, 1, coef, centred, out);
}

static ALWAYS_INLINE void NAME(add_columns)(const block *b, const double *pull, int centred,
                                            double *restrict gradient)
{
    ptrdiff_t n = b->rows->n_columns, j = 0;
    for (; j + 8 <= n; j += 8) NAME(add_few)(b, j, 8, pull, centred, gradient);
    if (j + 4 <= n) NAME(add_few)(b, j, 4, pull, centred, gradient), j += 4;
    if (j + 2 <= n) NAME(add_few)(b, j, 2, pull, centred, gradient), j += 2;
    if (j < n) NAME(add_few)(b, j, 1, pull, centred, gradient);
}
