/* The loss: x = ln b from  e^x + slack x = t,  for many samples at a time and without branches.
 *
 * With y = x - ln slack and z = t/slack - ln slack the equation is e^y + y = z, whose solution
 * is a function of one number. A table of it gives a starting point where z is moderate, ln z
 * where it is large, t/slack where it is small. One step of a series in the residual brings
 * that to 1e-6, and a second, from an exponential to full precision, to the last bits.
 */
#include "loss.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "cpu.h"
#include "rows.h"

/* The table: y at z = FIRST, FIRST + 1/4, ..., LAST. Below, e^y is too small to matter to a
 * starting point; above, ln z is close enough. */
enum { FIRST = -12, LAST = 52, PER_UNIT = 4, NODES = (LAST - FIRST) * PER_UNIT + 1 };
static double table[NODES];

void loss_prepare(void)
{
    for (int k = 0; k < NODES; k++) {
        double z = FIRST + (double)k / PER_UNIT;
        double y = z > 1 ? log(z) : z;
        for (int step = 0; step < 60; step++) {
            double power = exp(y), residual = z - y - power;
            y += residual / (1 + power);
        }
        table[k] = y;
    }
}

loss loss_of(double slack, int inequality)
{
    loss l;
    l.slack = slack;
    l.inverse_slack = 1 / slack;
    l.log_slack = log(slack);
    l.lowest = -1e307 * (slack < 1 ? slack : 1);
    l.inequality = inequality;
    return l;
}

