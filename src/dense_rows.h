/* Products and gradients of a block whose rows lie side by side in memory, four rows at a time.
 *
 * Part of dense_kernels.h, which defines T, NAME, READ and LOAD.
 */

/* How the rows of a block are taken, four at a time: numbers from the first of four to the first of
 * the next four, and from one of the four to the next; and the same for the arrays per sample. */
typedef struct {
    const T *first;
    ptrdiff_t group_step, step, groups;
    ptrdiff_t place_group_step, place_step;
} NAME(fours);

static ALWAYS_INLINE NAME(fours) NAME(fours_of)(const block *b)
{
    const T *first = (const T *)b->values;
    if (b->spread)
        return (NAME(fours)){first, b->stride, b->spread * b->stride, b->run, 1, b->run};
    return (NAME(fours)){first, 4 * b->stride, b->stride, b->count / 4, 4, 1};
}

/* Products of four rows with coef: each coefficient is loaded once for the four. `last` holds
 * those of a row's last vec4, which may overlap the vec4 before: zeros for what that has done. */
static ALWAYS_INLINE vec4 NAME(dot4)(const T *restrict a, ptrdiff_t step, ptrdiff_t n,
                                     const double *restrict coef, vec4 last,
                                     const double *restrict centre, int centred)
{
    const T *restrict a1 = a + step, *restrict a2 = a1 + step, *restrict a3 = a2 + step;
    vec4 s0 = vec4_all(0), s1 = s0, s2 = s0, s3 = s0, t0 = s0, t1 = s0, t2 = s0, t3 = s0;
    ptrdiff_t j = 0;
    for (; j + 8 < n; j += 8) {
        vec4 c = vec4_load_double(coef + j), d = vec4_load_double(coef + j + 4);
        s0 = vec4_add_product(s0, LOAD(a, j), c);
        s1 = vec4_add_product(s1, LOAD(a1, j), c);
        s2 = vec4_add_product(s2, LOAD(a2, j), c);
        s3 = vec4_add_product(s3, LOAD(a3, j), c);
        t0 = vec4_add_product(t0, LOAD(a, j + 4), d);
        t1 = vec4_add_product(t1, LOAD(a1, j + 4), d);
        t2 = vec4_add_product(t2, LOAD(a2, j + 4), d);
        t3 = vec4_add_product(t3, LOAD(a3, j + 4), d);
    }
    if (j + 4 < n) {
        vec4 c = vec4_load_double(coef + j);
        s0 = vec4_add_product(s0, LOAD(a, j), c);
        s1 = vec4_add_product(s1, LOAD(a1, j), c);
        s2 = vec4_add_product(s2, LOAD(a2, j), c);
        s3 = vec4_add_product(s3, LOAD(a3, j), c);
    }
    t0 = vec4_add_product(t0, LOAD(a, n - 4), last);
    t1 = vec4_add_product(t1, LOAD(a1, n - 4), last);
    t2 = vec4_add_product(t2, LOAD(a2, n - 4), last);
    t3 = vec4_add_product(t3, LOAD(a3, n - 4), last);
    return vec4_plus(vec4_sums(vec4_plus(s0, t0), vec4_plus(s1, t1), vec4_plus(s2, t2),
                               vec4_plus(s3, t3)), vec4_all(coef[n]));
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

static ALWAYS_INLINE void NAME(place)(vec4 f, double *restrict out, ptrdiff_t step)
{
    double x[4];
    vec4_store(x, f);
    out[0] = x[0], out[step] = x[1], out[2 * step] = x[2], out[3 * step] = x[3];
}

/* dot4 for all rows of a block, where the coefficients of a row, in `vectors` vectors, stay in
 * registers. */
static ALWAYS_INLINE void NAME(dot_narrow)(NAME(fours) rows, ptrdiff_t n, int vectors,
                                           const double *restrict coef, vec4 last,
                                           const double *restrict centre, int centred,
                                           double *restrict out)
{
    vec4 c[NARROW_VECTORS], constant = vec4_all(coef[n]);
    ptrdiff_t at[NARROW_VECTORS];
#pragma GCC unroll 4
    for (int k = 0; k < vectors - 1; k++) c[k] = vec4_load_double(coef + 4 * k), at[k] = 4 * k;
    c[vectors - 1] = last, at[vectors - 1] = n - 4;
    for (ptrdiff_t i = 0; i < rows.groups; i++) {
        const T *restrict a = rows.first + i * rows.group_step;
        vec4 s[4];
#pragma GCC unroll 4
        for (int r = 0; r < 4; r++)
            s[r] = vec4_times(LOAD(a + r * rows.step, at[0]), c[0]);
#pragma GCC unroll 4
        for (int k = 1; k < vectors; k++)
#pragma GCC unroll 4
            for (int r = 0; r < 4; r++)
                s[r] = vec4_add_product(s[r], LOAD(a + r * rows.step, at[k]), c[k]);
        NAME(place)(vec4_plus(vec4_sums(s[0], s[1], s[2], s[3]), constant),
                    out + i * rows.place_group_step, rows.place_step);
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
    vec4 last = vec4_load_double(left);
    switch ((n + 3) / 4) {
    case 1: NAME(dot_narrow)(rows, n, 1, coef, last, centre, centred, out); break;
    case 2: NAME(dot_narrow)(rows, n, 2, coef, last, centre, centred, out); break;
    case 3: NAME(dot_narrow)(rows, n, 3, coef, last, centre, centred, out); break;
    case 4: NAME(dot_narrow)(rows, n, 4, coef, last, centre, centred, out); break;
    default:
        for (ptrdiff_t i = 0; i < rows.groups; i++)
            NAME(place)(NAME(dot4)(rows.first + i * rows.group_step, rows.step, n, coef, last,
                                   centre, centred),
                        out + i * rows.place_group_step, rows.place_step);
    }
    for (ptrdiff_t i = 4 * rows.groups; i < b->count; i++)
        out[i] = NAME(dot1)(rows.first + i * b->stride, n, coef, centre, centred);
}

/* Four rows into the gradient. */
static ALWAYS_INLINE void NAME(add4)(const T *restrict a, ptrdiff_t step, ptrdiff_t n,
                                     const double *restrict pointwise_gradient,
                                     ptrdiff_t place_step, const double *restrict centre,
                                     int centred, double *restrict gradient)
{
    const T *restrict a1 = a + step, *restrict a2 = a1 + step, *restrict a3 = a2 + step;
    double q0 = pointwise_gradient[0], q1 = pointwise_gradient[place_step];
    double q2 = pointwise_gradient[2 * place_step], q3 = pointwise_gradient[3 * place_step];
    vec4 p0 = vec4_all(q0), p1 = vec4_all(q1), p2 = vec4_all(q2), p3 = vec4_all(q3);
    ptrdiff_t j = 0;
    for (; j + 4 <= n; j += 4) {
        vec4 g = vec4_load_double(gradient + j);
        g = vec4_add_product(g, LOAD(a, j), p0);
        g = vec4_add_product(g, LOAD(a1, j), p1);
        g = vec4_add_product(g, LOAD(a2, j), p2);
        g = vec4_add_product(g, LOAD(a3, j), p3);
        vec4_store(gradient + j, g);
    }
    for (; j < n; j++)
        gradient[j] += (READ(a, j) * q0 + READ(a1, j) * q1) + (READ(a2, j) * q2 + READ(a3, j) * q3);
}

/* One row into the gradient. */
static ALWAYS_INLINE void NAME(add1)(const T *restrict a, ptrdiff_t n, double pointwise_gradient,
                                     const double *restrict centre, int centred,
                                     double *restrict gradient)
{
#pragma omp simd
    for (ptrdiff_t j = 0; j < n; j++) gradient[j] += READ(a, j) * pointwise_gradient;
}

/* All fours of a block into `vectors` vectors of columns, the sums in registers. As many sums as
 * registers hold, for additions take longer than loads. */
static ALWAYS_INLINE void NAME(add_narrow)(NAME(fours) rows, ptrdiff_t n, int vectors,
                                           const double *restrict pointwise_gradient,
                                           const double *restrict centre, int centred,
                                           double *restrict gradient)
{
    enum { MOST_SUMS = 4 };
    const int n_sums = vectors < 4 ? 4 : 2;
    ptrdiff_t at[NARROW_VECTORS];
    vec4 s[NARROW_VECTORS][MOST_SUMS];
#pragma GCC unroll 4
    for (int k = 0; k < vectors; k++) {
        at[k] = k < vectors - 1 ? 4 * k : n - 4;
#pragma GCC unroll 4
        for (int r = 0; r < n_sums; r++) s[k][r] = vec4_all(0);
    }
    for (ptrdiff_t i = 0; i < rows.groups; i++) {
        const T *restrict a = rows.first + i * rows.group_step;
        const double *restrict here = pointwise_gradient + i * rows.place_group_step;
#pragma GCC unroll 4
        for (int r = 0; r < 4; r++) {
            const T *restrict x = a + r * rows.step;
            vec4 p = vec4_all(here[r * rows.place_step]);
#pragma GCC unroll 4
            for (int k = 0; k < vectors; k++)
                s[k][r % n_sums] = vec4_add_product(s[k][r % n_sums], LOAD(x, at[k]), p);
        }
    }
#pragma GCC unroll 4
    for (int k = 0; k < vectors; k++) {
        vec4 sum = vec4_plus(s[k][0], s[k][1]);
        if (n_sums == 4) sum = vec4_plus(sum, vec4_plus(s[k][2], s[k][3]));
        double x[4];
        vec4_store(x, sum);
        /* what the vec4 before has added is left out */
        for (ptrdiff_t j = 4 * k - at[k]; j < 4; j++) gradient[at[k] + j] += x[j];
    }
}

static ALWAYS_INLINE void NAME(add_rows)(const block *b, const double *pointwise_gradient,
                                         int centred, double *gradient)
{
    NAME(fours) rows = NAME(fours_of)(b);
    const double *centre = b->centre;
    ptrdiff_t n = b->rows->n_columns;
    switch ((n + 3) / 4) {
    case 1: NAME(add_narrow)(rows, n, 1, pointwise_gradient, centre, centred, gradient); break;
    case 2: NAME(add_narrow)(rows, n, 2, pointwise_gradient, centre, centred, gradient); break;
    case 3: NAME(add_narrow)(rows, n, 3, pointwise_gradient, centre, centred, gradient); break;
    case 4: NAME(add_narrow)(rows, n, 4, pointwise_gradient, centre, centred, gradient); break;
    default:
        for (ptrdiff_t i = 0; i < rows.groups; i++)
            NAME(add4)(rows.first + i * rows.group_step, rows.step, n,
                       pointwise_gradient + i * rows.place_group_step, rows.place_step, centre,
                       centred, gradient);
    }
    for (ptrdiff_t i = 4 * rows.groups; i < b->count; i++)
        NAME(add1)(rows.first + i * b->stride, n, pointwise_gradient[i], centre, centred, gradient);
}

/* add4 of four rows and dot4 of four others in one: the arithmetic on the former, which are in
 * cache, fills the time in which the latter come from memory. `left` is 1 in the places of a row's
 * last vec4 that the one before has not done, else 0. */
static ALWAYS_INLINE vec4 NAME(add4_dot4)(const T *restrict b,
                                          const double *restrict pointwise_gradient,
                                          ptrdiff_t place_step, const T *restrict a,
                                          ptrdiff_t step, ptrdiff_t n, const double *restrict coef,
                                          vec4 last, vec4 left, const double *restrict centre,
                                          int centred, double *restrict gradient)
{
    const T *restrict a1 = a + step, *restrict a2 = a1 + step, *restrict a3 = a2 + step;
    const T *restrict b1 = b + step, *restrict b2 = b1 + step, *restrict b3 = b2 + step;
    vec4 p0 = vec4_all(pointwise_gradient[0]), p1 = vec4_all(pointwise_gradient[place_step]);
    vec4 p2 = vec4_all(pointwise_gradient[2 * place_step]),
         p3 = vec4_all(pointwise_gradient[3 * place_step]);
    vec4 s0 = vec4_all(0), s1 = s0, s2 = s0, s3 = s0;
#define BOTH(j, c)                                                                               \
    do {                                                                                         \
        s0 = vec4_add_product(s0, LOAD(a, j), c);                                                \
        s1 = vec4_add_product(s1, LOAD(a1, j), c);                                               \
        s2 = vec4_add_product(s2, LOAD(a2, j), c);                                               \
        s3 = vec4_add_product(s3, LOAD(a3, j), c);                                               \
        vec4 g = vec4_load_double(gradient + (j));                                               \
        g = vec4_add_product(g, LOAD(b, j), p0);                                                 \
        g = vec4_add_product(g, LOAD(b1, j), p1);                                                \
        g = vec4_add_product(g, LOAD(b2, j), p2);                                                \
        g = vec4_add_product(g, LOAD(b3, j), p3);                                                \
        vec4_store(gradient + (j), g);                                                           \
    } while (0)
    for (ptrdiff_t j = 0; j + 4 < n; j += 4) {
        vec4 c = vec4_load_double(coef + j);
        BOTH(j, c);
    }
    p0 = vec4_times(p0, left), p1 = vec4_times(p1, left);
    p2 = vec4_times(p2, left), p3 = vec4_times(p3, left);
    BOTH(n - 4, last);
#undef BOTH
    return vec4_plus(vec4_sums(s0, s1, s2, s3), vec4_all(coef[n]));
}

static ALWAYS_INLINE void NAME(add_dot_rows)(const block *done, const double *pointwise_gradient,
                                             const block *next, const double *coef, int centred,
                                             double *gradient, double *out)
{
    NAME(fours) b = NAME(fours_of)(done), a = NAME(fours_of)(next);
    ptrdiff_t n = next->rows->n_columns;
    double coefs[4] = {0, 0, 0, 0}, ones[4] = {0, 0, 0, 0};
    for (ptrdiff_t j = (n - 1) / 4 * 4; j < n; j++)
        coefs[j - (n - 4)] = coef[j], ones[j - (n - 4)] = 1;
    vec4 last = vec4_load_double(coefs), left = vec4_load_double(ones);
    for (ptrdiff_t i = 0; i < a.groups; i++)
        NAME(place)(NAME(add4_dot4)(b.first + i * b.group_step,
                                    pointwise_gradient + i * b.place_group_step, b.place_step,
                                    a.first + i * a.group_step, a.step, n, coef, last, left,
                                    next->centre, centred, gradient),
                    out + i * a.place_group_step, a.place_step);
}
