/* The curvatures of several problems on the same rows.
 *
 * Of narrow dense rows a block is copied once, and the products of each two columns are formed in
 * registers and multiplied by the Hessian weights of several problems, while a matrix of its own
 * would take a weighted copy for each problem. Of others, each problem takes the rows to which it
 * gives weight: few, where most are beyond the kink of the inequality form, and not the others' ones.
 */
#include "several.h"

#include <stdlib.h>
#include <string.h>

#include "micro_tile.h"
#include "threads.h"
#include "walk.h"

enum {
#ifdef __AVX512F__
    PAIRED_COLUMNS = 48,    /* up to which, */
#else
    PAIRED_COLUMNS = 24,
#endif
    PAIRED_MATRICES = 4,    /* and for so many matrices and more, products of columns are shared, */
    PAIRED_ROWS = 128,      /* of so many rows at a time: a part of the first-level cache */
    MOST_SUMS = 1 << 23,    /* numbers in the sums of all problems' stretches */
    WEIGHTS_STEP = CURVATURE_ROWS + 8   /* rows of weights must not compete for places in cache */
};

static int by_pairs(const rows *view, ptrdiff_t n_matrices)
{
    return view->kind != ROWS_SPARSE && view->n_columns <= PAIRED_COLUMNS
        && n_matrices >= PAIRED_MATRICES;
}

int curvatures_together(const rows *view, ptrdiff_t n_matrices)
{
    return n_matrices == 1 || by_pairs(view, n_matrices);
}

/* Numbers from one matrix to the next. */
static ptrdiff_t matrix_step(const rows *view, ptrdiff_t n_matrices)
{
    ptrdiff_t n = view->n_columns + 1;
    return by_pairs(view, n_matrices) ? micro_tile_row(n) : n * n;
}

size_t curvatures_size(const rows *view, ptrdiff_t n_matrices)
{
    return (size_t)(n_matrices * matrix_step(view, n_matrices));
}

static ptrdiff_t weights_size(const rows *view, ptrdiff_t n_matrices)
{
    return by_pairs(view, n_matrices) ? micro_steps(n_matrices) * WEIGHTS_STEP : CURVATURE_ROWS;
}

size_t curvatures_scratch(const rows *view, ptrdiff_t n_matrices)
{
    size_t weights = (size_t)weights_size(view, n_matrices);
    return weights + curvature_scratch(view);
}

void curvatures_begin(curvatures *c, const rows *view, ptrdiff_t n_matrices, double *sums,
                      double *scratch)
{
    *c = (curvatures){.view = view, .n_matrices = n_matrices, .sums = sums, .weights = scratch};
    c->copy = scratch + weights_size(view, n_matrices);
    if (n_matrices == 1) curvature_begin(&c->sum, view, sums, c->copy);
}

double *curvatures_weights(const curvatures *c, ptrdiff_t matrix)
{
    return c->weights + (c->n_matrices > 1 ? matrix * WEIGHTS_STEP : 0);
}

/* Multiply out a block for all matrices. */
static void add_pairs(curvatures *c, const block *b)
{
    ptrdiff_t n = c->view->n_columns + 1, ld = micro_steps(n), count;
    for (ptrdiff_t row = 0; row < b->count; row += count) {
        count = b->count - row < PAIRED_ROWS ? b->count - row : PAIRED_ROWS;
        submatrix p = {row, count, 0, n, NULL, NULL};
        block_copy(b, &p, c->copy, ld);
        micro_tile_weighted(c->weights + row, WEIGHTS_STEP, c->n_matrices, c->copy, ld, count, n,
                            c->sums, matrix_step(c->view, c->n_matrices));
    }
}

void curvatures_add(curvatures *c, const block *b, ptrdiff_t matrix)
{
    if (c->n_matrices == 1) curvature_add(&c->sum, b, c->weights);
    else if (matrix == c->n_matrices - 1) add_pairs(c, b);
}

void curvatures_end(curvatures *c)
{
    if (c->n_matrices == 1) curvature_end(&c->sum);
}

void curvatures_unpack(const rows *view, ptrdiff_t n_matrices, const double *sums,
                       ptrdiff_t matrix, double *out)
{
    ptrdiff_t n = view->n_columns + 1;
    sums += matrix * matrix_step(view, n_matrices);
    if (by_pairs(view, n_matrices)) {
        for (ptrdiff_t i = 0; i < n; i++)
            for (ptrdiff_t j = 0; j <= i; j++)
                out[i * n + j] = out[j * n + i] = sums[micro_tile_row(i) + j];
        return;
    }
    memcpy(out, sums, (size_t)(n * n) * sizeof(double));
    curvature_fold(view, out);
}

/* ------------------------------------------------------------------- each problem for itself */

/* Rows of a problem that one task sums into a matrix. */
typedef struct {
    ptrdiff_t begin, end;
    const double *hessian_weights;
    double *matrix;
} stretch;

typedef struct {
    const rows *view;
    const problem *problems;
    ptrdiff_t n_problems, *first;   /* of a problem's stretches, and where the last one's end */
    stretch *stretches;
    double *sums, *scratch;
    size_t scratch_size;
    ptrdiff_t block_rows;
} apart;

