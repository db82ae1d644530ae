/* Products with narrow rows, a micro-tile at a time. */
#include "micro_tile.h"

#include <string.h>

#include "cpu.h"

/* Vectors of the widest registers: the compiler splits wider ones, and then loses sums. */
#if defined(__GNUC__)
#if defined(__AVX512F__)
enum { LANES = 8, ROWS = 8 };
#elif defined(__AVX__)
enum { LANES = 4, ROWS = 4 };
#else
enum { LANES = 2, ROWS = 4 };
#endif
typedef double vector __attribute__((vector_size(LANES * 8), aligned(8), may_alias));
#define ALL(x) ((x) - (vector){0})
#else
enum { LANES = 1, ROWS = 4 };
typedef double vector;
#define ALL(x) (x)
#endif

enum { VECTORS = 3 };       /* of a tile's rows, at most */

/* s_ij += sum_k a_ik b[k][j], `rows` by `vectors`, in registers: constants wherever this is called.
 * Of a, `down` leads from i to i + 1 and `along` from k to k + 1. */
static ALWAYS_INLINE void tile(int rows, int vectors, const double *restrict a, ptrdiff_t down,
                               ptrdiff_t along, const double *restrict b, ptrdiff_t ld,
                               ptrdiff_t depth, vector s[ROWS][VECTORS])
{
    vector x[VECTORS];
    for (ptrdiff_t k = 0; k < depth; k++, a += along, b += ld) {
#pragma GCC unroll 3
        for (int j = 0; j < vectors; j++) x[j] = *(const vector *)(b + LANES * j);
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            vector y = ALL(a[i * down]);
#pragma GCC unroll 3
            for (int j = 0; j < vectors; j++) s[i][j] += y * x[j];
        }
    }
}

/* Adds a tile of the squares to rows of `out`, up to the diagonal: row i, of the columns from `left`
 * on, has `ends` + i. */
static ALWAYS_INLINE void add_squares(int rows, int vectors, const double *a, const double *b,
                                      ptrdiff_t ld, ptrdiff_t depth, ptrdiff_t ends,
                                      ptrdiff_t count, double *restrict out, ptrdiff_t ld_out)
{
    vector s[ROWS][VECTORS];
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 3
        for (int j = 0; j < vectors; j++) s[i][j] = ALL(0.0);
    tile(rows, vectors, a, 1, ld, b, ld, depth, s);
    for (ptrdiff_t i = 0; i < count; i++) {
        const double *restrict sum = (const double *)s[i];
        for (ptrdiff_t j = 0; j < vectors * LANES && j < ends + i; j++) out[i * ld_out + j] += sum[j];
    }
}

void micro_tile_squares(const double *a, ptrdiff_t ld, ptrdiff_t depth, ptrdiff_t n, double *out,
                        ptrdiff_t ld_out)
{
#define ADD(rows, vectors)                                                                       \
    add_squares(rows, vectors, a + top, a + left, ld, depth, top - left + 1, count,              \
                out + top * ld_out + left, ld_out)
    for (ptrdiff_t left = 0; left < n; left += VECTORS * LANES)
        for (ptrdiff_t top = left; top < n; top += ROWS) {
            ptrdiff_t count = n - top < ROWS ? n - top : ROWS;
            ptrdiff_t vectors = (top + count - left + LANES - 1) / LANES;
            if (count > ROWS / 2) {
                if (vectors == 1) ADD(ROWS, 1);
                else if (vectors == 2) ADD(ROWS, 2);
                else ADD(ROWS, 3);
            } else {
                if (vectors == 1) ADD(ROWS / 2, 1);
                else if (vectors == 2) ADD(ROWS / 2, 2);
                else ADD(ROWS / 2, 3);
            }
        }
#undef ADD
}

/* squares_i += the squares of a tile that starts at a constant. */
static ALWAYS_INLINE void add_forms(int vectors, const double *a, ptrdiff_t ld, const double *f,
                                    ptrdiff_t width, ptrdiff_t depth, const double *constant,
                                    vector squares[ROWS])
{
    vector s[ROWS][VECTORS];
#pragma GCC unroll 8
    for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 3
        for (int j = 0; j < vectors; j++) s[i][j] = *(const vector *)(constant + LANES * j);
    tile(ROWS, vectors, a, ld, 1, f, width, depth, s);
#pragma GCC unroll 8
    for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 3
        for (int j = 0; j < vectors; j++) squares[i] += s[i][j] * s[i][j];
}

static double total(vector x)
{
    double sum = 0;
    for (int j = 0; j < LANES; j++) sum += ((const double *)&x)[j];
    return sum;
}

void micro_tile_forms(const double *a, ptrdiff_t ld, ptrdiff_t n, const double *f,
                      const double *constant, ptrdiff_t width, const ptrdiff_t *depths, double *out)
{
#define ADD(vectors)                                                                             \
    add_forms(vectors, a + top * ld, ld, f + left, width, depth, constant + left, squares)
    for (ptrdiff_t top = 0; top < n; top += ROWS) {
        vector squares[ROWS];
        for (int i = 0; i < ROWS; i++) squares[i] = ALL(0.0);
        for (ptrdiff_t left = 0; left < width; left += VECTORS * LANES) {
            ptrdiff_t depth = depths[left / MICRO_BAND];
            if (width - left == LANES) ADD(1);
            else if (width - left == 2 * LANES) ADD(2);
            else ADD(3);
        }
        for (int i = 0; i < ROWS; i++) out[top + i] = total(squares[i]);
    }
#undef ADD
}
