/* The loss: x = ln b from  e^x + slack x = t,  for many samples at a time and without branches.
 *
 * With y = x - ln slack and z = t/slack - ln slack the equation is e^y + y = z, whose solution
 * is a function of one number. A table of it, with its first two derivatives, gives x to 1e-5 or
 * better, and e^x to the last bit by a short series around the node's; far out, where there is no
 * table, ln z leads to the same. One step of a series in the residual then brings x to the last
 * bits, at the price of one division.
 */
#include "loss.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "cpu.h"
#include "exponential.h"
#include "vec4.h"

/* A node is the leading bits of  place = z + SHIFT,  cut off after PER_OCTAVE steps from a power
 * of two to the next: fine in the middle, where y curves, and coarse where it is nearly ln z. Below
 * the first octave e^y is lost beside y; above the last begins what is far. */
enum { SHIFT = 56, FIRST = 16, LAST = 1024, OCTAVES = 6, PER_OCTAVE = 256, DROPPED_BITS = 44 };

/* y, e^y, dy/dz and half the second derivative in the middle between a node and the next. */
static double table[OCTAVES * PER_OCTAVE][4];

/* y and ln slack are cut to whole multiples of this, so that their sum is exact. */
static const double QUANTUM = 0x1p-42;

static double quantised(double x)
{
    return rint(x / QUANTUM) * QUANTUM;
}

void loss_prepare(void)
{
    double y = FIRST - SHIFT;
    for (int k = 0; k < OCTAVES * PER_OCTAVE; k++) {
        double width = ldexp((double)FIRST / PER_OCTAVE, k / PER_OCTAVE);
        double z = width * (PER_OCTAVE + k % PER_OCTAVE + 0.5) - SHIFT;
        for (int step = 0; step < 4; step++) /* from the node before */
            y += (z - y - exp(y)) / (1 + exp(y));
        y = quantised(y);
        double b = k == 0 ? 0 : exp(y); /* the first node stands for all that is lower */
        double slope = 1 / (1 + b);
        double node[4] = {y, b, slope, -0.5 * b * slope * slope * slope};
        memcpy(table[k], node, sizeof node);
    }
}

loss loss_of(double slack, int inequality)
{
    loss l;
    l.slack = slack;
    l.inverse_slack = 1 / slack;
    l.log_slack = quantised(log(slack));
    l.exp_log_slack = exp(l.log_slack);
    l.lowest = -1e307 * (slack < 1 ? slack : 1);
    l.inequality = inequality;
    return l;
}

/* ln x for positive normal x, to 3e-6: enough to start from. */
static ALWAYS_INLINE double rough_log(double x)
{
    /* the exponent of x sqrt(2), so that the rest lies in [sqrt(1/2), sqrt(2)) */
    int64_t bits = to_bits(x), power = (bits - 0x3fe6a09e667f3bcd) & (int64_t)0xfff0000000000000;
    double u = from_bits(bits - power) - 1;
    /* the exponent as a double, by the trick of TO_INTEGER */
    double n = from_bits((int64_t)((uint64_t)(power + ((int64_t)1024 << 52)) >> 52)
                         + 0x4330000000000000) - (0x1p52 + 1024);
    double p = -0.140216233;
    p = p * u + 0.219657085;
    p = p * u - 0.254333564;
    p = p * u + 0.332659058;
    p = p * u - 0.499894802;
    p = p * u + 1.00000374;
    return n * 0.6931471805599453 + u * p;
}

/* The passes below are loops of their own because a processor looks only some 200 instructions
 * ahead: in one long loop it would wait for each sample's chain of results. Those that handle bits
 * are not marked `omp simd`, since gcc would then keep these in memory. */

/* Functional margins within the range where nothing overflows, their nodes in the table and how far
 * they are from there. Returns whether some are beyond the table. */
static ALWAYS_INLINE int find_nodes(const loss *l, ptrdiff_t count,
                                    const double *restrict functional_margins,
                                    double *restrict inside, int64_t *restrict node,
                                    double *restrict away)
{
    const double inverse = l->inverse_slack, lowest = l->lowest, shift = SHIFT - l->log_slack;
    const double first = FIRST, last = LAST;
    const int64_t first_bits = to_bits(first), last_bits = to_bits(last) - 1;
    const int64_t kept = -((int64_t)1 << DROPPED_BITS), half = (int64_t)1 << (DROPPED_BITS - 1);
    int64_t beyond = 0; /* negative when one is */
    for (ptrdiff_t i = 0; i < count; i++) {
        double t = functional_margins[i]; /* a NaN fails every comparison */
        t = t > lowest ? t : lowest;
        t = t < 1e307 ? t : 1e307;
        inside[i] = t;
        double place = t * inverse + shift;
        place = pick(place > first, place, first);
        int64_t bits = to_bits(place);
        beyond |= last_bits - bits;
        place = pick(place < last, place, from_bits(last_bits));
        bits = to_bits(place);
        node[i] = (int64_t)((uint64_t)(bits - first_bits) >> DROPPED_BITS);
        away[i] = place - from_bits((bits & kept) | half);
    }
    return beyond < 0;
}

/* e^d - 1 for |d| <= 1/16; its terms in pairs, so that few wait for each other */
static ALWAYS_INLINE vec4 small_expm1(vec4 d)
{
    vec4 d2 = vec4_times(d, d), d4 = vec4_times(d2, d2);
    vec4 low = vec4_add_product(vec4_all(0.5), vec4_all(1.0 / 6), d);
    vec4 middle = vec4_add_product(vec4_all(1.0 / 24), vec4_all(1.0 / 120), d);
    vec4 high = vec4_add_product(vec4_all(1.0 / 720), vec4_all(1.0 / 5040), d);
    high = vec4_add_product(high, vec4_all(1.0 / 40320), d2);
    low = vec4_add_product(low, middle, d2);
    return vec4_add_product(d, vec4_add_product(low, high, d4), d2);
}

