/* The arithmetic of the samples of a block. */
#include "samples.h"

#include <math.h>

#include "exponential.h"
#include "rows.h"

static ALWAYS_INLINE void residuals(const samples *s, int inequality,
                                    const double *restrict margin, const double *restrict scores,
                                    double *restrict ratio, double *restrict residual,
                                    double *restrict pull, sums *out)
{
    const double *restrict sign = s->sign, *restrict q = s->weights, *restrict offset = s->offset;
    double slack = s->slack, step = s->step, share = s->share;
    double norm = 0, ss = 0, sy = 0, yy = 0, gg = 0, model = 0, bent = 0;
#pragma omp simd reduction(+ : norm, ss, sy, yy, gg, model, bent)
    for (ptrdiff_t i = 0; i < s->n; i++) {
        double before = residual[i], w = q[i];
        double g = free_part(ratio[i], before, w, inequality);
        double moved = share * full_move(ratio[i], g, step, inequality);
        double mu = ratio[i] + moved;
        double r = sign[i] * scores[i] - offset[i] - margin[i] + slack * mu;
        double change = r - before, bend = margin[i] + slack;
        g = free_part(mu, r, w, inequality);
        ratio[i] = mu;
        residual[i] = r;
        pull[i] = sign[i] * w * g;
        norm += g * g;
        ss += w * moved * moved;
        sy += w * moved * change;
        yy += moved != 0.0 ? w * change * change : 0.0;
        gg += w * g * g;
        model += g != 0.0 ? w * g * g / (2.0 * bend) : 0.0;
        bent += w * bend * g * g;
    }
    out->at[SUM_NORM] += norm;
    out->at[SUM_SS] += ss;
    out->at[SUM_SY] += sy;
    out->at[SUM_YY] += yy;
    out->at[SUM_GG] += gg;
    out->at[SUM_MODEL] += model;
    out->at[SUM_BENT] += bent;
}

static void residuals_equality(const samples *s, const double *margin, const double *scores,
                               double *ratio, double *residual, double *pull, sums *out)
{
    residuals(s, 0, margin, scores, ratio, residual, pull, out);
}

static void residuals_inequality(const samples *s, const double *margin,
                                 const double *scores, double *ratio, double *residual,
                                 double *pull, sums *out)
{
    residuals(s, 1, margin, scores, ratio, residual, pull, out);
}

void samples_residuals(const samples *s, const double *margin, const double *scores, double *ratio,
                       double *residual, double *pull, sums *out)
{
    (s->inequality ? residuals_inequality : residuals_equality)(s, margin, scores, ratio,
                                                                residual, pull, out);
}

static ALWAYS_INLINE double value(const samples *s, int inequality, const double *restrict ratio,
                                  const double *restrict residual, double *restrict margin)
{
    const double *restrict q = s->weights, *restrict offset = s->offset;
    double slack = s->slack, step = s->step, share = s->share, total = 0, moved[BLOCK_LIMIT];
    /* not `omp simd`: gcc would keep the bit patterns of the exponential in memory */
    for (ptrdiff_t i = 0; i < s->n; i++) {
        double g = free_part(ratio[i], residual[i], q[i], inequality);
        double mu = ratio[i] + share * full_move(ratio[i], g, step, inequality);
        moved[i] = mu;
        margin[i] = fast_exp(-mu);
    }
#pragma omp simd reduction(+ : total)
    for (ptrdiff_t i = 0; i < s->n; i++)
        total += q[i] * (margin[i] + (0.5 * slack * moved[i] - offset[i]) * moved[i]);
    return total;
}

static double value_equality(const samples *s, const double *ratio, const double *residual,
                             double *margin)
{
    return value(s, 0, ratio, residual, margin);
}

static double value_inequality(const samples *s, const double *ratio,
                               const double *residual, double *margin)
{
    return value(s, 1, ratio, residual, margin);
}

double samples_value(const samples *s, const double *ratio, const double *residual, double *margin)
{
    return (s->inequality ? value_inequality : value_equality)(s, ratio, residual, margin);
}

/* With t = D_i w - y_i, x = ln b(t) and d = x + mu:  e^x (d - 1) + e^-mu + slack/2 d^2, and
 * mu (t - 1) besides where the inequality form is flat. */
static ALWAYS_INLINE double gaps(int inequality, double slack, ptrdiff_t n,
                                 const double *restrict weights, const double *restrict ratio,
                                 const double *restrict margin, const double *restrict reach,
                                 const double *restrict log_margin)
{
    double terms[BLOCK_LIMIT], total = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        double d = log_margin[i] + ratio[i], best = fast_exp(log_margin[i]);
        double inside = d < -1.0 ? -1.0 : d;
        double series = d * d * (0.5 - d * (1.0 / 6 - d * (1.0 / 24 - d / 120)));
        double near = best * (fabs(d) < 1e-2 ? series : inside + fast_expm1(-inside));
        double gap = (fabs(d) < 1.0 ? near : best * (d - 1.0) + margin[i]) + 0.5 * slack * d * d;
        if (inequality) gap += log_margin[i] >= 0.0 ? ratio[i] * (reach[i] - 1.0) : 0.0;
        terms[i] = gap;
    }
#pragma omp simd reduction(+ : total)
    for (ptrdiff_t i = 0; i < n; i++) total += weights[i] > 0.0 ? weights[i] * terms[i] : 0.0;
    return total;
}

static double gaps_equality(double slack, ptrdiff_t n, const double *weights,
                            const double *ratio, const double *margin,
                            const double *reach, const double *log_margin)
{
    return gaps(0, slack, n, weights, ratio, margin, reach, log_margin);
}

static double gaps_inequality(double slack, ptrdiff_t n, const double *weights,
                              const double *ratio, const double *margin,
                              const double *reach, const double *log_margin)
{
    return gaps(1, slack, n, weights, ratio, margin, reach, log_margin);
}

double samples_gap(const loss *l, ptrdiff_t n, const double *weights, const double *ratio,
                   const double *margin, const double *residual)
{
    double reach[BLOCK_LIMIT], log_margin[BLOCK_LIMIT];
    if (l->slack == 0) {
        double total = 0;
        for (ptrdiff_t i = 0; i < n; i++) total += weights[i] * fabs(ratio[i] * residual[i]);
        return total;
    }
    for (ptrdiff_t i = 0; i < n; i++) reach[i] = residual[i] + margin[i] - l->slack * ratio[i];
    loss_block(l, n, reach, weights, log_margin, NULL);
    return (l->inequality ? gaps_inequality : gaps_equality)(l->slack, n, weights, ratio, margin,
                                                             reach, log_margin);
}
