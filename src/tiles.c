/* Products of packed panels, a tile of 4 × 12 sums at a time, held in registers. */
#include "tiles.h"

#include <string.h>

#include "cpu.h"
#include "quad.h"

/* sums_ij = a_i . b_j: twelve sums of four in registers, and three loads for each four products. */
static ALWAYS_INLINE void tile(const double *restrict a, const double *restrict b, ptrdiff_t used,
                               ptrdiff_t depth, double sums[4][12])
{
    const double *restrict b1 = b + 4 * depth, *restrict b2 = b1 + 4 * depth;
    quad s00 = quad_all(0), s01 = s00, s02 = s00, s10 = s00, s11 = s00, s12 = s00;
    quad s20 = s00, s21 = s00, s22 = s00, s30 = s00, s31 = s00, s32 = s00;
    for (ptrdiff_t k = 0; k < 4 * used; k += 4) {
        quad x0 = quad_load_double(b + k), x1 = quad_load_double(b1 + k);
        quad x2 = quad_load_double(b2 + k), y;
        y = quad_all(a[k]);
        s00 = quad_add_product(s00, y, x0);
        s01 = quad_add_product(s01, y, x1);
        s02 = quad_add_product(s02, y, x2);
        y = quad_all(a[k + 1]);
        s10 = quad_add_product(s10, y, x0);
        s11 = quad_add_product(s11, y, x1);
        s12 = quad_add_product(s12, y, x2);
        y = quad_all(a[k + 2]);
        s20 = quad_add_product(s20, y, x0);
        s21 = quad_add_product(s21, y, x1);
        s22 = quad_add_product(s22, y, x2);
        y = quad_all(a[k + 3]);
        s30 = quad_add_product(s30, y, x0);
        s31 = quad_add_product(s31, y, x1);
        s32 = quad_add_product(s32, y, x2);
    }
    quad all[12] = {s00, s01, s02, s10, s11, s12, s20, s21, s22, s30, s31, s32};
    memcpy(sums, all, sizeof all);
}

CLONES void symmetric_tiles(const double *panel, ptrdiff_t used, ptrdiff_t depth, ptrdiff_t n,
                            ptrdiff_t task, double *matrix, ptrdiff_t ld)
{
    double sums[4][12];
    ptrdiff_t left = 12 * task, right = left + 12 < n ? left + 12 : n;
    const double *b = panel + 3 * task * depth * 4;
    for (ptrdiff_t s = 3 * task; 4 * s < n; s++) {
        tile(panel + s * depth * 4, b, used, depth, sums);
        ptrdiff_t bottom = 4 * s + 4 < n ? 4 * s + 4 : n;
        for (ptrdiff_t i = 4 * s; i < bottom; i++)
            for (ptrdiff_t j = left; j < right; j++)
                matrix[i * ld + j] += sums[i - 4 * s][j - left];
    }
}

CLONES void square_tiles(const double *strip, const double *panel, ptrdiff_t n_strips,
                         ptrdiff_t depth, double *out)
{
    double sums[4][12];
    for (ptrdiff_t s = 0; s < n_strips; s += 3) {
        tile(strip, panel + s * depth * 4, depth, depth, sums);
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 12; j++) out[i] += sums[i][j] * sums[i][j];
    }
}
