/* What happens to the samples of a block between their scores and their part of the gradient.
 *
 * kernels/numpy_spectral.py holds the formulas, and says why the unknown is the scaled multiplier
 * mu = lambda / q.
 */
#ifndef ENTROPIC_SAMPLES_H
#define ENTROPIC_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "cpu.h"
#include "level.h"
#include "loss.h"

/* A block's constants, and the step that is under way. */
typedef struct {
    ptrdiff_t n;
    const double *sign, *weights, *offset;
    double slack;
    int inequality;
    double step, share;
} samples;

/* Sums over samples (numpy_spectral._Loop._measure), in this order. */
enum { SUM_NORM, SUM_SS, SUM_SY, SUM_YY, SUM_GG, SUM_MODEL, SUM_CURVATURE, SUMS };

typedef struct {
    double at[SUMS];
} sums;

/* Whether the residual can move the multiplier: not where lambda >= 0 holds it, nor at weight 0. */
static ALWAYS_INLINE double free_part(double multiplier, double residual, double weight,
                                      int inequality)
{
    double kept = inequality && multiplier <= 0.0 && residual > 0.0 ? 0.0 : residual;
    return weight > 0.0 ? kept : 0.0;
}

/* How far a full step goes. */
static ALWAYS_INLINE double full_move(double multiplier, double gradient, double step,
                                      int inequality)
{
    double move = -step * gradient;
    return inequality && move < -multiplier ? -multiplier : move;
}

/* Take the share of the step, turn scores into residual and gradient, and add to the sums. */
void samples_residuals(const samples *s, const double *margin, const double *scores,
                       double *scaled_multipliers, double *primal_residual,
                       double *pointwise_gradient, sums *out);

/* sum q (e^-mu + slack/2 mu^2 - mu y) at the share of the step; margin receives e^-mu. */
double samples_value(const samples *s, const double *scaled_multipliers,
                     const double *primal_residual, double *margin);

/* sum q g, with g each sample's part of the duality gap (numpy_spectral.row_gaps). */
double samples_gap(const loss *l, ptrdiff_t n, const double *weights,
                   const double *scaled_multipliers, const double *margin,
                   const double *primal_residual);

/* What a certificate needs of the samples whose multipliers are those of their margins, with slack
 * (solvers/ending.py, SampleSums): sum q x^2 and sum q |x| with x = -ln b, the sum of the squares of
 * t - b of samples with weight, in the inequality form where it is below 0, and the least t + y less
 * what rounding may have added to it. */
typedef struct {
    double squares, multipliers, residuals, least;
} certificate_sums;

/* A step of 0 makes one weight or offset stand for all samples. Returns -1 where memory is short. */
int samples_certificate(ptrdiff_t n, const double *weights, ptrdiff_t weights_step,
                        const double *offset, ptrdiff_t offset_step, int inequality,
                        const double *functional_margins, const double *log_margins,
                        int n_threads, certificate_sums *out);

/* Puts the places of numbers that have changed by more than a share of what they are now into an array
 * of `most`. Returns how many there are, or -1 where they are more. */
ptrdiff_t samples_changed(ptrdiff_t n, const double *before, const double *after, double share,
                          ptrdiff_t most, int64_t *places);

#endif
