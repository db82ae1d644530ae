/* Blocks of monomials: expansion below the highest degree, and products with what is above. */
#include "monomials.h"

#include <string.h>

#include "cpu.h"
#include "widest.h"

enum {
    GROUP = 4,                  /* features worked on together */
    TILE = 8,                   /* a run of coefficients is padded to multiples of this */
    STRETCH = 512,              /* monomials of the degree before that are worked on together */
    RUN = STRETCH + TILE,       /* room for one feature's: two tiles may be written at a time */
    BLOCK_BYTES = 128 << 10,    /* of a block: a part of the second-level cache */
    FEWEST = 32                 /* rows that repay the unpacking of a run of coefficients */
};

/* Monomials below the highest degree. */
static ptrdiff_t n_lower(const struct monomials *m)
{
    return (ptrdiff_t)m->offsets[m->degree - 1];
}

static ptrdiff_t round_up(ptrdiff_t n, ptrdiff_t to)
{
    return (n + to - 1) / to * to;
}

/* Numbers from a row of a block to the next: the lower degrees, then zeros to the end of the
 * last tile. An odd number of cache lines, so that rows don't compete for the same places. */
static ptrdiff_t row_length(const struct monomials *m)
{
    ptrdiff_t last = (ptrdiff_t)m->offsets[m->degree - 2];
    ptrdiff_t length = round_up(last, TILE) + round_up(n_lower(m) - last, TILE);
    return length / TILE % 2 ? length : length + TILE;
}

/* In a row of a block the degree before the highest begins at a multiple of TILE. */
static ptrdiff_t last_place(const struct monomials *m)
{
    return round_up((ptrdiff_t)m->offsets[m->degree - 2], TILE);
}

ptrdiff_t monomial_block_rows(const rows *view)
{
    ptrdiff_t count = BLOCK_BYTES / (row_length(view->monomials) * (ptrdiff_t)sizeof(double));
    count = count / 4 * 4;
    return count < FEWEST ? FEWEST : count > 128 ? 128 : count;
}

/* The rows; then coefficients or sums of a group of features over a stretch, and weights. */
size_t monomial_block_scratch(const rows *view, ptrdiff_t count)
{
    const struct monomials *m = view->monomials;
    return (size_t)(round_up(count, 2) * (row_length(m) + GROUP + TILE)) + GROUP * RUN;
}

static const double *row_of(const block *b, ptrdiff_t i)
{
    return (const double *)b->values + i * b->stride;
}

static double *work_of(const block *b)
{
    return (double *)b->values + round_up(b->count, 2) * b->stride;
}

/* x_j times the suffix, for all j: one degree from the one before. */
static ALWAYS_INLINE void next_degree(const struct monomials *m, ptrdiff_t d,
                                      const double *restrict x, const double *restrict before,
                                      double *restrict out)
{
    ptrdiff_t n = m->features->n_columns;
    const int64_t *lower = m->starts + (d - 2) * (n + 1) + m->shift;
    const int64_t *upper = m->starts + (d - 1) * (n + 1);
    for (ptrdiff_t j = 0; j < n; j++) {
        const double *restrict suffix = before + lower[j];
        double *restrict run = out + upper[j];
        ptrdiff_t length = (ptrdiff_t)(upper[j + 1] - upper[j]);
        double first = x[j];
#pragma omp simd
        for (ptrdiff_t k = 0; k < length; k++) run[k] = first * suffix[k];
    }
}

static void expand(const struct monomials *m, ptrdiff_t count, ptrdiff_t stride,
                   double *values)
{
    ptrdiff_t n = m->features->n_columns, last = last_place(m);
    for (ptrdiff_t i = 0; i < count; i++) {
        double *row = values + i * stride;
        if (m->inverse_scale)
            for (ptrdiff_t j = 0; j < n; j++) row[j] *= m->inverse_scale[j];
        for (ptrdiff_t d = 2; d < m->degree; d++) {
            double *out = d == m->degree - 1 ? row + last : row + m->offsets[d - 1];
            next_degree(m, d, row, row + m->offsets[d - 2], out);
        }
    }
}

