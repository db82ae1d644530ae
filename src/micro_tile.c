/* Products with narrow rows, a micro-tile at a time. */
#include "micro_tile.h"

#include <string.h>

#include "cpu.h"
#include "vec4.h"

/* sums_ij = sum_k a_ik b[k][j]: twelve vectors in registers, three loads for each four products. Of a,
 * `down` leads from i to i + 1 and `along` from k to k + 1. */
static ALWAYS_INLINE void tile(const double *restrict a, ptrdiff_t down, ptrdiff_t along,
                               const double *restrict b, ptrdiff_t ld, ptrdiff_t depth,
                               double sums[MICRO_ROWS][MICRO_COLUMNS])
{
    vec4 s00 = vec4_all(0), s01 = s00, s02 = s00, s10 = s00, s11 = s00, s12 = s00;
    vec4 s20 = s00, s21 = s00, s22 = s00, s30 = s00, s31 = s00, s32 = s00;
    for (ptrdiff_t k = 0; k < depth; k++, a += along, b += ld) {
        vec4 x0 = vec4_load_double(b), x1 = vec4_load_double(b + 4), x2 = vec4_load_double(b + 8),
             y;
        y = vec4_all(a[0]);
        s00 = vec4_add_product(s00, y, x0);
        s01 = vec4_add_product(s01, y, x1);
        s02 = vec4_add_product(s02, y, x2);
        y = vec4_all(a[down]);
        s10 = vec4_add_product(s10, y, x0);
        s11 = vec4_add_product(s11, y, x1);
        s12 = vec4_add_product(s12, y, x2);
        y = vec4_all(a[2 * down]);
        s20 = vec4_add_product(s20, y, x0);
        s21 = vec4_add_product(s21, y, x1);
        s22 = vec4_add_product(s22, y, x2);
        y = vec4_all(a[3 * down]);
        s30 = vec4_add_product(s30, y, x0);
        s31 = vec4_add_product(s31, y, x1);
        s32 = vec4_add_product(s32, y, x2);
    }
    vec4 all[12] = {s00, s01, s02, s10, s11, s12, s20, s21, s22, s30, s31, s32};
    memcpy(sums, all, sizeof all);
}

void micro_tile_squares(const double *a, ptrdiff_t ld, ptrdiff_t depth, ptrdiff_t n,
                               double *out, ptrdiff_t ld_out)
{
    double sums[MICRO_ROWS][MICRO_COLUMNS];
    for (ptrdiff_t left = 0; left < n; left += MICRO_COLUMNS) {
        ptrdiff_t right = left + MICRO_COLUMNS < n ? left + MICRO_COLUMNS : n;
        for (ptrdiff_t top = left; top < n; top += MICRO_ROWS) {
            ptrdiff_t bottom = top + MICRO_ROWS < n ? top + MICRO_ROWS : n;
            tile(a + top, 1, ld, a + left, ld, depth, sums);
            for (ptrdiff_t i = top; i < bottom; i++)
                for (ptrdiff_t j = left; j < right; j++)
                    out[i * ld_out + j] += sums[i - top][j - left];
        }
    }
}

void micro_tile_forms(const double *a, ptrdiff_t ld, ptrdiff_t n, ptrdiff_t depth,
                             const double *f, ptrdiff_t width, double *out)
{
    double sums[MICRO_ROWS][MICRO_COLUMNS];
    for (ptrdiff_t top = 0; top < n; top += MICRO_ROWS) {
        for (int i = 0; i < MICRO_ROWS; i++) out[top + i] = 0;
        for (ptrdiff_t left = 0; left < width; left += MICRO_COLUMNS) {
            tile(a + top * ld, ld, 1, f + left, width, depth, sums);
            for (int i = 0; i < MICRO_ROWS; i++)
                for (int j = 0; j < MICRO_COLUMNS; j++) out[top + i] += sums[i][j] * sums[i][j];
        }
    }
}
