/* Blocks of monomials: expansion below the highest degree, and products with what is above. */
#include "monomials.h"

#include <string.h>

#include "cpu.h"
#include "vec4.h"

enum {
    LANES = 4,                  /* of a vec4 */
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
    memset(out, 0, GROUP * RUN * sizeof(double));
    for (ptrdiff_t a = 0; a < GROUP && j + a < s->n; a++) {
        ptrdiff_t from, to;
        part_of(s, j + a, &from, &to);
        if (from < to)
            memcpy(out + a * RUN + (from - s->begin),
                   top + s->runs[j + a] + (from - s->suffix[j + a]),
                   (size_t)(to - from) * sizeof(double));
    }
}

/* sums_i += sum_a x_i(j+a) (sum_k q_ik c_ak), the lanes still apart, for two rows. */
static ALWAYS_INLINE void dot_pair(const stretch *s, ptrdiff_t j, const double *x0,
                                   const double *x1, const double *q0, const double *q1,
                                   const double *c, vec4 *sums)
{
    vec4 s00 = vec4_all(0), s01 = s00, s02 = s00, s03 = s00;
    vec4 s10 = s00, s11 = s00, s12 = s00, s13 = s00;
    ptrdiff_t tiles[GROUP];
    for (ptrdiff_t a = 0; a < GROUP; a++) tiles[a] = first_tile(s, j + a) - s->begin;
    ptrdiff_t all = tiles[GROUP - 1], end = s->end - s->begin, k;
    for (k = tiles[0]; k < all; k += LANES) {
        s00 = vec4_add_product(s00, vec4_load_double(q0 + k), vec4_load_double(c + k));
        s10 = vec4_add_product(s10, vec4_load_double(q1 + k), vec4_load_double(c + k));
    }
    for (k = tiles[1]; k < all; k += LANES) {
        s01 = vec4_add_product(s01, vec4_load_double(q0 + k), vec4_load_double(c + RUN + k));
        s11 = vec4_add_product(s11, vec4_load_double(q1 + k), vec4_load_double(c + RUN + k));
    }
    for (k = tiles[2]; k < all; k += LANES) {
        s02 = vec4_add_product(s02, vec4_load_double(q0 + k), vec4_load_double(c + 2 * RUN + k));
        s12 = vec4_add_product(s12, vec4_load_double(q1 + k), vec4_load_double(c + 2 * RUN + k));
    }
    for (k = all; k < end; k += LANES) {
        vec4 a = vec4_load_double(q0 + k), b = vec4_load_double(q1 + k);
        vec4 c0 = vec4_load_double(c + k), c1 = vec4_load_double(c + RUN + k);
        vec4 c2 = vec4_load_double(c + 2 * RUN + k), c3 = vec4_load_double(c + 3 * RUN + k);
        s00 = vec4_add_product(s00, a, c0);
        s10 = vec4_add_product(s10, b, c0);
        s01 = vec4_add_product(s01, a, c1);
        s11 = vec4_add_product(s11, b, c1);
        s02 = vec4_add_product(s02, a, c2);
        s12 = vec4_add_product(s12, b, c2);
        s03 = vec4_add_product(s03, a, c3);
        s13 = vec4_add_product(s13, b, c3);
    }
    double u[GROUP] = {0}, v[GROUP] = {0};
    for (ptrdiff_t a = 0; a < GROUP && j + a < s->n; a++) u[a] = x0[j + a], v[a] = x1[j + a];
#define ADD(sum, s, u)                                                                           \
    sum = vec4_add_product(vec4_add_product(sum, s##0, vec4_all(u[0])), s##1, vec4_all(u[1]));   \
    sum = vec4_add_product(vec4_add_product(sum, s##2, vec4_all(u[2])), s##3, vec4_all(u[3]))
    ADD(sums[0], s0, u);
    ADD(sums[1], s1, v);
#undef ADD
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
    vec4 *sums = (vec4 *)(c + GROUP * RUN);
    memset(sums, 0, (size_t)round_up(b->count, 2) * sizeof(vec4));
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

/* sums_ak = sum_i w_ia q_ik for two tiles of monomials from k on. */
static ALWAYS_INLINE void add_tiles(const double *restrict q, ptrdiff_t stride, ptrdiff_t count,
                                    const double *restrict w, double *restrict sums)
{
    vec4 s00 = vec4_all(0), s01 = s00, s10 = s00, s11 = s00;
    vec4 s20 = s00, s21 = s00, s30 = s00, s31 = s00;
    for (ptrdiff_t i = 0; i < count; i++) {
        vec4 a = vec4_load_double(q + i * stride), b = vec4_load_double(q + i * stride + LANES), p;
        p = vec4_all(w[GROUP * i]);
        s00 = vec4_add_product(s00, a, p);
        s01 = vec4_add_product(s01, b, p);
        p = vec4_all(w[GROUP * i + 1]);
        s10 = vec4_add_product(s10, a, p);
        s11 = vec4_add_product(s11, b, p);
        p = vec4_all(w[GROUP * i + 2]);
        s20 = vec4_add_product(s20, a, p);
        s21 = vec4_add_product(s21, b, p);
        p = vec4_all(w[GROUP * i + 3]);
        s30 = vec4_add_product(s30, a, p);
        s31 = vec4_add_product(s31, b, p);
    }
    vec4_store(sums, s00), vec4_store(sums + LANES, s01), sums += RUN;
    vec4_store(sums, s10), vec4_store(sums + LANES, s11), sums += RUN;
    vec4_store(sums, s20), vec4_store(sums + LANES, s21), sums += RUN;
    vec4_store(sums, s30), vec4_store(sums + LANES, s31);
}

static ALWAYS_INLINE void add_to(double *restrict to, const double *restrict from, ptrdiff_t n)
{
#pragma omp simd
    for (ptrdiff_t k = 0; k < n; k++) to[k] += from[k];
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
                add_tiles(row_of(b, 0) + last + k, b->stride, b->count, w, sums + (k - s.begin));
            for (ptrdiff_t a = 0; a < GROUP && j + a < s.n; a++) {
                ptrdiff_t from, to;
                part_of(&s, j + a, &from, &to);
                add_to(top + s.runs[j + a] + (from - s.suffix[j + a]),
                       sums + a * RUN + (from - s.begin), to - from);
            }
        }
    for (ptrdiff_t i = 0; i < b->count; i++) {
        const double *restrict row = row_of(b, i);
        double p = pointwise_gradient[i];
#pragma omp simd
        for (ptrdiff_t k = 0; k < before; k++) gradient[k] += p * row[k];
#pragma omp simd
        for (ptrdiff_t k = 0; k < n_last; k++) gradient[before + k] += p * row[last + k];
    }
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
