/* Scores in order by class, and pools of neighbours whose frequency does not rise.
 *
 * uncertainty/ranking.py and uncertainty/probability.py say what for. */
#ifndef ENTROPIC_RANKING_H
#define ENTROPIC_RANKING_H

#include <stddef.h>
#include <stdint.h>

/* Part scores by class: the good class's from the end of `out` backwards, the others' from its start.
 * Returns how many are not good. */
ptrdiff_t ranking_part(ptrdiff_t n, const double *scores, const int8_t *good, double *out);

/* Merge two rising runs: distinct values, and at each the number of scores of either run, times unit.
 * The outputs have room for all. Returns how many values there are. */
ptrdiff_t ranking_merge(const double *bad, ptrdiff_t n_bad, const double *good, ptrdiff_t n_good,
                        double unit, double *values, double *bad_weight, double *good_weight);

typedef struct {
    int64_t *starts;            /* of the pools: a new one where the share of good weight rises */
    double *total, *good;       /* weight of each */
    double *middle;             /* of every value: the weight below it and half of its own */
} ranking_pools;

/* Returns how many pools there are; each output has room for n. */
ptrdiff_t ranking_pool(ptrdiff_t n, const double *bad, const double *good, const ranking_pools *out);

#endif
