/* A symmetric matrix of products of long vectors, in bands and parts. */
#include "bands.h"

#include <stdlib.h>
#include <string.h>

#include "sweep.h"
#include "threads.h"

enum {
    SQUARE = 16,                /* rows and columns that are transposed at once */
    SLICE = 1024,               /* of the length: earns the adding of its sum to the others */
    MOST_PARTS = 8,
    MOST_SUMS = 1 << 21,        /* numbers in the sums of all parts */
    WIDE = 1024,                /* vectors from which bands are as wide as this halved */
    BAND = 256
};

void mirror_lower(double *matrix, ptrdiff_t n)
{
    for (ptrdiff_t top = 0; top < n; top += SQUARE)
        for (ptrdiff_t left = 0; left <= top; left += SQUARE)
            for (ptrdiff_t j = left; j < left + SQUARE && j < n; j++)
                for (ptrdiff_t i = top > j ? top : j + 1; i < top + SQUARE && i < n; i++)
                    matrix[j * n + i] = matrix[i * n + j];
}

static void band_task(void *work, ptrdiff_t task, int worker)
{
    const bands *s = work;
    ptrdiff_t part = task / s->n_bands, first = task % s->n_bands * s->width;
    ptrdiff_t stop = first + s->width < s->n ? first + s->width : s->n;
    ptrdiff_t begin = s->begin + part * s->slice, end = begin + s->slice;
    if (end > s->end) end = s->end;
    if (begin < end)
        s->body(s, begin, end, first, stop, s->sums + part * s->n * s->n,
                s->scratch + (size_t)worker * s->scratch_size);
}

/* Parts and bands by the sizes alone, so that the sums are the same for any number of threads. */
static void share_out(bands *s)
{
    ptrdiff_t room = MOST_SUMS / (s->n * s->n);
    s->n_parts = (s->length + SLICE - 1) / SLICE;
    if (s->n_parts > MOST_PARTS) s->n_parts = MOST_PARTS;
    if (s->n_parts > room) s->n_parts = room > 0 ? room : 1;
    /* a band copies for itself what the others copy too: narrow ones only where they are needed */
    s->width = s->n_parts > 1 && s->n < WIDE ? s->n : s->n < WIDE ? BAND : WIDE / 2;
    s->n_bands = (s->n + s->width - 1) / s->width;
}

int bands_multiply(bands *s, int n_threads, double *out)
{
    if (s->n == 0) return 0;
    share_out(s);
    size_t square = (size_t)s->n * (size_t)s->n;
    s->sums = out;
    if (s->n_parts > 1) s->sums = malloc((size_t)s->n_parts * square * sizeof(double));
    s->scratch = malloc(((size_t)n_threads * s->scratch_size + 1) * sizeof(double));
    int status = s->sums && s->scratch ? 0 : -1;
    if (status == 0) {
        memset(s->sums, 0, (size_t)s->n_parts * square * sizeof(double));
        /* in stretches, between which a signal can end the work */
        for (s->begin = 0; s->begin < s->length; s->begin = s->end) {
            ptrdiff_t rest = s->length - s->begin, most = s->n_parts * SLICE;
            s->end = s->begin + (rest < most ? rest : most);
            s->slice = (s->end - s->begin + s->n_parts - 1) / s->n_parts;
            each_chunk(s->n_parts * s->n_bands, n_threads, band_task, s);
        }
        if (s->sums != out) {
            add_partials(s->sums, s->n_parts, (ptrdiff_t)square);
            memcpy(out, s->sums, square * sizeof(double));
        }
        mirror_lower(out, s->n);
    }
    if (s->sums != out) free(s->sums);
    free(s->scratch);
    return status;
}