static ptrdiff_t square_of(const rows *view)
{
    return (view->n_columns + 1) * (view->n_columns + 1);
}

static ptrdiff_t count_weighted(const double *weights, ptrdiff_t count)
{
    ptrdiff_t weighted = 0;
    for (ptrdiff_t i = 0; i < count; i++) weighted += weights[i] != 0;
    return weighted;
}

/* Stretches of a problem by the sizes alone: as many as there were chunks of the rows with weight. */
static ptrdiff_t count_stretches(const rows *view, ptrdiff_t weighted, ptrdiff_t n_problems)
{
    rows part = *view;
    part.n_samples = weighted;
    part.n_entries = (ptrdiff_t)((double)view->n_entries / (double)(view->n_samples + 1)
                                 * (double)weighted);
    ptrdiff_t size = square_of(view), most = MOST_SUMS / (size * n_problems);
    ptrdiff_t count = plan_chunks(&part, size).n_chunks;
    if (count > most) count = most;
    return count > 0 ? count : 1;
}

/* Cut the rows where a stretch has its part of those with weight. */
static void cut(const double *weights, ptrdiff_t weighted, ptrdiff_t count, stretch *stretches)
{
    ptrdiff_t row = 0, before = 0;
    for (ptrdiff_t k = 0; k < count; k++) {
        stretches[k].begin = row;
        stretches[k].hessian_weights = weights;
        for (ptrdiff_t until = weighted * (k + 1) / count; before < until; row++)
            before += weights[row] != 0;
        stretches[k].end = row;
    }
}

static void sum_stretch(void *work, ptrdiff_t task, int worker)
{
    const apart *s = work;
    const stretch *t = s->stretches + task;
    double *scratch = s->scratch + (size_t)worker * s->scratch_size;
    curvature_sum sum;
    memset(t->matrix, 0, (size_t)square_of(s->view) * sizeof(double));
    curvature_begin(&sum, s->view, t->matrix, scratch);
    for (ptrdiff_t row = t->begin, count; row < t->end; row += count) {
        block b;
        count = t->end - row < s->block_rows ? t->end - row : s->block_rows;
        if (count_weighted(t->hessian_weights + row, count) == 0) continue;
        block_open_copy(&b, s->view, row, count, scratch + curvature_scratch(s->view));
        curvature_add(&sum, &b, t->hessian_weights + row);
    }
    curvature_end(&sum);
}

/* The curvature of a problem from the sums of its stretches, of which the first is in its place. */
static void sum_problem(void *work, ptrdiff_t at, int worker)
{
    const apart *s = work;
    const stretch *end = s->stretches + s->first[at + 1];
    double *restrict curvature = s->problems[at].curvature;
    (void)worker;
    for (const stretch *t = s->stretches + s->first[at] + 1; t < end; t++)
        for (ptrdiff_t j = 0; j < square_of(s->view); j++) curvature[j] += t->matrix[j];
    curvature_fold(s->view, curvature);
}

static int share_out(apart *s)
{
    ptrdiff_t n_stretches = 0, n_sums = 0;
    for (ptrdiff_t k = 0; k < s->n_problems; k++) {
        const double *weights = s->problems[k].hessian_weights;
        s->first[k] = n_stretches;
        n_stretches += count_stretches(s->view, count_weighted(weights, s->view->n_samples),
                                       s->n_problems);
    }
    s->first[s->n_problems] = n_stretches;
    s->stretches = malloc((size_t)n_stretches * sizeof(stretch));
    s->sums = malloc(((size_t)((n_stretches - s->n_problems) * square_of(s->view)) + 1)
                     * sizeof(double));
    if (!s->stretches || !s->sums) return -1;
    for (ptrdiff_t k = 0; k < s->n_problems; k++) {
        const double *weights = s->problems[k].hessian_weights;
        ptrdiff_t first = s->first[k], count = s->first[k + 1] - first;
        cut(weights, count_weighted(weights, s->view->n_samples), count, s->stretches + first);
        s->stretches[first].matrix = s->problems[k].curvature;
        for (ptrdiff_t j = 1; j < count; j++)
            s->stretches[first + j].matrix = s->sums + n_sums++ * square_of(s->view);
    }
    return 0;
}

int curvatures_apart(const rows *view, const problem *problems, ptrdiff_t n_problems,
                     int n_threads)
{
    apart s = {.view = view, .problems = problems, .n_problems = n_problems};
    s.block_rows = block_rows(view) < CURVATURE_ROWS ? block_rows(view) : CURVATURE_ROWS;
    s.scratch_size = curvature_scratch(view) + block_copy_scratch(view, s.block_rows);
    s.scratch = malloc(((size_t)n_threads * s.scratch_size + 1) * sizeof(double));
    s.first = malloc((size_t)(n_problems + 1) * sizeof(ptrdiff_t));
    int status = s.scratch && s.first ? share_out(&s) : -1;
    if (status == 0) {
        each_task(s.first[n_problems], n_threads, sum_stretch, &s);
        each_task(n_problems, n_threads, sum_problem, &s);
    }
    free(s.scratch);
    free(s.first);
    free(s.stretches);
    free(s.sums);
    return status;
}
