/* Quadratic forms of the rows: |[z_i 1] factor|^2. */
#include "curvature.h"

#include <stdlib.h>
#include <string.h>

#include "panels.h"
#include "sweep.h"
#include "threads.h"
#include "tiles.h"

enum { MOST_ROWS = 128 }; /* of a block, which is packed as a whole */

typedef struct {
    const rows *view;
    plan plan;
    const double *factor, *ones;
    double *out, *strips, *scratch;
    size_t scratch_size;
    ptrdiff_t width, depth;
} forms;

static void forms_dense(void *work, ptrdiff_t chunk, int worker)
{
    forms *s = work;
    ptrdiff_t n = s->view->n_columns, step = s->plan.block_rows;
    double *scratch = s->scratch + (size_t)worker * s->scratch_size;
    double *strips = scratch + block_scratch(s->view, step);
    ptrdiff_t begin = chunk * s->plan.chunk_rows, end = begin + s->plan.chunk_rows;
    if (end > s->view->n_samples) end = s->view->n_samples;
    for (ptrdiff_t count; begin < end; begin += count) {
        block b;
        count = end - begin < step ? end - begin : step;
        block_open(&b, s->view, begin, count, scratch);
        block_pack_rows(&b, s->ones, 0, n, s->depth, strips);
        for (ptrdiff_t i = 0; i < count; i += 4) {
            double squares[4] = {0};
            double *strip = strips + i * s->depth;
            for (int v = 0; v < 4; v++) strip[4 * n + v] = 1;
            square_tiles(strip, s->strips, strips_for(s->width), s->depth, squares);
            memcpy(s->out + begin + i, squares,
                   (size_t)(count - i < 4 ? count - i : 4) * sizeof(double));
        }
    }
}

static void forms_sparse(void *work, ptrdiff_t chunk, int worker)
{
    forms *s = work;
    const rows *view = s->view;
    ptrdiff_t width = s->width;
    double *restrict image = s->scratch + (size_t)worker * s->scratch_size;
    ptrdiff_t begin = chunk * s->plan.chunk_rows, end = begin + s->plan.chunk_rows;
    if (end > view->n_samples) end = view->n_samples;
    for (ptrdiff_t row = begin; row < end; row++) {
        memcpy(image, s->factor + view->n_columns * width, (size_t)width * sizeof(double));
        for (ptrdiff_t k = row_start(view, row); k < row_start(view, row + 1); k++) {
            const double *restrict line = s->factor + entry_column(view, k) * width;
            double z = entry_value(view, k);
            for (ptrdiff_t j = 0; j < width; j++) image[j] += z * line[j];
        }
        double sum = 0;
        for (ptrdiff_t j = 0; j < width; j++) sum += image[j] * image[j];
        s->out[row] = sum;
    }
}

/* The same from A = factor factor^T: pairs of a row's own entries, for rows with few of them. */
static void forms_pairs(void *work, ptrdiff_t chunk, int worker)
{
    forms *s = work;
    const rows *view = s->view;
    const double *last = s->factor + view->n_columns * s->width;
    ptrdiff_t begin = chunk * s->plan.chunk_rows, end = begin + s->plan.chunk_rows;
    (void)worker;
    if (end > view->n_samples) end = view->n_samples;
    for (ptrdiff_t row = begin; row < end; row++) {
        ptrdiff_t first = row_start(view, row), stop = row_start(view, row + 1);
        double sum = last[view->n_columns];
        for (ptrdiff_t k = first; k < stop; k++) {
            const double *line = s->factor + entry_column(view, k) * s->width;
            double z = entry_value(view, k), part = line[view->n_columns];
            for (ptrdiff_t l = first; l < k; l++)
                part += entry_value(view, l) * line[entry_column(view, l)];
            sum += z * (2 * part + z * line[entry_column(view, k)]);
        }
        s->out[row] = sum > 0 ? sum : 0;
    }
}

void sweep_pairs(const rows *view, const double *matrix, int n_threads, double *out)
{
    forms s = {.view = view, .plan = plan_chunks(view, 0), .factor = matrix, .out = out,
               .width = view->n_columns + 1};
    each_chunk(s.plan.n_chunks, n_threads, forms_pairs, &s);
}

int sweep_quadratic(const rows *view, const double *factor, ptrdiff_t width, int n_threads,
                    double *out)
{
    int sparse = view->kind == ROWS_SPARSE;
    ptrdiff_t depth = view->n_columns + 1;
    double *ones = malloc((size_t)depth * sizeof(double));
    forms s = {.view = view, .plan = plan_chunks(view, 0), .factor = factor, .ones = ones,
               .out = out, .width = width, .depth = depth};
    if (s.plan.block_rows > MOST_ROWS) s.plan.block_rows = MOST_ROWS;
    size_t strips = (size_t)(s.plan.block_rows + 3) / 4 * 4 * (size_t)depth;
    s.scratch_size = sparse ? (size_t)width : block_scratch(view, s.plan.block_rows) + strips;
    s.scratch = calloc((size_t)n_threads * s.scratch_size + 1, sizeof(double));
    s.strips = calloc(sparse ? 1 : panel_size(width, depth) + 1, sizeof(double));
    int status = ones && s.scratch && s.strips ? 0 : -1;
    if (status == 0) {
        for (ptrdiff_t j = 0; j < depth; j++) ones[j] = 1;
        if (!sparse)
            for (ptrdiff_t k = 0; k < depth; k++)
                for (ptrdiff_t v = 0; v < width; v++)
                    s.strips[(v / 4) * depth * 4 + k * 4 + v % 4] = factor[k * width + v];
        each_chunk(s.plan.n_chunks, n_threads, sparse ? forms_sparse : forms_dense, &s);
    }
    free(ones);
    free(s.scratch);
    free(s.strips);
    return status;
}
