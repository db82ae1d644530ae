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
    const double *weights, *mean;
    ptrdiff_t weights_step;
    double total;
    partials partials;
    ptrdiff_t *seen;                    /* by sparse rows: the last row that had a column */
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
    double *sums = partial(&m->partials, chunk), share[BLOCK_LIMIT];
    block b;
    for (walk w = walk_chunk(&m->partials, chunk, worker, 0); walk_next(&w, &b);) {
        for (ptrdiff_t i = 0; i < b.count; i++)
            share[i] = m->weights[(b.start + i) * m->weights_step] / m->total;
        if (!m->squares)
            block_add(&b, share, sums);
        else if (b.kind == ROWS_SPARSE)
            add_sparse_squares(m, &b, share, w.more, m->seen + worker * n, sums);
        else
            block_add_squares(&b, share, m->mean, sums, sums + n);
    }
}

int sweep_moments(const rows *view, const double *weights, ptrdiff_t weights_step, double total,
                  int n_threads, double *mean, double *variance)
{
    size_t n = (size_t)view->n_columns, size = 3 * n + 1;
    int sparse = view->kind == ROWS_SPARSE, status = 0;
    moments m = {.view = view, .weights = weights, .weights_step = weights_step, .total = total,
                 .mean = mean};
    plan plan = plan_chunks(view, (ptrdiff_t)size);
    m.seen = calloc(sparse ? (size_t)n_threads * n + 1 : 1, sizeof(ptrdiff_t));
    if (!m.seen) return -1;
    for (m.squares = 0; m.squares < 2 && status == 0; m.squares++) {
        status = partials_new(&m.partials, view, plan, size, sparse ? n : 0, n_threads);
        if (status == 0) {
            each_chunk(plan.n_chunks, n_threads, moments_chunk, &m);
            const double *sums = partials_sum(&m.partials);
            if (!m.squares) memcpy(mean, sums, n * sizeof(double));
            for (size_t j = 0; j < n && m.squares; j++) {
                double absent = sparse ? sums[3 * n] - sums[2 * n + j] : 0;
                double drift = sums[n + j] - absent * mean[j];
                double squares = sums[j] + absent * mean[j] * mean[j] - drift * drift;
                variance[j] = squares < 0 ? 0 : squares;    /* NaN and infinity stay */
                mean[j] += drift;
            }
        }
        partials_free(&m.partials);
    }
    free(m.seen);
    return status;
}
