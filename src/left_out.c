/* What the training rows score without themselves, from their leverages. */
#include "left_out.h"

#include <float.h>
#include <math.h>

#include "threads.h"

enum { CHUNK = 1 << 14, MOST_CHUNKS = 1 << 8 };

/* Each chunk's extreme, or two: chunks grow where there would be more. */
typedef struct {
    const void *of;
    ptrdiff_t n, chunk_rows;
    double least[MOST_CHUNKS], highest[MOST_CHUNKS];
} chunks;

static ptrdiff_t chunk_end(const chunks *c, ptrdiff_t chunk)
{
    ptrdiff_t end = (chunk + 1) * c->chunk_rows;
    return end < c->n ? end : c->n;
}

static void run(chunks *c, ptrdiff_t n, const void *of, chunk_body body, int n_threads,
                double *least, double *highest)
{
    c->of = of, c->n = n;
    c->chunk_rows = n / MOST_CHUNKS < CHUNK ? CHUNK : n / MOST_CHUNKS + 1;
    ptrdiff_t n_chunks = (n + c->chunk_rows - 1) / c->chunk_rows;
    each_chunk(n_chunks, n_threads, body, c);
    *least = INFINITY, *highest = -INFINITY;
    for (ptrdiff_t k = 0; k < n_chunks; k++) {
        *least = c->least[k] < *least ? c->least[k] : *least;
        *highest = c->highest[k] > *highest ? c->highest[k] : *highest;
    }
}

static void fill_chunk(void *work, ptrdiff_t chunk, int worker)
{
    chunks *c = work;
    const left_out_shifts *s = c->of;
    double least = INFINITY;
    (void)worker;
    for (ptrdiff_t i = chunk * c->chunk_rows; i < chunk_end(c, chunk); i++) {
        double a = s->leverage[i], q = s->weights[i * s->weights_step];
        double left = 1 - a * s->hessian_weights[i];
        double moved = q * s->log_margins[i] * (a < DBL_MAX ? a : DBL_MAX);
        s->first_order[i] = moved;
        s->left[i] = left;
        s->shift[i] = moved / left;
        least = left < least ? left : least;
    }
    c->least[chunk] = c->highest[chunk] = least;
}

double left_out_fill(const left_out_shifts *s, int n_threads)
{
    chunks c;
    double least, highest;
    run(&c, s->n, s, fill_chunk, n_threads, &least, &highest);
    return least;
}

static void score_chunk(void *work, ptrdiff_t chunk, int worker)
{
    chunks *c = work;
    const left_out_scores *s = c->of;
    double least = INFINITY, highest = -INFINITY;
    (void)worker;
    for (ptrdiff_t i = chunk * c->chunk_rows; i < chunk_end(c, chunk); i++) {
        double sign = s->sign[i * s->sign_step];
        double margin = s->functional_margins[i] + s->offset[i * s->offset_step];
        double score = sign * margin;
        int counted = s->weights[i * s->weights_step] > 0;
        double good = counted && sign > 0 ? score : INFINITY;
        double bad = counted && sign < 0 ? score : -INFINITY;
        least = good < least ? good : least;
        highest = bad > highest ? bad : highest;
        if (s->shift) s->scores[i] = sign * (margin + s->shift[i]);
    }
    c->least[chunk] = least, c->highest[chunk] = highest;
}

double left_out_score(const left_out_scores *s, int n_threads)
{
    chunks c;
    double least, highest;
    run(&c, s->n, s, score_chunk, n_threads, &least, &highest);
    return least - highest;
}
