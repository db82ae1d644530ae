/* Second-order sweeps: the curvature, its counterpart on the samples' side, quadratic forms. */
#include "curvature.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "sweep.h"
#include "threads.h"
#include "tiles.h"

enum {
    DEPTH = CURVATURE_ROWS, /* rows (or columns) of a panel: three strips fill half of L1 */
    WIDEST_SUM = 256,   /* columns up to which each chunk of rows sums a matrix of its own */
    PACK_ROWS = 32,     /* rows of a panel that one task packs */
    SQUARE = 16,        /* rows and columns of a square that is transposed at once */
    JUDGED_ROWS = 2048, /* of sparse rows, whose entries tell where the work is */
    AHEAD = 6           /* entries whose columns are asked for before their turn */
};

int curvature_fits(const rows *view)
{
    return view->n_columns < WIDEST_SUM;
}

static size_t panel_size(ptrdiff_t vectors, ptrdiff_t depth)
{
    return (size_t)strips_for(vectors) * 4 * (size_t)depth;
}

size_t curvature_scratch(const rows *view)
{
    if (view->kind == ROWS_SPARSE) return 0;
    return panel_size(view->n_columns + 1, DEPTH);
}

void curvature_begin(curvature_sum *sum, const rows *view, double *matrix, double *scratch)
{
    sum->view = view;
    sum->matrix = matrix;
    sum->strips = scratch;
    sum->filled = 0;
    if (view->kind != ROWS_SPARSE)
        memset(scratch, 0, curvature_scratch(view) * sizeof(double));
}

/* Multiply out the rows packed so far. */
static void flush(curvature_sum *sum)
{
    ptrdiff_t n = sum->view->n_columns + 1;
    for (ptrdiff_t task = 0; task < symmetric_tasks(n); task++)
        symmetric_tiles(sum->strips, sum->filled, DEPTH, n, task, sum->matrix, n);
    sum->filled = 0;
}

/* Which pairs of which rows go into a matrix: those whose later entry lies in some columns. */
typedef struct {
    const rows *view;
    const double *bend;                 /* of the first of the rows */
    ptrdiff_t first, count, low, high;
    double *matrix;
} pairs;

#define T double
#define INDEX int32_t
#define NAME(name) name##_double_narrow
#include "sparse_pairs.h"
#undef INDEX
#undef NAME

#define INDEX int64_t
#define NAME(name) name##_double_wide
#include "sparse_pairs.h"
#undef T
#undef INDEX
#undef NAME

#define T float
#define INDEX int32_t
#define NAME(name) name##_float_narrow
#include "sparse_pairs.h"
#undef INDEX
#undef NAME

#define INDEX int64_t
#define NAME(name) name##_float_wide
#include "sparse_pairs.h"
#undef T
#undef INDEX
#undef NAME

static void add_pairs(const pairs *p)
{
    if (p->view->is_float) {
        if (p->view->wide_columns) add_pairs_float_wide(p);
        else add_pairs_float_narrow(p);
    } else {
        if (p->view->wide_columns) add_pairs_double_wide(p);
        else add_pairs_double_narrow(p);
    }
}

void curvature_add(curvature_sum *sum, const block *b, const double *bend)
{
    if (sum->view->kind == ROWS_SPARSE) {
        pairs p = {sum->view, bend, b->start, b->count, 0, sum->view->n_columns + 1, sum->matrix};
        add_pairs(&p);
        return;
    }
    double root[CURVATURE_ROWS];
    if (sum->filled + b->count > DEPTH) flush(sum);
    for (ptrdiff_t i = 0; i < b->count; i++) root[i] = sqrt(bend[i]);
    block_pack_columns(b, root, sum->filled, DEPTH, sum->strips);
    sum->filled += b->count;
}

void curvature_end(curvature_sum *sum)
{
    if (sum->filled > 0) flush(sum);
}

/* Copy the lower triangle to the upper one, by squares that fit into the fastest cache. */
static void mirror(double *matrix, ptrdiff_t n)
{
    for (ptrdiff_t top = 0; top < n; top += SQUARE)
        for (ptrdiff_t left = 0; left <= top; left += SQUARE)
            for (ptrdiff_t j = left; j < left + SQUARE && j < n; j++)
                for (ptrdiff_t i = top > j ? top : j + 1; i < top + SQUARE && i < n; i++)
                    matrix[j * n + i] = matrix[i * n + j];
}