void monomial_block_open(block *b, const rows *view, ptrdiff_t start, ptrdiff_t count,
                         double *scratch)
{
    const struct monomials *m = view->monomials;
    b->stride = row_length(m);
    b->values = (const char *)scratch;
    b->is_float = 0;
    b->centre = NULL;
    block features;
    submatrix all = {0, count, 0, m->features->n_columns, NULL, NULL};
    block_open_copy(&features, m->features, start, count, NULL);
    block_copy(&features, &all, scratch, b->stride);
    expand(m, count, b->stride, scratch);
    /* the padding, and the second row of an odd pair */
    ptrdiff_t last = last_place(m), before = (ptrdiff_t)m->offsets[m->degree - 2];
    ptrdiff_t end = last + n_lower(m) - before;
    for (ptrdiff_t i = 0; i < count; i++) {
        double *row = scratch + i * b->stride;
        for (ptrdiff_t k = before; k < last; k++) row[k] = 0;
        for (ptrdiff_t k = end; k < b->stride; k++) row[k] = 0;
    }
    if (count % 2) memset(scratch + count * b->stride, 0, (size_t)b->stride * sizeof(double));
}

/* A stretch of the degree before the highest, and the features whose suffix reaches into it. */
typedef struct {
    const struct monomials *m;
    const int64_t *suffix;      /* where the suffix of a feature begins */
    const int64_t *runs;        /* where its run of the highest degree begins */
    ptrdiff_t n, size;          /* features; monomials of the degree before */
    ptrdiff_t begin, end;       /* the stretch, whole tiles; end may pass size */
} stretch;

static stretch stretch_of(const struct monomials *m)
{
    ptrdiff_t n = m->features->n_columns;
    const int64_t *lower = m->starts + (m->degree - 2) * (n + 1);
    return (stretch){m, lower + m->shift, lower + n + 1, n, (ptrdiff_t)lower[n], 0, 0};
}

static int next_stretch(stretch *s)
{
    s->begin = s->end;
    s->end = s->begin + STRETCH;
    if (s->end > round_up(s->size, TILE)) s->end = round_up(s->size, TILE);
    return s->begin < s->size;
}

/* First tile of the stretch that the suffix of feature j reaches; `end` where it doesn't. */
static ptrdiff_t first_tile(const stretch *s, ptrdiff_t j)
{
    ptrdiff_t first = j < s->n ? (ptrdiff_t)s->suffix[j] / TILE * TILE : s->end;
    return first < s->begin ? s->begin : first > s->end ? s->end : first;
}

/* The part of feature j's run within the stretch: monomials from..to of the degree before. */
static void part_of(const stretch *s, ptrdiff_t j, ptrdiff_t *from, ptrdiff_t *to)
{
    *from = (ptrdiff_t)s->suffix[j] > s->begin ? (ptrdiff_t)s->suffix[j] : s->begin;
    *to = s->end < s->size ? s->end : s->size;
    if (*from > *to) *from = *to;
}

/* Coefficients of a group over the stretch, zero where there is no monomial. */
static void unpack_group(const stretch *s, ptrdiff_t j, const double *coef, double *out)
{
    const double *top = coef + s->m->offsets[s->m->degree - 1];
    for (ptrdiff_t a = 0; a < GROUP; a++, out += RUN) {
        ptrdiff_t from = s->end, to = s->end;
        if (j + a < s->n) part_of(s, j + a, &from, &to);
        memset(out, 0, (size_t)(from - s->begin) * sizeof(double));
        if (from < to)
            memcpy(out + (from - s->begin), top + s->runs[j + a] + (from - s->suffix[j + a]),
                   (size_t)(to - from) * sizeof(double));
        memset(out + (to - s->begin), 0, (size_t)(s->end - to) * sizeof(double));
    }
}

/* sums_i += sum_a x_i(j+a) (sum_k q_ik c_ak), the lanes still apart, for two rows. Where a feature
 * has no monomial its coefficients are zero: sums that wait for each other take longer. */
static ALWAYS_INLINE void dot_pair(const stretch *s, ptrdiff_t j, const double *x0,
                                   const double *x1, const double *q0, const double *q1,
                                   const double *c, vector *sums)
{
    vector s0[GROUP], s1[GROUP];
#pragma GCC unroll 4
    for (int a = 0; a < GROUP; a++) s0[a] = s1[a] = ALL(0.0);
    ptrdiff_t end = s->end - s->begin;
    for (ptrdiff_t k = first_tile(s, j) - s->begin; k < end; k += LANES) {
        vector u = *(const vector *)(q0 + k), v = *(const vector *)(q1 + k);
#pragma GCC unroll 4
        for (int a = 0; a < GROUP; a++) {
            vector w = *(const vector *)(c + a * RUN + k);
            s0[a] += u * w;
            s1[a] += v * w;
        }
    }
    for (int a = 0; a < GROUP && j + a < s->n; a++) {
        sums[0] += s0[a] * ALL(x0[j + a]);
        sums[1] += s1[a] * ALL(x1[j + a]);
    }
}

