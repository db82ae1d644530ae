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

static ALWAYS_INLINE double power_of_two(int64_t k) /* -1022 <= k <= 1023 */
{
    uint64_t bits = (uint64_t)(k + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static ALWAYS_INLINE int64_t integer_of(double shifted)
{
    const double zero = TO_INTEGER;
    int64_t bits, base;
    memcpy(&bits, &shifted, sizeof bits);
    memcpy(&base, &zero, sizeof base);
    return bits - base;
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

/* ln(1 + x) for 0 <= x <= 1: 2 artanh(x / (2 + x)) */
static ALWAYS_INLINE double fast_log1p_unit(double x)
{
    double z = x / (2.0 + x), y = z * z, p = 1.0 / 33.0;
    p = p * y + 1.0 / 31.0;
    p = p * y + 1.0 / 29.0;
    p = p * y + 1.0 / 27.0;
    p = p * y + 1.0 / 25.0;
    p = p * y + 1.0 / 23.0;
    p = p * y + 1.0 / 21.0;
    p = p * y + 1.0 / 19.0;
    p = p * y + 1.0 / 17.0;
    p = p * y + 1.0 / 15.0;
    p = p * y + 1.0 / 13.0;
    p = p * y + 1.0 / 11.0;
    p = p * y + 1.0 / 9.0;
    p = p * y + 1.0 / 7.0;
    p = p * y + 1.0 / 5.0;
    p = p * y + 1.0 / 3.0;
    return 2.0 * (z + z * y * p);
}

/* ln(1 + x) for x >= -1/2: the power of two nearest to 1 + x, and 2 artanh of what is left */
static ALWAYS_INLINE double fast_log1p(double x)
{
    const uint64_t one = 0x3ff0000000000000u, root = 0x3fe6a09e667f3bcdu; /* of 1/2 */
    const uint64_t fraction = 0x000fffffffffffffu, whole = 0x4330000000000000u; /* 2^52 */
    double u = 1.0 + x, lost = x > 1.0 ? 1.0 - (u - x) : x - (u - 1.0), k, m;
    uint64_t bits, part;
    memcpy(&bits, &u, sizeof bits);
    bits += one - root;
    part = (bits >> 52) | whole;
    memcpy(&k, &part, sizeof k);
    part = (bits & fraction) + root;
    memcpy(&m, &part, sizeof m);
    k -= 4503599627370496.0 + 1023.0;
    double z = (m - 1.0) / (m + 1.0), y = z * z, p = 1.0 / 21.0;
    p = p * y + 1.0 / 19.0;
    p = p * y + 1.0 / 17.0;
    p = p * y + 1.0 / 15.0;
    p = p * y + 1.0 / 13.0;
    p = p * y + 1.0 / 11.0;
    p = p * y + 1.0 / 9.0;
    p = p * y + 1.0 / 7.0;
    p = p * y + 1.0 / 5.0;
    p = p * y + 1.0 / 3.0;
    double small = 2.0 * z * y * p + (k * 1.90821492927058770002e-10 + lost / u);
    return k * 6.93147180369123816490e-01 + (2.0 * z + small);
}

#endif
