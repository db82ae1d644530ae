/* Rows cut into chunks, and each chunk walked in blocks: what every sweep over rows has in common.
 *
 * The cut depends on sizes alone. Each chunk sums for itself, and the sums are added in the chunks'
 * order: every number of threads gives the same bits.
 */
#ifndef ENTROPIC_WALK_H
#define ENTROPIC_WALK_H

#include "level.h"
#include "rows.h"

typedef struct {
    ptrdiff_t n_chunks, chunk_rows, block_rows;
} plan;

/* Chunks for a sweep whose result has `size` numbers. */
plan plan_chunks(const rows *view, ptrdiff_t size);

/* Rows of a chunk, begin <= row < end. */
static inline ptrdiff_t chunk_begin(const plan *p, ptrdiff_t chunk)
{
    return chunk * p->chunk_rows;
}

static inline ptrdiff_t chunk_end(const plan *p, const rows *view, ptrdiff_t chunk)
{
    ptrdiff_t end = (chunk + 1) * p->chunk_rows;
    return end < view->n_samples ? end : view->n_samples;
}

/* Memory for the results of each chunk, which start at zero, and the scratch of each worker: what
 * its blocks need, and `more` numbers at walk.more. Each has cache lines of its own: threads do not
 * disturb each other, and a load or store touches one line. */
typedef struct {
    const rows *view;
    plan plan;
    double *memory, *results, *scratch;
    size_t stride, scratch_stride, block_scratch;
} partials;

/* Returns -1 where memory is short, else 0; partials_free in both cases. */
int partials_new(partials *p, const rows *view, plan plan, size_t size, size_t more, int n_threads);
void partials_free(partials *p);

double *partial(const partials *p, ptrdiff_t chunk);

/* partial[0] += partial[1] + partial[2] + ..., each of `size` numbers, in this order. */
void add_partials(double *partial, ptrdiff_t n_partials, ptrdiff_t size);

/* The first chunk's results, once the others' have been added to it. */
const double *partials_sum(partials *p);

/* The blocks of one chunk, one after the other: of several runs as far as they go, where that is
 * allowed, then of one. */
typedef struct {
    const rows *view;
    double *scratch, *more;
    ptrdiff_t next, end, block_rows;
    ptrdiff_t spread, first_end;    /* rows from run to run; where the first run ends */
} walk;

walk walk_chunk(const partials *p, ptrdiff_t chunk, int worker, int in_runs);

/* Open the next block. Returns whether there is one. */
int walk_next(walk *w, block *b);

#endif