void curvature_fold(const rows *view, double *matrix)
{
    ptrdiff_t n = view->n_columns + 1;
    if (view->kind != ROWS_SPARSE) {
        mirror(matrix, n);
        return;
    }
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j <= i; j++) {
            double both = matrix[i * n + j] + matrix[j * n + i];
            matrix[i * n + j] = matrix[j * n + i] = both;
        }
}

/* ------------------------------------------------------------------ the curvature by itself */

typedef struct {
    const rows *view;
    plan plan;
    const double *bend, *scale;
    double *out, *strips, *scratch;
    size_t scratch_size, partial_size;
    ptrdiff_t first, used, n;           /* of the panel at work */
    ptrdiff_t *cuts;                    /* sparse: where the parts of the columns begin */
} second;

static void curvature_chunk(void *work, ptrdiff_t chunk, int worker)
{
    second *s = work;
    double *scratch = s->scratch + (size_t)worker * s->scratch_size;
    ptrdiff_t begin = chunk * s->plan.chunk_rows, end = begin + s->plan.chunk_rows;
    if (end > s->view->n_samples) end = s->view->n_samples;
    curvature_sum sum;
    curvature_begin(&sum, s->view, s->out + (size_t)chunk * s->partial_size,
                    scratch + block_scratch(s->view, s->plan.block_rows));
    for (ptrdiff_t count; begin < end; begin += count) {
        block b;
        count = end - begin < s->plan.block_rows ? end - begin : s->plan.block_rows;
        block_open(&b, s->view, begin, count, scratch);
        curvature_add(&sum, &b, s->bend + begin);
    }
    curvature_end(&sum);
}

static int curvature_by_chunks(const rows *view, const double *bend, int n_threads, double *out)
{
    size_t size = (size_t)view->n_columns + 1, square = size * size;
    second s = {.view = view, .bend = bend, .partial_size = square};
    s.plan = plan_chunks(view, (ptrdiff_t)square);
    if (s.plan.block_rows > CURVATURE_ROWS) s.plan.block_rows = CURVATURE_ROWS;
    s.scratch_size = block_scratch(view, s.plan.block_rows) + curvature_scratch(view);
    s.out = calloc((size_t)s.plan.n_chunks * square + 1, sizeof(double));
    s.scratch = malloc(((size_t)n_threads * s.scratch_size + 1) * sizeof(double));
    int status = s.out && s.scratch ? 0 : -1;
    if (status == 0) {
        each_chunk(s.plan.n_chunks, n_threads, curvature_chunk, &s);
        add_partials(s.out, s.plan.n_chunks, (ptrdiff_t)square);
        memcpy(out, s.out, square * sizeof(double));
        curvature_fold(view, out);
    }
    free(s.out);
    free(s.scratch);
    return status;
}

static void pack_columns_task(void *work, ptrdiff_t task, int worker)
{
    second *s = work;
    ptrdiff_t begin = task * PACK_ROWS, count = s->used - begin;
    if (count > PACK_ROWS) count = PACK_ROWS;
    double root[PACK_ROWS];
    block b;
    block_open(&b, s->view, s->first + begin, count, s->scratch + (size_t)worker * s->scratch_size);
    for (ptrdiff_t i = 0; i < count; i++) root[i] = sqrt(s->bend[s->first + begin + i]);
    block_pack_columns(&b, root, begin, DEPTH, s->strips);
}

static void tiles_task(void *work, ptrdiff_t task, int worker)
{
    second *s = work;
    (void)worker;
    symmetric_tiles(s->strips, s->used, DEPTH, s->n, task, s->out, s->n);
}

/* Too wide for a matrix a chunk: all threads pack one panel, then share out the one matrix. */
static int curvature_by_panels(const rows *view, const double *bend, int n_threads, double *out)
{
    second s = {.view = view, .bend = bend, .out = out, .n = view->n_columns + 1};
    s.scratch_size = block_scratch(view, PACK_ROWS);
    s.scratch = malloc(((size_t)n_threads * s.scratch_size + 1) * sizeof(double));
    s.strips = calloc(panel_size(s.n, DEPTH), sizeof(double));
    int status = s.scratch && s.strips ? 0 : -1;
    if (status == 0) {
        memset(out, 0, (size_t)s.n * (size_t)s.n * sizeof(double));
        for (s.first = 0; s.first < view->n_samples; s.first += DEPTH) {
            s.used = view->n_samples - s.first < DEPTH ? view->n_samples - s.first : DEPTH;
            each_chunk((s.used + PACK_ROWS - 1) / PACK_ROWS, n_threads, pack_columns_task, &s);
            each_chunk(symmetric_tasks(s.n), n_threads, tiles_task, &s);
        }
        mirror(out, s.n);
    }
    free(s.scratch);
    free(s.strips);
    return status;
}

