/* The dual at one set of multipliers: read, aim, trial, gap. */
#include "dual.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "box.h"
#include "samples.h"
#include "threads.h"

enum {
    MOST_CHUNKS = 64,
    CHUNK_ENTRIES = 1 << 16,    /* fewest numbers that make a chunk */
    CHUNK_SAMPLES = 1 << 13,    /* or samples */
    KEPT_ENTRIES = 1 << 17,     /* narrow rows up to this size are packed once, not each step */
};

struct dual_work {
    rows view;                  /* the rows, or their packed copy */
    double *packed;
    ptrdiff_t block, chunk_blocks, n_chunks;
    double *coef;               /* for the stored rows */
    double *totals;             /* n_chunks gradients of the stored rows */
    sums *parts;
    double *scratch;            /* one a thread */
    size_t scratch_size;
    double *weights, *offset, *sign; /* constants, as long as a block */
    double step, share;
};

static ptrdiff_t at_most(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }

/* -------------------------------------------------------- between design and stored rows */

/* Coefficients for the stored rows, the constant last (Design.to_rows). In place. */
static void to_rows(const dual_problem *p, double *coef)
{
    ptrdiff_t n = p->rows->n_columns;
    double constant = p->constant ? coef[n] : 0.0, shift = 0;
    if (p->scale)
        for (ptrdiff_t j = 0; j < n; j++) coef[j] /= p->scale[j];
    if (p->mean)
        for (ptrdiff_t j = 0; j < n; j++) shift += p->mean[j] * coef[j];
    coef[n] = constant - shift;
}

/* The chunks' gradients of the stored rows, summed, as one of the design (Design.from_rows). */
static void from_rows(const dual *at, double *out)
{
    const dual_problem *p = at->problem;
    struct dual_work *work = at->work;
    ptrdiff_t n = p->rows->n_columns;
    double *restrict total = work->totals;
    for (ptrdiff_t c = 1; c < work->n_chunks; c++) {
        const double *restrict part = work->totals + c * (n + 1);
        for (ptrdiff_t j = 0; j <= n; j++) total[j] += part[j];
    }
    for (ptrdiff_t j = 0; j < n; j++) {
        double g = total[j];
        if (p->mean) g -= p->mean[j] * total[n];
        out[j] = p->scale ? g / p->scale[j] : g;
    }
    if (p->constant) out[n] = total[n];
}

/* ----------------------------------------------------------------------- chunks of the samples */

/* A sample's constants within a block: one array, or its single value repeated. */
static const double *part(const double *whole, int one, const double *repeated, ptrdiff_t start)
{
    return one ? repeated : whole + start;
}

static const double *sign_part(const dual *at, ptrdiff_t start, ptrdiff_t n, double *room)
{
    if (at->problem->one_sign) return at->work->sign;
    const int8_t *sign = at->problem->sign + start;
    for (ptrdiff_t i = 0; i < n; i++) room[i] = sign[i];
    return room;
}

/* Calls `use` for every block of a chunk. */
typedef void (*block_body)(dual *at, ptrdiff_t start, ptrdiff_t n, ptrdiff_t chunk, int worker);

typedef struct {
    dual *at;
    block_body use;
} chunk_job;

static void run_chunk(void *job_, ptrdiff_t chunk, int worker)
{
    chunk_job *job = job_;
    struct dual_work *work = job->at->work;
    ptrdiff_t start = chunk * work->chunk_blocks * work->block;
    ptrdiff_t end = at_most(start + work->chunk_blocks * work->block, work->view.n_samples);
    memset(&work->parts[chunk], 0, sizeof(sums));
    for (; start < end; start += work->block)
        job->use(job->at, start, at_most(work->block, end - start), chunk, worker);
}

/* All chunks. Nonzero: they were told to stop. */
static int run(dual *at, block_body use)
{
    chunk_job job = {at, use};
    each_chunk(at->work->n_chunks, at->problem->n_threads, run_chunk, &job);
    return chunks_stopped(0);
}

static double summed(const dual *at, int which)
{
    double total = 0;
    for (ptrdiff_t c = 0; c < at->work->n_chunks; c++) total += at->work->parts[c].at[which];
    return total;
}

