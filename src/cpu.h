/* What this machine and this build can do. */
#ifndef ENTROPIC_CPU_H
#define ENTROPIC_CPU_H

#include <stdint.h>

/* Put before a hot function: compiled once a level of x86-64, the best one chosen at load time. */
#ifdef ENTROPIC_CLONES
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

/* Inline functions that take on the instruction set of the CLONES function they are used in. */
#ifdef __GNUC__
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE inline
#endif

/* Ask for what lies some bytes after an address, where the processor cannot foresee its use. */
#ifdef __GNUC__
#define PREFETCH(address, bytes) \
    __builtin_prefetch((const void *)((uintptr_t)(address) + (uintptr_t)(bytes)), 0, 2)
#else
#define PREFETCH(address, bytes) ((void)0)
#endif

/* Name of the level at which functions marked CLONES run here. */
const char *simd_level(void);

/* Whether OpenMP was compiled in. */
int has_openmp(void);

/* Threads that OpenMP would use by itself; 1 without it. */
int max_threads(void);

#endif