/* One part of the columns: the pairs whose later entry lies in it, from all rows. */
static void sparse_part(void *work, ptrdiff_t part, int worker)
{
    second *s = work;
    pairs p = {s->view, s->bend, 0, s->view->n_samples, s->cuts[part], s->cuts[part + 1], s->out};
    (void)worker;
    add_pairs(&p);
}

/* Cut the columns into parts of about the same work, judged by some of the rows. */
static void cut_columns(const rows *view, ptrdiff_t n_parts, double *work, ptrdiff_t *cuts)
{
    ptrdiff_t n = view->n_columns + 1, step = view->n_samples / JUDGED_ROWS + 1, part = 1;
    double total = 0, sum = 0;
    for (ptrdiff_t row = 0; row < view->n_samples; row += step) {
        ptrdiff_t begin = row_start(view, row), end = row_start(view, row + 1);
        for (ptrdiff_t k = begin; k < end; k++) {
            work[entry_column(view, k)] += (double)(k - begin + 2);
            total += (double)(k - begin + 2);
        }
    }
    cuts[0] = 0;
    for (ptrdiff_t column = 0; column < n; column++) {
        sum += work[column];
        while (part < n_parts && sum * (double)n_parts >= total * (double)part)
            cuts[part++] = column + 1;
    }
    while (part <= n_parts) cuts[part++] = n;
}

static int curvature_by_parts(const rows *view, const double *bend, int n_threads, double *out)
{
    second s = {.view = view, .bend = bend, .out = out, .n = view->n_columns + 1};
    /* each part reads all rows: no more of them than threads */
    ptrdiff_t n_parts = n_threads;
    double *work = calloc((size_t)s.n, sizeof(double));
    s.cuts = malloc(((size_t)n_parts + 1) * sizeof(ptrdiff_t));
    int status = work && s.cuts ? 0 : -1;
    if (status == 0) {
        memset(out, 0, (size_t)s.n * (size_t)s.n * sizeof(double));
        cut_columns(view, n_parts, work, s.cuts);
        each_chunk(n_parts, n_threads, sparse_part, &s);
        curvature_fold(view, out);
    }
    free(work);
    free(s.cuts);
    return status;
}

int sweep_curvature(const rows *view, const double *bend, int n_threads, double *out)
{
    if (curvature_fits(view)) return curvature_by_chunks(view, bend, n_threads, out);
    if (view->kind == ROWS_SPARSE) return curvature_by_parts(view, bend, n_threads, out);
    return curvature_by_panels(view, bend, n_threads, out);
}

/* ------------------------------------------------------------------------ the samples' side */

static void pack_rows_task(void *work, ptrdiff_t task, int worker)
{
    second *s = work;
    ptrdiff_t begin = task * PACK_ROWS, count = s->view->n_samples - begin;
    if (count > PACK_ROWS) count = PACK_ROWS;
    double *strips = s->strips + begin * DEPTH;
    ptrdiff_t columns = s->view->n_columns - s->first;
    block b;
    block_open(&b, s->view, begin, count, s->scratch + (size_t)worker * s->scratch_size);
    block_pack_rows(&b, s->scale, s->first, columns < s->used ? columns : s->used, DEPTH, strips);
    if (columns < s->used) /* the constant is the last of them */
        for (ptrdiff_t i = 0; i < count; i++)
            strips[(i / 4) * DEPTH * 4 + columns * 4 + i % 4] = s->scale[s->first + columns];
}

static int outer_dense(const rows *view, const double *scale, int n_threads, double *out)
{
    ptrdiff_t n = view->n_samples, width = view->n_columns + 1;
    double *root = malloc((size_t)width * sizeof(double));
    second s = {.view = view, .scale = root, .out = out, .n = n};
    s.scratch_size = block_scratch(view, PACK_ROWS);
    s.scratch = malloc(((size_t)n_threads * s.scratch_size + 1) * sizeof(double));
    s.strips = calloc(panel_size(n, DEPTH) + 1, sizeof(double));
    int status = root && s.scratch && s.strips ? 0 : -1;
    if (status == 0) {
        for (ptrdiff_t j = 0; j < width; j++) root[j] = sqrt(scale[j]);
        memset(out, 0, (size_t)n * (size_t)n * sizeof(double));
        for (s.first = 0; s.first < width; s.first += DEPTH) {
            s.used = width - s.first < DEPTH ? width - s.first : DEPTH;
            each_chunk((n + PACK_ROWS - 1) / PACK_ROWS, n_threads, pack_rows_task, &s);
            each_chunk(symmetric_tasks(n), n_threads, tiles_task, &s);
        }
        mirror(out, n);
    }
    free(root);
    free(s.scratch);
    free(s.strips);
    return status;
}

