/* Products and gradients of a block whose rows lie side by side in memory, four rows at a time.
 *
 * Part of dense_kernels.h, which defines T, NAME, READ and LOAD.
 */

/* How the rows of a block are taken, four at a time: the first of the next four is `hop` numbers
 * on, and the four lie `apart`; so do their places in the arrays per sample. */
typedef struct {
    const T *first;
    ptrdiff_t hop, apart, groups;
    ptrdiff_t place_hop, place_apart;
} NAME(fours);

static ALWAYS_INLINE NAME(fours) NAME(fours_of)(const block *b)
{
    const T *first = (const T *)b->values;
    if (b->spread)
        return (NAME(fours)){first, b->stride, b->spread * b->stride, b->run, 1, b->run};
    return (NAME(fours)){first, 4 * b->stride, b->stride, b->count / 4, 4, 1};
}

/* Products of four rows with coef: each coefficient is loaded once for the four. `last` holds
 * those of a row's last quad, which may overlap the quad before: zeros for what that has done. */
static ALWAYS_INLINE quad NAME(dot4)(const T *restrict a, ptrdiff_t apart, ptrdiff_t n,
                                     const double *restrict coef, quad last,
                                     const double *restrict centre, int centred)
{
    const T *restrict a1 = a + apart, *restrict a2 = a1 + apart, *restrict a3 = a2 + apart;
    quad s0 = quad_all(0), s1 = s0, s2 = s0, s3 = s0, t0 = s0, t1 = s0, t2 = s0, t3 = s0;
    ptrdiff_t j = 0;
    for (; j + 8 < n; j += 8) {
        quad c = quad_load_double(coef + j), d = quad_load_double(coef + j + 4);
        s0 = quad_add_product(s0, LOAD(a, j), c);
        s1 = quad_add_product(s1, LOAD(a1, j), c);
        s2 = quad_add_product(s2, LOAD(a2, j), c);
        s3 = quad_add_product(s3, LOAD(a3, j), c);
        t0 = quad_add_product(t0, LOAD(a, j + 4), d);
        t1 = quad_add_product(t1, LOAD(a1, j + 4), d);
        t2 = quad_add_product(t2, LOAD(a2, j + 4), d);
        t3 = quad_add_product(t3, LOAD(a3, j + 4), d);
    }
    if (j + 4 < n) {
        quad c = quad_load_double(coef + j);
        s0 = quad_add_product(s0, LOAD(a, j), c);
        s1 = quad_add_product(s1, LOAD(a1, j), c);
        s2 = quad_add_product(s2, LOAD(a2, j), c);
        s3 = quad_add_product(s3, LOAD(a3, j), c);
    }
    t0 = quad_add_product(t0, LOAD(a, n - 4), last);
    t1 = quad_add_product(t1, LOAD(a1, n - 4), last);
    t2 = quad_add_product(t2, LOAD(a2, n - 4), last);
    t3 = quad_add_product(t3, LOAD(a3, n - 4), last);
    return quad_plus(quad_sums(quad_plus(s0, t0), quad_plus(s1, t1), quad_plus(s2, t2),
                               quad_plus(s3, t3)), quad_all(coef[n]));
}

static ALWAYS_INLINE double NAME(dot1)(const T *restrict a, ptrdiff_t n,
                                       const double *restrict coef,
                                       const double *restrict centre, int centred)
{
    double s = 0;
#pragma omp simd reduction(+ : s)
    for (ptrdiff_t j = 0; j < n; j++) s += READ(a, j) * coef[j];
    return s + coef[n];
}

static ALWAYS_INLINE void NAME(place)(quad f, double *restrict out, ptrdiff_t apart)
{
    double x[4];
    quad_store(x, f);
    out[0] = x[0], out[apart] = x[1], out[2 * apart] = x[2], out[3 * apart] = x[3];
}

/* dot4 for all rows of a block, where the coefficients of a row, in `quads` quads, stay in
 * registers. */
static ALWAYS_INLINE void NAME(dot_narrow)(NAME(fours) rows, ptrdiff_t n, int quads,
                                           const double *restrict coef, quad last,
                                           const double *restrict centre, int centred,
                                           double *restrict out)
{
    quad c[NARROW_QUADS], constant = quad_all(coef[n]);
    ptrdiff_t at[NARROW_QUADS];
#pragma GCC unroll 4
    for (int k = 0; k < quads - 1; k++) c[k] = quad_load_double(coef + 4 * k), at[k] = 4 * k;
    c[quads - 1] = last, at[quads - 1] = n - 4;
    for (ptrdiff_t i = 0; i < rows.groups; i++) {
        const T *restrict a = rows.first + i * rows.hop;
        quad s[4];
#pragma GCC unroll 4
        for (int r = 0; r < 4; r++)
            s[r] = quad_times(LOAD(a + r * rows.apart, at[0]), c[0]);
#pragma GCC unroll 4
        for (int k = 1; k < quads; k++)
#pragma GCC unroll 4
            for (int r = 0; r < 4; r++)
                s[r] = quad_add_product(s[r], LOAD(a + r * rows.apart, at[k]), c[k]);
        NAME(place)(quad_plus(quad_sums(s[0], s[1], s[2], s[3]), constant),
                    out + i * rows.place_hop, rows.place_apart);
    }
}

