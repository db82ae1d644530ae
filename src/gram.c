/* The Gram matrix: products of the rows with each other. */
#include "curvature.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bands.h"
#include "blas.h"
#include "cpu.h"
#include "threads.h"

enum {
    DEPTH = 256,    /* columns of all rows that are copied for one product, */
    LENGTH = 264,   /* and the numbers from row to row: rows must not compete for places in cache */
    AHEAD = 6       /* sparse entries whose columns are asked for before their turn */
};

static void gram_band(const bands *s, ptrdiff_t begin, ptrdiff_t end, ptrdiff_t first,
                      ptrdiff_t stop, double *sum, double *scratch)
{
    ptrdiff_t n = s->n, width = stop - first, most = block_rows(s->view), depth, count;
    double *matrix = sum + first * n + first;
    for (; begin < end; begin += depth) {
        depth = end - begin < DEPTH ? end - begin : DEPTH;
        for (ptrdiff_t row = first; row < n; row += count) {
            block b;
            count = n - row < most ? n - row : most;
            submatrix p = {0, count, begin, depth, NULL, s->scale + begin};
            block_open_copy(&b, s->view, row, count, scratch + n * LENGTH);
            block_copy(&b, &p, scratch + (row - first) * LENGTH, LENGTH);
        }
        blas_row_squares(scratch, LENGTH, depth, width, matrix, n);
        if (stop < n)
            blas_product(scratch + width * LENGTH, LENGTH, 0, scratch, LENGTH, 1, n - stop, width,
                         depth, matrix + width * n, n);
    }
}

static int gram_dense(const rows *view, const double *scale, int n_threads, double *out)
{
    ptrdiff_t length = view->n_columns + 1;
    double *root = malloc((size_t)length * sizeof(double));
    bands s = {.view = view, .scale = root, .n = view->n_samples, .length = length,
               .body = gram_band};
    s.scratch_size = (size_t)(s.n * LENGTH) + block_copy_scratch(view, block_rows(view));
    int status = root ? 0 : -1;
    if (status == 0) {
        for (ptrdiff_t j = 0; j < length; j++) root[j] = sqrt(scale[j]);
        status = bands_multiply(&s, n_threads, out);
    }
    free(root);
    return status;
}

/* The entries of sparse rows by columns: entry e of column j has starts[j] <= e < starts[j+1].
 * Of an entry's column, those of its own row and of the rows before end at stops[k]. */
typedef struct {
    const rows *view;
    const double *scale;
    double *out, *values;
    ptrdiff_t *starts, *stops;
    int32_t *samples;
} by_columns;

static void sort_by_columns(by_columns *c)
{
    const rows *view = c->view;
    for (ptrdiff_t k = row_start(view, 0); k < view->n_entries; k++)
        c->starts[entry_column(view, k) + 1]++;
    for (ptrdiff_t j = 0; j < view->n_columns; j++) c->starts[j + 1] += c->starts[j];
    for (ptrdiff_t i = 0; i < view->n_samples; i++) {
        ptrdiff_t begin = row_start(view, i), end = row_start(view, i + 1);
        for (ptrdiff_t k = begin; k < end; k++) {
            ptrdiff_t place = c->starts[entry_column(view, k)]++;
            c->samples[place] = (int32_t)i;
            c->values[place] = entry_value(view, k);
        }
        for (ptrdiff_t k = begin; k < end; k++) c->stops[k] = c->starts[entry_column(view, k)];
    }
    /* each start has moved to the next column's */
    memmove(c->starts + 1, c->starts, (size_t)view->n_columns * sizeof(ptrdiff_t));
    c->starts[0] = 0;
}

/* One row of the lower triangle: only samples that share a column with it are met. */
static void gram_row(void *work, ptrdiff_t i, int worker)
{
    const by_columns *c = work;
    const rows *view = c->view;
    const double *restrict values = c->values;
    const int32_t *restrict samples = c->samples;
    double *restrict out = c->out + i * view->n_samples;
    ptrdiff_t end = row_start(view, i + 1);
    (void)worker;
    for (ptrdiff_t j = 0; j <= i; j++) out[j] = c->scale[view->n_columns];
    for (ptrdiff_t k = row_start(view, i); k < end; k++) {
        ptrdiff_t column = entry_column(view, k), stop = c->stops[k];
        double factor = c->scale[column] * entry_value(view, k);
        if (k + AHEAD < end) { /* columns lie far apart: ask for a later one's in time */
            ptrdiff_t later = c->starts[entry_column(view, k + AHEAD)];
            PREFETCH(samples + later, 0);
            PREFETCH(values + later, 0);
        }
        for (ptrdiff_t e = c->starts[column]; e < stop; e++) out[samples[e]] += factor * values[e];
    }
}

static int gram_sparse(const rows *view, const double *scale, int n_threads, double *out)
{
    size_t entries = (size_t)view->n_entries + 1;
    by_columns c = {.view = view, .scale = scale, .out = out};
    c.starts = calloc((size_t)view->n_columns + 2, sizeof(ptrdiff_t));
    c.stops = malloc(entries * sizeof(ptrdiff_t));
    c.samples = malloc(entries * sizeof(int32_t));
    c.values = malloc(entries * sizeof(double));
    int status = c.starts && c.stops && c.samples && c.values ? 0 : -1;
    if (status == 0) {
        sort_by_columns(&c);
        each_chunk(view->n_samples, n_threads, gram_row, &c);
        mirror_lower(out, view->n_samples);
    }
    free(c.starts);
    free(c.stops);
    free(c.samples);
    free(c.values);
    return status;
}

int sweep_gram(const rows *view, const double *scale, int n_threads, double *out)
{
    if (view->kind == ROWS_SPARSE) return gram_sparse(view, scale, n_threads, out);
    return gram_dense(view, scale, n_threads, out);
}
