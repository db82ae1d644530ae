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

/* One of several problems on the same rows: what each sweep reads and fills. */
typedef struct {
    const double *coef;             /* hessp: the vector */
    target target;
    double *scores, *functional_margins, *log_margins, *hessian_weights;    /* per sample */
    double value, *gradient, *curvature;
    size_t place;                   /* of its sums among those of a chunk, */
    ptrdiff_t index;                /* and of its curvature among the curvatures */
} problem;

/* The scores of each, from coef. */
int sweep_scores(const rows *view, problem *problems, ptrdiff_t n_problems, int n_threads);

/* Value and gradient of each, from coef and target; unless NULL, functional_margins, log_margins,
 * hessian_weights, and for views that curvature_fits the curvature, (n_columns + 1)^2: of one
 * problem, or of as many as have their curvatures_together. */
int sweep_evaluate(const rows *view, problem *problems, ptrdiff_t n_problems, int n_threads);

/* The gradient of each, from coef and hessian_weights. */
int sweep_hessp(const rows *view, problem *problems, ptrdiff_t n_problems, int n_threads);

/* The curvature of each, from hessian_weights. */
int sweep_curvature(const rows *view, problem *problems, ptrdiff_t n_problems, int n_threads);

int sweep_rmatvec(const rows *view, const double *pointwise_gradient, int n_threads, double *out);

/* weights_step as in `target`; total is the sum of all weights. */
int sweep_moments(const rows *view, const double *weights, ptrdiff_t weights_step, double total,
                  int n_threads, double *mean, double *variance);

#endif
