/* The box of the coefficients (entropic/solve/entropy.py, Box): what the dual needs of it. */
#include "box.h"

#include <math.h>

#include "cpu.h"
#include "exponential.h"

/* Exponentials first, in loops of their own without `omp simd`: inside one, gcc keeps their bit
 * patterns in memory. Sums after that, in blocks of this length. */
enum { LENGTH = 256 };

CLONES void box_coef(const box *p, const double *restrict tau, double *restrict coef)
{
    const double *restrict centre = p->centre, *restrict half = p->half_width;
    const double *restrict lower = p->lower, *restrict upper = p->upper;
    double alpha = p->entropy_weight;
    for (ptrdiff_t j = 0; j < p->n; j++) {
        double u = half[j] * tau[j] / alpha;
        double decay = fast_expm1(-2.0 * fabs(u));
        double size = -decay / (2.0 + decay);
        double w = centre[j] + half[j] * copysign(size, u);
        w = w < lower[j] ? lower[j] : w;
        coef[j] = w > upper[j] ? upper[j] : w;
    }
}

CLONES double box_conjugate(const box *p, const double *tau, double share, const double *move)
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
#pragma omp simd reduction(+ : total)
        for (ptrdiff_t j = 0; j < n; j++) total += terms[j];
    }
    return total;
}

CLONES double box_bend(const box *p, const double *tau, const double *pull, double norm)
{
    double alpha = p->entropy_weight, root = sqrt(alpha), total = 0, terms[LENGTH];
    for (ptrdiff_t first = 0; first < p->n; first += LENGTH) {
        ptrdiff_t n = p->n - first < LENGTH ? p->n - first : LENGTH;
        const double *restrict half = p->half_width + first, *restrict at = tau + first;
        const double *restrict v = pull + first;
        for (ptrdiff_t j = 0; j < n; j++) {
            double decay = fast_exp(-fabs(half[j] * at[j] / alpha));
            terms[j] = 2.0 * decay / (1.0 + decay * decay) * half[j] / root * (v[j] / norm);
        }
#pragma omp simd reduction(+ : total)
        for (ptrdiff_t j = 0; j < n; j++) total += terms[j] * terms[j];
    }
    return total;
}
