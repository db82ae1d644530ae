/* The arithmetic of the samples of a block. */
#include "samples.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "exponential.h"
#include "rows.h"
#include "threads.h"

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

enum { CHUNK = 1 << 15 };

typedef struct {
    ptrdiff_t n, weights_step, offset_step;
    const double *weights, *offset, *functional_margins, *log_margins;
    int inequality;
    certificate_sums *chunks;
} certificate_work;

static void certificate_chunk(void *of, ptrdiff_t chunk, int worker)
{
    const certificate_work *w = of;
    ptrdiff_t begin = chunk * CHUNK, end = begin + CHUNK < w->n ? begin + CHUNK : w->n;
    double squares = 0, multipliers = 0, residuals = 0, least = INFINITY;
    double margin[BLOCK_LIMIT], q[BLOCK_LIMIT], y[BLOCK_LIMIT];
    (void)worker;
    for (; begin < end; begin += BLOCK_LIMIT) {
        ptrdiff_t count = end - begin < BLOCK_LIMIT ? end - begin : BLOCK_LIMIT;
        const double *restrict t = w->functional_margins + begin;
        const double *restrict x = w->log_margins + begin;
        for (ptrdiff_t i = 0; i < count; i++) margin[i] = fast_exp(x[i]);
        for (ptrdiff_t i = 0; i < count; i++) q[i] = w->weights[(begin + i) * w->weights_step];
        for (ptrdiff_t i = 0; i < count; i++) y[i] = w->offset[(begin + i) * w->offset_step];
#pragma omp simd reduction(+ : squares, multipliers, residuals) reduction(min : least)
        for (ptrdiff_t i = 0; i < count; i++) {
            double off = t[i] - margin[i], size = q[i] * fabs(x[i]);
            double lost = y[i] == 0.0 ? 0.0 : DBL_EPSILON * (fabs(t[i]) + fabs(y[i]));
            double score = t[i] + y[i] - lost;
            off = w->inequality && off > 0.0 ? 0.0 : off;
            off = q[i] > 0.0 ? off : 0.0;
            squares += size * fabs(x[i]);
            multipliers += size;
            residuals += off * off;
            least = score < least ? score : least;
        }
    }
    w->chunks[chunk] = (certificate_sums){squares, multipliers, residuals, least};
}

int samples_certificate(ptrdiff_t n, const double *weights, ptrdiff_t weights_step,
                        const double *offset, ptrdiff_t offset_step, int inequality,
                        const double *functional_margins, const double *log_margins,
                        int n_threads, certificate_sums *out)
{
    ptrdiff_t n_chunks = (n + CHUNK - 1) / CHUNK;
    certificate_sums *chunks = calloc((size_t)n_chunks + 1, sizeof *chunks);
    if (!chunks) return -1;
    certificate_work w = {n,      weights_step,       offset_step, weights,
                          offset, functional_margins, log_margins, inequality, chunks};
    each_chunk(n_chunks, n_threads, certificate_chunk, &w);
    *out = (certificate_sums){.least = INFINITY};
    for (ptrdiff_t k = 0; k < n_chunks; k++) {
        out->squares += chunks[k].squares;
        out->multipliers += chunks[k].multipliers;
        out->residuals += chunks[k].residuals;
        out->least = chunks[k].least < out->least ? chunks[k].least : out->least;
    }
    free(chunks);
    return 0;
}

static int changed(double before, double after, double share)
{
    return fabs(after - before) > share * after;
}

ptrdiff_t samples_changed(ptrdiff_t n, const double *before, const double *after, double share,
                          ptrdiff_t most, int64_t *places)
{
    ptrdiff_t found = 0;
    for (ptrdiff_t begin = 0; begin < n; begin += BLOCK_LIMIT) {
        ptrdiff_t end = begin + BLOCK_LIMIT < n ? begin + BLOCK_LIMIT : n, here = 0;
#pragma omp simd reduction(+ : here)
        for (ptrdiff_t i = begin; i < end; i++) here += changed(before[i], after[i], share);
        if (here > most - found) return -1;
        for (ptrdiff_t i = begin; here > 0; i++)
            if (changed(before[i], after[i], share)) places[found++] = i, here--;
    }
    return found;
}
