/* The box of the coefficients and its entropy, as the dual sees them through tau = D^T lambda. */
#ifndef ENTROPIC_BOX_H
#define ENTROPIC_BOX_H

#include <stddef.h>

typedef struct {
    ptrdiff_t n;
    const double *lower, *upper, *centre, *half_width;
    double entropy_weight;
} box;

/* coef = m + e tanh(e tau / alpha) */
void box_coef(const box *p, const double *tau, double *coef);

/* sum_j m tau + alpha ln 2cosh(e tau / alpha), at tau + share * move */
double box_conjugate(const box *p, const double *tau, double share, const double *move);

/* sum_j S_j (v_j / norm)^2, the coefficients' part of the dual's curvature along v = pull */
double box_bend(const box *p, const double *tau, const double *pull, double norm);

#endif
