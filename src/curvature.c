/* The curvature: sums of outer products of rows. */
#include "curvature.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bands.h"
#include "blas.h"
#include "micro_tile.h"
#include "sweep.h"
#include "threads.h"

enum {
#ifdef __AVX512F__
    MICRO_TILE_SUM = 256,   /* columns below which micro-tiles are faster than the BLAS */
#else
    MICRO_TILE_SUM = 128,
#endif
    SKIPPING = 64,      /* columns from which it pays to leave out rows of no weight */
    WIDEST_SUM = 256,   /* columns up to which each chunk of rows sums a matrix of its own */
    JUDGED_ROWS = 2048  /* of sparse rows, whose entries tell where the work is */
};

int curvature_fits(const rows *view)
{
    return view->n_columns < WIDEST_SUM;
}

size_t curvature_scratch(const rows *view)
{
    if (view->kind == ROWS_SPARSE) return 0;
    return (size_t)(CURVATURE_ROWS * micro_steps(view->n_columns + 1));
}

static void begin_band(curvature_sum *sum, const rows *view, ptrdiff_t first, ptrdiff_t stop,
                       double *matrix, double *scratch)
{
    *sum = (curvature_sum){view, matrix, scratch, first, stop, 0, 0};
    if (view->kind != ROWS_SPARSE) sum->ld = micro_steps(view->n_columns + 1 - first);
}

void curvature_begin(curvature_sum *sum, const rows *view, double *matrix, double *scratch)
{
    begin_band(sum, view, 0, view->n_columns + 1, matrix, scratch);
}

static int by_micro_tiles(const rows *view)
{
    return view->n_columns < MICRO_TILE_SUM;
}

/* Multiply out the rows collected so far. */
static void flush(curvature_sum *sum)
{
    ptrdiff_t n = sum->view->n_columns + 1, width = sum->stop - sum->first, ld = sum->ld;
    ptrdiff_t below = n - sum->stop, depth = sum->filled;
    double *matrix = sum->matrix + sum->first * n + sum->first;
    sum->filled = 0;
    if (by_micro_tiles(sum->view)) {
        micro_tile_squares(sum->copy, ld, depth, n, matrix, n);
        return;
    }
    blas_squares(sum->copy, ld, depth, width, matrix, n);
    if (below > 0)
        blas_product(sum->copy + width, ld, 1, sum->copy, ld, 0, below, width, depth,
                     matrix + width * n, n);
}

/* Collect some rows of a block. */
static void collect(curvature_sum *sum, const block *b, ptrdiff_t row, ptrdiff_t count,
                    const double *root)
{
    ptrdiff_t n = sum->view->n_columns + 1;
    submatrix p = {row, count, sum->first, n - sum->first, root + row, NULL};
    block_copy(b, &p, sum->copy + sum->filled * sum->ld, sum->ld);
    sum->filled += count;
}

/* Which pairs of which rows go into a matrix: those whose later entry lies in some columns. */
typedef struct {
    const rows *view;
    const double *hessian_weights;                 /* of the first of the rows */
    ptrdiff_t first, count, low, high;
    double *matrix;
} pairs;

#define SPARSE_LOOPS "sparse_pairs.h"
#include "sparse_types.h"

static void add_pairs(const pairs *p)
{
    if (p->view->is_float) {
        if (p->view->wide_columns) add_pairs_float_wide(p);
        else add_pairs_float_narrow(p);
    } else {
        if (p->view->wide_columns) add_pairs_double_wide(p);
        else add_pairs_double_narrow(p);
    }
}

void curvature_add(curvature_sum *sum, const block *b, const double *hessian_weights)
{
    if (sum->view->kind == ROWS_SPARSE) {
        pairs p = {sum->view, hessian_weights,          b->start,   b->count,
                   0,         sum->view->n_columns + 1, sum->matrix};
        add_pairs(&p);
        return;
    }
    double root[CURVATURE_ROWS];
    for (ptrdiff_t i = 0; i < b->count; i++) root[i] = sqrt(hessian_weights[i]);
    if (sum->view->n_columns < SKIPPING) {
        if (sum->filled + b->count > CURVATURE_ROWS) flush(sum);
        collect(sum, b, 0, b->count, root);
        return;
    }
    /* rows of no weight, such as the flat ones of the inequality form, are left out */
    for (ptrdiff_t begin = 0, end; begin < b->count; begin = end) {
        ptrdiff_t most = begin + CURVATURE_ROWS - sum->filled;
        if (most > b->count) most = b->count;
        for (end = begin; end < most && root[end] != 0; end++) continue;
        if (end > begin) collect(sum, b, begin, end - begin, root);
        if (sum->filled == CURVATURE_ROWS) flush(sum);
        while (end < b->count && root[end] == 0) end++;
    }
}

