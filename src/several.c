/* The curvatures of several problems on the same rows.
 *
 * Of narrow dense rows a block is copied once, and the products of each two columns are formed in
 * registers and multiplied by the Hessian weights of several problems, while a matrix of its own
 * would take a weighted copy for each problem.
 */
#include "several.h"

#include <string.h>

#include "micro_tile.h"

enum {
#ifdef __AVX512F__
    PAIRED_COLUMNS = 48,    /* up to which, */
#else
    PAIRED_COLUMNS = 24,
#endif
    PAIRED_MATRICES = 4,    /* and for so many matrices and more, products of columns are shared, */
    PAIRED_ROWS = 128,      /* of so many rows at a time: a part of the first-level cache */
    WEIGHTS_STEP = CURVATURE_ROWS + 8   /* rows of weights must not compete for places in cache */
};

static int by_pairs(const rows *view, ptrdiff_t n_matrices)
{
    return view->kind != ROWS_SPARSE && view->n_columns <= PAIRED_COLUMNS
        && n_matrices >= PAIRED_MATRICES;
}

/* Numbers from one matrix to the next. */
static ptrdiff_t matrix_step(const rows *view, ptrdiff_t n_matrices)
{
    ptrdiff_t n = view->n_columns + 1;
    return by_pairs(view, n_matrices) ? micro_tile_row(n) : n * n;
}

size_t curvatures_size(const rows *view, ptrdiff_t n_matrices)
{
    return (size_t)(n_matrices * matrix_step(view, n_matrices));
}

static ptrdiff_t weights_size(const rows *view, ptrdiff_t n_matrices)
{
    return by_pairs(view, n_matrices) ? micro_steps(n_matrices) * WEIGHTS_STEP : CURVATURE_ROWS;
}

size_t curvatures_scratch(const rows *view, ptrdiff_t n_matrices)
{
    size_t weights = (size_t)weights_size(view, n_matrices);
    return weights + curvature_scratch(view);
}

void curvatures_begin(curvatures *c, const rows *view, ptrdiff_t n_matrices, double *sums,
                      double *scratch)
{
    *c = (curvatures){.view = view, .n_matrices = n_matrices, .sums = sums, .weights = scratch};
    c->copy = scratch + weights_size(view, n_matrices);
    c->summed = -1;
}

double *curvatures_weights(const curvatures *c, ptrdiff_t matrix)
{
    return c->weights + (by_pairs(c->view, c->n_matrices) ? matrix * WEIGHTS_STEP : 0);
}

/* Multiply out a block for all matrices. */
static void add_pairs(curvatures *c, const block *b)
{
    ptrdiff_t n = c->view->n_columns + 1, ld = micro_steps(n), count;
    for (ptrdiff_t row = 0; row < b->count; row += count) {
        count = b->count - row < PAIRED_ROWS ? b->count - row : PAIRED_ROWS;
        submatrix p = {row, count, 0, n, NULL, NULL};
        block_copy(b, &p, c->copy, ld);
        micro_tile_weighted(c->weights + row, WEIGHTS_STEP, c->n_matrices, c->copy, ld, count, n,
                            c->sums, matrix_step(c->view, c->n_matrices));
    }
}

void curvatures_add(curvatures *c, const block *b, ptrdiff_t matrix)
{
    if (by_pairs(c->view, c->n_matrices)) {
        if (matrix == c->n_matrices - 1) add_pairs(c, b);
        return;
    }
    if (c->summed != matrix) {
        curvatures_end(c);
        curvature_begin(&c->sum, c->view, c->sums + matrix * matrix_step(c->view, c->n_matrices),
                        c->copy);
        c->summed = matrix;
    }
    curvature_add(&c->sum, b, c->weights);
}

void curvatures_end(curvatures *c)
{
    if (c->summed >= 0) curvature_end(&c->sum);
}

void curvatures_unpack(const rows *view, ptrdiff_t n_matrices, const double *sums,
                       ptrdiff_t matrix, double *out)
{
    ptrdiff_t n = view->n_columns + 1;
    sums += matrix * matrix_step(view, n_matrices);
    if (by_pairs(view, n_matrices)) {
        for (ptrdiff_t i = 0; i < n; i++)
            for (ptrdiff_t j = 0; j <= i; j++)
                out[i * n + j] = out[j * n + i] = sums[micro_tile_row(i) + j];
        return;
    }
    memcpy(out, sums, (size_t)(n * n) * sizeof(double));
    curvature_fold(view, out);
}
