/* Quadratic forms of the rows: |[z_i 1] factor|^2, of those that are wanted, for several factors. */
#include "curvature.h"

#include <stdlib.h>
#include <string.h>

#include "blas.h"
#include "cpu.h"
#include "micro_tile.h"
#include "sweep.h"
#include "threads.h"

enum {
    FORM_ROWS = 256, /* that are multiplied with the factor together */
    FORM_BAND = 128, /* columns of the factor that end together: a triangle is half of a square */
#if defined(__AVX512F__)
    MICRO_TILE_FORM = 512,  /* columns of rows and factor up to which micro-tiles beat the BLAS */
#elif defined(__AVX2__)
    MICRO_TILE_FORM = 256,
#else
    MICRO_TILE_FORM = 128,
#endif
    SHARED_COPY = 128       /* columns up to which a copy of the rows for all forms is worth it */
};

typedef struct {
    const rows *view;
    plan plan;
    const quadratic_form *each;
    ptrdiff_t n_forms, widest;
    double *scratch;
    size_t scratch_size;
    ptrdiff_t n_padded; /* numbers of a narrow factor, its rows filled up with zeros to whole */
    double *padded;     /* micro-tiles; NULL for others */
    ptrdiff_t band, n_bands; /* columns of a factor that end together; of each band of so many, */
    ptrdiff_t *depths;       /* its rows up to the last that is not zero */
} forms;

static void find_depths(const forms *s, const quadratic_form *form, ptrdiff_t *depths)
{
    const ptrdiff_t width = form->width;
    for (ptrdiff_t left = 0; left < width; left += s->band) {
        ptrdiff_t depth = s->view->n_columns, zeros = 1;
        ptrdiff_t right = left + s->band < width ? left + s->band : width;
        for (; depth > 0 && zeros; depth -= zeros)
            for (ptrdiff_t j = left; j < right && zeros; j++)
                zeros = form->factor[(depth - 1) * width + j] == 0;
        depths[left / s->band] = depth;
    }
}

static double squared_norm(const double *restrict x, ptrdiff_t n)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (ptrdiff_t j = 0; j < n; j++) sum += x[j] * x[j];
    return sum;
}

static int is_narrow(const rows *view, ptrdiff_t width)
{
    ptrdiff_t most = width > view->n_columns ? width : view->n_columns;
    return view->kind != ROWS_SPARSE && most <= MICRO_TILE_FORM;
}

/* Put the wanted of some copied rows side by side, `to` there or at their own front. Returns how many
 * they are. No branch asks which: half of its predictions would be wrong. */
static ptrdiff_t keep_wanted(const double *weights, ptrdiff_t count, const double *copy,
                             ptrdiff_t ld, double *to)
{
    ptrdiff_t kept = 0;
    for (ptrdiff_t i = 0; i < count; i++) {
#pragma omp simd
        for (ptrdiff_t j = 0; j < ld; j++) to[kept * ld + j] = copy[i * ld + j];
        kept += weights[i] != 0;
    }
    return kept;
}

/* Put the results of the wanted rows, which lie side by side, where the rows are. */
static void place(const double *weights, ptrdiff_t count, const double *found, double *out)
{
    if (!weights) {
        memcpy(out, found, (size_t)count * sizeof(double));
        return;
    }
    for (ptrdiff_t i = 0, at = 0; i < count; i++) {
        const double of_next[2] = {0, found[at]};
        const int wanted = weights[i] != 0;
        out[i] = of_next[wanted];
        at += wanted;
    }
}

/* One form of copied rows of a chunk; those wanted are multiplied into `image`. */
static void form_dense(const forms *s, ptrdiff_t at, ptrdiff_t row, ptrdiff_t total, double *copy,
                       double *own, double *image)
{
    const quadratic_form *form = s->each + at;
    const double *weights = form->weights ? form->weights + row : NULL;
    const ptrdiff_t n = s->view->n_columns, ld = n + 1, width = form->width;
    const ptrdiff_t *depths = s->depths + at * s->n_bands;
    ptrdiff_t kept = weights ? keep_wanted(weights, total, copy, ld, own) : total;
    double found[FORM_ROWS] = {0};
    if (weights) copy = own;
    if (s->padded) {
        const double *factor = s->padded + at * s->n_padded;
        ptrdiff_t padded = micro_steps(width);
        micro_tile_forms(copy, ld, kept, factor, factor + n * padded, padded, depths, image);
        place(weights, total, image, form->out + row);
        return;
    }
    for (ptrdiff_t i = 0; i < kept; i++)
        memcpy(image + i * width, form->factor + n * width, (size_t)width * sizeof(double));
    for (ptrdiff_t left = 0; left < width; left += FORM_BAND) {
        ptrdiff_t depth = depths[left / FORM_BAND];
        if (depth > 0 && kept > 0)
            blas_product(copy, ld, 0, form->factor + left, width, 0, kept,
                         width - left < FORM_BAND ? width - left : FORM_BAND, depth, image + left,
                         width);
    }
    for (ptrdiff_t i = 0; i < kept; i++) found[i] = squared_norm(image + i * width, width);
    place(weights, total, found, form->out + row);
}

