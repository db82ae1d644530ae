/* Vectors of a level's own registers: of wider ones the sums would not stay in registers. */
#ifndef ENTROPIC_WIDEST_H
#define ENTROPIC_WIDEST_H

#if defined(__GNUC__)
#if defined(__AVX512F__)
enum { LANES = 8 };
#elif defined(__AVX__)
enum { LANES = 4 };
#else
enum { LANES = 2 };
#endif
typedef double vector __attribute__((vector_size(LANES * 8), aligned(8), may_alias));
#define ALL(x) ((x) - (vector){0})
#else
enum { LANES = 1 };
typedef double vector;
#define ALL(x) (x)
#endif

#endif
