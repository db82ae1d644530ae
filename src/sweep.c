/* The sweeps that take one read of the rows: scores, evaluation, Hessian product, adjoint. */
#include "sweep.h"

#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "curvature.h"
#include "threads.h"

enum {
    MOST_CHUNKS = 64,
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
    if (n_chunks > MOST_CHUNKS) n_chunks = MOST_CHUNKS;
    /* and they should take little memory, whatever the number of columns */
    ptrdiff_t room = size > 0 ? MOST_PARTIAL / size : MOST_CHUNKS;
    if (room < FEW_CHUNKS) room = FEW_CHUNKS;
    if (n_chunks > room) n_chunks = room;
    p.block_rows = block_rows(view);
    ptrdiff_t blocks = (samples + p.block_rows - 1) / p.block_rows;
    p.chunk_rows = (blocks + n_chunks - 1) / n_chunks * p.block_rows;
    p.n_chunks = (view->n_samples + p.chunk_rows - 1) / p.chunk_rows;
    return p;
}

void add_partials(double *partial, ptrdiff_t n_partials, ptrdiff_t size)
{
    for (ptrdiff_t chunk = 1; chunk < n_partials; chunk++) {
        const double *restrict other = partial + chunk * size;
        for (ptrdiff_t j = 0; j < size; j++) partial[j] += other[j];
    }
}

/* What a sweep works with: its arguments, and memory that each_chunk's body finds its way in. */
typedef struct {
    const rows *view;
    plan plan;
    const double *coef, *bend;              /* per column, per sample */
    const target *target;
    double *out, *reach, *log_margins, *bends;  /* per sample */
    double *memory, *partials, *scratch;
    size_t partial_size, scratch_size;
    int with_curvature;
} sweep;

/* Memory for the partial results of each chunk and the scratch of each worker. Each has cache
 * lines of its own: threads do not disturb each other, and a load or store touches one line. */
static int sweep_allocate(sweep *s, size_t partial_size, size_t more_scratch, int n_threads)
{
    size_t chunks = s->plan.n_chunks > 0 ? (size_t)s->plan.n_chunks : 1;
    size_t workers = n_threads > 0 ? (size_t)n_threads : 1;
    s->partial_size = (partial_size + LINE - 1) / LINE * LINE;
    s->scratch_size = block_scratch(s->view, s->plan.block_rows) + more_scratch;
    s->scratch_size = (s->scratch_size + LINE - 1) / LINE * LINE;
    size_t partials = chunks * s->partial_size;
    s->memory = calloc(partials + workers * s->scratch_size + LINE, sizeof(double));
    if (!s->memory) return -1;
    uintptr_t line = LINE * sizeof(double), past = (uintptr_t)s->memory % line;
    s->partials = s->memory + (past ? (line - past) / sizeof(double) : 0);
    s->scratch = s->partials + partials;
    return 0;
}

static void sweep_release(sweep *s)
{
    free(s->memory);
}

/* The blocks of one chunk, one after the other: of several runs as far as they go, then of one. */
typedef struct {
    const sweep *sweep;
    double *scratch;
    ptrdiff_t next, end;
    ptrdiff_t spread, first_end;    /* rows from run to run; where the first run ends */
} walk;

static walk walk_chunk(const sweep *s, ptrdiff_t chunk, int worker)
{
    ptrdiff_t first = chunk * s->plan.chunk_rows, end = first + s->plan.chunk_rows;
    if (end > s->view->n_samples) end = s->view->n_samples;
    ptrdiff_t spread = s->with_curvature ? 0 : rows_spread(s->view, end - first);
    return (walk){s, s->scratch + (size_t)worker * s->scratch_size, first, end, spread,
                  first + spread};
}

static int walk_next(walk *w, block *b)
{
    ptrdiff_t most = w->sweep->plan.block_rows;
    if (w->spread) {
        ptrdiff_t run = w->first_end - w->next;
        if (run > most / BLOCK_RUNS) run = most / BLOCK_RUNS;
        block_open_spread(b, w->sweep->view, w->next, run, w->spread);
        w->next += run;
        if (w->next < w->first_end) return 1;
        w->next += (BLOCK_RUNS - 1) * w->spread;
        w->spread = 0;
        return 1;
    }
    ptrdiff_t count = w->end - w->next;
    if (count <= 0) return 0;
    block_open(b, w->sweep->view, w->next, count < most ? count : most, w->scratch);
    w->next += b->count;
    return 1;
}

