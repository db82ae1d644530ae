/* A read of all numbers and nothing else: the yardstick for the sweeps in bench/. */
#ifndef ENTROPIC_READ_H
#define ENTROPIC_READ_H

#include <stddef.h>

/* How many sums read_all makes. */
ptrdiff_t read_parts(ptrdiff_t count);

/* Sums of successive parts of contiguous floats or doubles. */
void read_all(const void *values, int is_float, ptrdiff_t count, int n_threads, double *sums);

#endif
