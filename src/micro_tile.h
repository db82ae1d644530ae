/* Products of the columns of narrow rows, a micro-tile of 4 × 12 sums at a time, in registers. */
#ifndef ENTROPIC_MICRO_TILE_H
#define ENTROPIC_MICRO_TILE_H

#include <stddef.h>

#include "level.h"

/* Numbers after the last row of `a` that may be read (to no effect). */
enum { MICRO_TILE_PAST = 12 };

/* out[i][j] += sum_k a[k][i] a[k][j] for j <= i < n and k < depth; ld, ld_out numbers a row. What
 * lies above the diagonal may change too. */
void micro_tile_squares(const double *a, ptrdiff_t ld, ptrdiff_t depth, ptrdiff_t n, double *out,
                        ptrdiff_t ld_out);

#endif
