/* Products with narrow rows, a micro-tile at a time: a few rows of sums, in registers. */
#ifndef ENTROPIC_MICRO_TILE_H
#define ENTROPIC_MICRO_TILE_H

#include <stddef.h>

#include "level.h"

enum {
    MICRO_STEP = 8,     /* rows of numbers are read in whole steps, what lies beyond to no effect */
    MICRO_BAND = 24     /* columns of a form that end together: a whole number of tiles */
};

/* n rounded up to whole steps. */
static inline ptrdiff_t micro_steps(ptrdiff_t n)
{
    return (n + MICRO_STEP - 1) / MICRO_STEP * MICRO_STEP;
}

/* out[i][j] += sum_k a[k][i] a[k][j] for j <= i < n and k < depth; ld, ld_out numbers a row, ld in
 * whole steps. */
void micro_tile_squares(const double *a, ptrdiff_t ld, ptrdiff_t depth, ptrdiff_t n, double *out,
                        ptrdiff_t ld_out);

/* out[i][j] += sum_k a[i * down + k * along] b[k][j] for i < n, j < width and k < depth. Room for n rows
 * of a and `width` numbers in a row of b in whole steps, to no effect. */
void micro_tile_product(const double *a, ptrdiff_t down, ptrdiff_t along, ptrdiff_t n,
                        const double *b, ptrdiff_t ld, ptrdiff_t width, ptrdiff_t depth,
                        double *out, ptrdiff_t ld_out);

/* out[m] += the lower triangle of sum_k weights[m][k] a[k][i] a[k][j] for m < n_weights, packed: row
 * i begins at micro_tile_row(i). Room for n_weights rows of weights in whole steps, and for
 * micro_tile_row(n) numbers in a row of out. */
ptrdiff_t micro_tile_row(ptrdiff_t i);
void micro_tile_weighted(const double *weights, ptrdiff_t ld_weights, ptrdiff_t n_weights,
                         const double *a, ptrdiff_t ld, ptrdiff_t depth, ptrdiff_t n, double *out,
                         ptrdiff_t ld_out);

/* out[i] = sum_j (constant[j] + sum_k a[i][k] f[k][j])^2 for i < n and j < width: room for n rows
 * of a and n numbers of out in whole steps, as `width` is. depths[band] is the end of k in a band of
 * columns. */
void micro_tile_forms(const double *a, ptrdiff_t ld, ptrdiff_t n, const double *f,
                      const double *constant, ptrdiff_t width, const ptrdiff_t *depths,
                      double *out);

#endif
