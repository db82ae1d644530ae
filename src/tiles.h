/* Products of packed panels, a tile of 4 × 12 sums at a time, held in registers.
 *
 * A panel is made of strips: strip s holds four vectors (4s, ..., 4s + 3) of length `depth`, the
 * four side by side, panel[s depth 4 + k 4 + v]. Unused places are zero. Sums run over k in
 * order, so that a result does not depend on who computes it.
 */
#ifndef ENTROPIC_TILES_H
#define ENTROPIC_TILES_H

#include <stddef.h>

#include "level.h"

/* Strips for n vectors: a multiple of three, for tiles are three strips wide. */
static inline ptrdiff_t strips_for(ptrdiff_t n)
{
    return (n + 11) / 12 * 3;
}

/* Number of tasks of symmetric_tiles for n vectors. */
static inline ptrdiff_t symmetric_tasks(ptrdiff_t n)
{
    return (n + 11) / 12;
}

/* matrix[i ld + j] += v_i . v_j over the first `used` of `depth`, for j <= i and the j of one
 * task (12 task <= j < 12 task + 12). Places of a tile above the diagonal may change too. */
void symmetric_tiles(const double *panel, ptrdiff_t used, ptrdiff_t depth, ptrdiff_t n,
                     ptrdiff_t task, double *matrix, ptrdiff_t ld);

/* out_i += sum_j (u_i . v_j)^2 for the four vectors u of one strip and all strips of a panel. */
void square_tiles(const double *strip, const double *panel, ptrdiff_t n_strips, ptrdiff_t depth,
                  double *out);

#endif
