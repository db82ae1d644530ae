/* Four doubles at a time: a register, or two, on machines that have them, and an array elsewhere. */
#ifndef ENTROPIC_VEC4_H
#define ENTROPIC_VEC4_H

#include <string.h>

#include "cpu.h"

#if defined(__GNUC__)

#if defined(__clang__) || __GNUC__ >= 12
#define VEC4_SHUFFLES
#endif

typedef double vec4 __attribute__((vector_size(32), aligned(8), may_alias));

static ALWAYS_INLINE vec4 vec4_load_double(const double *x)
{
    return *(const vec4 *)x;
}

/* One instruction; of __builtin_convertvector gcc 12 makes four. */
static ALWAYS_INLINE vec4 vec4_load_float(const float *x)
{
    return (vec4){x[0], x[1], x[2], x[3]};
}

static ALWAYS_INLINE void vec4_store(double *x, vec4 a)
{
    *(vec4 *)x = a;
}

/* One instruction; of {a, a, a, a} in a function for several machines gcc 12 makes two. */
static ALWAYS_INLINE vec4 vec4_all(double a)
{
#ifdef VEC4_SHUFFLES
    return __builtin_shufflevector((vec4){a, 0, 0, 0}, (vec4){a, 0, 0, 0}, 0, 0, 0, 0);
#else
    return (vec4){a, a, a, a};
#endif
}

static ALWAYS_INLINE vec4 vec4_plus(vec4 a, vec4 b)
{
    return a + b;
}

static ALWAYS_INLINE vec4 vec4_minus(vec4 a, vec4 b)
{
    return a - b;
}

static ALWAYS_INLINE vec4 vec4_times(vec4 a, vec4 b)
{
    return a * b;
}

/* a + b c */
static ALWAYS_INLINE vec4 vec4_add_product(vec4 a, vec4 b, vec4 c)
{
    return a + b * c;
}

#else

typedef struct {
    double x[4];
} vec4;

static ALWAYS_INLINE vec4 vec4_load_double(const double *x)
{
    vec4 a = {{x[0], x[1], x[2], x[3]}};
    return a;
}

static ALWAYS_INLINE vec4 vec4_load_float(const float *x)
{
    vec4 a = {{x[0], x[1], x[2], x[3]}};
    return a;
}

static ALWAYS_INLINE void vec4_store(double *x, vec4 a)
{
    memcpy(x, &a, sizeof a);
}

static ALWAYS_INLINE vec4 vec4_all(double a)
{
    vec4 all = {{a, a, a, a}};
    return all;
}

static ALWAYS_INLINE vec4 vec4_plus(vec4 a, vec4 b)
{
    for (int k = 0; k < 4; k++) a.x[k] += b.x[k];
    return a;
}

static ALWAYS_INLINE vec4 vec4_times(vec4 a, vec4 b)
{
    for (int k = 0; k < 4; k++) a.x[k] *= b.x[k];
    return a;
}

static ALWAYS_INLINE vec4 vec4_minus(vec4 a, vec4 b)
{
    for (int k = 0; k < 4; k++) a.x[k] -= b.x[k];
    return a;
}

static ALWAYS_INLINE vec4 vec4_add_product(vec4 a, vec4 b, vec4 c)
{
    for (int k = 0; k < 4; k++) a.x[k] += b.x[k] * c.x[k];
    return a;
}

#endif

static ALWAYS_INLINE double vec4_sum(vec4 a)
{
    double x[4];
    memcpy(x, &a, sizeof x);
    return (x[0] + x[1]) + (x[2] + x[3]);
}

/* Turn four rows of four into four columns. */
static ALWAYS_INLINE void vec4_transpose(vec4 *a, vec4 *b, vec4 *c, vec4 *d)
{
#ifdef VEC4_SHUFFLES
    vec4 ab_low = __builtin_shufflevector(*a, *b, 0, 4, 2, 6);
    vec4 ab_high = __builtin_shufflevector(*a, *b, 1, 5, 3, 7);
    vec4 cd_low = __builtin_shufflevector(*c, *d, 0, 4, 2, 6);
    vec4 cd_high = __builtin_shufflevector(*c, *d, 1, 5, 3, 7);
    *a = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
    *b = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
    *c = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
    *d = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
#else
    double x[4][4], y[4][4];
    memcpy(x[0], a, sizeof *a);
    memcpy(x[1], b, sizeof *b);
    memcpy(x[2], c, sizeof *c);
    memcpy(x[3], d, sizeof *d);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) y[j][i] = x[i][j];
    memcpy(a, y[0], sizeof *a);
    memcpy(b, y[1], sizeof *b);
    memcpy(c, y[2], sizeof *c);
    memcpy(d, y[3], sizeof *d);
#endif
}

/* The sums of four vectors. */
static ALWAYS_INLINE vec4 vec4_sums(vec4 a, vec4 b, vec4 c, vec4 d)
{
#ifdef VEC4_SHUFFLES
    vec4 ab = __builtin_shufflevector(a, b, 0, 4, 2, 6) + __builtin_shufflevector(a, b, 1, 5, 3, 7);
    vec4 cd = __builtin_shufflevector(c, d, 0, 4, 2, 6) + __builtin_shufflevector(c, d, 1, 5, 3, 7);
    return __builtin_shufflevector(ab, cd, 0, 1, 4, 5)
           + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
#else
    vec4_transpose(&a, &b, &c, &d);
    return vec4_plus(vec4_plus(a, b), vec4_plus(c, d));
#endif
}

#endif
