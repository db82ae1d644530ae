/* exp and its relatives without branches, so that loops over them vectorise on any machine.
 *
 * Within 2 units in the last place of the true values over the whole range: overflow gives inf,
 * underflow ends in subnormals and 0, NaN stays NaN.
 */
#ifndef ENTROPIC_EXPONENTIAL_H
#define ENTROPIC_EXPONENTIAL_H

#include <stdint.h>
#include <string.h>

#include "cpu.h"

/* Added to a small number, it leaves the nearest integer in the last bits. */
#define TO_INTEGER 6755399441055744.0 /* 1.5 * 2^52 */

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

static ALWAYS_INLINE double power_of_two(int64_t k) /* -1022 <= k <= 1023 */
{
    return from_bits((int64_t)((uint64_t)(k + 1023) << 52));
}

static ALWAYS_INLINE int64_t integer_of(double shifted)
{
    return to_bits(shifted) - to_bits(TO_INTEGER);
}

/* e^r - 1 for |r| <= (ln 2)/2, and x = k ln 2 + r. */
static ALWAYS_INLINE double reduced_expm1(double x, int64_t *k)
{
    double shifted = x * 1.44269504088896338700 + TO_INTEGER;
    double n = shifted - TO_INTEGER;
    double r = x - n * 6.93147180369123816490e-01 - n * 1.90821492927058770002e-10;
    double p = 1.0 / 6227020800.0; /* the series to r^13/13! */
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    *k = integer_of(shifted);
    return r + r * r * p;
}

/* e^x */
static ALWAYS_INLINE double fast_exp(double x)
{
    x = x > 710.0 ? 710.0 : x;
    x = x < -746.0 ? -746.0 : x;
    int64_t k, half = integer_of(x * 0.72134752044448169350 + TO_INTEGER);
    double p = 1.0 + reduced_expm1(x, &k);
    return p * power_of_two(half) * power_of_two(k - half); /* in two: 2^k alone may overflow */
}

/* e^x - 1 for x <= 700, to full relative precision near 0 */
static ALWAYS_INLINE double fast_expm1(double x)
{
    x = x < -700.0 ? -700.0 : x;
    int64_t k;
    double p = reduced_expm1(x, &k), scale = power_of_two(k);
    return scale * p + (scale - 1.0);
}

/* 2 artanh(z) / z - 2 from y = z^2, by its series up to y^((last - 1)/2) */
static ALWAYS_INLINE double artanh_series(double y, int last)
{
    double p = 1.0 / last;
#pragma GCC unroll 16
    for (int k = last - 2; k >= 3; k -= 2) p = p * y + 1.0 / k;
    return 2.0 * y * p;
}

/* ln(1 + x) for 0 <= x <= 1: 2 artanh(x / (2 + x)) */
static ALWAYS_INLINE double fast_log1p_unit(double x)
{
    double z = x / (2.0 + x);
    return 2.0 * z + z * artanh_series(z * z, 33);
}

/* ln(1 + x) for x >= -1/2: the power of two nearest to 1 + x, and 2 artanh of what is left */
static ALWAYS_INLINE double fast_log1p(double x)
{
    const int64_t one = 0x3ff0000000000000, root = 0x3fe6a09e667f3bcd; /* of 1/2 */
    const int64_t fraction = 0x000fffffffffffff, whole = 0x4330000000000000; /* 2^52 */
    double u = 1.0 + x, lost = x > 1.0 ? 1.0 - (u - x) : x - (u - 1.0);
    int64_t bits = (int64_t)((uint64_t)to_bits(u) + (uint64_t)(one - root));
    double k = from_bits((int64_t)((uint64_t)bits >> 52) | whole) - (4503599627370496.0 + 1023.0);
    double m = from_bits((bits & fraction) + root), z = (m - 1.0) / (m + 1.0);
    double small = z * artanh_series(z * z, 21) + (k * 1.90821492927058770002e-10 + lost / u);
    return k * 6.93147180369123816490e-01 + (2.0 * z + small);
}

#endif
