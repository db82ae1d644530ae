/* Products with narrow rows, a micro-tile of 4 × 12 sums at a time, in registers. */
#ifndef ENTROPIC_MICRO_TILE_H
#define ENTROPIC_MICRO_TILE_H

#include <stddef.h>

#include "level.h"

enum {
    MICRO_ROWS = 4,
    MICRO_COLUMNS = 12,
    MICRO_TILE_PAST = 12    /* numbers after the last row of `a` that may be read, to no effect */
};

/* out[i][j] += sum_k a[k][i] a[k][j] for j <= i < n and k < depth; ld, ld_out numbers a row. What
 * lies above the diagonal may change too. */
void micro_tile_squares(const double *a, ptrdiff_t ld, ptrdiff_t depth, ptrdiff_t n, double *out,
                        ptrdiff_t ld_out);

/* out[i] = sum_j (sum_k a[i][k] f[k][j])^2 for i < n, k < depth, j < width: room for n rows of a and
 * n numbers of out, rounded up to MICRO_ROWS; width a multiple of MICRO_COLUMNS. */
void micro_tile_forms(const double *a, ptrdiff_t ld, ptrdiff_t n, ptrdiff_t depth,
                      const double *f, ptrdiff_t width, double *out);

#endif
