/* What the training rows score without themselves, from their leverages. */
#include "left_out.h"

#include <float.h>
#include <math.h>

#include "threads.h"

enum { CHUNK = 1 << 14, MOST_CHUNKS = 1 << 8, BLOCK = 512 };

/* What is found of each chunk, the highest of the other class with its sign changed: chunks grow
 * where there would be more. */
typedef struct {
    const void *of;
    ptrdiff_t n, chunk_rows;
    double good[MOST_CHUNKS], bad[MOST_CHUNKS], left[MOST_CHUNKS], moved[MOST_CHUNKS];
} chunks;

static ptrdiff_t chunk_end(const chunks *c, ptrdiff_t chunk)
{
    ptrdiff_t end = (chunk + 1) * c->chunk_rows;
    return end < c->n ? end : c->n;
}

static ptrdiff_t run(chunks *c, ptrdiff_t n, const void *of, chunk_body body, int n_threads)
{
    c->of = of, c->n = n;
    c->chunk_rows = n / MOST_CHUNKS < CHUNK ? CHUNK : n / MOST_CHUNKS + 1;
    ptrdiff_t n_chunks = (n + c->chunk_rows - 1) / c->chunk_rows;
    each_chunk(n_chunks, n_threads, body, c);
    return n_chunks;
}

static double least_of(const double *values, ptrdiff_t n)
{
    double least = INFINITY;
    for (ptrdiff_t k = 0; k < n; k++) least = values[k] < least ? values[k] : least;
    return least;
}

/* Sets the shifts of some rows. Returns the least of `left`. */
static double shifts_of(const left_out_shifts *s, ptrdiff_t start, ptrdiff_t count,
                        double *restrict first_order, double *restrict left, double *restrict shift)
{
    const double *restrict leverage = s->leverage + start, *restrict x = s->log_margins + start;
    const double *restrict c = s->hessian_weights + start;
    double q[BLOCK], least = INFINITY;
    for (ptrdiff_t i = 0; i < count; i++) q[i] = s->weights[(start + i) * s->weights_step];
#pragma omp simd reduction(min : least)
    for (ptrdiff_t i = 0; i < count; i++) {
        double a = leverage[i];
        left[i] = 1 - a * c[i];
        first_order[i] = q[i] * x[i] * (a < DBL_MAX ? a : DBL_MAX);
        shift[i] = first_order[i] / left[i];
        least = left[i] < least ? left[i] : least;
    }
    return least;
}

static void fill_chunk(void *work, ptrdiff_t chunk, int worker)
{
    chunks *c = work;
    const left_out_shifts *s = c->of;
    double least = INFINITY;
    ptrdiff_t end = chunk_end(c, chunk), count;
    (void)worker;
    for (ptrdiff_t start = chunk * c->chunk_rows; start < end; start += count) {
        count = end - start < BLOCK ? end - start : BLOCK;
        double own = shifts_of(s, start, count, s->first_order + start, s->left + start,
                               s->shift + start);
        least = own < least ? own : least;
    }
    c->left[chunk] = least;
}

double left_out_fill(const left_out_shifts *s, int n_threads)
{
    chunks c;
    ptrdiff_t n_chunks = run(&c, s->n, s, fill_chunk, n_threads);
    return least_of(c.left, n_chunks);
}

static void score_chunk(void *work, ptrdiff_t chunk, int worker)
{
    chunks *c = work;
    const left_out_scores *s = c->of;
    double good = INFINITY, bad = INFINITY, least = INFINITY, moved = 0;
    double first_order[BLOCK], left[BLOCK], shifts[BLOCK], sign[BLOCK], q[BLOCK], y[BLOCK];
    ptrdiff_t end = chunk_end(c, chunk), count;
    (void)worker;
    for (ptrdiff_t start = chunk * c->chunk_rows; start < end; start += count) {
        const double *restrict t = s->functional_margins + start;
        const double *restrict shift = s->shift ? s->shift + start : shifts;
        count = end - start < BLOCK ? end - start : BLOCK;
        for (ptrdiff_t i = 0; i < count; i++) sign[i] = s->sign[(start + i) * s->sign_step];
        for (ptrdiff_t i = 0; i < count; i++) q[i] = s->weights[(start + i) * s->weights_step];
        for (ptrdiff_t i = 0; i < count; i++) y[i] = s->offset[(start + i) * s->offset_step];
#pragma omp simd reduction(min : good, bad)
        for (ptrdiff_t i = 0; i < count; i++) {
            double score = sign[i] * (t[i] + y[i]);
            double of_good = (q[i] > 0) & (sign[i] > 0) ? score : INFINITY;
            double of_bad = (q[i] > 0) & (sign[i] < 0) ? -score : INFINITY;
            good = of_good < good ? of_good : good;
            bad = of_bad < bad ? of_bad : bad;
        }
        if (s->by) {
            double own = shifts_of(s->by, start, count, first_order, left, shifts);
            least = own < least ? own : least;
#pragma omp simd reduction(+ : moved)
            for (ptrdiff_t i = 0; i < count; i++) moved += fabs(shifts[i]);
        }
        if (s->scores) {
            double *restrict scores = s->scores + start;
            for (ptrdiff_t i = 0; i < count; i++) scores[i] = sign[i] * (t[i] + y[i] + shift[i]);
        }
    }
    c->good[chunk] = good, c->bad[chunk] = bad, c->left[chunk] = least, c->moved[chunk] = moved;
}

left_out_found left_out_score(const left_out_scores *s, int n_threads)
{
    chunks c;
    ptrdiff_t n_chunks = run(&c, s->n, s, score_chunk, n_threads);
    left_out_found found = {.separation = least_of(c.good, n_chunks) + least_of(c.bad, n_chunks),
                            .least = least_of(c.left, n_chunks)};
    for (ptrdiff_t k = 0; k < n_chunks; k++) found.moved += c.moved[k];
    return found;
}
