/* Quadratic forms of the rows: |[z_i 1] factor|^2, of those that are wanted. */
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
    MICRO_TILE_FORM = 128 /* columns of rows and factor up to which micro-tiles beat the BLAS */
};

typedef struct {
    const rows *view;
    plan plan;
    const double *factor, *weights;     /* rows whose weight is 0 are left at 0; NULL wants all */
    double *out, *scratch;
    size_t scratch_size;
    ptrdiff_t width;
    double *padded;     /* a narrow factor, its rows filled up with zeros to whole micro-tiles */
    ptrdiff_t band;     /* columns of the factor that end together; of each band of so many, */
    ptrdiff_t *depths;  /* its rows up to the last that is not zero */
} forms;

static void find_depths(forms *s)
{
    for (ptrdiff_t left = 0; left < s->width; left += s->band) {
        ptrdiff_t depth = s->view->n_columns, zeros = 1;
        ptrdiff_t right = left + s->band < s->width ? left + s->band : s->width;
        for (; depth > 0 && zeros; depth -= zeros)
            for (ptrdiff_t j = left; j < right && zeros; j++)
                zeros = s->factor[(depth - 1) * s->width + j] == 0;
        s->depths[left / s->band] = depth;
    }
}

static double squared_norm(const double *restrict x, ptrdiff_t n)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (ptrdiff_t j = 0; j < n; j++) sum += x[j] * x[j];
    return sum;
}

static ptrdiff_t padded_width(const forms *s)
{
    ptrdiff_t most = s->width > s->view->n_columns ? s->width : s->view->n_columns;
    if (s->view->kind == ROWS_SPARSE || most > MICRO_TILE_FORM) return 0;
    return micro_steps(s->width);
}

/* Move the wanted of some copied rows to the front. Returns how many they are. */
static ptrdiff_t keep_wanted(const double *weights, ptrdiff_t count, double *copy, ptrdiff_t ld)
{
    ptrdiff_t kept = 0;
    for (ptrdiff_t i = 0; i < count; i++) {
        if (weights[i] == 0) continue;
        if (kept < i) memcpy(copy + kept * ld, copy + i * ld, (size_t)ld * sizeof(double));
        kept++;
    }
    return kept;
}

/* Put the results of the wanted rows, which lie side by side, where the rows are. */
static void place(const double *weights, ptrdiff_t count, const double *found, double *out)
{
    for (ptrdiff_t i = 0; i < count; i++) out[i] = weights && weights[i] == 0 ? 0 : *found++;
}

/* The rows with their constant are copied, and multiplied into `image`. */
static void forms_dense(void *work, ptrdiff_t chunk, int worker)
{
    forms *s = work;
    const rows *view = s->view;
    ptrdiff_t n = view->n_columns, ld = n + 1, width = s->width, row = chunk * FORM_ROWS, count;
    ptrdiff_t total = view->n_samples - row < FORM_ROWS ? view->n_samples - row : FORM_ROWS;
    double *copy = s->scratch + (size_t)worker * s->scratch_size, *image = copy + FORM_ROWS * ld;
    const double *weights = s->weights ? s->weights + row : NULL;
    double found[FORM_ROWS];
    for (ptrdiff_t at = 0; at < total; at += count) {
        block b;
        count = total - at < s->plan.block_rows ? total - at : s->plan.block_rows;
        submatrix p = {0, count, 0, ld, NULL, NULL};
        block_open_copy(&b, view, row + at, count, image + FORM_ROWS * width);
        block_copy(&b, &p, copy + at * ld, ld);
    }
    ptrdiff_t kept = weights ? keep_wanted(weights, total, copy, ld) : total;
    if (s->padded) {
        ptrdiff_t padded = padded_width(s);
        micro_tile_forms(copy, ld, kept, s->padded, s->padded + n * padded, padded, s->depths,
                         image);
        place(weights, total, image, s->out + row);
        return;
    }
    for (ptrdiff_t i = 0; i < kept; i++)
        memcpy(image + i * width, s->factor + n * width, (size_t)width * sizeof(double));
    for (ptrdiff_t left = 0; left < width; left += FORM_BAND) {
        ptrdiff_t depth = s->depths[left / FORM_BAND];
        if (depth > 0 && kept > 0)
            blas_product(copy, ld, 0, s->factor + left, width, 0, kept,
                         width - left < FORM_BAND ? width - left : FORM_BAND, depth, image + left,
                         width);
    }
    for (ptrdiff_t i = 0; i < kept; i++) found[i] = squared_norm(image + i * width, width);
    place(weights, total, found, s->out + row);
}

