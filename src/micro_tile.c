/* Products with narrow rows, a micro-tile at a time. */
#include "micro_tile.h"

#include <string.h>

#include "cpu.h"
#include "widest.h"

enum {
    ROWS = LANES == 8 ? 8 : 4,
    VECTORS = 3             /* of a tile's rows, at most */
};

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

/* Sums of zero, and their addition to `count` rows of `out`: of the first `ends`, of each next
 * `more`. */
static ALWAYS_INLINE void clear(int rows, int vectors, vector s[ROWS][VECTORS])
{
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 3
        for (int j = 0; j < vectors; j++) s[i][j] = ALL(0.0);
}

static ALWAYS_INLINE void add(int vectors, vector s[ROWS][VECTORS], ptrdiff_t ends, ptrdiff_t more,
                              ptrdiff_t count, double *restrict out, ptrdiff_t ld)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        const double *restrict sum = (const double *)s[i];
        for (ptrdiff_t j = 0; j < vectors * LANES && j < ends + i * more; j++) out[i * ld + j] += sum[j];
    }
}

/* USE(rows, vectors) for constants: all rows of a tile or half of them, so many vectors. */
#define EACH_SHAPE(count, vectors, USE)                                                          \
    do {                                                                                         \
        if ((count) > ROWS / 2) {                                                                \
            if ((vectors) == 1) USE(ROWS, 1);                                                    \
            else if ((vectors) == 2) USE(ROWS, 2);                                               \
            else USE(ROWS, 3);                                                                   \
        } else {                                                                                 \
            if ((vectors) == 1) USE(ROWS / 2, 1);                                                \
            else if ((vectors) == 2) USE(ROWS / 2, 2);                                           \
            else USE(ROWS / 2, 3);                                                               \
        }                                                                                        \
    } while (0)

void micro_tile_squares(const double *a, ptrdiff_t ld, ptrdiff_t depth, ptrdiff_t n, double *out,
                        ptrdiff_t ld_out)
{
#define SQUARES(rows, vectors)                                                                   \
    do {                                                                                         \
        vector s[ROWS][VECTORS];                                                                 \
        clear(rows, vectors, s);                                                                 \
        tile(rows, vectors, a + top, 1, ld, a + left, ld, depth, s);                             \
        add(vectors, s, top - left + 1, 1, count, out + top * ld_out + left, ld_out);               \
    } while (0)
    for (ptrdiff_t left = 0; left < n; left += VECTORS * LANES)
        for (ptrdiff_t top = left; top < n; top += ROWS) {
            ptrdiff_t count = n - top < ROWS ? n - top : ROWS;
            EACH_SHAPE(count, (top + count - left + LANES - 1) / LANES, SQUARES);
        }
#undef SQUARES
}

void micro_tile_product(const double *a, ptrdiff_t down, ptrdiff_t along, ptrdiff_t n,
                        const double *b, ptrdiff_t ld, ptrdiff_t width, ptrdiff_t depth,
                        double *out, ptrdiff_t ld_out)
{
#define PRODUCT(rows, vectors)                                                                   \
    do {                                                                                         \
        vector s[ROWS][VECTORS];                                                                 \
        clear(rows, vectors, s);                                                                 \
        tile(rows, vectors, a + top * down, down, along, b + left, ld, depth, s);                \
        add(vectors, s, wide, 0, count, out + top * ld_out + left, ld_out);                      \
    } while (0)
    for (ptrdiff_t left = 0; left < width; left += VECTORS * LANES) {
        ptrdiff_t wide = width - left < VECTORS * LANES ? width - left : VECTORS * LANES;
        for (ptrdiff_t top = 0; top < n; top += ROWS) {
            ptrdiff_t count = n - top < ROWS ? n - top : ROWS;
            EACH_SHAPE(count, (wide + LANES - 1) / LANES, PRODUCT);
        }
    }
#undef PRODUCT
}

ptrdiff_t micro_tile_row(ptrdiff_t i)
{
    ptrdiff_t whole = i / LANES, rest = i % LANES;
    return LANES * (whole + 1) * (LANES * whole / 2 + rest);
}

/* s_ij += sum_k a_ik b[k][first_j] b[k][second_j], where second_j stands for LANES columns. */
static ALWAYS_INLINE void pair_tile(int rows, int vectors, const double *restrict a,
                                    ptrdiff_t down, const double *restrict b, ptrdiff_t ld,
                                    ptrdiff_t depth, const ptrdiff_t *first,
                                    const ptrdiff_t *second, vector s[ROWS][VECTORS])
{
    vector x[VECTORS];
    for (ptrdiff_t k = 0; k < depth; k++, a++, b += ld) {
#pragma GCC unroll 3
        for (int j = 0; j < vectors; j++)
            x[j] = ALL(b[first[j]]) * *(const vector *)(b + second[j]);
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            vector y = ALL(a[i * down]);
#pragma GCC unroll 3
            for (int j = 0; j < vectors; j++) s[i][j] += y * x[j];
        }
    }
}

void micro_tile_weighted(const double *weights, ptrdiff_t ld_weights, ptrdiff_t n_weights,
                         const double *a, ptrdiff_t ld, ptrdiff_t depth, ptrdiff_t n, double *out,
                         ptrdiff_t ld_out)
{
    ptrdiff_t first[VECTORS], second[VECTORS], i = 0, j = 0, vectors;
#define WEIGHTED(rows, vectors)                                                                  \
    do {                                                                                         \
        vector s[ROWS][VECTORS];                                                                 \
        clear(rows, vectors, s);                                                                 \
        pair_tile(rows, vectors, weights + top * ld_weights, ld_weights, a, ld, depth, first,    \
                  second, s);                                                                    \
        add(vectors, s, VECTORS * LANES, 1, count, out + top * ld_out, ld_out);                     \
    } while (0)
    for (; i < n; out += vectors * LANES) {
        for (vectors = 0; vectors < VECTORS && i < n; vectors++) {
            first[vectors] = i, second[vectors] = j;
            j += LANES;
            if (j > i) i++, j = 0;
        }
        for (ptrdiff_t top = 0; top < n_weights; top += ROWS) {
            ptrdiff_t count = n_weights - top < ROWS ? n_weights - top : ROWS;
            EACH_SHAPE(count, vectors, WEIGHTED);
        }
    }
#undef WEIGHTED
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
                      const double *constant, ptrdiff_t width, const ptrdiff_t *depths,
                      double *out)
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
