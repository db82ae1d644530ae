/* The sweeps that take one read of the rows: scores, evaluation, hessp, rmatvec. */
#include "sweep.h"

#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "micro_tile.h"
#include "several.h"
#include "threads.h"

/* What a sweep works with: its arguments, and memory that each_chunk's body finds its way in. */
typedef struct {
    const rows *view;
    problem *problems;
    ptrdiff_t n_problems;
    const double *pointwise_gradient;   /* per sample */
    partials partials;
    ptrdiff_t n_curvatures, place;      /* of which the sums have a place among those of a chunk */
    const double *coefs;                /* side by side, a column each, where products are tiled */
} sweep;

/* Products of so many problems and more with dense rows of few columns are made in micro-tiles, from a
 * copy of some rows. */
enum { TILED = 4, TILED_COLUMNS = 256, TILED_COPY = 1 << 14, MOST_TILED = 256 };

/* Arrays a problem may keep are written in pieces of a block, in turn. Of more problems than so many
 * these are more places than the hardware prefetches: their reads take turns at a chunk, in cache. */
enum { KEEPING = 3 };

/* A problem's turn at a block, with its products f. */
typedef struct {
    sweep *sweep;
    walk walk;
    double *f;
    block block;
    ptrdiff_t first, end;   /* the problems that take turns */
    ptrdiff_t at;           /* the one whose turn it is */
} turn;

/* The first problem's turn at the next block. Returns whether there is one. */
static ALWAYS_INLINE int turn_first(turn *t)
{
    t->at = t->first;
    if (!walk_next(&t->walk, &t->block)) return 0;
    block_dot(&t->block, t->sweep->problems[t->at].coef, t->f);
    return 1;
}

/* Adds a problem's part to its gradient and goes on to the next problem's turn at the block, or to
 * the first one's at the next block. Returns whether there is one. */
static ALWAYS_INLINE int turn_next(turn *t, const double *pointwise_gradient, double *gradient)
{
    block done = t->block;
    int same = ++t->at < t->end, in_place = done.kind == ROWS_CONTIGUOUS;
    if (!same) t->at = t->first;
    const double *coef = t->sweep->problems[t->at].coef;
    if (in_place && (same || walk_next(&t->walk, &t->block))) {
        block_add_dot(&done, pointwise_gradient, gradient, &t->block, coef, t->f);
        return 1;
    }
    block_add(&done, pointwise_gradient, gradient);
    if (!same) return turn_first(t);
    block_dot(&t->block, coef, t->f);
    return 1;
}

/* Where a problem's sums of a chunk are. */
static double *sums_of(const sweep *s, ptrdiff_t chunk, ptrdiff_t at)
{
    return partial(&s->partials, chunk) + s->problems[at].place;
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
    for (walk w = walk_chunk(&s->partials, chunk, worker, 1); walk_next(&w, &b);)
        for (ptrdiff_t k = 0; k < s->n_problems; k++) {
            block_dot(&b, s->problems[k].coef, f);
            keep(&b, f, s->problems[k].scores);
        }
}

/* Run a body whose sums are `size` numbers, at `place` those of each problem. */
static int run(sweep *s, chunk_body body, size_t size, size_t more, int n_threads)
{
    plan plan = plan_chunks(s->view, (ptrdiff_t)size);
    if (s->n_curvatures && plan.block_rows > CURVATURE_ROWS) plan.block_rows = CURVATURE_ROWS;
    int status = partials_new(&s->partials, s->view, plan, size, more, n_threads);
    if (status == 0) {
        each_chunk(plan.n_chunks, n_threads, body, s);
        partials_sum(&s->partials);
    }
    return status;
}

int sweep_scores(const rows *view, problem *problems, ptrdiff_t n_problems, int n_threads)
{
    sweep s = {.view = view, .problems = problems, .n_problems = n_problems};
    int status = run(&s, scores_chunk, 0, 0, n_threads);
    partials_free(&s.partials);
    return status;
}

