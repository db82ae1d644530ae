/* Products of packed panels, a tile of 4 × 12 sums at a time, held in registers. */
#include "tiles.h"

#include <string.h>

#include "cpu.h"

#ifdef __GNUC__
/* Four doubles that the compiler keeps in a register, or in two. */
typedef double quad __attribute__((vector_size(32), aligned(8), may_alias));

static ALWAYS_INLINE void tile(const double *restrict a, const double *restrict b, ptrdiff_t used,
                               ptrdiff_t depth, double sums[4][12])
{
    const quad *b0 = (const quad *)b, *b1 = b0 + depth, *b2 = b1 + depth;
    quad s00 = {0}, s01 = {0}, s02 = {0}, s10 = {0}, s11 = {0}, s12 = {0};
    quad s20 = {0}, s21 = {0}, s22 = {0}, s30 = {0}, s31 = {0}, s32 = {0};
    for (ptrdiff_t k = 0; k < used; k++) {
        quad x0 = b0[k], x1 = b1[k], x2 = b2[k];
        s00 += a[4 * k] * x0;
        s01 += a[4 * k] * x1;
        s02 += a[4 * k] * x2;
        s10 += a[4 * k + 1] * x0;
        s11 += a[4 * k + 1] * x1;
        s12 += a[4 * k + 1] * x2;
        s20 += a[4 * k + 2] * x0;
        s21 += a[4 * k + 2] * x1;
        s22 += a[4 * k + 2] * x2;
        s30 += a[4 * k + 3] * x0;
        s31 += a[4 * k + 3] * x1;
        s32 += a[4 * k + 3] * x2;
    }
    quad all[12] = {s00, s01, s02, s10, s11, s12, s20, s21, s22, s30, s31, s32};
    memcpy(sums, all, sizeof all);
}
#else
static void tile(const double *restrict a, const double *restrict b, ptrdiff_t used,
                 ptrdiff_t depth, double sums[4][12])
{
    memset(sums, 0, 48 * sizeof(double));
    for (ptrdiff_t k = 0; k < used; k++)
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 12; j++)
                sums[i][j] += a[4 * k + i] * b[(j / 4) * depth * 4 + 4 * k + j % 4];
}
#endif

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
