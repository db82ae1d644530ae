/* What this machine and this build can do. */
#ifndef ENTROPIC_CPU_H
#define ENTROPIC_CPU_H

/* Put before a hot function: compiled once a level of x86-64, the best one chosen at load time. */
#ifdef ENTROPIC_CLONES
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

/* Name of the level at which functions marked CLONES run here. */
const char *simd_level(void);

/* Whether OpenMP was compiled in. */
int has_openmp(void);

/* Threads that OpenMP would use by itself; 1 without it. */
int max_threads(void);

#endif
