/* Newton's steps on a small problem. */
#include "newton.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blas.h"
#include "threads.h"

static const double SHORTEST = 1e-6; /* share of a step that is tried here */

/* Work arrays: coefficients, gradient and curvature of the stored rows with their constant, and for
 * each feature what a step needs. */
typedef struct {
    double *memory, *inner, *gradient, *curvature;
    double *slope, *root, *load, *inverse, *p, *move, *matrix;
} work;

static int work_new(work *w, size_t n)
{
    w->memory = malloc((8 * n + 2 * n * n) * sizeof(double));
    if (!w->memory) return -1;
    double **vectors[] = {&w->inner, &w->gradient, &w->slope, &w->root,
                          &w->load,  &w->inverse,  &w->p,     &w->move};
    for (size_t k = 0; k < 8; k++) *vectors[k] = w->memory + k * n;
    w->curvature = w->memory + 8 * n;
    w->matrix = w->curvature + n * n;
    return 0;
}

/* Coefficients of the stored rows, the constant's last (Design.to_rows). */
static void to_rows(const newton_problem *p, const double *coef, double *inner)
{
    const ptrdiff_t n = p->view->n_columns;
    double constant = p->constant ? coef[n] : 0.0;
    for (ptrdiff_t j = 0; j < n; j++) inner[j] = p->scale ? coef[j] / p->scale[j] : coef[j];
    if (p->mean)
        for (ptrdiff_t j = 0; j < n; j++) constant -= p->mean[j] * inner[j];
    inner[n] = constant;
}

/* Gradient and curvature of the stored rows, as the design's (from_rows, curvature_from_rows). */
static void from_rows(const newton_problem *p, const work *w, newton_point *at)
{
    const ptrdiff_t n = p->view->n_columns, all = n + 1, kept = n + p->constant;
    double *matrix = w->curvature;
    const double *last = matrix + n * all;
    for (ptrdiff_t j = 0; j < kept; j++) {
        double mean = p->mean && j < n ? p->mean[j] : 0.0;
        double scale = p->scale && j < n ? p->scale[j] : 1.0;
        at->gradient[j] = (w->gradient[j] - mean * w->gradient[n]) / scale;
    }
    for (ptrdiff_t i = 0; p->mean && i < n; i++)
        for (ptrdiff_t j = 0; j < all; j++) matrix[i * all + j] -= p->mean[i] * last[j];
    for (ptrdiff_t i = 0; i < kept; i++) {
        double shift = matrix[i * all + n], of_row = p->scale && i < n ? p->scale[i] : 1.0;
        for (ptrdiff_t j = 0; j < kept; j++) {
            double mean = p->mean && j < n ? p->mean[j] : 0.0;
            double scale = p->scale && j < n ? p->scale[j] : 1.0;
            at->curvature[i * kept + j] = (matrix[i * all + j] - shift * mean) / of_row / scale;
        }
    }
}

/* Everything about the point's state. Returns -1 where memory was short. */
static int evaluate(const newton_problem *p, work *w, newton_point *at)
{
    const box *box = p->box;
    problem each = {.coef = w->inner,
                    .target = p->target,
                    .functional_margins = at->functional_margins,
                    .log_margins = at->log_margins,
                    .hessian_weights = at->hessian_weights,
                    .gradient = w->gradient,
                    .curvature = w->curvature};
    box_coef_at(box, at->state, at->coef);
    to_rows(p, at->coef, w->inner);
    if (sweep_evaluate(p->view, &each, 1, 1) != 0) return -1;
    from_rows(p, w, at);
    for (ptrdiff_t j = 0; j < box->n; j++) w->move[j] = -at->gradient[j];
    at->value = each.value;
    at->entropy = box_value_at(box, at->state);
    at->gap = box_gap(box, at->state, w->move);
    return 0;
}

/* p = -(I + r H r)^-1 r gamma by a Cholesky factor of the matrix scaled to a diagonal of ones
 * (solvers/factor.py). Returns whether there is one. */