/* The first block of a chunk, with its products. Returns whether there is one. */
static int walk_first(walk *w, block *b, double *f)
{
    if (!walk_next(w, b)) return 0;
    block_dot(b, w->sweep->coef, f);
    return 1;
}

/* Adds a block's pull to the gradient and goes on to the next block, with its products. Returns
 * whether there is one. */
static int walk_on(walk *w, block *b, const double *pull, double *gradient, double *f)
{
    block done = *b;
    if (w->sweep->view->kind == ROWS_CONTIGUOUS && walk_next(w, b)) {
        block_add_dot(&done, pull, gradient, b, w->sweep->coef, f);
        return 1;
    }
    block_add(&done, pull, gradient);
    return walk_first(w, b, f);
}

/* For each run of a block: `begin` of its samples in the data's arrays, `at` in the block's. */
#define EACH_RUN(b, begin, at)                                                                   \
    for (ptrdiff_t at = 0, begin = (b).start; at < (b).count; at += (b).run, begin += (b).spread)

/* Put a block's numbers in the data's array, unless that is NULL. */
static void keep(const block *b, const double *from, double *to)
{
    if (to)
        EACH_RUN(*b, begin, at)
            memcpy(to + begin, from + at, (size_t)b->run * sizeof(double));
}

static void scores_chunk(void *work, ptrdiff_t chunk, int worker)
{
    sweep *s = work;
    double f[BLOCK_LIMIT];
    block b;
    for (walk w = walk_chunk(s, chunk, worker); walk_next(&w, &b);) {
        block_dot(&b, s->coef, f);
        keep(&b, f, s->out);
    }
}

int sweep_scores(const rows *view, const double *coef, int n_threads, double *out)
{
    sweep s = {.view = view, .plan = plan_chunks(view, 0), .coef = coef, .out = out};
    int status = sweep_allocate(&s, 0, 0, n_threads);
    if (status == 0) each_chunk(s.plan.n_chunks, n_threads, scores_chunk, &s);
    sweep_release(&s);
    return status;
}

/* reach = sign f - offset for the samples of a block. */
static void reach_block(const target *t, const block *b, const double *restrict f,
                        double *restrict reach)
{
    EACH_RUN(*b, begin, at) {
        const int8_t *restrict sign = t->sign + begin * t->sign_step;
        const double *restrict offset = t->offset + begin * t->offset_step;
        const double one_sign = *sign, one_offset = *offset;
        const ptrdiff_t end = at + b->run;
        if (t->sign_step && t->offset_step)
            for (ptrdiff_t i = at; i < end; i++) reach[i] = sign[i - at] * f[i] - offset[i - at];
        else if (t->sign_step)
            for (ptrdiff_t i = at; i < end; i++) reach[i] = sign[i - at] * f[i] - one_offset;
        else if (t->offset_step)
            for (ptrdiff_t i = at; i < end; i++) reach[i] = one_sign * f[i] - offset[i - at];
        else
            for (ptrdiff_t i = at; i < end; i++) reach[i] = one_sign * f[i] - one_offset;
    }
}

/* pull = sign weights log_margins for the same samples. */
static void pull_block(const target *t, const block *b, const double *restrict weights,
                       const double *restrict log_margins, double *restrict pull)
{
    EACH_RUN(*b, begin, at) {
        const int8_t *restrict sign = t->sign + begin * t->sign_step;
        const double one_sign = *sign;
        const ptrdiff_t end = at + b->run;
        if (t->sign_step)
            for (ptrdiff_t i = at; i < end; i++)
                pull[i] = sign[i - at] * weights[i] * log_margins[i];
        else
            for (ptrdiff_t i = at; i < end; i++) pull[i] = one_sign * weights[i] * log_margins[i];
    }
}