static ALWAYS_INLINE double from_bits(int64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static ALWAYS_INLINE int64_t to_bits(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* condition ? a : b without a branch, whatever the compiler thinks of branches. */
static ALWAYS_INLINE double pick(int condition, double a, double b)
{
    int64_t mask = -(int64_t)condition;
    return from_bits((to_bits(a) & mask) | (to_bits(b) & ~mask));
}

/* Adding it leaves the rounded integer in the low bits of a double. */
static const double MAGIC = 0x1.8p52;

/* e^x for -708 <= x <= 709, within one unit in the last place or so: a power of two times a
 * polynomial of e^r on |r| <= ln(2)/2. */
static ALWAYS_INLINE double exponential(double x)
{
    double shifted = x * 1.4426950408889634 + MAGIC, n = shifted - MAGIC;
    double r = x - n * 6.93147180369123816490e-01 - n * 1.90821492927058770002e-10;
    double p = 2.53504707562406e-08;
    p = p * r + 2.764530367410629e-07;
    p = p * r + 2.7556631721993026e-06;
    p = p * r + 2.4801464960663475e-05;
    p = p * r + 0.0001984127038880879;
    p = p * r + 0.0013888888955149998;
    p = p * r + 0.008333333333173229;
    p = p * r + 0.04166666666654688;
    p = p * r + 0.16666666666666807;
    p = p * r + 0.5000000000000003;
    p = p * (r * r) + r;
    double power = from_bits((int64_t)((uint64_t)(to_bits(shifted) + 1023) << 52));
    return power + power * p;
}

/* ln x for positive normal x, to 3e-6: enough to start from. */
static ALWAYS_INLINE double rough_log(double x)
{
    /* the exponent of x sqrt(2), so that the rest lies in [sqrt(1/2), sqrt(2)) */
    int64_t bits = to_bits(x), power = (bits - 0x3fe6a09e667f3bcd) & (int64_t)0xfff0000000000000;
    double u = from_bits(bits - power) - 1;
    /* the exponent as a double, by the same trick as in `exponential` */
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

/* Third-order part of the solution of  d + share (e^d - 1 - d) = residual  for small d. */
static ALWAYS_INLINE double correction(double residual, double share)
{
    return residual - residual * (share * residual)
                      * (0.5 + (1 - 3 * share) * residual * (1.0 / 6));
}

/* The three passes below are loops of their own because a processor looks only some 200
 * instructions ahead: in one long loop it would wait for each sample's chain of results. None is
 * marked `omp simd`, since gcc would then keep the bit patterns in memory. */

/* Reach within the range where nothing overflows, and a first x. */
static ALWAYS_INLINE void first_guess(const loss *l, ptrdiff_t count,
                                      const double *restrict reach, double *restrict inside,
                                      double *restrict guess)
{
    const double slack = l->slack, inverse = l->inverse_slack, log_slack = l->log_slack;
    const double lowest = l->lowest, shift = slack * log_slack;
    for (ptrdiff_t i = 0; i < count; i++) {
        /* a NaN fails every comparison, and so ends inside the table */
        double t = pick(reach[i] > lowest, reach[i], lowest);
        t = pick(t < 1e307, t, 1e307);
        double scaled = t - shift; /* slack z, which cannot overflow */
        double z = scaled * inverse;

        double place = pick(z > FIRST, z, FIRST);
        place = PER_UNIT * (pick(place < LAST, place, LAST) - FIRST) + MAGIC;
        double node = FIRST + (1.0 / PER_UNIT) * (place - MAGIC);
        double y = table[to_bits(place) - to_bits(MAGIC)];
        double large = rough_log(pick(scaled > DBL_MIN, scaled, DBL_MIN));
        double start = pick(z > LAST, large, y + log_slack);
        double margin = pick(z > LAST, scaled, slack * (node - y));
        double residual = pick(z > LAST, slack * (log_slack - large), scaled - slack * node);
        double inverse_sum = 1 / (margin + slack);
        double x = start + correction(residual * inverse_sum, margin * inverse_sum);
        inside[i] = t;
        guess[i] = pick(z < FIRST, t * inverse, x);
    }
}

static ALWAYS_INLINE void exponentials(ptrdiff_t count, const double *restrict x,
                                       double *restrict power)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        double b = exponential(pick(x[i] > -700, x[i], -700));
        power[i] = pick(x[i] > -700, b, 0);
    }
}

/* The last step for x and b, and the loss times the weight. */
static ALWAYS_INLINE void finish(const loss *l, int inequality, ptrdiff_t count,
                                 const double *restrict reach, const double *restrict weights,
                                 double *restrict x, double *restrict b, double *restrict values)
{
    const double slack = l->slack;
    for (ptrdiff_t i = 0; i < count; i++) {
        double inverse_sum = 1 / (b[i] + slack);
        double residual = (reach[i] - slack * x[i]) - b[i];
        double d = correction(residual * inverse_sum, b[i] * inverse_sum);
        double log_margin = x[i] + d;
        d = pick(d > -0.1, d, -0.1); /* larger only where b does not matter */
        d = pick(d < 0.1, d, 0.1);
        double margin = b[i] + b[i] * (d * (1 + d * (0.5 + d * (1.0 / 6))));
        if (inequality) {
            log_margin = pick(reach[i] < 1, pick(log_margin < 0, log_margin, 0), 0);
            margin = pick(log_margin < 0, margin, 1);
        }
        double value = margin * (log_margin - 1) + 0.5 * slack * log_margin * log_margin;
        values[i] = weights[i] * pick(value < DBL_MAX, value, DBL_MAX);
        x[i] = log_margin;
        b[i] = margin;
    }
}

static ALWAYS_INLINE void bends(const loss *l, int inequality, ptrdiff_t count,
                                const double *restrict weights, const double *restrict x,
                                const double *restrict b, double *restrict bend)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        double curve = weights[i] / (b[i] + l->slack);
        bend[i] = inequality ? pick(x[i] < 0, curve, 0) : curve;
    }
}

CLONES double loss_block(const loss *l, ptrdiff_t count, const double *reach,
                         const double *weights, double *log_margins, double *bend)
{
    double inside[BLOCK_LIMIT], margins[BLOCK_LIMIT], values[BLOCK_LIMIT], sum = 0;
    first_guess(l, count, reach, inside, log_margins);
    exponentials(count, log_margins, margins);
    if (l->inequality) finish(l, 1, count, inside, weights, log_margins, margins, values);
    else finish(l, 0, count, inside, weights, log_margins, margins, values);
    if (bend && l->inequality) bends(l, 1, count, weights, log_margins, margins, bend);
    else if (bend) bends(l, 0, count, weights, log_margins, margins, bend);
#pragma omp simd reduction(+ : sum)
    for (ptrdiff_t i = 0; i < count; i++) sum += values[i];
    return sum;
}