static void clear_totals(dual *at)
{
    size_t width = (size_t)at->problem->rows->n_columns + 1;
    memset(at->work->totals, 0, (size_t)at->work->n_chunks * width * sizeof(double));
}

static double *total_of(dual *at, ptrdiff_t chunk)
{
    return at->work->totals + chunk * (at->problem->rows->n_columns + 1);
}

static double *scratch_of(dual *at, int worker)
{
    return at->work->scratch + (size_t)worker * at->work->scratch_size;
}

static void read_block(dual *at, ptrdiff_t start, ptrdiff_t n, ptrdiff_t chunk, int worker)
{
    const dual_problem *p = at->problem;
    struct dual_work *work = at->work;
    double scores[BLOCK_LIMIT], pointwise_gradient[BLOCK_LIMIT], signs[BLOCK_LIMIT];
    block b;
    block_open(&b, &work->view, start, n, scratch_of(at, worker));
    block_dot(&b, work->coef, scores);
    const double *sign = sign_part(at, start, n, signs);
    const double *q = part(p->weights, p->one_weight, work->weights, start);
    const double *offset = part(p->offset, p->one_offset, work->offset, start);
    samples here = {n, sign, q, offset, p->loss.slack, p->loss.inequality, work->step, work->share};
    samples_residuals(&here, at->margin + start, scores, at->scaled_multipliers + start,
                      at->primal_residual + start, pointwise_gradient, &work->parts[chunk]);
    block_add(&b, pointwise_gradient, total_of(at, chunk));
}

int dual_read(dual *at, double step, double share)
{
    const dual_problem *p = at->problem;
    struct dual_work *work = at->work;
    if (share > 0) {
        for (ptrdiff_t j = 0; j < p->box.n; j++) at->tau[j] += share * at->move[j];
        double *spare = at->margin;
        at->margin = at->trial_margin;
        at->trial_margin = spare;
        at->value = at->trial_value;
        at->size = at->trial_size;
    }
    box_coef(&p->box, at->tau, work->coef);
    to_rows(p, work->coef);
    clear_totals(at);
    work->step = step;
    work->share = share;
    if (run(at, read_block)) return 1;
    at->n_reads += 1;
    from_rows(at, at->image);
    at->norm = sqrt(summed(at, SUM_NORM));
    at->ss = summed(at, SUM_SS);
    at->sy = summed(at, SUM_SY);
    at->yy = summed(at, SUM_YY);
    at->gg = summed(at, SUM_GG);
    at->model = summed(at, SUM_MODEL);
    double norm = at->gg > 0 ? sqrt(at->gg) : 1.0;
    double curvature = box_curvature_along(&p->box, at->tau, at->image, norm)
                       + summed(at, SUM_CURVATURE) / (norm * norm);
    at->exact = curvature > 0 && curvature < INFINITY ? 1.0 / curvature : 1.0;
    at->fall = at->exact * at->gg;
    return 0;
}

/* The rows that the step stops at zero: take their excess out of the direction's image. */
static void hold_block(dual *at, ptrdiff_t start, ptrdiff_t n, ptrdiff_t chunk, int worker)
{
    const dual_problem *p = at->problem;
    struct dual_work *work = at->work;
    const double *scaled_multipliers = at->scaled_multipliers + start;
    const double *primal_residual = at->primal_residual + start;
    const double *q = part(p->weights, p->one_weight, work->weights, start);
    double pointwise_gradient[BLOCK_LIMIT], signs[BLOCK_LIMIT];
    ptrdiff_t first = n, last = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        double g = free_part(scaled_multipliers[i], primal_residual[i], q[i], 1);
        double excess = scaled_multipliers[i] - work->step * g;
        pointwise_gradient[i] = excess < 0 ? -excess : 0.0;
        if (!(excess < 0)) continue;
        if (first == n) first = i;
        last = i + 1;
    }
    if (first == n) return;
    const double *sign = sign_part(at, start, n, signs);
    for (ptrdiff_t i = first; i < last; i++) pointwise_gradient[i] *= sign[i] * q[i];
    block b;
    block_open(&b, &work->view, start + first, last - first, scratch_of(at, worker));
    block_add(&b, pointwise_gradient + first, total_of(at, chunk));
    work->parts[chunk].at[0] += (double)(last - first);
}

