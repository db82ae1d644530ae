/* What the compiler is told beyond the language. */
#ifndef ENTROPIC_CPU_H
#define ENTROPIC_CPU_H

#include <stdint.h>

/* Inlined whatever the compiler thinks, so that arguments that are constants choose among its loops
 * as it is compiled. */
#ifdef __GNUC__
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE inline
#endif

/* Before a function whose loops are too short for what vectors cost before and after them. */
#if defined(__GNUC__) && !defined(__clang__)
#define SCALAR __attribute__((optimize("no-tree-vectorize")))
#else
#define SCALAR
#endif

/* Ask for what lies some bytes after an address, where the processor cannot foresee its use. */
#ifdef __GNUC__
#define PREFETCH(address, bytes) \
    __builtin_prefetch((const void *)((uintptr_t)(address) + (uintptr_t)(bytes)), 0, 2)
#else
#define PREFETCH(address, bytes) ((void)0)
#endif

#endif
