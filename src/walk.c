/* Rows cut into chunks, and each chunk walked in blocks. */
#include "walk.h"

#include <stdlib.h>

enum {
    CHUNKS = 64,                /* enough for many threads */
    LONGEST = 1 << 25,          /* entries of a chunk, for signals are heard between two, */
    MOST_CHUNKS = 1024,         /* as far as so many do */
    MOST_PARTIAL = 1 << 23,     /* numbers in the partial results of all chunks, unless */
    FEW_CHUNKS = 4,             /* so many chunks, for as many threads, hold more */
    LEAST_ENTRIES = 1 << 15,
    LINE = 8                    /* doubles of a cache line */
};

plan plan_chunks(const rows *view, ptrdiff_t size)
{
    plan p;
    ptrdiff_t samples = view->n_samples > 0 ? view->n_samples : 1;
    ptrdiff_t entries = view->kind == ROWS_SPARSE ? view->n_entries + samples
                                                  : samples * (view->n_columns + 1);
    /* adding up the chunks' results should be a small part of the work */
    ptrdiff_t least = 4 * size > LEAST_ENTRIES ? 4 * size : LEAST_ENTRIES;
    /* sparse rows have few entries a column: a gradient is then soon the greater part of the work */
    if (view->kind == ROWS_SPARSE && size > 0 && least < 16 * (view->n_columns + 1))
        least = 16 * (view->n_columns + 1);
    ptrdiff_t n_chunks = entries / least;
    if (n_chunks < 1) n_chunks = 1;
    ptrdiff_t most = entries / LONGEST < CHUNKS ? CHUNKS : entries / LONGEST;
    if (most > MOST_CHUNKS) most = MOST_CHUNKS;
    if (n_chunks > most) n_chunks = most;
    /* and they should take little memory, whatever the number of columns */
    ptrdiff_t room = size > 0 ? MOST_PARTIAL / size : most;
    if (room < FEW_CHUNKS) room = FEW_CHUNKS;
    if (n_chunks > room) n_chunks = room;
    p.block_rows = block_rows(view);
    ptrdiff_t blocks = (samples + p.block_rows - 1) / p.block_rows;
    p.chunk_rows = (blocks + n_chunks - 1) / n_chunks * p.block_rows;
    p.n_chunks = (view->n_samples + p.chunk_rows - 1) / p.chunk_rows;
    return p;
}

static size_t whole_lines(size_t size)
{
    return (size + LINE - 1) / LINE * LINE;
}

int partials_new(partials *p, const rows *view, plan plan, size_t size, size_t more, int n_threads)
{
    size_t chunks = plan.n_chunks > 0 ? (size_t)plan.n_chunks : 1;
    *p = (partials){.view = view, .plan = plan, .stride = whole_lines(size)};
    p->block_scratch = block_scratch(view, plan.block_rows);
    p->scratch_stride = whole_lines(p->block_scratch + more);
    size_t results = chunks * p->stride;
    p->memory = calloc(results + (size_t)n_threads * p->scratch_stride + LINE, sizeof(double));
    if (!p->memory) return -1;
    uintptr_t line = LINE * sizeof(double), past = (uintptr_t)p->memory % line;
    p->results = p->memory + (past ? (line - past) / sizeof(double) : 0);
    p->scratch = p->results + results;
    return 0;
}

void partials_free(partials *p)
{
    free(p->memory);
}

double *partial(const partials *p, ptrdiff_t chunk)
{
    return p->results + (size_t)chunk * p->stride;
}

void add_partials(double *partial, ptrdiff_t n_partials, ptrdiff_t size)
{
    for (ptrdiff_t chunk = 1; chunk < n_partials; chunk++) {
        const double *restrict other = partial + chunk * size;
        for (ptrdiff_t j = 0; j < size; j++) partial[j] += other[j];
    }
}

const double *partials_sum(partials *p)
{
    add_partials(p->results, p->plan.n_chunks, (ptrdiff_t)p->stride);
    return p->results;
}

walk walk_chunk(const partials *p, ptrdiff_t chunk, int worker, int in_runs)
{
    ptrdiff_t first = chunk_begin(&p->plan, chunk), end = chunk_end(&p->plan, p->view, chunk);
    double *scratch = p->scratch + (size_t)worker * p->scratch_stride;
    ptrdiff_t spread = in_runs ? rows_spread(p->view, end - first) : 0;
    return (walk){p->view, scratch, scratch + p->block_scratch, first, end, p->plan.block_rows,
                  spread, first + spread};
}

int walk_next(walk *w, block *b)
{
    ptrdiff_t most = w->block_rows, count = w->end - w->next;
    if (w->spread) {
        ptrdiff_t run = w->first_end - w->next;
        if (run > most / BLOCK_RUNS) run = most / BLOCK_RUNS;
        block_open_spread(b, w->view, w->next, run, w->spread);
        w->next += run;
        if (w->next < w->first_end) return 1;
        w->next += (BLOCK_RUNS - 1) * w->spread;
        w->spread = 0;
        return 1;
    }
    if (count <= 0) return 0;
    block_open(b, w->view, w->next, count < most ? count : most, w->scratch);
    w->next += b->count;
    return 1;
}