/* From the table: x and b = e^x, in whole vectors. */
static ALWAYS_INLINE void start_near(const loss *l, ptrdiff_t count, const int64_t *restrict node,
                                     const double *restrict away, double *restrict x,
                                     double *restrict b)
{
    const vec4 log_slack = vec4_all(l->log_slack), power_of_slack = vec4_all(l->exp_log_slack);
    for (ptrdiff_t i = 0; i < count; i += 4) {
        vec4 y = vec4_load_double(table[node[i]]), power = vec4_load_double(table[node[i + 1]]);
        vec4 slope = vec4_load_double(table[node[i + 2]]);
        vec4 half_second = vec4_load_double(table[node[i + 3]]), z = vec4_load_double(away + i);
        vec4_transpose(&y, &power, &slope, &half_second);
        vec4 d = vec4_times(z, vec4_add_product(slope, half_second, z));
        power = vec4_times(power_of_slack, power);
        vec4_store(x + i, vec4_plus(vec4_plus(log_slack, y), d));
        vec4_store(b + i, vec4_add_product(power, power, small_expm1(d)));
    }
}

/* The same beyond the table, where b is nearly t; other places are left alone. */
static ALWAYS_INLINE void start_far(const loss *l, ptrdiff_t count,
                                    const double *restrict functional_margins, double *restrict x,
                                    double *restrict b)
{
    const double slack = l->slack, inverse = l->inverse_slack, log_slack = l->log_slack;
    for (ptrdiff_t i = 0; i < count; i++) {
        int near = functional_margins[i] * inverse + (SHIFT - log_slack) < LAST;
        /* slack z, which cannot overflow */
        double scaled = functional_margins[i] - slack * log_slack;
        scaled = pick(scaled > DBL_MIN, scaled, DBL_MIN);
        double large = rough_log(scaled);
        double inverse_sum = 1 / (scaled + slack), share = scaled * inverse_sum;
        double d = slack * (log_slack - large) * inverse_sum;
        d -= d * (share * d) * (0.5 + (1 - 3 * share) * d * (1.0 / 6));
        x[i] = pick(near, x[i], large + d);
        b[i] = pick(near, b[i], fast_exp(pick(near, 0, large + d)));
    }
}

/* The last step for x and b: with s = b/(b + slack), x moves by  d = r/(b + slack)  less
 * s d^2/2, and b as e^x does. Returns the losses times the weights, summed. */
static ALWAYS_INLINE double finish(const loss *l, int inequality, ptrdiff_t count,
                                   const double *restrict functional_margins,
                                   const double *restrict weights, const double *restrict x,
                                   double *restrict b, double *restrict log_margins)
{
    const double slack = l->slack;
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (ptrdiff_t i = 0; i < count; i++) {
        double inverse_sum = 1 / (b[i] + slack), share = b[i] * inverse_sum;
        double residual = (functional_margins[i] - slack * x[i]) - b[i];
        double d = residual * inverse_sum;
        double log_margin = x[i] + (d - d * (0.5 * share * d));
        double margin = b[i] + share * residual * (1 + 0.5 * (1 - share) * d);
        if (inequality) {
            log_margin = log_margin < 0 ? log_margin : 0;
            log_margin = functional_margins[i] < 1 ? log_margin : 0;
            margin = log_margin < 0 ? margin : 1;
        }
        double value = margin * (log_margin - 1) + 0.5 * slack * log_margin * log_margin;
        sum += weights[i] * (value < DBL_MAX ? value : DBL_MAX);
        log_margins[i] = log_margin;
        b[i] = margin;
    }
    return sum;
}

static ALWAYS_INLINE void hessian_weights_of(const loss *l, int inequality, ptrdiff_t count,
                                             const double *restrict weights,
                                             const double *restrict x, const double *restrict b,
                                             double *restrict hessian_weights)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        double curve = weights[i] / (b[i] + l->slack);
        hessian_weights[i] = inequality ? pick(x[i] < 0, curve, 0) : curve;
    }
}

/* Samples whose intermediate results stay in a first-level cache. */
enum { PART = 256 };

static ALWAYS_INLINE double loss_part(const loss *l, ptrdiff_t count,
                                      const double *functional_margins, const double *weights,
                                      double *log_margins, double *hessian_weights)
{
    double inside[PART], away[PART + 3], x[PART + 3], b[PART + 3];
    int64_t node[PART + 3];
    int far = find_nodes(l, count, functional_margins, inside, node, away);
    for (ptrdiff_t i = count; i % 4 != 0; i++) node[i] = 0, away[i] = 0;
    start_near(l, count, node, away, x, b);
    if (far) start_far(l, count, inside, x, b);
    double sum = l->inequality ? finish(l, 1, count, inside, weights, x, b, log_margins)
                               : finish(l, 0, count, inside, weights, x, b, log_margins);
    if (hessian_weights && l->inequality)
        hessian_weights_of(l, 1, count, weights, log_margins, b, hessian_weights);
    else if (hessian_weights)
        hessian_weights_of(l, 0, count, weights, log_margins, b, hessian_weights);
    return sum;
}

double loss_block(const loss *l, ptrdiff_t count, const double *functional_margins,
                  const double *weights, double *log_margins, double *hessian_weights)
{
    double sum = 0;
    for (ptrdiff_t i = 0; i < count; i += PART)
        sum +=
            loss_part(l, count - i < PART ? count - i : PART, functional_margins + i, weights + i,
                      log_margins + i, hessian_weights ? hessian_weights + i : NULL);
    return sum;
}