static ALWAYS_INLINE double dot(const double *restrict a, const double *restrict b, ptrdiff_t n)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (ptrdiff_t k = 0; k < n; k++) sum += a[k] * b[k];
    return sum;
}

void monomial_block_dot(const block *b, const double *coef, double *out)
{
    const struct monomials *m = b->rows->monomials;
    ptrdiff_t last = last_place(m), before = (ptrdiff_t)m->offsets[m->degree - 2];
    double *c = work_of(b);
    vector *sums = (vector *)(c + GROUP * RUN);
    memset(sums, 0, (size_t)round_up(b->count, 2) * sizeof(vector));
    for (stretch s = stretch_of(m); next_stretch(&s);)
        for (ptrdiff_t j = 0; j < s.n && first_tile(&s, j) < s.end; j += GROUP) {
            unpack_group(&s, j, coef, c);
            for (ptrdiff_t i = 0; i < b->count; i += 2) {
                const double *x0 = row_of(b, i), *x1 = x0 + b->stride;
                dot_pair(&s, j, x0, x1, x0 + last + s.begin, x1 + last + s.begin, c, sums + i);
            }
        }
    for (ptrdiff_t i = 0; i < b->count; i++) {
        const double *row = row_of(b, i), *lanes = (const double *)(sums + i);
        double f = coef[b->rows->n_columns];
        if (last > 0) f += dot(row, coef, before);
        f += dot(row + last, coef + before, n_lower(m) - before);
        for (int k = 0; k < LANES; k++) f += lanes[k];
        out[i] = f;
    }
}

/* sums_ak = sum_i w_ia q_ik for two vectors of monomials from k on; the second may lie beyond the
 * last tile, where nobody reads its sums. */
static ALWAYS_INLINE void add_vectors(const double *restrict q, ptrdiff_t stride, ptrdiff_t count,
                                      const double *restrict w, double *restrict sums)
{
    vector s0[GROUP], s1[GROUP];
#pragma GCC unroll 4
    for (int a = 0; a < GROUP; a++) s0[a] = s1[a] = ALL(0.0);
    for (ptrdiff_t i = 0; i < count; i++) {
        vector u = *(const vector *)(q + i * stride);
        vector v = *(const vector *)(q + i * stride + LANES);
#pragma GCC unroll 4
        for (int a = 0; a < GROUP; a++) {
            vector p = ALL(w[GROUP * i + a]);
            s0[a] += u * p;
            s1[a] += v * p;
        }
    }
#pragma GCC unroll 4
    for (int a = 0; a < GROUP; a++) {
        *(vector *)(sums + a * RUN) = s0[a];
        *(vector *)(sums + a * RUN + LANES) = s1[a];
    }
}

static ALWAYS_INLINE void add_to(double *restrict to, const double *restrict from, ptrdiff_t n)
{
#pragma omp simd
    for (ptrdiff_t k = 0; k < n; k++) to[k] += from[k];
}

/* to_k += sum_i p_i z_ik for n monomials that the rows hold from `first` on, the sums in registers. */
static void add_lower(const block *b, ptrdiff_t first, ptrdiff_t n, const double *p, double *to)
{
    enum { VECTORS = 4 };
    ptrdiff_t k = 0;
    for (; k + VECTORS * LANES <= n; k += VECTORS * LANES) {
        vector sums[VECTORS];
        const double *z = row_of(b, 0) + first + k;
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) sums[v] = *(const vector *)(to + k + v * LANES);
        for (ptrdiff_t i = 0; i < b->count; i++, z += b->stride)
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++) sums[v] += ALL(p[i]) * *(const vector *)(z + v * LANES);
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) *(vector *)(to + k + v * LANES) = sums[v];
    }
    for (ptrdiff_t i = 0; i < b->count; i++) {
        const double *restrict z = row_of(b, i) + first;
#pragma omp simd
        for (ptrdiff_t r = k; r < n; r++) to[r] += p[i] * z[r];
    }
}

