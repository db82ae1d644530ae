/* The arithmetic of the samples of a block. */
#include "samples.h"

#include <math.h>

#include "exponential.h"
#include "rows.h"

static ALWAYS_INLINE void residuals(const samples *s, int inequality,
                                    const double *restrict margin, const double *restrict scores,
                                    double *restrict scaled_multipliers,
                                    double *restrict primal_residual,
                                    double *restrict pointwise_gradient, sums *out)
{
    const double *restrict sign = s->sign, *restrict q = s->weights, *restrict offset = s->offset;
    double slack = s->slack, step = s->step, share = s->share;
    double norm = 0, ss = 0, sy = 0, yy = 0, gg = 0, model = 0, curvature_sum = 0;
#pragma omp simd reduction(+ : norm, ss, sy, yy, gg, model, curvature_sum)
    for (ptrdiff_t i = 0; i < s->n; i++) {
        double before = primal_residual[i], w = q[i];
        double g = free_part(scaled_multipliers[i], before, w, inequality);
        double moved = share * full_move(scaled_multipliers[i], g, step, inequality);
        double mu = scaled_multipliers[i] + moved;
        double r = sign[i] * scores[i] - offset[i] - margin[i] + slack * mu;
        double change = r - before, curvature = margin[i] + slack;
        g = free_part(mu, r, w, inequality);
        scaled_multipliers[i] = mu;
        primal_residual[i] = r;
        pointwise_gradient[i] = sign[i] * w * g;
        norm += g * g;
        ss += w * moved * moved;
        sy += w * moved * change;
        yy += moved != 0.0 ? w * change * change : 0.0;
        gg += w * g * g;
        model += g != 0.0 ? w * g * g / (2.0 * curvature) : 0.0;
        curvature_sum += w * curvature * g * g;
    }
    out->at[SUM_NORM] += norm;
    out->at[SUM_SS] += ss;
    out->at[SUM_SY] += sy;
    out->at[SUM_YY] += yy;
    out->at[SUM_GG] += gg;
    out->at[SUM_MODEL] += model;
    out->at[SUM_CURVATURE] += curvature_sum;
}

static void residuals_equality(const samples *s, const double *margin, const double *scores,
                               double *scaled_multipliers, double *primal_residual,
                               double *pointwise_gradient, sums *out)
{
    residuals(s, 0, margin, scores, scaled_multipliers, primal_residual, pointwise_gradient, out);
}

static void residuals_inequality(const samples *s, const double *margin, const double *scores,
                                 double *scaled_multipliers, double *primal_residual,
                                 double *pointwise_gradient, sums *out)
{
    residuals(s, 1, margin, scores, scaled_multipliers, primal_residual, pointwise_gradient, out);
}

void samples_residuals(const samples *s, const double *margin, const double *scores,
                       double *scaled_multipliers, double *primal_residual,
                       double *pointwise_gradient, sums *out)
{
    (s->inequality ? residuals_inequality : residuals_equality)(
        s, margin, scores, scaled_multipliers, primal_residual, pointwise_gradient, out);
}

static ALWAYS_INLINE double value(const samples *s, int inequality,
                                  const double *restrict scaled_multipliers,
                                  const double *restrict primal_residual, double *restrict margin)
{
    const double *restrict q = s->weights, *restrict offset = s->offset;
    double slack = s->slack, step = s->step, share = s->share, total = 0, moved[BLOCK_LIMIT];
    /* not `omp simd`: gcc would keep the bit patterns of the exponential in memory */
    for (ptrdiff_t i = 0; i < s->n; i++) {
        double g = free_part(scaled_multipliers[i], primal_residual[i], q[i], inequality);
        double mu =
            scaled_multipliers[i] + share * full_move(scaled_multipliers[i], g, step, inequality);
        moved[i] = mu;
        margin[i] = fast_exp(-mu);
    }
#pragma omp simd reduction(+ : total)
    for (ptrdiff_t i = 0; i < s->n; i++)
        total += q[i] * (margin[i] + (0.5 * slack * moved[i] - offset[i]) * moved[i]);
    return total;
}

static double value_equality(const samples *s, const double *scaled_multipliers,
                             const double *primal_residual, double *margin)
{
    return value(s, 0, scaled_multipliers, primal_residual, margin);
}

static double value_inequality(const samples *s, const double *scaled_multipliers,
                               const double *primal_residual, double *margin)
{
    return value(s, 1, scaled_multipliers, primal_residual, margin);
}

double samples_value(const samples *s, const double *scaled_multipliers,
                     const double *primal_residual, double *margin)
{
    return (s->inequality ? value_inequality : value_equality)(s, scaled_multipliers,
                                                               primal_residual, margin);
}

/* With t = D_i w - y_i, x = ln b(t) and d = x + mu:  e^x (d - 1) + e^-mu + slack/2 d^2, and
 * mu (t - 1) besides where the inequality form is flat. */
static ALWAYS_INLINE double gaps(int inequality, double slack, ptrdiff_t n,
                                 const double *restrict weights,
                                 const double *restrict scaled_multipliers,
                                 const double *restrict margin,
                                 const double *restrict functional_margins,
                                 const double *restrict log_margin)
{
    double terms[BLOCK_LIMIT], total = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        double d = log_margin[i] + scaled_multipliers[i], best = fast_exp(log_margin[i]);
        double inside = d < -1.0 ? -1.0 : d;
        double series = d * d * (0.5 - d * (1.0 / 6 - d * (1.0 / 24 - d / 120)));
        double near = best * (fabs(d) < 1e-2 ? series : inside + fast_expm1(-inside));
        double gap = (fabs(d) < 1.0 ? near : best * (d - 1.0) + margin[i]) + 0.5 * slack * d * d;
        if (inequality)
            gap +=
                log_margin[i] >= 0.0 ? scaled_multipliers[i] * (functional_margins[i] - 1.0) : 0.0;
        terms[i] = gap;
    }
#pragma omp simd reduction(+ : total)
    for (ptrdiff_t i = 0; i < n; i++) total += weights[i] > 0.0 ? weights[i] * terms[i] : 0.0;
    return total;
}

static double gaps_equality(double slack, ptrdiff_t n, const double *weights,
                            const double *scaled_multipliers, const double *margin,
                            const double *functional_margins, const double *log_margin)
{
    return gaps(0, slack, n, weights, scaled_multipliers, margin, functional_margins, log_margin);
}

static double gaps_inequality(double slack, ptrdiff_t n, const double *weights,
                              const double *scaled_multipliers, const double *margin,
                              const double *functional_margins, const double *log_margin)
{
    return gaps(1, slack, n, weights, scaled_multipliers, margin, functional_margins, log_margin);
}

double samples_gap(const loss *l, ptrdiff_t n, const double *weights,
                   const double *scaled_multipliers, const double *margin,
                   const double *primal_residual)
{
    double functional_margins[BLOCK_LIMIT], log_margin[BLOCK_LIMIT];
    if (l->slack == 0) {
        double total = 0;
        for (ptrdiff_t i = 0; i < n; i++)
            total += weights[i] * fabs(scaled_multipliers[i] * primal_residual[i]);
        return total;
    }
    for (ptrdiff_t i = 0; i < n; i++)
        functional_margins[i] = primal_residual[i] + margin[i] - l->slack * scaled_multipliers[i];
    loss_block(l, n, functional_margins, weights, log_margin, NULL);
    return (l->inequality ? gaps_inequality : gaps_equality)(
        l->slack, n, weights, scaled_multipliers, margin, functional_margins, log_margin);
}
