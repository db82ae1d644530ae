/* A read of all numbers and nothing else: the yardstick for the sweeps in bench/. */
#include "read.h"

#include "cpu.h"
#include "threads.h"

enum { PART = 1 << 16 };

typedef struct {
    const char *values;
    int is_float;
    ptrdiff_t count;
    double *sums;
} reading;

CLONES static double sum_doubles(const double *restrict x, ptrdiff_t count)
{
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
    for (ptrdiff_t i = 0; i < count / 4; i++) {
        s0 += x[i];
        s1 += x[i + count / 4];
        s2 += x[i + count / 4 * 2];
        s3 += x[i + count / 4 * 3];
    }
    for (ptrdiff_t i = count / 4 * 4; i < count; i++) s0 += x[i];
    return (s0 + s1) + (s2 + s3);
}

CLONES static double sum_floats(const float *restrict x, ptrdiff_t count)
{
    float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
    for (ptrdiff_t i = 0; i < count / 4; i++) {
        s0 += x[i];
        s1 += x[i + count / 4];
        s2 += x[i + count / 4 * 2];
        s3 += x[i + count / 4 * 3];
    }
    for (ptrdiff_t i = count / 4 * 4; i < count; i++) s0 += x[i];
    return (double)s0 + s1 + s2 + s3;
}

static void read_part(void *work, ptrdiff_t part, int worker)
{
    reading *r = work;
    ptrdiff_t first = part * PART, count = r->count - first < PART ? r->count - first : PART;
    (void)worker;
    r->sums[part] = r->is_float ? sum_floats((const float *)r->values + first, count)
                                : sum_doubles((const double *)r->values + first, count);
}

ptrdiff_t read_parts(ptrdiff_t count)
{
    return (count + PART - 1) / PART;
}

void read_all(const void *values, int is_float, ptrdiff_t count, int n_threads, double *sums)
{
    reading r = {values, is_float, count, sums};
    each_chunk(read_parts(count), n_threads, read_part, &r);
}