/* functional_margins = sign f - offset for the samples of a block. */
static void functional_margin_block(const target *t, const block *b, const double *restrict f,
                                    double *restrict functional_margins)
{
    EACH_RUN(*b, begin, at) {
        const int8_t *restrict sign = t->sign + begin * t->sign_step;
        const double *restrict offset = t->offset + begin * t->offset_step;
        const double one_sign = *sign, one_offset = *offset;
        const ptrdiff_t end = at + b->run;
        if (t->sign_step && t->offset_step)
            for (ptrdiff_t i = at; i < end; i++)
                functional_margins[i] = sign[i - at] * f[i] - offset[i - at];
        else if (t->sign_step)
            for (ptrdiff_t i = at; i < end; i++)
                functional_margins[i] = sign[i - at] * f[i] - one_offset;
        else if (t->offset_step)
            for (ptrdiff_t i = at; i < end; i++)
                functional_margins[i] = one_sign * f[i] - offset[i - at];
        else
            for (ptrdiff_t i = at; i < end; i++)
                functional_margins[i] = one_sign * f[i] - one_offset;
    }
}

/* pointwise_gradient = sign weights log_margins for the same samples. */
static void pointwise_gradient_block(const target *t, const block *b,
                                     const double *restrict weights,
                                     const double *restrict log_margins,
                                     double *restrict pointwise_gradient)
{
    EACH_RUN(*b, begin, at) {
        const int8_t *restrict sign = t->sign + begin * t->sign_step;
        const double one_sign = *sign;
        const ptrdiff_t end = at + b->run;
        if (t->sign_step)
            for (ptrdiff_t i = at; i < end; i++)
                pointwise_gradient[i] = sign[i - at] * weights[i] * log_margins[i];
        else
            for (ptrdiff_t i = at; i < end; i++)
                pointwise_gradient[i] = one_sign * weights[i] * log_margins[i];
    }
}

/* The weights of the same samples. */
static void weights_block(const target *t, const block *b, double *restrict weights)
{
    if (t->weights_step)
        EACH_RUN(*b, begin, at)
            memcpy(weights + at, t->weights + begin, (size_t)b->run * sizeof(double));
    else
        for (ptrdiff_t i = 0; i < b->count; i++) weights[i] = t->weights[0];
}

static void evaluate_turns(sweep *s, ptrdiff_t chunk, int worker, ptrdiff_t first, ptrdiff_t end)
{
    double f[BLOCK_LIMIT], functional_margins[BLOCK_LIMIT], slope[BLOCK_LIMIT];
    double weights[BLOCK_LIMIT], pointwise_gradient[BLOCK_LIMIT], buffer[BLOCK_LIMIT], *value;
    turn t = {s, walk_chunk(&s->partials, chunk, worker, !s->n_curvatures), f, .first = first,
              .end = end};
    const block *b = &t.block;
    curvatures c;
    curvatures_begin(&c, s->view, s->n_curvatures, partial(&s->partials, chunk) + s->place,
                     t.walk.more);
    for (int more = turn_first(&t); more; more = turn_next(&t, pointwise_gradient, value + 1)) {
        const problem *p = s->problems + t.at;
        double *hessian_weights = p->curvature ? curvatures_weights(&c, p->index)
                                : p->hessian_weights ? buffer : NULL;
        value = sums_of(s, chunk, t.at);
        functional_margin_block(&p->target, b, f, functional_margins);
        weights_block(&p->target, b, weights);
        *value += loss_block(&p->target.loss, b->count, functional_margins, weights, slope,
                             hessian_weights);
        pointwise_gradient_block(&p->target, b, weights, slope, pointwise_gradient);
        if (p->curvature) curvatures_add(&c, b, p->index);
        keep(b, functional_margins, p->functional_margins);
        keep(b, slope, p->log_margins);
        keep(b, hessian_weights, p->hessian_weights);
    }
    curvatures_end(&c);
}

static int is_tiled(const sweep *s)
{
    return s->view->kind != ROWS_SPARSE && s->n_problems >= TILED && !s->n_curvatures
        && s->view->n_columns < TILED_COLUMNS;
}

/* Rows that are copied and multiplied together. */
static ptrdiff_t tiled_rows(const rows *view)
{
    ptrdiff_t most = block_rows(view), count = TILED_COPY / micro_steps(view->n_columns + 1);
    if (count > most) count = most;
    count = count / MICRO_STEP * MICRO_STEP;
    return count < MICRO_STEP ? MICRO_STEP : count > MOST_TILED ? MOST_TILED : count;
}

/* The copy, the products with all coefficients, all pointwise gradients; and what opens a block. */
static size_t tiled_scratch(const sweep *s)
{
    ptrdiff_t steps = micro_steps(s->n_problems), ld = micro_steps(s->view->n_columns + 1);
    ptrdiff_t count = tiled_rows(s->view);
    return (size_t)(count * (ld + steps) + steps * (count + MICRO_STEP))
         + block_copy_scratch(s->view, count);
}