void monomial_block_add(const block *b, const double *pointwise_gradient, double *gradient)
{
    const struct monomials *m = b->rows->monomials;
    ptrdiff_t last = last_place(m), before = (ptrdiff_t)m->offsets[m->degree - 2];
    ptrdiff_t n_last = n_lower(m) - before;
    double *sums = work_of(b), *w = sums + GROUP * RUN, *top = gradient + n_lower(m);
    for (stretch s = stretch_of(m); next_stretch(&s);)
        for (ptrdiff_t j = 0; j < s.n && first_tile(&s, j) < s.end; j += GROUP) {
            for (ptrdiff_t i = 0; i < b->count; i++)
                for (ptrdiff_t a = 0; a < GROUP; a++)
                    w[GROUP * i + a] =
                        j + a < s.n ? pointwise_gradient[i] * row_of(b, i)[j + a] : 0;
            for (ptrdiff_t k = first_tile(&s, j); k < s.end; k += 2 * LANES)
                add_vectors(row_of(b, 0) + last + k, b->stride, b->count, w, sums + (k - s.begin));
            for (ptrdiff_t a = 0; a < GROUP && j + a < s.n; a++) {
                ptrdiff_t from, to;
                part_of(&s, j + a, &from, &to);
                add_to(top + s.runs[j + a] + (from - s.suffix[j + a]),
                       sums + a * RUN + (from - s.begin), to - from);
            }
        }
    add_lower(b, 0, before, pointwise_gradient, gradient);
    add_lower(b, last, n_last, pointwise_gradient, gradient + before);
}

/* Calls of `use` for consecutive columns from..to of one row: z_k = factor row_k. */
#define EACH_RUN(b, row, use)                                                                    \
    do {                                                                                         \
        const struct monomials *m_ = (b)->rows->monomials;                                       \
        ptrdiff_t before_ = (ptrdiff_t)m_->offsets[m_->degree - 2], last_ = last_place(m_);      \
        ptrdiff_t lower_ = n_lower(m_);                                                          \
        stretch s_ = stretch_of(m_);                                                             \
        use(0, before_, 1.0, (row));                                                             \
        use(before_, lower_, 1.0, (row) + last_);                                                \
        for (ptrdiff_t j_ = 0; j_ < s_.n; j_++)                                                  \
            use(lower_ + (ptrdiff_t)s_.runs[j_], lower_ + (ptrdiff_t)s_.runs[j_ + 1], (row)[j_], \
                (row) + last_ + s_.suffix[j_]);                                                  \
    } while (0)

static ALWAYS_INLINE void squares_run(ptrdiff_t from, ptrdiff_t to, double factor,
                                      const double *restrict values, double share,
                                      const double *restrict mean, double *restrict squares,
                                      double *restrict drift)
{
#pragma omp simd
    for (ptrdiff_t k = from; k < to; k++) {
        double z = factor * values[k - from] - mean[k];
        squares[k] += share * z * z;
        drift[k] += share * z;
    }
}

void monomial_block_add_squares(const block *b, const double *share, const double *mean,
                                double *squares, double *drift)
{
    for (ptrdiff_t i = 0; i < b->count; i++) {
        const double *row = row_of(b, i);
#define USE(from, to, factor, values) \
    squares_run(from, to, factor, values, share[i], mean, squares, drift)
        EACH_RUN(b, row, USE);
#undef USE
    }
}

static ALWAYS_INLINE void copy_run(ptrdiff_t from, ptrdiff_t to, double factor,
                                   const double *restrict values, const submatrix *p,
                                   double *restrict out)
{
    ptrdiff_t begin = from > p->column ? from : p->column, end = p->column + p->n_columns;
    if (end > to) end = to;
#pragma omp simd
    for (ptrdiff_t k = begin; k < end; k++) out[k - p->column] = factor * values[k - from];
}

void monomial_block_copy(const block *b, const submatrix *p, double *out, ptrdiff_t ld)
{
    for (ptrdiff_t i = 0; i < p->n_rows; i++) {
        const double *row = row_of(b, p->row + i);
        double scale = p->row_scale ? p->row_scale[i] : 1.0;
#define USE(from, to, factor, values) copy_run(from, to, scale * (factor), values, p, out + i * ld)
        EACH_RUN(b, row, USE);
#undef USE
    }
}
