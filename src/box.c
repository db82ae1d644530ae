/* The box of the coefficients (kernels/box.py, Box, which holds the formulas). */
#include "box.h"

#include <math.h>

#include "cpu.h"
#include "exponential.h"

/* Exponentials first, in loops of their own without `omp simd`: inside one, gcc keeps their bit
 * patterns in memory. Sums after that, in blocks of this length. */
enum { LENGTH = 256 };

static ALWAYS_INLINE double fast_tanh(double u)
{
    double decay = fast_expm1(-2.0 * fabs(u));
    return copysign(-decay / (2.0 + decay), u);
}

/* sech u, which keeps its relative precision where 1 - tanh^2 u has lost it */
static ALWAYS_INLINE double fast_sech(double u)
{
    double decay = fast_exp(-fabs(u));
    return 2.0 * decay / (1.0 + decay * decay);
}

static ALWAYS_INLINE double within(double w, double lower, double upper)
{
    w = w < lower ? lower : w;
    return w > upper ? upper : w;
}

static double sum_of(const double *terms, ptrdiff_t n)
{
    double total = 0;
#pragma omp simd reduction(+ : total)
    for (ptrdiff_t j = 0; j < n; j++) total += terms[j];
    return total;
}

void box_coef(const box *p, const double *restrict tau, double *restrict coef)
{
    const double *restrict centre = p->centre, *restrict half = p->half_width;
    const double *restrict lower = p->lower, *restrict upper = p->upper;
    double alpha = p->entropy_weight;
    for (ptrdiff_t j = 0; j < p->n; j++) {
        double w = centre[j] + half[j] * fast_tanh(half[j] * tau[j] / alpha);
        coef[j] = within(w, lower[j], upper[j]);
    }
}

void box_coef_at(const box *p, const double *restrict state, double *restrict coef)
{
    const double *restrict centre = p->centre, *restrict half = p->half_width;
    const double *restrict lower = p->lower, *restrict upper = p->upper;
    for (ptrdiff_t j = 0; j < p->n; j++)
        coef[j] = within(centre[j] + half[j] * fast_tanh(state[j]), lower[j], upper[j]);
}

void box_inverse_hessian_root(const box *p, const double *restrict state,
                              double *restrict root_of_inverse)
{
    const double *restrict half = p->half_width;
    double root = sqrt(p->entropy_weight);
    for (ptrdiff_t j = 0; j < p->n; j++) root_of_inverse[j] = fast_sech(state[j]) * half[j] / root;
}

double box_value_at(const box *p, const double *state)
{
    double total = 0, terms[LENGTH];
    for (ptrdiff_t first = 0; first < p->n; first += LENGTH) {
        ptrdiff_t n = p->n - first < LENGTH ? p->n - first : LENGTH;
        const double *restrict u = state + first;
        for (ptrdiff_t j = 0; j < n; j++) {
            double size = fabs(u[j]), decay = fast_exp(-2.0 * size);
            terms[j] = -2.0 * size * decay / (1.0 + decay) - fast_log1p_unit(decay);
        }
        total += sum_of(terms, n);
    }
    return p->entropy_weight * total;
}

void box_moved(const box *p, const double *restrict state, const double *restrict move,
               double straight, double *restrict moved)
{
    for (ptrdiff_t j = 0; j < p->n; j++) {
        double sech = fast_sech(state[j]), ratio = fast_tanh(state[j]) + sech * sech * move[j];
        double size = fabs(ratio), held = size < straight ? size : 0.0;
        double inside = copysign(0.5 * fast_log1p(2.0 * held / (1.0 - held)), ratio);
        moved[j] = size < straight ? inside : state[j] + move[j];
    }
}

/* Terms of the gap where tau asks for a logit of 30 or more above the state's. */
static void far_terms(ptrdiff_t n, const double *restrict move, const double *restrict first,
                      const double *restrict second, double *restrict terms)
{
    for (ptrdiff_t j = 0; j < n; j++) {
        double decay = fast_exp(first[j]), q = decay / (1.0 + decay);
        double softplus = fast_log1p_unit(fast_exp(-fabs(second[j])));
        softplus += second[j] > 0.0 ? second[j] : 0.0;
        double far = softplus - fast_log1p_unit(decay) - move[j] * q;
        terms[j] = move[j] >= 30.0 ? far : terms[j];
    }
}

double box_gap(const box *p, const double *state, const double *tau)
{
    double alpha = p->entropy_weight, total = 0, terms[LENGTH];
    double move[LENGTH], logit[LENGTH], other[LENGTH];
    for (ptrdiff_t begin = 0; begin < p->n; begin += LENGTH) {
        ptrdiff_t n = p->n - begin < LENGTH ? p->n - begin : LENGTH;
        const double *restrict half = p->half_width + begin;
        const double *restrict at = state + begin, *restrict asked = tau + begin;
        double furthest = 0;
        for (ptrdiff_t j = 0; j < n; j++) {
            /* mirrored so that q <= 1/2: both logarithms then keep their precision */
            double first = 2.0 * at[j], second = 2.0 * (half[j] * asked[j] / alpha);
            second = first > 0.0 ? -second : second;
            first = first > 0.0 ? -first : first;
            double decay = fast_exp(first), q = decay / (1.0 + decay);
            double d = within(second - first, -1e300, 1e300);
            double near = fast_log1p(q * fast_expm1(d > 30.0 ? 30.0 : d)) - d * q;
            double series = q * (1.0 - q) * d * d * (0.5 + (1.0 - 2.0 * q) * d / 6.0);
            terms[j] = fabs(d) < 1e-4 ? series : near;
            move[j] = d;
            logit[j] = first;
            other[j] = second;
        }
        for (ptrdiff_t j = 0; j < n; j++) furthest = move[j] > furthest ? move[j] : furthest;
        if (furthest >= 30.0) far_terms(n, move, logit, other, terms);
        /* never negative; what is not a number stays so */
        for (ptrdiff_t j = 0; j < n; j++) terms[j] = terms[j] < 0.0 ? 0.0 : terms[j];
        total += sum_of(terms, n);
    }
    return alpha * total;
}

double box_conjugate(const box *p, const double *tau, double share, const double *move)
{
    double alpha = p->entropy_weight, total = 0, terms[LENGTH];
    for (ptrdiff_t first = 0; first < p->n; first += LENGTH) {
        ptrdiff_t n = p->n - first < LENGTH ? p->n - first : LENGTH;
        const double *restrict centre = p->centre + first, *restrict half = p->half_width + first;
        const double *restrict at = tau + first, *restrict along = move + first;
        for (ptrdiff_t j = 0; j < n; j++) {
            double t = at[j] + share * along[j], size = half[j] * fabs(t);
            double decay = fast_exp(-2.0 * (size / alpha));
            terms[j] = centre[j] * t + size + alpha * fast_log1p_unit(decay);
        }
        total += sum_of(terms, n);
    }
    return total;
}

double box_curvature_along(const box *p, const double *tau, const double *direction, double norm)
{
    double alpha = p->entropy_weight, root = sqrt(alpha), total = 0, terms[LENGTH];
    for (ptrdiff_t first = 0; first < p->n; first += LENGTH) {
        ptrdiff_t n = p->n - first < LENGTH ? p->n - first : LENGTH;
        const double *restrict half = p->half_width + first, *restrict at = tau + first;
        const double *restrict v = direction + first;
        for (ptrdiff_t j = 0; j < n; j++) {
            double part = fast_sech(half[j] * at[j] / alpha) * half[j] / root * (v[j] / norm);
            terms[j] = part * part;
        }
        total += sum_of(terms, n);
    }
    return total;
}
