/* The spectral gradient iteration (kernels/numpy_spectral.py, iterate): lengths and endings.
 *
 * Nothing here touches a sample; dual.c does.
 */
#include "spectral.h"

#include <math.h>
#include <string.h>

static const double ARMIJO = 1e-4, RATIO = 0.8, CLAMP = 1e10, EPS = 2.220446049250313e-16;
enum { SHORT_STEPS = 5, TRIALS = 100, PATIENCE = 200 };

/* The last few of a sequence of numbers. */
typedef struct {
    double values[SPECTRAL_MEMORY];
    int count, next, room;
} recent;

static void remember(recent *last, double value)
{
    last->values[last->next] = value;
    last->next = (last->next + 1) % last->room;
    if (last->count < last->room) last->count++;
}

static double largest(const recent *last)
{
    double value = -INFINITY;
    for (int k = 0; k < last->count; k++) value = fmax(value, last->values[k]);
    return value;
}

static double smallest(const recent *last)
{
    double value = INFINITY;
    for (int k = 0; k < last->count; k++) value = fmin(value, last->values[k]);
    return value;
}

/* History of bounded size: when it is full, every other entry goes. */
typedef struct {
    double *rows;
    ptrdiff_t capacity, count;
    long long stride;
} history;

static void history_add(history *h, long long n_iter, const double *figures)
{
    size_t width = SPECTRAL_FIGURES * sizeof(double);
    if (n_iter % h->stride) return;
    if (h->count == h->capacity) {
        ptrdiff_t kept = (h->count + 1) / 2;
        for (ptrdiff_t k = 1; k < kept; k++)
            memcpy(h->rows + k * SPECTRAL_FIGURES, h->rows + 2 * k * SPECTRAL_FIGURES, width);
        h->count = kept;
        h->stride *= 2;
        if (n_iter % h->stride) return;
    }
    memcpy(h->rows + h->count * SPECTRAL_FIGURES, figures, width);
    h->count++;
}

/* Length of the step along the negative gradient, before the search. */
static double length_of(const spectral_rule *rule, const dual *at, recent *shorts, long long n_iter)
{
    if (n_iter == 0) return rule->first > 0 ? rule->first : at->exact;
    if (!(at->ss > 0 && at->sy > 0 && at->yy > 0)) return at->exact;
    double long_step = at->ss / at->sy, short_step = at->sy / at->yy;
    if (!rule->adaptive) return long_step;
    remember(shorts, short_step);
    double step = short_step < RATIO * long_step ? smallest(shorts) : long_step;
    return fmin(step, at->exact * CLAMP);
}

/* The share of the direction that is accepted, or 0. Differences below the noise say nothing. */
static double search(const spectral_rule *rule, dual *at, double reference, double noise)
{
    double share = 1.0;
    for (int k = 0; k < TRIALS; k++) {
        double value = dual_trial(at, share);
        if (value <= reference + ARMIJO * share * at->slope + noise) return share;
        double shrink = 0.5;
        if (rule->adaptive) {
            double excess = value - at->value - share * at->slope;
            shrink = excess > 0 ? -0.5 * share * at->slope / excess : 0.1;
            shrink = fmin(fmax(shrink, 0.1), 0.5);
        }
        share *= shrink;
    }
    return 0.0;
}

spectral_status spectral_iterate(const dual_problem *problem, double *scaled_multipliers,
                                 double *tau, double *primal_residual, const spectral_rule *rule,
                                 spectral_callback callback, double *record, ptrdiff_t capacity,
                                 spectral_result *result)
{
    dual *at = dual_new(problem, scaled_multipliers, tau, primal_residual);
    if (!at) return SPECTRAL_NO_MEMORY;
    history past = {record, capacity, 0, 1};
    recent values = {.room = rule->memory}, shorts = {.room = SHORT_STEPS};
    double best_primal = INFINITY, best_model = INFINITY, seen_model = INFINITY, length = 0;
    long long n_iter = 0;
    int stalled = 0;
    spectral_status status;
    if (dual_read(at, 0.0, 0.0)) {
        status = SPECTRAL_ABANDONED;
        goto done;
    }
    for (;;) {
        remember(&values, at->value);
        int near = at->norm <= rule->goal_norm
                && (problem->loss.slack == 0 || at->model <= 2 * rule->goal_gap);
        double gap = INFINITY;
        /* the gap takes logarithms: only where it may end the work, or has fallen tenfold */
        if (problem->loss.slack == 0) {
            gap = dual_gap(at);
            best_primal = gap - at->value;
        } else if (near || at->model <= 0.1 * seen_model || n_iter == 0) {
            seen_model = at->model;
            gap = dual_gap(at);
            best_primal = fmin(best_primal, gap - at->value);
        }
        if (!near) gap = fmax(best_primal + at->value, 0.0);
        double figures[SPECTRAL_FIGURES] = {(double)n_iter, gap, best_primal, at->norm, length};
        history_add(&past, n_iter, figures);
        double noise = 8 * EPS * at->size;
        if (at->model < 0.9 * best_model) {
            best_model = at->model;
            stalled = 0;
        } else if (at->fall <= noise) {
            stalled++;
        }
        int asked = callback.call ? callback.call(callback.self, figures) : 0;
        if (asked) {
            status = asked > 0 ? SPECTRAL_INTERRUPTED : SPECTRAL_ABANDONED;
            break;
        }
        if ((near && gap <= rule->goal_gap) || at->norm == 0) {
            status = SPECTRAL_CONVERGED;
            break;
        }
        if (n_iter >= rule->max_iter) {
            status = SPECTRAL_MAX_ITER;
            break;
        }
        if (stalled >= PATIENCE) {
            status = SPECTRAL_PRECISION;
            break;
        }
        double step = length_of(rule, at, &shorts, n_iter);
        if (dual_aim(at, step)) {
            status = SPECTRAL_ABANDONED;
            break;
        }
        double share = search(rule, at, largest(&values), noise);
        if (share == 0) {
            status = SPECTRAL_PRECISION;
            break;
        }
        length = step * share;
        if (dual_read(at, step, share)) {
            status = SPECTRAL_ABANDONED;
            break;
        }
        n_iter++;
    }
    result->n_iter = n_iter;
    result->n_reads = at->n_reads;
    result->gap = dual_gap(at);
    result->objective = result->gap - at->value;
    result->gradient_norm = at->norm;
    result->n_recorded = past.count;
done:
    dual_free(at);
    return status;
}
