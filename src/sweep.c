/* The sweeps that take one read of the rows: scores, evaluation, hessp, rmatvec. */
#include "sweep.h"

#include <string.h>

#include "curvature.h"
#include "threads.h"

/* What a sweep works with: its arguments, and memory that each_chunk's body finds its way in. */
typedef struct {
    const rows *view;
    const double *coef, *per_sample; /* per column; Hessian weights or pointwise gradient */
    const target *target;
    double *out, *functional_margins, *log_margins, *hessian_weights;  /* per sample */
    partials partials;
    int with_curvature;
} sweep;

/* The first block of a chunk, with its products. Returns whether there is one. */
static int walk_first(walk *w, block *b, const double *coef, double *f)
{
    if (!walk_next(w, b)) return 0;
    block_dot(b, coef, f);
    return 1;
}

/* Adds a block's part to the gradient and goes on to the next block, with its products. Returns
 * whether there is one. */
static int walk_on(walk *w, block *b, const double *pointwise_gradient, double *gradient,
                   const double *coef, double *f)
{
    block done = *b;
    if (w->view->kind == ROWS_CONTIGUOUS && walk_next(w, b)) {
        block_add_dot(&done, pointwise_gradient, gradient, b, coef, f);
        return 1;
    }
    block_add(&done, pointwise_gradient, gradient);
    return walk_first(w, b, coef, f);
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
    for (walk w = walk_chunk(&s->partials, chunk, worker, 1); walk_next(&w, &b);) {
        block_dot(&b, s->coef, f);
        keep(&b, f, s->out);
    }
}

int sweep_scores(const rows *view, const double *coef, int n_threads, double *out)
{
    sweep s = {.view = view, .coef = coef, .out = out};
    plan plan = plan_chunks(view, 0);
    int status = partials_new(&s.partials, view, plan, 0, 0, n_threads);
    if (status == 0) each_chunk(plan.n_chunks, n_threads, scores_chunk, &s);
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

static void evaluate_chunk(void *work, ptrdiff_t chunk, int worker)
{
    sweep *s = work;
    double *value = partial(&s->partials, chunk), *gradient = value + 1;
    double f[BLOCK_LIMIT], functional_margins[BLOCK_LIMIT], slope[BLOCK_LIMIT],
        pointwise_gradient[BLOCK_LIMIT];
    double hessian_weights[BLOCK_LIMIT], weights[BLOCK_LIMIT];
    double *wanted = s->with_curvature || s->hessian_weights ? hessian_weights : NULL;
    const target *t = s->target;
    curvature_sum sum;
    block b;
    walk w = walk_chunk(&s->partials, chunk, worker, !s->with_curvature);
    if (s->with_curvature)
        curvature_begin(&sum, s->view, gradient + s->view->n_columns + 1, w.more);
    for (ptrdiff_t i = 0; i < BLOCK_LIMIT; i++) weights[i] = t->weights[0];
    for (int more = walk_first(&w, &b, s->coef, f); more;
         more = walk_on(&w, &b, pointwise_gradient, gradient, s->coef, f)) {
        functional_margin_block(t, &b, f, functional_margins);
        if (t->weights_step)
            EACH_RUN(b, begin, at)
                memcpy(weights + at, t->weights + begin, (size_t)b.run * sizeof(double));
        *value += loss_block(&t->loss, b.count, functional_margins, weights, slope, wanted);
        pointwise_gradient_block(t, &b, weights, slope, pointwise_gradient);
        if (s->with_curvature) curvature_add(&sum, &b, hessian_weights);
        keep(&b, functional_margins, s->functional_margins);
        keep(&b, slope, s->log_margins);
        keep(&b, hessian_weights, s->hessian_weights);
    }
    if (s->with_curvature) curvature_end(&sum);
}

int sweep_evaluate(const rows *view, const double *coef, const target *t, int n_threads,
                   double *value, double *gradient, double *curvature, double *functional_margins,
                   double *log_margins, double *hessian_weights)
{
    size_t size = (size_t)view->n_columns + 1, square = curvature ? size * size : 0;
    sweep s = {.view = view,
               .coef = coef,
               .target = t,
               .functional_margins = functional_margins,
               .log_margins = log_margins,
               .hessian_weights = hessian_weights,
               .with_curvature = curvature != NULL};
    plan plan = plan_chunks(view, (ptrdiff_t)(size + square));
    if (curvature && plan.block_rows > CURVATURE_ROWS) plan.block_rows = CURVATURE_ROWS;
    int status = partials_new(&s.partials, view, plan, 1 + size + square,
                              curvature ? curvature_scratch(view) : 0, n_threads);
    if (status == 0) {
        each_chunk(plan.n_chunks, n_threads, evaluate_chunk, &s);
        const double *sum = partials_sum(&s.partials);
        *value = sum[0];
        memcpy(gradient, sum + 1, size * sizeof(double));
        if (curvature) {
            memcpy(curvature, sum + 1 + size, square * sizeof(double));
            curvature_fold(view, curvature);
        }
    }
    partials_free(&s.partials);
    return status;
}

static void hessp_chunk(void *work, ptrdiff_t chunk, int worker)
{
    sweep *s = work;
    double f[BLOCK_LIMIT], pointwise_gradient[BLOCK_LIMIT];
    double *out = partial(&s->partials, chunk);
    block b;
    walk w = walk_chunk(&s->partials, chunk, worker, 1);
    for (int more = walk_first(&w, &b, s->coef, f); more;
         more = walk_on(&w, &b, pointwise_gradient, out, s->coef, f))
        EACH_RUN(b, begin, at)
            for (ptrdiff_t i = 0; i < b.run; i++)
                pointwise_gradient[at + i] = f[at + i] * s->per_sample[begin + i];
}

static void rmatvec_chunk(void *work, ptrdiff_t chunk, int worker)
{
    sweep *s = work;
    double pointwise_gradient[BLOCK_LIMIT];
    block b;
    for (walk w = walk_chunk(&s->partials, chunk, worker, 1); walk_next(&w, &b);) {
        EACH_RUN(b, begin, at)
            memcpy(pointwise_gradient + at, s->per_sample + begin, (size_t)b.run * sizeof(double));
        block_add(&b, pointwise_gradient, partial(&s->partials, chunk));
    }
}

/* Run a body whose result is one number a column and the constant's. */
static int summed_sweep(sweep *s, chunk_body body, int n_threads, double *out)
{
    size_t size = (size_t)s->view->n_columns + 1;
    plan plan = plan_chunks(s->view, (ptrdiff_t)size);
    int status = partials_new(&s->partials, s->view, plan, size, 0, n_threads);
    if (status == 0) {
        each_chunk(plan.n_chunks, n_threads, body, s);
        memcpy(out, partials_sum(&s->partials), size * sizeof(double));
    }
    partials_free(&s->partials);
    return status;
}

int sweep_hessp(const rows *view, const double *hessian_weights, const double *vector,
                int n_threads, double *out)
{
    sweep s = {.view = view, .coef = vector, .per_sample = hessian_weights};
    return summed_sweep(&s, hessp_chunk, n_threads, out);
}

int sweep_rmatvec(const rows *view, const double *pointwise_gradient, int n_threads, double *out)
{
    sweep s = {.view = view, .per_sample = pointwise_gradient};
    return summed_sweep(&s, rmatvec_chunk, n_threads, out);
}