/* q g d, whose sum is the slope along the direction. */
static void slope_block(dual *at, ptrdiff_t start, ptrdiff_t n, ptrdiff_t chunk, int worker)
{
    const dual_problem *p = at->problem;
    const double *q = part(p->weights, p->one_weight, at->work->weights, start);
    double total = 0;
    (void)worker;
    for (ptrdiff_t i = start; i < start + n; i++) {
        double g = free_part(at->scaled_multipliers[i], at->primal_residual[i], q[i - start], 1);
        total += q[i - start] * g * full_move(at->scaled_multipliers[i], g, at->work->step, 1);
    }
    at->work->parts[chunk].at[0] += total;
}

int dual_aim(dual *at, double step)
{
    const dual_problem *p = at->problem;
    at->step = at->work->step = step;
    for (ptrdiff_t j = 0; j < p->box.n; j++) at->move[j] = -step * at->image[j];
    at->slope = -step * at->gg;
    if (!p->loss.inequality) return 0;
    clear_totals(at);
    if (run(at, hold_block)) return 1;
    double held = summed(at, 0);
    if (held == 0) return 0;
    at->n_reads += held / (double)p->rows->n_samples;
    double *excess = at->work->coef;
    from_rows(at, excess);
    for (ptrdiff_t j = 0; j < p->box.n; j++) at->move[j] += excess[j];
    run(at, slope_block);
    at->slope = summed(at, 0);
    return 0;
}

static void trial_block(dual *at, ptrdiff_t start, ptrdiff_t n, ptrdiff_t chunk, int worker)
{
    const dual_problem *p = at->problem;
    struct dual_work *work = at->work;
    (void)worker;
    const double *q = part(p->weights, p->one_weight, work->weights, start);
    const double *offset = part(p->offset, p->one_offset, work->offset, start);
    samples here = {n, NULL, q, offset, p->loss.slack, p->loss.inequality, work->step, work->share};
    work->parts[chunk].at[0] +=
        samples_value(&here, at->scaled_multipliers + start, at->primal_residual + start,
                      at->trial_margin + start);
}

double dual_trial(dual *at, double share)
{
    at->work->step = at->step;
    at->work->share = share;
    run(at, trial_block);
    double samples = summed(at, 0);
    double entropy = box_conjugate(&at->problem->box, at->tau, share, at->move);
    double value = entropy + samples;
    at->trial_value = value == value ? value : INFINITY;
    at->trial_size = fabs(entropy) + fabs(samples);
    return at->trial_value;
}

static void gap_block(dual *at, ptrdiff_t start, ptrdiff_t n, ptrdiff_t chunk, int worker)
{
    const dual_problem *p = at->problem;
    (void)worker;
    at->work->parts[chunk].at[0] += samples_gap(
        &p->loss, n, part(p->weights, p->one_weight, at->work->weights, start),
        at->scaled_multipliers + start, at->margin + start, at->primal_residual + start);
}

double dual_gap(dual *at)
{
    run(at, gap_block);
    return summed(at, 0);
}

/* ------------------------------------------------------------------------------------- memory */

/* Narrow rows that fit the cache, packed once: a column's numbers side by side. */
static int pack(struct dual_work *work)
{
    const rows view = work->view;
    ptrdiff_t m = view.n_samples, n = view.n_columns;
    if (view.kind != ROWS_PACKED || n == 0 || m > KEPT_ENTRIES / n) return 0;
    work->packed = malloc((size_t)(m * n) * sizeof(double));
    double *scratch = malloc(block_scratch(&view, BLOCK_LIMIT) * sizeof(double));
    if (!work->packed || !scratch) {
        free(scratch);
        return 1;
    }
    for (ptrdiff_t start = 0; start < m; start += BLOCK_LIMIT) {
        block b;
        ptrdiff_t count = at_most(BLOCK_LIMIT, m - start);
        block_open(&b, &view, start, count, scratch);
        for (ptrdiff_t j = 0; j < n; j++)
            memcpy(work->packed + j * m + start, (const double *)b.values + j * b.stride,
                   (size_t)count * sizeof(double));
    }
    free(scratch);
    work->view.is_float = 0;
    work->view.values = (const char *)work->packed;
    work->view.row_stride = sizeof(double);
    work->view.column_stride = m * (ptrdiff_t)sizeof(double);
    work->view.centre = NULL;
    rows_choose_kind(&work->view);
    return 0;
}