/* The entries of sparse rows by columns: entry e of column j has starts[j] <= e < starts[j+1].
 * Of an entry's column, those of its own row and of the rows before end at stops[k]. */
typedef struct {
    const rows *view;
    const double *scale;
    double *out, *values;
    ptrdiff_t *starts, *stops;
    int32_t *samples;
} by_columns;

static void sort_by_columns(by_columns *c)
{
    const rows *view = c->view;
    for (ptrdiff_t k = row_start(view, 0); k < view->n_entries; k++)
        c->starts[entry_column(view, k) + 1]++;
    for (ptrdiff_t j = 0; j < view->n_columns; j++) c->starts[j + 1] += c->starts[j];
    for (ptrdiff_t i = 0; i < view->n_samples; i++) {
        ptrdiff_t begin = row_start(view, i), end = row_start(view, i + 1);
        for (ptrdiff_t k = begin; k < end; k++) {
            ptrdiff_t place = c->starts[entry_column(view, k)]++;
            c->samples[place] = (int32_t)i;
            c->values[place] = entry_value(view, k);
        }
        for (ptrdiff_t k = begin; k < end; k++) c->stops[k] = c->starts[entry_column(view, k)];
    }
    /* each start has moved to the next column's */
    memmove(c->starts + 1, c->starts, (size_t)view->n_columns * sizeof(ptrdiff_t));
    c->starts[0] = 0;
}

/* One row of the lower triangle: only samples that share a column with it are met. */
static void outer_row(void *work, ptrdiff_t i, int worker)
{
    const by_columns *c = work;
    const rows *view = c->view;
    const double *restrict values = c->values;
    const int32_t *restrict samples = c->samples;
    double *restrict out = c->out + i * view->n_samples;
    ptrdiff_t end = row_start(view, i + 1);
    (void)worker;
    for (ptrdiff_t j = 0; j <= i; j++) out[j] = c->scale[view->n_columns];
    for (ptrdiff_t k = row_start(view, i); k < end; k++) {
        ptrdiff_t column = entry_column(view, k), stop = c->stops[k];
        double pull = c->scale[column] * entry_value(view, k);
        if (k + AHEAD < end) { /* columns lie far apart: ask for a later one's in time */
            ptrdiff_t later = c->starts[entry_column(view, k + AHEAD)];
            PREFETCH(samples + later, 0);
            PREFETCH(values + later, 0);
        }
        for (ptrdiff_t e = c->starts[column]; e < stop; e++) out[samples[e]] += pull * values[e];
    }
}

static int outer_sparse(const rows *view, const double *scale, int n_threads, double *out)
{
    size_t entries = (size_t)view->n_entries + 1;
    by_columns c = {.view = view, .scale = scale, .out = out};
    c.starts = calloc((size_t)view->n_columns + 2, sizeof(ptrdiff_t));
    c.stops = malloc(entries * sizeof(ptrdiff_t));
    c.samples = malloc(entries * sizeof(int32_t));
    c.values = malloc(entries * sizeof(double));
    int status = c.starts && c.stops && c.samples && c.values ? 0 : -1;
    if (status == 0) {
        sort_by_columns(&c);
        each_chunk(view->n_samples, n_threads, outer_row, &c);
        mirror(out, view->n_samples);
    }
    free(c.starts);
    free(c.stops);
    free(c.samples);
    free(c.values);
    return status;
}

int sweep_outer(const rows *view, const double *scale, int n_threads, double *out)
{
    if (view->kind == ROWS_SPARSE) return outer_sparse(view, scale, n_threads, out);
    return outer_dense(view, scale, n_threads, out);
}

/* -------------------------------------------------------------------------- quadratic forms */

typedef struct {
    const rows *view;
    plan plan;
    const double *factor, *ones;
    double *out, *strips, *scratch;
    size_t scratch_size;
    ptrdiff_t width, depth;
} forms;

