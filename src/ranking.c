/* Scores in order by class, and pools of neighbours whose frequency does not rise. */
#include "ranking.h"

ptrdiff_t ranking_part(ptrdiff_t n, const double *scores, const int8_t *good, double *out)
{
    ptrdiff_t front = 0, back = n;
    for (ptrdiff_t i = 0; i < n; i++) {
        /* written to both ends: a branch would be mispredicted half of the time */
        out[front] = out[back - 1] = scores[i];
        front += !good[i];
        back -= good[i] != 0;
    }
    return front;
}

ptrdiff_t ranking_merge(const double *bad, ptrdiff_t n_bad, const double *good, ptrdiff_t n_good,
                        double unit, double *values, double *bad_weight, double *good_weight)
{
    ptrdiff_t i = 0, j = 0, k = -1;
    double last = 0, bad_here = 0, good_here = 0;
    while (i < n_bad || j < n_good) {
        /* of two scores that are left both count where neither is below the other */
        int of_bad = j == n_good || (i < n_bad && !(good[j] < bad[i]));
        int of_good = i == n_bad || (j < n_good && !(bad[i] < good[j]));
        double next = of_bad ? bad[i] : good[j];
        int new = k < 0 || next != last;
        k += new;
        bad_here = (new ? 0 : bad_here) + (of_bad ? unit : 0);
        good_here = (new ? 0 : good_here) + (of_good ? unit : 0);
        values[k] = last = next, bad_weight[k] = bad_here, good_weight[k] = good_here;
        i += of_bad;
        j += of_good;
    }
    return k + 1;
}

ptrdiff_t ranking_pool(ptrdiff_t n, const double *bad, const double *good, const ranking_pools *out)
{
    ptrdiff_t pool = -1;
    double below = 0, share = -1, pool_total = 0, pool_good = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        double weight = bad[i] + good[i], own = good[i] / weight;
        int new = !(own <= share); /* whatever the numbers, the first value opens a pool */
        pool += new;
        pool_total = (new ? 0 : pool_total) + weight;
        pool_good = (new ? 0 : pool_good) + good[i];
        if (new) out->starts[pool] = i;
        out->total[pool] = pool_total;
        out->good[pool] = pool_good;
        below += weight;
        out->middle[i] = below - weight / 2;
        share = own;
    }
    return pool + 1;
}