/* Chunks: large enough to be worth a thread and a gradient of their own. */
static void divide(struct dual_work *work)
{
    const rows *view = &work->view;
    ptrdiff_t m = view->n_samples, n = view->n_columns;
    double entries = view->kind == ROWS_SPARSE ? (double)view->n_entries : (double)m * (double)n;
    double chunks = entries / CHUNK_ENTRIES, by_samples = (double)m / CHUNK_SAMPLES;
    if (by_samples > chunks) chunks = by_samples;
    double by_width = entries / (4.0 * (double)(n + 1)) + 1;
    if (by_width < chunks) chunks = by_width;
    if (chunks > MOST_CHUNKS) chunks = MOST_CHUNKS;
    if (chunks < 1) chunks = 1;
    ptrdiff_t blocks = (m + work->block - 1) / work->block;
    work->chunk_blocks = (blocks + (ptrdiff_t)chunks - 1) / (ptrdiff_t)chunks;
    work->n_chunks = (blocks + work->chunk_blocks - 1) / work->chunk_blocks;
}

static double *numbers(size_t count, int *failed)
{
    double *memory = calloc(count ? count : 1, sizeof(double));
    if (!memory) *failed = 1;
    return memory;
}

dual *dual_new(const dual_problem *problem, double *scaled_multipliers, double *tau,
               double *primal_residual)
{
    dual *at = calloc(1, sizeof(dual));
    struct dual_work *work = calloc(1, sizeof(struct dual_work));
    if (!at || !work) {
        free(at);
        free(work);
        return NULL;
    }
    size_t m = (size_t)problem->rows->n_samples, n = (size_t)problem->rows->n_columns + 1;
    at->problem = problem;
    at->work = work;
    at->scaled_multipliers = scaled_multipliers;
    at->tau = tau;
    at->primal_residual = primal_residual;
    work->view = *problem->rows;
    int failed = pack(work);
    work->block = block_rows(&work->view);
    divide(work);
    work->scratch_size = block_scratch(&work->view, work->block);
    at->margin = numbers(m, &failed);
    at->trial_margin = numbers(m, &failed);
    at->image = numbers(n, &failed);
    at->move = numbers(n, &failed);
    work->coef = numbers(n, &failed);
    work->totals = numbers((size_t)work->n_chunks * n, &failed);
    work->scratch = numbers(work->scratch_size * (size_t)problem->n_threads, &failed);
    work->parts = calloc((size_t)work->n_chunks, sizeof(sums));
    work->weights = numbers(BLOCK_LIMIT, &failed);
    work->offset = numbers(BLOCK_LIMIT, &failed);
    work->sign = numbers(BLOCK_LIMIT, &failed);
    if (failed || !work->parts) {
        dual_free(at);
        return NULL;
    }
    for (int i = 0; i < BLOCK_LIMIT; i++) {
        work->weights[i] = problem->weights[0];
        work->offset[i] = problem->offset[0];
        work->sign[i] = problem->sign[0];
    }
    /* a trial that goes nowhere gives the value and the margins at the start */
    dual_trial(at, 0.0);
    memcpy(at->margin, at->trial_margin, m * sizeof(double));
    at->value = at->trial_value;
    at->size = at->trial_size;
    return at;
}

void dual_free(dual *at)
{
    if (!at) return;
    struct dual_work *work = at->work;
    free(work->packed);
    free(work->coef);
    free(work->totals);
    free(work->scratch);
    free(work->parts);
    free(work->weights);
    free(work->offset);
    free(work->sign);
    free(work);
    free(at->margin);
    free(at->trial_margin);
    free(at->image);
    free(at->move);
    free(at);
}
