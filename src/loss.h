/* The loss of one sample as a function of its functional margin (docs/mathematics.md, section 3):
 *
 *     l(t) = b ln b - b + (slack/2)(ln b)^2   where b > 0 solves  b + slack ln b = t
 *     l'(t) = ln b        l''(t) = 1/(b + slack)
 *
 * and, for the inequality form, l = -1 and l' = l'' = 0 from t = 1 on.
 */
#ifndef ENTROPIC_LOSS_H
#define ENTROPIC_LOSS_H

#include <stddef.h>

#include "level.h"

typedef struct {
    double slack, inverse_slack;
    double log_slack, exp_log_slack; /* ln slack, cut to few enough bits, and e^ of that */
    double lowest;              /* functional margin below which ln b would overflow */
    int inequality;
} loss;

/* Once, before anything else: fills the table of starting points. */
void loss_prepare(void);

loss loss_of(double slack, int inequality);

/* For `count` samples: log_margins = l'(t), and hessian_weights = weights l''(t) unless NULL.
 * Returns sum_i weights_i l(t_i). Never overflows into NaN: where l itself would overflow it is
 * the largest double. */
double loss_block(const loss *l, ptrdiff_t count, const double *functional_margins,
                  const double *weights, double *log_margins, double *hessian_weights);

#endif
