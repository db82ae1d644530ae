/* The loops over dense blocks, for one type of number.
 *
 * Include with T (the type) and NAME (a suffix for functions) defined. `centred` is a constant
 * wherever the inline functions are called, so that each combination is compiled by itself.
 */
#include "cpu.h"
#include "vec4.h"

/* x_rj minus the column's centre, in double. */
#define READ(a, j) ((double)(a)[j] - (centred ? centre[j] : 0.0))

#define VEC4_LOAD NAME(vec4_load)
#define LOAD(a, j)                                                                               \
    (centred ? vec4_minus(VEC4_LOAD((a) + (j)), vec4_load_double(centre + (j)))                  \
             : VEC4_LOAD((a) + (j)))

#include "dense_columns.h"
#include "dense_pack.h"
#include "dense_rows.h"

static void NAME(dense_dot)(const block *b, const double *coef, double *out)
{
    if (b->kind == ROWS_CONTIGUOUS) {
        if (b->centre) NAME(dot_rows)(b, coef, 1, out);
        else NAME(dot_rows)(b, coef, 0, out);
    } else {
        if (b->centre) NAME(dot_columns)(b, coef, 1, out);
        else NAME(dot_columns)(b, coef, 0, out);
    }
}

static void NAME(dense_add)(const block *b, const double *pointwise_gradient, double *gradient)
{
    if (b->kind == ROWS_CONTIGUOUS) {
        if (b->centre) NAME(add_rows)(b, pointwise_gradient, 1, gradient);
        else NAME(add_rows)(b, pointwise_gradient, 0, gradient);
    } else {
        if (b->centre) NAME(add_columns)(b, pointwise_gradient, 1, gradient);
        else NAME(add_columns)(b, pointwise_gradient, 0, gradient);
    }
}

static void NAME(dense_add_dot)(const block *done, const double *pointwise_gradient,
                                const block *next, const double *coef, double *gradient,
                                double *out)
{
    if (next->centre) NAME(add_dot_rows)(done, pointwise_gradient, next, coef, 1, gradient, out);
    else NAME(add_dot_rows)(done, pointwise_gradient, next, coef, 0, gradient, out);
}

static void NAME(dense_squares)(const block *b, const double *restrict share,
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

#undef READ
#undef LOAD
#undef VEC4_LOAD