static void forms_dense(void *work, ptrdiff_t chunk, int worker)
{
    forms *s = work;
    ptrdiff_t n = s->view->n_columns, step = s->plan.block_rows;
    double *scratch = s->scratch + (size_t)worker * s->scratch_size;
    double *strips = scratch + block_scratch(s->view, step);
    ptrdiff_t begin = chunk * s->plan.chunk_rows, end = begin + s->plan.chunk_rows;
    if (end > s->view->n_samples) end = s->view->n_samples;
    for (ptrdiff_t count; begin < end; begin += count) {
        block b;
        count = end - begin < step ? end - begin : step;
        block_open(&b, s->view, begin, count, scratch);
        block_pack_rows(&b, s->ones, 0, n, s->depth, strips);
        for (ptrdiff_t i = 0; i < count; i += 4) {
            double squares[4] = {0};
            double *strip = strips + i * s->depth;
            for (int v = 0; v < 4; v++) strip[4 * n + v] = 1;
            square_tiles(strip, s->strips, strips_for(s->width), s->depth, squares);
            memcpy(s->out + begin + i, squares,
                   (size_t)(count - i < 4 ? count - i : 4) * sizeof(double));
        }
    }
}

static void forms_sparse(void *work, ptrdiff_t chunk, int worker)
{
    forms *s = work;
    const rows *view = s->view;
    ptrdiff_t width = s->width;
    double *restrict image = s->scratch + (size_t)worker * s->scratch_size;
    ptrdiff_t begin = chunk * s->plan.chunk_rows, end = begin + s->plan.chunk_rows;
    if (end > view->n_samples) end = view->n_samples;
    for (ptrdiff_t row = begin; row < end; row++) {
        memcpy(image, s->factor + view->n_columns * width, (size_t)width * sizeof(double));
        for (ptrdiff_t k = row_start(view, row); k < row_start(view, row + 1); k++) {
            const double *restrict line = s->factor + entry_column(view, k) * width;
            double z = entry_value(view, k);
            for (ptrdiff_t j = 0; j < width; j++) image[j] += z * line[j];
        }
        double sum = 0;
        for (ptrdiff_t j = 0; j < width; j++) sum += image[j] * image[j];
        s->out[row] = sum;
    }
}

/* The same from A = factor factor^T: pairs of a row's own entries, for rows with few of them. */
static void forms_pairs(void *work, ptrdiff_t chunk, int worker)
{
    forms *s = work;
    const rows *view = s->view;
    const double *last = s->factor + view->n_columns * s->width;
    ptrdiff_t begin = chunk * s->plan.chunk_rows, end = begin + s->plan.chunk_rows;
    (void)worker;
    if (end > view->n_samples) end = view->n_samples;
    for (ptrdiff_t row = begin; row < end; row++) {
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

void sweep_pairs(const rows *view, const double *matrix, int n_threads, double *out)
{
    forms s = {.view = view, .plan = plan_chunks(view, 0), .factor = matrix, .out = out,
               .width = view->n_columns + 1};
    each_chunk(s.plan.n_chunks, n_threads, forms_pairs, &s);
}

int sweep_quadratic(const rows *view, const double *factor, ptrdiff_t width, int n_threads,
                    double *out)
{
    int sparse = view->kind == ROWS_SPARSE;
    ptrdiff_t depth = view->n_columns + 1;
    double *ones = malloc((size_t)depth * sizeof(double));
    forms s = {.view = view, .plan = plan_chunks(view, 0), .factor = factor, .ones = ones,
               .out = out, .width = width, .depth = depth};
    size_t strips = (size_t)(s.plan.block_rows + 3) / 4 * 4 * (size_t)depth;
    s.scratch_size = sparse ? (size_t)width : block_scratch(view, s.plan.block_rows) + strips;
    s.scratch = calloc((size_t)n_threads * s.scratch_size + 1, sizeof(double));
    s.strips = calloc(sparse ? 1 : panel_size(width, depth) + 1, sizeof(double));
    int status = ones && s.scratch && s.strips ? 0 : -1;
    if (status == 0) {
        for (ptrdiff_t j = 0; j < depth; j++) ones[j] = 1;
        if (!sparse)
            for (ptrdiff_t k = 0; k < depth; k++)
                for (ptrdiff_t v = 0; v < width; v++)
                    s.strips[(v / 4) * depth * 4 + k * 4 + v % 4] = factor[k * width + v];
        each_chunk(s.plan.n_chunks, n_threads, sparse ? forms_sparse : forms_dense, &s);
    }
    free(ones);
    free(s.scratch);
    free(s.strips);
    return status;
}
