/* Cholesky factor and inverse of large symmetric matrices, by blocks that threads share out. */
#include "cholesky.h"

#include <string.h>

#include "blas.h"
#include "threads.h"

enum { BLOCK = 64 };

typedef struct {
    double *matrix;
    ptrdiff_t n, at;    /* `at`: first column of the block column under way */
} work;

static ptrdiff_t width(ptrdiff_t n, ptrdiff_t start)
{
    return n - start < BLOCK ? n - start : BLOCK;
}

/* The rows of a block below the diagonal block, of the block column under way. */
static void factor_rows(void *of, ptrdiff_t chunk, int worker)
{
    const work *w = of;
    ptrdiff_t n = w->n, at = w->at, row = at + (chunk + 1) * BLOCK;
    double *rows = w->matrix + row * n, *diagonal = w->matrix + at * n;
    (void)worker;
    blas_subtract(rows, n, diagonal, n, width(n, row), BLOCK, at, rows + at, n);
    blas_divide(diagonal + at, n, BLOCK, rows + at, n, width(n, row));
}

int cholesky_factor(double *matrix, ptrdiff_t n, int n_threads)
{
    work w = {matrix, n, 0};
    for (; w.at < n; w.at += BLOCK) {
        ptrdiff_t size = width(n, w.at);
        double *rows = matrix + w.at * n;
        /* of the diagonal block only the lower triangle may change */
        blas_subtract_squares(rows, n, size, w.at, rows + w.at, n);
        if (blas_cholesky(rows + w.at, n, size) != 0) return 1;
        each_chunk((n - w.at - size + BLOCK - 1) / BLOCK, n_threads, factor_rows, &w);
    }
    return 0;
}

/* A block row of L^-T, from its diagonal block on to the right. */
static void invert_row(void *of, ptrdiff_t chunk, int worker)
{
    const work *w = of;
    ptrdiff_t n = w->n, first = chunk * BLOCK, size = width(n, first);
    double *out = w->matrix + first * n, diagonal[BLOCK * BLOCK];
    (void)worker;
    memset(diagonal, 0, sizeof diagonal);
    for (ptrdiff_t i = 0; i < size; i++) diagonal[i * BLOCK + i] = 1;
    blas_divide(out + first, n, size, diagonal, BLOCK, size);
    for (ptrdiff_t at = first + BLOCK; at < n; at += BLOCK) {
        ptrdiff_t columns = width(n, at);
        const double *lines = w->matrix + at * n;
        for (ptrdiff_t i = 0; i < size; i++)
            memset(out + i * n + at, 0, (size_t)columns * sizeof(double));
        blas_subtract(diagonal, BLOCK, lines + first, n, size, columns, BLOCK, out + at, n);
        blas_subtract(out + first + BLOCK, n, lines + first + BLOCK, n, size, columns,
                      at - first - BLOCK, out + at, n);
        blas_divide(lines + at, n, columns, out + at, n, size);
    }
    /* the diagonal of L is still needed by others, and has that of the inverse */
    for (ptrdiff_t i = 0; i < size; i++)
        for (ptrdiff_t j = i + 1; j < size; j++) out[i * n + first + j] = diagonal[i * BLOCK + j];
}

void cholesky_invert(double *matrix, ptrdiff_t n, int n_threads)
{
    work w = {matrix, n, 0};
    each_chunk((n + BLOCK - 1) / BLOCK, n_threads, invert_row, &w);
    for (ptrdiff_t i = 0; i < n; i++) {
        memset(matrix + i * n, 0, (size_t)i * sizeof(double));
        matrix[i * n + i] = 1 / matrix[i * n + i];
    }
}