void curvature_end(curvature_sum *sum)
{
    if (sum->filled > 0) flush(sum);
}

void curvature_fold(const rows *view, double *matrix)
{
    ptrdiff_t n = view->n_columns + 1;
    if (view->kind != ROWS_SPARSE) {
        mirror_lower(matrix, n);
        return;
    }
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j <= i; j++) {
            double both = matrix[i * n + j] + matrix[j * n + i];
            matrix[i * n + j] = matrix[j * n + i] = both;
        }
}

/* ------------------------------------------------------- of rows too wide for a matrix a chunk */

static void curvature_band(const bands *s, ptrdiff_t begin, ptrdiff_t end, ptrdiff_t first,
                           ptrdiff_t stop, double *matrix, double *scratch)
{
    curvature_sum sum;
    ptrdiff_t most = block_rows(s->view), count;
    if (most > CURVATURE_ROWS) most = CURVATURE_ROWS;
    begin_band(&sum, s->view, first, stop, matrix, scratch);
    for (; begin < end; begin += count) {
        block b;
        count = end - begin < most ? end - begin : most;
        block_open_copy(&b, s->view, begin, count, scratch + curvature_scratch(s->view));
        curvature_add(&sum, &b, s->scale + begin);
    }
    curvature_end(&sum);
}

static int curvature_by_bands(const rows *view, const double *hessian_weights, int n_threads,
                              double *out)
{
    bands s = {.view = view,
               .scale = hessian_weights,
               .n = view->n_columns + 1,
               .length = view->n_samples,
               .body = curvature_band};
    s.scratch_size = curvature_scratch(view) + block_copy_scratch(view, CURVATURE_ROWS);
    return bands_multiply(&s, n_threads, out);
}

typedef struct {
    const rows *view;
    const double *hessian_weights;
    double *out;
    ptrdiff_t *cuts;                    /* where the parts of the columns begin */
} second;

/* One part of the columns: the pairs whose later entry lies in it, from all rows. */
static void sparse_part(void *work, ptrdiff_t part, int worker)
{
    second *s = work;
    pairs p = {s->view,       s->hessian_weights, 0,     s->view->n_samples,
               s->cuts[part], s->cuts[part + 1],  s->out};
    (void)worker;
    add_pairs(&p);
}

/* Cut the columns into parts of about the same work, judged by some of the rows. */
static void cut_columns(const rows *view, ptrdiff_t n_parts, double *work, ptrdiff_t *cuts)
{
    ptrdiff_t n = view->n_columns + 1, step = view->n_samples / JUDGED_ROWS + 1, part = 1;
    double total = 0, sum = 0;
    for (ptrdiff_t row = 0; row < view->n_samples; row += step) {
        ptrdiff_t begin = row_start(view, row), end = row_start(view, row + 1);
        for (ptrdiff_t k = begin; k < end; k++) {
            work[entry_column(view, k)] += (double)(k - begin + 2);
            total += (double)(k - begin + 2);
        }
    }
    cuts[0] = 0;
    for (ptrdiff_t column = 0; column < n; column++) {
        sum += work[column];
        while (part < n_parts && sum * (double)n_parts >= total * (double)part)
            cuts[part++] = column + 1;
    }
    while (part <= n_parts) cuts[part++] = n;
}

static int curvature_by_parts(const rows *view, const double *hessian_weights, int n_threads,
                              double *out)
{
    const ptrdiff_t n = view->n_columns + 1;
    second s = {.view = view, .hessian_weights = hessian_weights, .out = out};
    /* each part reads all rows: no more of them than threads */
    ptrdiff_t n_parts = n_threads;
    double *work = calloc((size_t)n, sizeof(double));
    s.cuts = malloc(((size_t)n_parts + 1) * sizeof(ptrdiff_t));
    int status = work && s.cuts ? 0 : -1;
    if (status == 0) {
        memset(out, 0, (size_t)n * (size_t)n * sizeof(double));
        cut_columns(view, n_parts, work, s.cuts);
        each_chunk(n_parts, n_threads, sparse_part, &s);
        curvature_fold(view, out);
    }
    free(work);
    free(s.cuts);
    return status;
}

int curvature_alone(const rows *view, const double *hessian_weights, int n_threads, double *out)
{
    if (view->kind == ROWS_SPARSE) return curvature_by_parts(view, hessian_weights, n_threads, out);
    return curvature_by_bands(view, hessian_weights, n_threads, out);
}