static ALWAYS_INLINE void NAME(dot_rows)(const block *b, const double *coef, int centred,
                                         double *out)
{
    NAME(fours) rows = NAME(fours_of)(b);
    const double *centre = b->centre;
    ptrdiff_t n = b->rows->n_columns;
    double left[4] = {0, 0, 0, 0};
    for (ptrdiff_t j = (n - 1) / 4 * 4; j < n; j++) left[j - (n - 4)] = coef[j];
    quad last = quad_load_double(left);
    switch ((n + 3) / 4) {
    case 1: NAME(dot_narrow)(rows, n, 1, coef, last, centre, centred, out); break;
    case 2: NAME(dot_narrow)(rows, n, 2, coef, last, centre, centred, out); break;
    case 3: NAME(dot_narrow)(rows, n, 3, coef, last, centre, centred, out); break;
    case 4: NAME(dot_narrow)(rows, n, 4, coef, last, centre, centred, out); break;
    default:
        for (ptrdiff_t i = 0; i < rows.groups; i++)
            NAME(place)(NAME(dot4)(rows.first + i * rows.hop, rows.apart, n, coef, last, centre,
                                   centred), out + i * rows.place_hop, rows.place_apart);
    }
    for (ptrdiff_t i = 4 * rows.groups; i < b->count; i++)
        out[i] = NAME(dot1)(rows.first + i * b->stride, n, coef, centre, centred);
}

/* Four rows into the gradient. */
static ALWAYS_INLINE void NAME(add4)(const T *restrict a, ptrdiff_t apart, ptrdiff_t n,
                                     const double *restrict pull, ptrdiff_t place_apart,
                                     const double *restrict centre, int centred,
                                     double *restrict gradient)
{
    const T *restrict a1 = a + apart, *restrict a2 = a1 + apart, *restrict a3 = a2 + apart;
    double q0 = pull[0], q1 = pull[place_apart];
    double q2 = pull[2 * place_apart], q3 = pull[3 * place_apart];
    quad p0 = quad_all(q0), p1 = quad_all(q1), p2 = quad_all(q2), p3 = quad_all(q3);
    ptrdiff_t j = 0;
    for (; j + 4 <= n; j += 4) {
        quad g = quad_load_double(gradient + j);
        g = quad_add_product(g, LOAD(a, j), p0);
        g = quad_add_product(g, LOAD(a1, j), p1);
        g = quad_add_product(g, LOAD(a2, j), p2);
        g = quad_add_product(g, LOAD(a3, j), p3);
        quad_store(gradient + j, g);
    }
    for (; j < n; j++)
        gradient[j] += (READ(a, j) * q0 + READ(a1, j) * q1) + (READ(a2, j) * q2 + READ(a3, j) * q3);
}

/* One row into the gradient. */
static ALWAYS_INLINE void NAME(add1)(const T *restrict a, ptrdiff_t n, double pull,
                                     const double *restrict centre, int centred,
                                     double *restrict gradient)
{
#pragma omp simd
    for (ptrdiff_t j = 0; j < n; j++) gradient[j] += READ(a, j) * pull;
}

/* All fours of a block into `quads` quads of columns, the sums in registers. As many sums as
 * registers hold, for additions take longer than loads. */
static ALWAYS_INLINE void NAME(add_narrow)(NAME(fours) rows, ptrdiff_t n, int quads,
                                           const double *restrict pull,
                                           const double *restrict centre, int centred,
                                           double *restrict gradient)
{
    enum { MOST_SUMS = 4 };
    const int n_sums = quads < 4 ? 4 : 2;
    ptrdiff_t at[NARROW_QUADS];
    quad s[NARROW_QUADS][MOST_SUMS];
#pragma GCC unroll 4
    for (int k = 0; k < quads; k++) {
        at[k] = k < quads - 1 ? 4 * k : n - 4;
#pragma GCC unroll 4
        for (int r = 0; r < n_sums; r++) s[k][r] = quad_all(0);
    }
    for (ptrdiff_t i = 0; i < rows.groups; i++) {
        const T *restrict a = rows.first + i * rows.hop;
        const double *restrict here = pull + i * rows.place_hop;
#pragma GCC unroll 4
        for (int r = 0; r < 4; r++) {
            const T *restrict x = a + r * rows.apart;
            quad p = quad_all(here[r * rows.place_apart]);
#pragma GCC unroll 4
            for (int k = 0; k < quads; k++)
                s[k][r % n_sums] = quad_add_product(s[k][r % n_sums], LOAD(x, at[k]), p);
        }
    }
#pragma GCC unroll 4
    for (int k = 0; k < quads; k++) {
        quad sum = quad_plus(s[k][0], s[k][1]);
        if (n_sums == 4) sum = quad_plus(sum, quad_plus(s[k][2], s[k][3]));
        double x[4];
        quad_store(x, sum);
        /* what the quad before has added is left out */
        for (ptrdiff_t j = 4 * k - at[k]; j < 4; j++) gradient[at[k] + j] += x[j];
    }
}