/* The rows with their constant are copied, once for all forms. */
static void forms_dense(void *work, ptrdiff_t chunk, int worker)
{
    const forms *s = work;
    const rows *view = s->view;
    ptrdiff_t ld = view->n_columns + 1, row = chunk * FORM_ROWS, count;
    ptrdiff_t total = view->n_samples - row < FORM_ROWS ? view->n_samples - row : FORM_ROWS;
    double *copy = s->scratch + (size_t)worker * s->scratch_size;
    double *own = s->n_forms > 1 ? copy + FORM_ROWS * ld : copy, *image = own + FORM_ROWS * ld;
    for (ptrdiff_t at = 0; at < total; at += count) {
        block b;
        count = total - at < s->plan.block_rows ? total - at : s->plan.block_rows;
        submatrix p = {0, count, 0, ld, NULL, NULL};
        block_open_copy(&b, view, row + at, count, image + FORM_ROWS * s->widest);
        block_copy(&b, &p, copy + at * ld, ld);
    }
    for (ptrdiff_t k = 0; k < s->n_forms; k++) form_dense(s, k, row, total, copy, own, image);
}

static void forms_sparse(void *work, ptrdiff_t chunk, int worker)
{
    const forms *s = work;
    const rows *view = s->view;
    const quadratic_form *form = s->each;
    ptrdiff_t width = form->width;
    double *restrict image = s->scratch + (size_t)worker * s->scratch_size;
    ptrdiff_t end = chunk_end(&s->plan, view, chunk);
    for (ptrdiff_t row = chunk_begin(&s->plan, chunk); row < end; row++) {
        form->out[row] = 0;
        if (form->weights && form->weights[row] == 0) continue;
        memcpy(image, form->factor + view->n_columns * width, (size_t)width * sizeof(double));
        for (ptrdiff_t k = row_start(view, row); k < row_start(view, row + 1); k++) {
            const double *restrict line = form->factor + entry_column(view, k) * width;
            double z = entry_value(view, k);
            for (ptrdiff_t j = 0; j < width; j++) image[j] += z * line[j];
        }
        form->out[row] = squared_norm(image, width);
    }
}

/* The same from A = factor factor^T: pairs of a row's own entries, for rows with few of them. */
static void forms_pairs(void *work, ptrdiff_t chunk, int worker)
{
    const forms *s = work;
    const rows *view = s->view;
    const quadratic_form *form = s->each;
    const double *last = form->factor + view->n_columns * form->width;
    (void)worker;
    ptrdiff_t end = chunk_end(&s->plan, view, chunk);
    for (ptrdiff_t row = chunk_begin(&s->plan, chunk); row < end; row++) {
        form->out[row] = 0;
        if (form->weights && form->weights[row] == 0) continue;
        ptrdiff_t first = row_start(view, row), stop = row_start(view, row + 1);
        double sum = last[view->n_columns];
        for (ptrdiff_t k = first; k < stop; k++) {
            const double *line = form->factor + entry_column(view, k) * form->width;
            double z = entry_value(view, k), part = line[view->n_columns];
            for (ptrdiff_t l = first; l < k; l++)
                part += entry_value(view, l) * line[entry_column(view, l)];
            sum += z * (2 * part + z * line[entry_column(view, k)]);
        }
        form->out[row] = sum > 0 ? sum : 0;
    }
}

void sweep_pairs(const rows *view, const quadratic_form *form, int n_threads)
{
    forms s = {.view = view, .plan = plan_chunks(view, 0), .each = form};
    each_chunk(s.plan.n_chunks, n_threads, forms_pairs, &s);
}

int sweep_quadratic_forms(const rows *view, const quadratic_form *each, ptrdiff_t n_forms,
                          int n_threads)
{
    ptrdiff_t depth = view->n_columns + 1, widest = 0;
    for (ptrdiff_t k = 0; k < n_forms; k++)
        widest = each[k].width > widest ? each[k].width : widest;
    const int sparse = view->kind == ROWS_SPARSE, narrow = is_narrow(view, widest);
    int status = 0;
    if (n_forms > 1 && (!narrow || widest > SHARED_COPY)) {
        for (ptrdiff_t k = 0; status == 0 && k < n_forms; k++)
            status = sweep_quadratic_forms(view, each + k, 1, n_threads);
        return status;
    }
    forms s = {.view = view, .plan = plan_chunks(view, 0), .each = each, .n_forms = n_forms,
               .widest = widest, .scratch_size = (size_t)widest};
    if (!sparse) {
        s.plan.n_chunks = (view->n_samples + FORM_ROWS - 1) / FORM_ROWS;
        if (s.plan.block_rows > FORM_ROWS) s.plan.block_rows = FORM_ROWS;
        s.scratch_size = (size_t)(FORM_ROWS * ((n_forms > 1 ? 2 : 1) * depth + widest))
                       + block_copy_scratch(view, s.plan.block_rows);
    }
    s.band = narrow ? MICRO_BAND : FORM_BAND;
    s.n_bands = widest / s.band + 1, s.n_padded = narrow ? depth * micro_steps(widest) : 0;
    s.scratch = calloc((size_t)n_threads * s.scratch_size + 1, sizeof(double));
    s.depths = malloc((size_t)(n_forms * s.n_bands) * sizeof(ptrdiff_t));
    if (narrow) s.padded = calloc((size_t)(n_forms * s.n_padded), sizeof(double));
    status = s.scratch && s.depths && (s.padded || !narrow) ? 0 : -1;
    if (status == 0) {
        for (ptrdiff_t k = 0; k < n_forms && !sparse; k++) {
            const ptrdiff_t width = each[k].width, padded = micro_steps(width);
            find_depths(&s, each + k, s.depths + k * s.n_bands);
            for (ptrdiff_t j = 0; narrow && j < depth; j++)
                memcpy(s.padded + k * s.n_padded + j * padded, each[k].factor + j * width,
                       (size_t)width * sizeof(double));
        }
        each_chunk(s.plan.n_chunks, n_threads, sparse ? forms_sparse : forms_dense, &s);
    }
    free(s.scratch);
    free(s.depths);
    free(s.padded);
    return status;
}
