/* The sweeps that take one read of the rows and O(block) memory: see kernels/numpy_sweeps.py for
 * what each computes. All return 0, or -1 when there is no memory for their work arrays. */
#ifndef ENTROPIC_SWEEP_H
#define ENTROPIC_SWEEP_H

#include "level.h"
#include "loss.h"
#include "rows.h"
#include "walk.h"

/* Per-sample data; a step of 0 makes one number stand for all samples, else it is 1. */
typedef struct {
    const int8_t *sign;
    const double *weights, *offset;
    ptrdiff_t sign_step, weights_step, offset_step;
    loss loss;
} target;

int sweep_scores(const rows *view, const double *coef, int n_threads, double *out);

/* The arrays functional_margins, log_margins, hessian_weights are filled unless NULL. The curvature
 * (n_columns + 1)^2 as well, for views that curvature_fits. */
int sweep_evaluate(const rows *view, const double *coef, const target *t, int n_threads,
                   double *value, double *gradient, double *curvature, double *functional_margins,
                   double *log_margins, double *hessian_weights);

int sweep_hessp(const rows *view, const double *hessian_weights, const double *vector,
                int n_threads, double *out);

int sweep_rmatvec(const rows *view, const double *pointwise_gradient, int n_threads, double *out);

/* weights_step as in `target`; total is the sum of all weights. */
int sweep_moments(const rows *view, const double *weights, ptrdiff_t weights_step, double total,
                  int n_threads, double *mean, double *variance);

#endif