static ALWAYS_INLINE void NAME(add_rows)(const block *b, const double *pull, int centred,
                                         double *gradient)
{
    NAME(fours) rows = NAME(fours_of)(b);
    const double *centre = b->centre;
    ptrdiff_t n = b->rows->n_columns;
    switch ((n + 3) / 4) {
    case 1: NAME(add_narrow)(rows, n, 1, pull, centre, centred, gradient); break;
    case 2: NAME(add_narrow)(rows, n, 2, pull, centre, centred, gradient); break;
    case 3: NAME(add_narrow)(rows, n, 3, pull, centre, centred, gradient); break;
    case 4: NAME(add_narrow)(rows, n, 4, pull, centre, centred, gradient); break;
    default:
        for (ptrdiff_t i = 0; i < rows.groups; i++)
            NAME(add4)(rows.first + i * rows.hop, rows.apart, n, pull + i * rows.place_hop,
                       rows.place_apart, centre, centred, gradient);
    }
    for (ptrdiff_t i = 4 * rows.groups; i < b->count; i++)
        NAME(add1)(rows.first + i * b->stride, n, pull[i], centre, centred, gradient);
}

/* add4 of four rows and dot4 of four others in one: the arithmetic on the former, which are in
 * cache, fills the time in which the latter come from memory. `left` is 1 in the places of a row's
 * last quad that the one before has not done, else 0. */
static ALWAYS_INLINE quad NAME(add4_dot4)(const T *restrict b, const double *restrict pull,
                                          ptrdiff_t place_apart, const T *restrict a,
                                          ptrdiff_t apart, ptrdiff_t n,
                                          const double *restrict coef, quad last, quad left,
                                          const double *restrict centre, int centred,
                                          double *restrict gradient)
{
    const T *restrict a1 = a + apart, *restrict a2 = a1 + apart, *restrict a3 = a2 + apart;
    const T *restrict b1 = b + apart, *restrict b2 = b1 + apart, *restrict b3 = b2 + apart;
    quad p0 = quad_all(pull[0]), p1 = quad_all(pull[place_apart]);
    quad p2 = quad_all(pull[2 * place_apart]), p3 = quad_all(pull[3 * place_apart]);
    quad s0 = quad_all(0), s1 = s0, s2 = s0, s3 = s0;
#define BOTH(j, c)                                                                               \
    do {                                                                                         \
        s0 = quad_add_product(s0, LOAD(a, j), c);                                                \
        s1 = quad_add_product(s1, LOAD(a1, j), c);                                               \
        s2 = quad_add_product(s2, LOAD(a2, j), c);                                               \
        s3 = quad_add_product(s3, LOAD(a3, j), c);                                               \
        quad g = quad_load_double(gradient + (j));                                               \
        g = quad_add_product(g, LOAD(b, j), p0);                                                 \
        g = quad_add_product(g, LOAD(b1, j), p1);                                                \
        g = quad_add_product(g, LOAD(b2, j), p2);                                                \
        g = quad_add_product(g, LOAD(b3, j), p3);                                                \
        quad_store(gradient + (j), g);                                                           \
    } while (0)
    for (ptrdiff_t j = 0; j + 4 < n; j += 4) {
        quad c = quad_load_double(coef + j);
        BOTH(j, c);
    }
    p0 = quad_times(p0, left), p1 = quad_times(p1, left);
    p2 = quad_times(p2, left), p3 = quad_times(p3, left);
    BOTH(n - 4, last);
#undef BOTH
    return quad_plus(quad_sums(s0, s1, s2, s3), quad_all(coef[n]));
}

static ALWAYS_INLINE void NAME(add_dot_rows)(const block *done, const double *pull,
                                             const block *next, const double *coef, int centred,
                                             double *gradient, double *out)
{
    NAME(fours) b = NAME(fours_of)(done), a = NAME(fours_of)(next);
    ptrdiff_t n = next->rows->n_columns;
    double coefs[4] = {0, 0, 0, 0}, ones[4] = {0, 0, 0, 0};
    for (ptrdiff_t j = (n - 1) / 4 * 4; j < n; j++)
        coefs[j - (n - 4)] = coef[j], ones[j - (n - 4)] = 1;
    quad last = quad_load_double(coefs), left = quad_load_double(ones);
    for (ptrdiff_t i = 0; i < a.groups; i++)
        NAME(place)(NAME(add4_dot4)(b.first + i * b.hop, pull + i * b.place_hop, b.place_apart,
                                    a.first + i * a.hop, a.apart, n, coef, last, left,
                                    next->centre, centred, gradient),
                    out + i * a.place_hop, a.place_apart);
}
