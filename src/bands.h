/* A symmetric matrix of products of long vectors, of which each task sums a band of columns over a
 * part of the vectors' length. */
#ifndef ENTROPIC_BANDS_H
#define ENTROPIC_BANDS_H

#include "level.h"
#include "rows.h"

typedef struct bands bands;

/* Add products of the vectors i >= j, first <= j < stop, over begin <= k < end to sum[i n + j]. */
typedef void (*band_body)(const bands *s, ptrdiff_t begin, ptrdiff_t end, ptrdiff_t first,
                          ptrdiff_t stop, double *sum, double *scratch);

struct bands {
    const rows *view;
    const double *scale;
    ptrdiff_t n, length;                /* vectors, and numbers in each */
    band_body body;
    size_t scratch_size;                /* doubles that the body needs */
    /* set by bands_multiply */
    ptrdiff_t n_parts, width, n_bands;
    ptrdiff_t begin, end, slice;        /* of the length: what is at work, and a part's share */
    double *sums, *scratch;
};

/* Fill out, n × n. Returns -1 where memory is short, else 0. */
int bands_multiply(bands *s, int n_threads, double *out);

/* Copy the lower triangle to the upper one. */
void mirror_lower(double *matrix, ptrdiff_t n);

#endif