static void evaluate_chunk(void *work, ptrdiff_t chunk, int worker)
{
    sweep *s = work;
    double *value = s->partials + (size_t)chunk * s->partial_size, *gradient = value + 1;
    double f[BLOCK_LIMIT], reach[BLOCK_LIMIT], slope[BLOCK_LIMIT], pull[BLOCK_LIMIT];
    double bend[BLOCK_LIMIT], weights[BLOCK_LIMIT];
    double *bends = s->with_curvature || s->bends ? bend : NULL;
    const target *t = s->target;
    curvature_sum sum;
    block b;
    walk w = walk_chunk(s, chunk, worker);
    if (s->with_curvature)
        curvature_begin(&sum, s->view, gradient + s->view->n_columns + 1,
                        w.scratch + block_scratch(s->view, s->plan.block_rows));
    for (ptrdiff_t i = 0; i < BLOCK_LIMIT; i++) weights[i] = t->weights[0];
    for (int more = walk_first(&w, &b, f); more; more = walk_on(&w, &b, pull, gradient, f)) {
        reach_block(t, &b, f, reach);
        if (t->weights_step)
            EACH_RUN(b, begin, at)
                memcpy(weights + at, t->weights + begin, (size_t)b.run * sizeof(double));
        *value += loss_block(&t->loss, b.count, reach, weights, slope, bends);
        pull_block(t, &b, weights, slope, pull);
        if (s->with_curvature) curvature_add(&sum, &b, bend);
        keep(&b, reach, s->reach);
        keep(&b, slope, s->log_margins);
        keep(&b, bend, s->bends);
    }
    if (s->with_curvature) curvature_end(&sum);
}

int sweep_evaluate(const rows *view, const double *coef, const target *t, int n_threads,
                   double *value, double *gradient, double *curvature, double *reach,
                   double *log_margins, double *bend)
{
    size_t size = (size_t)view->n_columns + 1, square = curvature ? size * size : 0;
    sweep s = {.view = view, .coef = coef, .target = t, .reach = reach,
               .log_margins = log_margins, .bends = bend, .with_curvature = curvature != NULL};
    s.plan = plan_chunks(view, (ptrdiff_t)(size + square));
    if (curvature && s.plan.block_rows > CURVATURE_ROWS) s.plan.block_rows = CURVATURE_ROWS;
    int status = sweep_allocate(&s, 1 + size + square, curvature ? curvature_scratch(view) : 0,
                                n_threads);
    if (status == 0) {
        each_chunk(s.plan.n_chunks, n_threads, evaluate_chunk, &s);
        add_partials(s.partials, s.plan.n_chunks, (ptrdiff_t)s.partial_size);
        *value = s.partials[0];
        memcpy(gradient, s.partials + 1, size * sizeof(double));
        if (curvature) {
            memcpy(curvature, s.partials + 1 + size, square * sizeof(double));
            curvature_fold(view, curvature);
        }
    }
    sweep_release(&s);
    return status;
}

static void product_chunk(void *work, ptrdiff_t chunk, int worker)
{
    sweep *s = work;
    double f[BLOCK_LIMIT], pull[BLOCK_LIMIT];
    double *out = s->partials + (size_t)chunk * s->partial_size;
    block b;
    walk w = walk_chunk(s, chunk, worker);
    for (int more = walk_first(&w, &b, f); more; more = walk_on(&w, &b, pull, out, f))
        EACH_RUN(b, begin, at)
            for (ptrdiff_t i = 0; i < b.run; i++) pull[at + i] = f[at + i] * s->bend[begin + i];
}

static void adjoint_chunk(void *work, ptrdiff_t chunk, int worker)
{
    sweep *s = work;
    double pull[BLOCK_LIMIT];
    block b;
    for (walk w = walk_chunk(s, chunk, worker); walk_next(&w, &b);) {
        EACH_RUN(b, begin, at)
            memcpy(pull + at, s->bend + begin, (size_t)b.run * sizeof(double));
        block_add(&b, pull, s->partials + (size_t)chunk * s->partial_size);
    }
}

/* Run a body whose result is one number a column and the constant's. */
static int summed_sweep(sweep *s, chunk_body body, int n_threads, double *out)
{
    size_t size = (size_t)s->view->n_columns + 1;
    s->plan = plan_chunks(s->view, (ptrdiff_t)size);
    int status = sweep_allocate(s, size, 0, n_threads);
    if (status == 0) {
        each_chunk(s->plan.n_chunks, n_threads, body, s);
        add_partials(s->partials, s->plan.n_chunks, (ptrdiff_t)s->partial_size);
        memcpy(out, s->partials, size * sizeof(double));
    }
    sweep_release(s);
    return status;
}

int sweep_product(const rows *view, const double *bend, const double *vector, int n_threads,
                  double *out)
{
    sweep s = {.view = view, .coef = vector, .bend = bend};
    return summed_sweep(&s, product_chunk, n_threads, out);
}

int sweep_adjoint(const rows *view, const double *pull, int n_threads, double *out)
{
    sweep s = {.view = view, .bend = pull};
    return summed_sweep(&s, adjoint_chunk, n_threads, out);
}
