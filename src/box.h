/* The box of the coefficients and its entropy (kernels/box.py, Box): as Newton's method
 * sees them, through the state u, and as the dual does, through tau = D^T lambda. */
#ifndef ENTROPIC_BOX_H
#define ENTROPIC_BOX_H

#include <stddef.h>

#include "level.h"

typedef struct {
    ptrdiff_t n;
    const double *lower, *upper, *centre, *half_width;
    double entropy_weight;
} box;

/* coef = m + e tanh(e tau / alpha) */
void box_coef(const box *p, const double *tau, double *coef);

/* sum_j m tau + alpha ln 2cosh(e tau / alpha), at tau + share * move */
double box_conjugate(const box *p, const double *tau, double share, const double *move);

/* sum_j S_j (v_j / norm)^2, the coefficients' part of the dual's curvature along v = direction */
double box_curvature_along(const box *p, const double *tau, const double *direction, double norm);

/* coef = m + e tanh(u) */
void box_coef_at(const box *p, const double *state, double *coef);

/* sqrt(S) */
void box_inverse_hessian_root(const box *p, const double *state, double *out);

/* The weighted entropy. */
double box_value_at(const box *p, const double *state);

/* The states after a move: straight in the coefficients up to a share of the half-width. */
void box_moved(const box *p, const double *state, const double *move, double straight,
               double *moved);

/* The duality gap of a state against tau. */
double box_gap(const box *p, const double *state, const double *tau);

#endif
