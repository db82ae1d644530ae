/* Products and gradients of a block whose columns lie side by side in memory, a few at a time.
 *
 * Part of dense_kernels.h, which defines T, NAME and VEC4_LOAD.
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
        vec4 even = vec4_load_double(out + i), odd = vec4_all(0);
#pragma GCC unroll 8
        for (int k = 0; k < width; k++) {
            vec4 z = VEC4_LOAD(x + k * stride + i), c = vec4_all(coef[j + k]);
            if (centred) z = vec4_minus(z, vec4_all(middle[k]));
            if (k % 2) odd = vec4_add_product(odd, z, c);
            else even = vec4_add_product(even, z, c);
        }
        vec4_store(out + i, width > 1 ? vec4_plus(even, odd) : even);
    }
    for (; i < b->count; i++)
        for (int k = 0; k < width; k++) out[i] += (x[k * stride + i] - middle[k]) * coef[j + k];
}

/* gradient_j, ... += the products of `width` columns with pointwise_gradient, each in a sum of its
 * own: additions take longer than loads. */
static ALWAYS_INLINE void NAME(add_few)(const block *b, ptrdiff_t j, int width,
                                        const double *restrict pointwise_gradient, int centred,
                                        double *restrict gradient)
{
    const T *restrict x = (const T *)b->values + j * b->stride;
    ptrdiff_t stride = b->stride, i = 0;
    double middle[MOST_COLUMNS];
    vec4 sums[MOST_COLUMNS];
#pragma GCC unroll 8
    for (int k = 0; k < width; k++) {
        middle[k] = centred ? b->centre[j + k] : 0.0;
        sums[k] = vec4_all(0);
    }
    for (; i + 4 <= b->count; i += 4) {
        vec4 p = vec4_load_double(pointwise_gradient + i);
#pragma GCC unroll 8
        for (int k = 0; k < width; k++) {
            vec4 z = VEC4_LOAD(x + k * stride + i);
            if (centred) z = vec4_minus(z, vec4_all(middle[k]));
            sums[k] = vec4_add_product(sums[k], z, p);
        }
    }
#pragma GCC unroll 8
    for (int k = 0; k < width; k++) {
        double sum = vec4_sum(sums[k]);
        for (ptrdiff_t r = i; r < b->count; r++)
            sum += (x[k * stride + r] - middle[k]) * pointwise_gradient[r];
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

static ALWAYS_INLINE void NAME(add_columns)(const block *b, const double *pointwise_gradient,
                                            int centred, double *restrict gradient)
{
    ptrdiff_t n = b->rows->n_columns, j = 0;
    for (; j + 8 <= n; j += 8) NAME(add_few)(b, j, 8, pointwise_gradient, centred, gradient);
    if (j + 4 <= n) NAME(add_few)(b, j, 4, pointwise_gradient, centred, gradient), j += 4;
    if (j + 2 <= n) NAME(add_few)(b, j, 2, pointwise_gradient, centred, gradient), j += 2;
    if (j < n) NAME(add_few)(b, j, 1, pointwise_gradient, centred, gradient);
}
