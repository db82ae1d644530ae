/* The dual of the problem at one set of multipliers, and everything a step needs to know of it.
 *
 * kernels/numpy_spectral.py holds the formulas under the same names. Samples are visited
 * in chunks that do not depend on the number of threads, and sums are added in their order.
 */
#ifndef ENTROPIC_DUAL_H
#define ENTROPIC_DUAL_H

#include <stddef.h>
#include <stdint.h>

#include "box.h"
#include "level.h"
#include "loss.h"
#include "rows.h"

/* What is solved. Arrays of a sample each may have length one, for all samples alike. */
typedef struct {
    const rows *rows;
    const double *mean, *scale;         /* of the columns, or NULL */
    int constant;
    const int8_t *sign;
    const double *weights, *offset;
    int one_sign, one_weight, one_offset;
    loss loss;
    box box;                            /* as long as the design: one more for a constant */
    int n_threads;
} dual_problem;

typedef struct {
    const dual_problem *problem;
    double *scaled_multipliers, *tau, *primal_residual;     /* the caller's */
    double *margin, *trial_margin;      /* e^-mu, and at the last trial */
    double *image, *move;                /* D^T (q r), and what the direction does to tau */
    double step;                        /* length that the direction was aimed with */
    double value, size;                 /* of the dual, and of its largest part */
    double trial_value, trial_size;
    double norm, ss, sy, yy, gg, model; /* sums of samples.h */
    double exact, fall, slope;
    double n_reads;
    struct dual_work *work;
} dual;

/* Allocates; scaled_multipliers, tau and primal_residual are the caller's. Returns NULL where memory
 * is short. */
dual *dual_new(const dual_problem *problem, double *scaled_multipliers, double *tau,
               double *primal_residual);
void dual_free(dual *at);

/* Take a share of the direction, and read the rows there. Nonzero: chunks_stopped. */
int dual_read(dual *at, double step, double share);

/* Set the direction of a step of this length against the gradient. Nonzero as above. */
int dual_aim(dual *at, double step);

/* The dual at a share of the direction: inf where it overflows. */
double dual_trial(dual *at, double share);

/* The duality gap between the multipliers and the coefficients they imply. */
double dual_gap(dual *at);

#endif
