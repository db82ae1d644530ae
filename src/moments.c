/* Weighted mean and variance of every column, in one read or two.
 *
 * Numbers are summed less a shift that is like them, and so are their squares: those of the row in the
 * middle, zero for sparse rows. A column that never changes then has no deviation at all. Where a shift
 * turns out to lie many deviations from a mean, squares have lost digits to it, and a second read takes
 * the means themselves: mean + drift is right to the last bits, and squares less drift^2 to theirs.
 */
#include <stdlib.h>
#include <string.h>

#include "sweep.h"
#include "threads.h"

/* A squared distance of shift and mean, in variances, that costs two digits. */
static const double FAR = 100;

typedef struct {
    const rows *view;
    const double *weights;
    double *shift;
    ptrdiff_t weights_step;
    double total;
    partials partials;
    ptrdiff_t *seen;                    /* by sparse rows: the last row that had a column */
} moments;

/* Sparse rows. Repeated columns of a row add up before they are squared, and
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
            double z = sums[j] - m->shift[j];
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
        if (b.kind == ROWS_SPARSE)
            add_sparse_squares(m, &b, share, w.more, m->seen + worker * n, sums);
        else
            block_add_squares(&b, share, m->shift, sums, sums + n);
    }
}

/* One read. Returns whether another, with the means found for the shift, would be more exact; -1 where
 * memory is short. */
static int read_moments(moments *m, int n_threads, double *mean, double *variance)
{
    size_t n = (size_t)m->view->n_columns, size = 3 * n + 1;
    int sparse = m->view->kind == ROWS_SPARSE, again = 0;
    plan plan = plan_chunks(m->view, (ptrdiff_t)size);
    m->seen = calloc(sparse ? (size_t)n_threads * n + 1 : 1, sizeof(ptrdiff_t));
    int status = partials_new(&m->partials, m->view, plan, size, sparse ? n : 0, n_threads);
    if (status == 0 && m->seen) {
        each_chunk(plan.n_chunks, n_threads, moments_chunk, m);
        const double *sums = partials_sum(&m->partials);
        for (size_t j = 0; j < n; j++) {
            double absent = sparse ? sums[3 * n] - sums[2 * n + j] : 0;
            double drift = sums[n + j] - absent * m->shift[j];
            double squares = sums[j] + absent * m->shift[j] * m->shift[j] - drift * drift;
            again |= !(drift * drift <= FAR * squares); /* what is no number too */
            variance[j] = squares < 0 ? 0 : squares;    /* NaN and infinity stay */
            mean[j] = m->shift[j] + drift;
        }
    }
    status = m->seen ? status : -1;
    partials_free(&m->partials);
    free(m->seen);
    return status == 0 ? again : -1;
}

int sweep_moments(const rows *view, const double *weights, ptrdiff_t weights_step, double total,
                  int n_threads, double *mean, double *variance)
{
    size_t n = (size_t)view->n_columns, scratch = view->kind == ROWS_SPARSE ? 0 : block_scratch(view, 1);
    moments m = {.view = view, .weights = weights, .weights_step = weights_step, .total = total};
    m.shift = calloc(n + 1 + scratch, sizeof(double));
    if (!m.shift) return -1;
    if (view->kind != ROWS_SPARSE && view->n_samples > 0) {
        block middle;
        double one = 1;
        block_open(&middle, view, view->n_samples / 2, 1, m.shift + n + 1);
        block_add(&middle, &one, m.shift);
    }
    int again = read_moments(&m, n_threads, mean, variance);
    if (again > 0) {
        memcpy(m.shift, mean, n * sizeof(double));
        again = read_moments(&m, n_threads, mean, variance);
    }
    free(m.shift);
    return again < 0 ? -1 : 0;
}
