/* The sweeps that take one read of the rows and O(block) memory: see solve/numpy_sweeps.py for
 * what each computes. All return 0, or -1 when there is no memory for their work arrays.
 *
 * Rows are cut into chunks that depend on their sizes alone. Each chunk sums for itself, and the
 * sums are added in the chunks' order: every number of threads gives the same bits. */
#ifndef ENTROPIC_SWEEP_H
#define ENTROPIC_SWEEP_H

#include "level.h"
#include "loss.h"
#include "rows.h"

/* Per-sample data; a step of 0 makes one number stand for all samples, else it is 1. */
typedef struct {
    const int8_t *sign;
    const double *weights, *offset;
    ptrdiff_t sign_step, weights_step, offset_step;
    loss loss;
} target;

typedef struct {
    ptrdiff_t n_chunks, chunk_rows, block_rows;
} plan;

/* Chunks for a sweep whose result has `size` numbers. */
plan plan_chunks(const rows *view, ptrdiff_t size);

/* partial[0] += partial[1] + partial[2] + ..., each of `size` numbers, in this order. */
void add_partials(double *partial, ptrdiff_t n_partials, ptrdiff_t size);

int sweep_scores(const rows *view, const double *coef, int n_threads, double *out);

/* The arrays reach, log_margins, bend are filled unless NULL. The gradient's curvature
 * (n_columns + 1)^2 as well, for views that curvature_fits. */
int sweep_evaluate(const rows *view, const double *coef, const target *t, int n_threads,
                   double *value, double *gradient, double *curvature, double *reach,
                   double *log_margins, double *bend);

int sweep_product(const rows *view, const double *bend, const double *vector, int n_threads,
                  double *out);

int sweep_adjoint(const rows *view, const double *pull, int n_threads, double *out);

/* weights_step as in `target`; total is the sum of all weights. */
int sweep_moments(const rows *view, const double *weights, ptrdiff_t weights_step, double total,
                  int n_threads, double *mean, double *variance);

#endif