static void forms_sparse(void *work, ptrdiff_t chunk, int worker)
{
    forms *s = work;
    const rows *view = s->view;
    ptrdiff_t width = s->width;
    double *restrict image = s->scratch + (size_t)worker * s->scratch_size;
    ptrdiff_t end = chunk_end(&s->plan, view, chunk);
    for (ptrdiff_t row = chunk_begin(&s->plan, chunk); row < end; row++) {
        s->out[row] = 0;
        if (s->weights && s->weights[row] == 0) continue;
        memcpy(image, s->factor + view->n_columns * width, (size_t)width * sizeof(double));
        for (ptrdiff_t k = row_start(view, row); k < row_start(view, row + 1); k++) {
            const double *restrict line = s->factor + entry_column(view, k) * width;
            double z = entry_value(view, k);
            for (ptrdiff_t j = 0; j < width; j++) image[j] += z * line[j];
        }
        s->out[row] = squared_norm(image, width);
    }
}

/* The same from A = factor factor^T: pairs of a row's own entries, for rows with few of them. */
static void forms_pairs(void *work, ptrdiff_t chunk, int worker)
{
    forms *s = work;
    const rows *view = s->view;
    const double *last = s->factor + view->n_columns * s->width;
    (void)worker;
    ptrdiff_t end = chunk_end(&s->plan, view, chunk);
    for (ptrdiff_t row = chunk_begin(&s->plan, chunk); row < end; row++) {
        s->out[row] = 0;
        if (s->weights && s->weights[row] == 0) continue;
        ptrdiff_t first = row_start(view, row), stop = row_start(view, row + 1);
        double sum = last[view->n_columns];
        for (ptrdiff_t k = first; k < stop; k++) {
            const double *line = s->factor + entry_column(view, k) * s->width;
            double z = entry_value(view, k), part = line[view->n_columns];
            for (ptrdiff_t l = first; l < k; l++)
                part += entry_value(view, l) * line[entry_column(view, l)];
            sum += z * (2 * part + z * line[entry_column(view, k)]);
        }
        s->out[row] = sum > 0 ? sum : 0;
    }
}

void sweep_pairs(const rows *view, const double *matrix, const double *weights, int n_threads,
                 double *out)
{
    forms s = {.view = view, .plan = plan_chunks(view, 0), .factor = matrix, .weights = weights,
               .out = out, .width = view->n_columns + 1};
    each_chunk(s.plan.n_chunks, n_threads, forms_pairs, &s);
}

int sweep_quadratic_forms(const rows *view, const double *factor, ptrdiff_t width,
                          const double *weights, int n_threads, double *out)
{
    int sparse = view->kind == ROWS_SPARSE;
    forms s = {.view = view, .plan = plan_chunks(view, 0), .factor = factor, .weights = weights,
               .out = out, .width = width};
    ptrdiff_t depth = view->n_columns + 1, padded = padded_width(&s);
    s.scratch_size = (size_t)width;
    if (!sparse) {
        s.plan.n_chunks = (view->n_samples + FORM_ROWS - 1) / FORM_ROWS;
        if (s.plan.block_rows > FORM_ROWS) s.plan.block_rows = FORM_ROWS;
        s.scratch_size = (size_t)(FORM_ROWS * (depth + width))
                       + block_copy_scratch(view, s.plan.block_rows);
    }
    s.scratch = calloc((size_t)n_threads * s.scratch_size + 1, sizeof(double));
    s.band = padded ? MICRO_BAND : FORM_BAND;
    s.depths = malloc((size_t)(width / s.band + 1) * sizeof(ptrdiff_t));
    if (padded) s.padded = calloc((size_t)(depth * padded), sizeof(double));
    int status = s.scratch && s.depths && (s.padded || !padded) ? 0 : -1;
    if (status == 0) {
        if (!sparse) find_depths(&s);
        for (ptrdiff_t k = 0; padded && k < depth; k++)
            memcpy(s.padded + k * padded, factor + k * width, (size_t)width * sizeof(double));
        each_chunk(s.plan.n_chunks, n_threads, sparse ? forms_sparse : forms_dense, &s);
    }
    free(s.scratch);
    free(s.depths);
    free(s.padded);
    return status;
}