/* One row of coefficients for each column, of all problems. */
static double *side_by_side(const sweep *s)
{
    ptrdiff_t n = s->view->n_columns + 1, steps = micro_steps(s->n_problems);
    double *coefs = calloc((size_t)(n * steps), sizeof(double));
    for (ptrdiff_t k = 0; coefs && k < s->n_problems; k++)
        for (ptrdiff_t j = 0; j < n; j++) coefs[j * steps + k] = s->problems[k].coef[j];
    return coefs;
}

static void evaluate_tiled(sweep *s, ptrdiff_t chunk, walk w)
{
    double f[MOST_TILED], functional_margins[MOST_TILED], slope[MOST_TILED];
    double weights[MOST_TILED], buffer[MOST_TILED];
    const ptrdiff_t n = s->view->n_columns + 1, ld = micro_steps(n), most = tiled_rows(s->view);
    const ptrdiff_t steps = micro_steps(s->n_problems), step = most + MICRO_STEP;
    double *copy = w.more, *products = copy + most * ld, *gradients = products + most * steps;
    double *sums = sums_of(s, chunk, 0);
    for (ptrdiff_t row = w.next, count; row < w.end; row += count) {
        count = w.end - row < most ? w.end - row : most;
        block b = {.run = count};
        submatrix p = {0, count, 0, n, NULL, NULL};
        block_open_copy(&b, s->view, row, count, gradients + steps * step);
        b.run = count;
        block_copy(&b, &p, copy, ld);
        memset(products, 0, (size_t)(count * steps) * sizeof(double));
        micro_tile_product(copy, ld, 1, count, s->coefs, steps, s->n_problems, n, products, steps);
        for (ptrdiff_t k = 0; k < s->n_problems; k++) {
            const problem *problem = s->problems + k;
            double *hessian_weights = problem->hessian_weights ? buffer : NULL;
            for (ptrdiff_t i = 0; i < count; i++) f[i] = products[i * steps + k];
            functional_margin_block(&problem->target, &b, f, functional_margins);
            weights_block(&problem->target, &b, weights);
            *sums_of(s, chunk, k) += loss_block(&problem->target.loss, count, functional_margins,
                                                weights, slope, hessian_weights);
            pointwise_gradient_block(&problem->target, &b, weights, slope, gradients + k * step);
            keep(&b, functional_margins, problem->functional_margins);
            keep(&b, slope, problem->log_margins);
            keep(&b, hessian_weights, problem->hessian_weights);
        }
        micro_tile_product(gradients, step, 1, s->n_problems, copy, ld, n, count, sums + 1, 1 + n);
    }
}

static void evaluate_chunk(void *work, ptrdiff_t chunk, int worker)
{
    sweep *s = work;
    if (s->coefs) {
        evaluate_tiled(s, chunk, walk_chunk(&s->partials, chunk, worker, 0));
        return;
    }
    for (ptrdiff_t first = 0, end = 0; first < s->n_problems; first = end) {
        for (int keeping = 0; end < s->n_problems && keeping < KEEPING; end++)
            keeping += s->problems[end].functional_margins && !s->n_curvatures;
        evaluate_turns(s, chunk, worker, first, end);
    }
}

int sweep_evaluate(const rows *view, problem *problems, ptrdiff_t n_problems, int n_threads)
{
    const size_t size = (size_t)view->n_columns + 1;
    sweep s = {.view = view, .problems = problems, .n_problems = n_problems};
    for (problem *p = problems; p < problems + n_problems; p++) {
        p->place = (size_t)(p - problems) * (1 + size);
        if (p->curvature) p->index = s.n_curvatures++;
    }
    const ptrdiff_t n = s.n_curvatures;
    s.place = n_problems * (ptrdiff_t)(1 + size);
    double *coefs = is_tiled(&s) ? side_by_side(&s) : NULL;
    size_t more = n ? curvatures_scratch(view, n) : is_tiled(&s) ? tiled_scratch(&s) : 0;
    s.coefs = coefs;
    int status = coefs || !is_tiled(&s) ? 0 : -1;
    if (status == 0)
        status = run(&s, evaluate_chunk, (size_t)s.place + curvatures_size(view, n), more,
                     n_threads);
    for (problem *p = problems; status == 0 && p < problems + n_problems; p++) {
        const double *sums = partial(&s.partials, 0), *value = sums + p->place;
        p->value = *value;
        memcpy(p->gradient, value + 1, size * sizeof(double));
        if (p->curvature) curvatures_unpack(view, n, sums + s.place, p->index, p->curvature);
    }
    free(coefs);
    partials_free(&s.partials);
    return status;
}

