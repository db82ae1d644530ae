/* Weighted mean and variance of every column, in two reads.
 *
 * The first read's mean carries the rounding of a long sum, which a column that never changes
 * would show as a deviation. The second read therefore also sums what is left of the mean (its
 * drift): mean + drift is right to the last bits, and squares less drift^2 to theirs.
 */
#include <stdlib.h>
#include <string.h>

#include "sweep.h"
#include "threads.h"

typedef struct {
    const rows *view;
    plan plan;
    const double *weights, *mean;
    ptrdiff_t weights_step;
    double total;
    double *partials, *scratch, *sums;
    ptrdiff_t *seen;
    size_t scratch_size, partial_size;
    int squares;                        /* second read */
} moments;

/* Second read of sparse rows. Repeated columns of a row add up before they are squared, and
 * `filled` gathers the weight of the rows that store a column at all; that of all rows is summed
 * in the same order, so that nothing is absent from a column that every row stores. */
static void add_sparse_squares(const moments *m, const block *b, const double *share,
                               double *sums, ptrdiff_t *seen, double *squares)
{
    const rows *view = m->view;
    double *drift = squares + view->n_columns, *filled = drift + view->n_columns;
    double *total = filled + view->n_columns;
    for (ptrdiff_t i = 0; i < b->count; i++) {
        ptrdiff_t row = b->start + i, begin = row_start(view, row), end = row_start(view, row + 1);
        for (ptrdiff_t k = begin; k < end; k++) sums[entry_column(view, k)] += entry_value(view, k);
        for (ptrdiff_t k = begin; k < end; k++) {
            ptrdiff_t j = entry_column(view, k);
            if (seen[j] == row + 1) continue;
            seen[j] = row + 1;
            double z = sums[j] - m->mean[j];
            squares[j] += share[i] * z * z;
            drift[j] += share[i] * z;
            filled[j] += share[i];
            sums[j] = 0;
        }
        *total += share[i];
    }
}

static void moments_chunk(void *work, ptrdiff_t chunk, int worker)
{
    moments *m = work;
    ptrdiff_t n = m->view->n_columns;
    double *scratch = m->scratch + (size_t)worker * m->scratch_size;
    double *partial = m->partials + (size_t)chunk * m->partial_size, share[BLOCK_LIMIT];
    ptrdiff_t begin = chunk * m->plan.chunk_rows, end = begin + m->plan.chunk_rows;
    if (end > m->view->n_samples) end = m->view->n_samples;
    for (ptrdiff_t count; begin < end; begin += count) {
        block b;
        count = end - begin < m->plan.block_rows ? end - begin : m->plan.block_rows;
        block_open(&b, m->view, begin, count, scratch);
        for (ptrdiff_t i = 0; i < count; i++)
            share[i] = m->weights[(begin + i) * m->weights_step] / m->total;
        if (!m->squares)
            block_add(&b, share, partial);
        else if (b.kind == ROWS_SPARSE)
            add_sparse_squares(m, &b, share, m->sums + worker * n, m->seen + worker * n, partial);
        else
            block_add_squares(&b, share, m->mean, partial, partial + n);
    }
}

int sweep_moments(const rows *view, const double *weights, ptrdiff_t weights_step, double total,
                  int n_threads, double *mean, double *variance)
{
    size_t n = (size_t)view->n_columns, workers = (size_t)n_threads;
    int sparse = view->kind == ROWS_SPARSE;
    moments m = {.view = view, .weights = weights, .weights_step = weights_step, .total = total,
                 .mean = mean, .partial_size = 3 * n + 1};
    m.plan = plan_chunks(view, (ptrdiff_t)m.partial_size);
    m.scratch_size = block_scratch(view, m.plan.block_rows);
    size_t partials = ((size_t)m.plan.n_chunks + 1) * m.partial_size;
    m.partials = calloc(partials, sizeof(double));
    m.scratch = malloc((workers * m.scratch_size + 1) * sizeof(double));
    m.sums = calloc(sparse ? workers * n + 1 : 1, sizeof(double));
    m.seen = calloc(sparse ? workers * n + 1 : 1, sizeof(ptrdiff_t));
    int status = m.partials && m.scratch && m.sums && m.seen ? 0 : -1;
    if (status == 0) {
        each_chunk(m.plan.n_chunks, n_threads, moments_chunk, &m);
        add_partials(m.partials, m.plan.n_chunks, (ptrdiff_t)m.partial_size);
        memcpy(mean, m.partials, n * sizeof(double));
        memset(m.partials, 0, partials * sizeof(double));
        m.squares = 1;
        each_chunk(m.plan.n_chunks, n_threads, moments_chunk, &m);
        add_partials(m.partials, m.plan.n_chunks, (ptrdiff_t)m.partial_size);
        for (size_t j = 0; j < n; j++) {
            double absent = sparse ? m.partials[3 * n] - m.partials[2 * n + j] : 0;
            double drift = m.partials[n + j] - absent * mean[j];
            double squares = m.partials[j] + absent * mean[j] * mean[j] - drift * drift;
            variance[j] = squares < 0 ? 0 : squares;    /* NaN and infinity stay */
            mean[j] += drift;
        }
    }
    free(m.partials);
    free(m.scratch);
    free(m.sums);
    free(m.seen);
    return status;
}
