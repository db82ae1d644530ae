/* The samples' side: products of the rows with each other. */
#include "curvature.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "panels.h"
#include "threads.h"

enum { AHEAD = 6 }; /* entries whose columns are asked for before their turn */

static ptrdiff_t all_rows(const panels *p)
{
    return p->n;
}

static void pack_rows_task(void *work, ptrdiff_t task, int worker)
{
    panels *p = work;
    ptrdiff_t begin = task * PACK_ROWS, count = p->n - begin;
    if (count > PACK_ROWS) count = PACK_ROWS;
    double *strips = p->strips + begin * PANEL_DEPTH;
    ptrdiff_t columns = p->view->n_columns - p->first;
    if (columns > p->used) columns = p->used;
    block b;
    block_open(&b, p->view, begin, count, p->scratch + (size_t)worker * p->scratch_size);
    block_pack_rows(&b, p->scale, p->first, columns, PANEL_DEPTH, strips);
    if (columns < p->used) /* the constant is the last of them */
        for (ptrdiff_t i = 0; i < count; i++)
            strips[(i / 4) * PANEL_DEPTH * 4 + columns * 4 + i % 4] = p->scale[p->first + columns];
}

static int outer_dense(const rows *view, const double *scale, int n_threads, double *out)
{
    ptrdiff_t length = view->n_columns + 1;
    double *root = malloc((size_t)length * sizeof(double));
    panels p = {.view = view, .scale = root, .out = out, .n = view->n_samples, .length = length};
    int status = root ? 0 : -1;
    if (status == 0) {
        for (ptrdiff_t j = 0; j < length; j++) root[j] = sqrt(scale[j]);
        status = panels_multiply(&p, all_rows, pack_rows_task, n_threads);
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
static void outer_row(void *work, ptrdiff_t i, int worker)
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
        double pull = c->scale[column] * entry_value(view, k);
        if (k + AHEAD < end) { /* columns lie far apart: ask for a later one's in time */
            ptrdiff_t later = c->starts[entry_column(view, k + AHEAD)];
            PREFETCH(samples + later, 0);
            PREFETCH(values + later, 0);
        }
        for (ptrdiff_t e = c->starts[column]; e < stop; e++) out[samples[e]] += pull * values[e];
    }
}

static int outer_sparse(const rows *view, const double *scale, int n_threads, double *out)
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
        each_chunk(view->n_samples, n_threads, outer_row, &c);
        mirror_lower(out, view->n_samples);
    }
    free(c.starts);
    free(c.stops);
    free(c.samples);
    free(c.values);
    return status;
}

int sweep_outer(const rows *view, const double *scale, int n_threads, double *out)
{
    if (view->kind == ROWS_SPARSE) return outer_sparse(view, scale, n_threads, out);
    return outer_dense(view, scale, n_threads, out);
}