static void hessp_chunk(void *work, ptrdiff_t chunk, int worker)
{
    sweep *s = work;
    double f[BLOCK_LIMIT], pointwise_gradient[BLOCK_LIMIT], *gradient;
    turn t = {s, walk_chunk(&s->partials, chunk, worker, 1), f, .end = s->n_problems};
    for (int more = turn_first(&t); more; more = turn_next(&t, pointwise_gradient, gradient)) {
        const double *hessian_weights = s->problems[t.at].hessian_weights;
        gradient = sums_of(s, chunk, t.at);
        const block b = t.block;
        EACH_RUN(b, begin, at)
            for (ptrdiff_t i = 0; i < b.run; i++)
                pointwise_gradient[at + i] = f[at + i] * hessian_weights[begin + i];
    }
}

static void curvature_chunk(void *work, ptrdiff_t chunk, int worker)
{
    sweep *s = work;
    walk w = walk_chunk(&s->partials, chunk, worker, 0);
    curvatures c;
    block b;
    curvatures_begin(&c, s->view, s->n_curvatures, partial(&s->partials, chunk), w.more);
    while (walk_next(&w, &b))
        for (ptrdiff_t k = 0; k < s->n_problems; k++) {
            memcpy(curvatures_weights(&c, k), s->problems[k].hessian_weights + b.start,
                   (size_t)b.count * sizeof(double));
            curvatures_add(&c, &b, k);
        }
    curvatures_end(&c);
}

int sweep_curvature(const rows *view, problem *problems, ptrdiff_t n_problems, int n_threads)
{
    int status = 0;
    if (!curvature_fits(view)) {
        for (problem *p = problems; status == 0 && p < problems + n_problems; p++)
            status = curvature_alone(view, p->hessian_weights, n_threads, p->curvature);
        return status;
    }
    if (n_problems == 1 || !curvatures_together(view, n_problems))
        return curvatures_apart(view, problems, n_problems, n_threads);
    sweep s = {.view = view, .problems = problems, .n_problems = n_problems,
               .n_curvatures = n_problems};
    status = run(&s, curvature_chunk, curvatures_size(view, n_problems),
                 curvatures_scratch(view, n_problems), n_threads);
    for (ptrdiff_t k = 0; status == 0 && k < n_problems; k++)
        curvatures_unpack(view, n_problems, partial(&s.partials, 0), k, problems[k].curvature);
    partials_free(&s.partials);
    return status;
}

static void rmatvec_chunk(void *work, ptrdiff_t chunk, int worker)
{
    sweep *s = work;
    double pointwise_gradient[BLOCK_LIMIT];
    block b;
    for (walk w = walk_chunk(&s->partials, chunk, worker, 1); walk_next(&w, &b);) {
        EACH_RUN(b, begin, at)
            memcpy(pointwise_gradient + at, s->pointwise_gradient + begin,
                   (size_t)b.run * sizeof(double));
        block_add(&b, pointwise_gradient, partial(&s->partials, chunk));
    }
}

/* Run a body whose results are the problems' gradients. */
static int run_for_gradients(sweep *s, chunk_body body, int n_threads)
{
    size_t size = (size_t)s->view->n_columns + 1;
    for (ptrdiff_t k = 0; k < s->n_problems; k++) s->problems[k].place = (size_t)k * size;
    int status = run(s, body, (size_t)s->n_problems * size, 0, n_threads);
    for (ptrdiff_t k = 0; status == 0 && k < s->n_problems; k++)
        memcpy(s->problems[k].gradient, sums_of(s, 0, k), size * sizeof(double));
    partials_free(&s->partials);
    return status;
}

int sweep_hessp(const rows *view, problem *problems, ptrdiff_t n_problems, int n_threads)
{
    sweep s = {.view = view, .problems = problems, .n_problems = n_problems};
    return run_for_gradients(&s, hessp_chunk, n_threads);
}

int sweep_rmatvec(const rows *view, const double *pointwise_gradient, int n_threads, double *out)
{
    problem p = {.gradient = out};
    sweep s = {.view = view, .problems = &p, .n_problems = 1,
               .pointwise_gradient = pointwise_gradient};
    return run_for_gradients(&s, rmatvec_chunk, n_threads);
}
