/* What the training rows score without themselves, from their leverages (uncertainty/leave_one_out.py;
 * kernels/numpy_left_out.py holds the formulas). Arrays have a number a sample; a step of 0 makes the
 * first one stand for all. */
#ifndef ENTROPIC_LEFT_OUT_H
#define ENTROPIC_LEFT_OUT_H

#include <stddef.h>
#include <stdint.h>

#include "level.h"

typedef struct {
    ptrdiff_t n, weights_step;
    const double *weights, *log_margins, *hessian_weights, *leverage;
    double *first_order, *left, *shift;
} left_out_shifts;

/* Fills the last three. Returns the least of `left`. */
double left_out_fill(const left_out_shifts *s, int n_threads);

typedef struct {
    ptrdiff_t n, weights_step, offset_step, sign_step;
    const double *weights, *offset, *functional_margins;
    const int8_t *sign;
    const double *shift;            /* NULL: none, */
    const left_out_shifts *by;      /* or those of these leverages, which are kept nowhere; NULL: none, */
    double *scores;                 /* and then no scores are wanted */
} left_out_scores;

typedef struct {
    double separation;              /* the lowest score of the good class, without shift, less the
                                     * highest of the other: of rows with weight */
    double least, moved;            /* the least of `left`, and the sum of the sizes of the shifts */
} left_out_found;

/* Fills the scores. */
left_out_found left_out_score(const left_out_scores *s, int n_threads);

#endif
