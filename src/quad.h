/* Four doubles at a time: a register, or two, on machines that have them, and an array elsewhere. */
#ifndef ENTROPIC_QUAD_H
#define ENTROPIC_QUAD_H

#include <string.h>

#include "cpu.h"

#if defined(__GNUC__)

#if defined(__clang__) || __GNUC__ >= 12
#define QUAD_SHUFFLES
#endif

typedef double quad __attribute__((vector_size(32), aligned(8), may_alias));

static ALWAYS_INLINE quad quad_load_double(const double *x)
{
    return *(const quad *)x;
}

/* One instruction; of __builtin_convertvector gcc 12 makes four. */
static ALWAYS_INLINE quad quad_load_float(const float *x)
{
    return (quad){x[0], x[1], x[2], x[3]};
}

static ALWAYS_INLINE void quad_store(double *x, quad a)
{
    *(quad *)x = a;
}

/* One instruction; of {a, a, a, a} in a function for several machines gcc 12 makes two. */
static ALWAYS_INLINE quad quad_all(double a)
{
#ifdef QUAD_SHUFFLES
    return __builtin_shufflevector((quad){a, 0, 0, 0}, (quad){a, 0, 0, 0}, 0, 0, 0, 0);
#else
    return (quad){a, a, a, a};
#endif
}

static ALWAYS_INLINE quad quad_plus(quad a, quad b)
{
    return a + b;
}

static ALWAYS_INLINE quad quad_minus(quad a, quad b)
{
    return a - b;
}

static ALWAYS_INLINE quad quad_times(quad a, quad b)
{
    return a * b;
}

/* a + b c */
static ALWAYS_INLINE quad quad_add_product(quad a, quad b, quad c)
{
    return a + b * c;
}

#else

typedef struct {
    double x[4];
} quad;

static ALWAYS_INLINE quad quad_load_double(const double *x)
{
    quad a = {{x[0], x[1], x[2], x[3]}};
    return a;
}

static ALWAYS_INLINE quad quad_load_float(const float *x)
{
    quad a = {{x[0], x[1], x[2], x[3]}};
    return a;
}

static ALWAYS_INLINE void quad_store(double *x, quad a)
{
    memcpy(x, &a, sizeof a);
}

static ALWAYS_INLINE quad quad_all(double a)
{
    quad all = {{a, a, a, a}};
    return all;
}

static ALWAYS_INLINE quad quad_plus(quad a, quad b)
{
    for (int k = 0; k < 4; k++) a.x[k] += b.x[k];
    return a;
}

static ALWAYS_INLINE quad quad_times(quad a, quad b)
{
    for (int k = 0; k < 4; k++) a.x[k] *= b.x[k];
    return a;
}

static ALWAYS_INLINE quad quad_minus(quad a, quad b)
{
    for (int k = 0; k < 4; k++) a.x[k] -= b.x[k];
    return a;
}

static ALWAYS_INLINE quad quad_add_product(quad a, quad b, quad c)
{
    for (int k = 0; k < 4; k++) a.x[k] += b.x[k] * c.x[k];
    return a;
}

#endif

static ALWAYS_INLINE double quad_sum(quad a)
{
    double x[4];
    memcpy(x, &a, sizeof x);
    return (x[0] + x[1]) + (x[2] + x[3]);
}

/* Turn four rows of four into four columns. */
static ALWAYS_INLINE void quad_transpose(quad *a, quad *b, quad *c, quad *d)
{
#ifdef QUAD_SHUFFLES
    quad ab_low = __builtin_shufflevector(*a, *b, 0, 4, 2, 6);
    quad ab_high = __builtin_shufflevector(*a, *b, 1, 5, 3, 7);
    quad cd_low = __builtin_shufflevector(*c, *d, 0, 4, 2, 6);
    quad cd_high = __builtin_shufflevector(*c, *d, 1, 5, 3, 7);
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

/* The sums of four quads. */
static ALWAYS_INLINE quad quad_sums(quad a, quad b, quad c, quad d)
{
#ifdef QUAD_SHUFFLES
    quad ab = __builtin_shufflevector(a, b, 0, 4, 2, 6) + __builtin_shufflevector(a, b, 1, 5, 3, 7);
    quad cd = __builtin_shufflevector(c, d, 0, 4, 2, 6) + __builtin_shufflevector(c, d, 1, 5, 3, 7);
    return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
#else
    quad_transpose(&a, &b, &c, &d);
    return quad_plus(quad_plus(a, b), quad_plus(c, d));
#endif
}

#endif