static int direction(ptrdiff_t n, const double *curvature, work *w)
{
    for (ptrdiff_t j = 0; j < n; j++) {
        w->load[j] = w->root[j] * sqrt(fmax(curvature[j * n + j], 0.0));
        w->inverse[j] = 1 / hypot(1.0, w->load[j]);
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        double own = w->root[i] * w->inverse[i], along = w->load[i] * w->inverse[i];
        for (ptrdiff_t j = 0; j < n; j++)
            w->matrix[i * n + j] = curvature[i * n + j] * (w->root[j] * w->inverse[j]) * own;
        w->matrix[i * n + i] = w->inverse[i] * w->inverse[i] + along * along;
        w->p[i] = -w->inverse[i] * (w->root[i] * w->slope[i]);
    }
    if (blas_cholesky_solve(w->matrix, n, w->p) != 0) return 0;
    for (ptrdiff_t j = 0; j < n; j++) w->p[j] *= w->inverse[j];
    return 1;
}

/* The slope along Newton's step from `at`; 0 where it needs more care. */
static double slope_along(const newton_problem *p, const newton_point *at, work *w)
{
    const box *box = p->box;
    double along = 0;
    box_inverse_hessian_root(box, at->state, w->root);
    for (ptrdiff_t j = 0; j < box->n; j++) {
        if (!(w->root[j] > 1e-100)) return 0;
        w->slope[j] = box->entropy_weight / box->half_width[j] * at->state[j] + at->gradient[j];
    }
    if (!direction(box->n, at->curvature, w)) return 0;
    for (ptrdiff_t j = 0; j < box->n; j++) along += w->root[j] * w->slope[j] * w->p[j];
    return along;
}

/* The state of a trial at a share of that step. */
static void aim(const newton_problem *p, const newton_point *at, newton_point *trial, double length,
                work *w)
{
    const box *box = p->box;
    double share = length / box->entropy_weight;
    for (ptrdiff_t j = 0; j < box->n; j++)
        w->move[j] = share * box->half_width[j] * w->p[j] / w->root[j];
    box_moved(box, at->state, w->move, p->straight, trial->state);
}

static double noise_of(const newton_point *at)
{
    return 8 * DBL_EPSILON * (fabs(at->entropy) + fabs(at->value));
}

static double change_to(const newton_point *trial, const newton_point *at)
{
    return trial->entropy + trial->value - (at->entropy + at->value);
}

/* Whether a trial is taken without a second thought. */
static int accepted(const newton_problem *p, const newton_point *at, const newton_point *trial,
                    double slope)
{
    double change = change_to(trial, at);
    int enough = change <= p->armijo * slope
              || (change <= noise_of(at) && trial->gap < 0.9 * at->gap);
    if (p->target.loss.inequality && !(-change >= -p->promised * slope)) return 0;
    return enough && (at->gap > p->goal || trial->gap <= at->gap);
}

/* Whether half of a step that was not accepted may be: not over a kink, where steps are made anew,
 * not at the goal, and not where differences are rounding. */
static int halved(const newton_problem *p, const newton_point *at, const newton_point *trial,
                  double slope)
{
    double size = fmax(fabs(slope), fabs(change_to(trial, at)));
    return !p->target.loss.inequality && at->gap > p->goal && !(size <= noise_of(at));
}

int newton_steps(const newton_problem *p, newton_point points[2], newton_run *run)
{
    work w;
    *run = (newton_run){0};
    if (work_new(&w, (size_t)p->view->n_columns + 1) != 0) return -1;
    int status = evaluate(p, &w, &points[0]), stop = status != 0;
    double length = 0;
    run->n_reads = 1;
    for (;;) {
        newton_point *at = &points[0], *trial = &points[1];
        if (stop || chunks_stopped(0)) break;
        if (p->told(p->listener, at->gap, at->entropy + at->value, length)) break;
        if (!(at->gap > p->sharp) || run->polished || run->n_steps == p->most) break;
        double slope = slope_along(p, at, &w);
        if (!(slope < 0)) break;
        int taken = 0;
        for (length = 1; !taken; length /= 2) {
            aim(p, at, trial, length, &w);
            status = evaluate(p, &w, trial);
            stop = status != 0;
            run->n_reads++;
            if (stop || chunks_stopped(0)) break;
            taken = accepted(p, at, trial, length * slope);
            if (taken || !(length > SHORTEST) || !halved(p, at, trial, length * slope)) break;
        }
        if (!taken) break;
        run->polished = at->gap <= p->goal;
        run->n_steps++;
        newton_point before = *at;
        *at = *trial;
        *trial = before;
    }
    free(w.memory);
    return status;
}
