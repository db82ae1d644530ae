/* Views of rows and the two operations on a block of them: product and rmatvec. */
#include "rows.h"

#include <inttypes.h>
#include <string.h>

#include "cpu.h"
#include "exponential.h"
#include "monomials.h"

enum {
    NARROW_VECTORS = 4,   /* rows of at most so many vectors are summed in registers */
    NARROW_ROWS = 128,  /* in a block of such */
    MOST_COLUMNS = 8    /* read at a time where a column's numbers lie side by side */
};

#define T double
#define NAME(name) name##_double
#include "dense_kernels.h"
#undef T
#undef NAME

#define T float
#define NAME(name) name##_float
#include "dense_kernels.h"
#undef T
#undef NAME

#define SPARSE_LOOPS "sparse_kernels.h"
#include "sparse_types.h"

enum {
    NARROW = 4,                 /* columns below which rows are too short for loops along them */
    ROWS_BYTES = 64 << 10,      /* of a block read by rows: part of a second-level cache */
    SPARSE_BYTES = 256 << 10,   /* of a sparse block: its vectors take turns in a cache */
    PACKED_BYTES = 256 << 10,   /* of a packed block: it takes as much again as it is stored */
    COLUMNS_BYTES = 4 << 20,    /* of a block read by columns: part of a last-level cache, for */
    COLUMN_ROWS = 256,          /* the part of a column in it should be long, */
    LEAST_BLOCKS = 16,          /* as far as there remain blocks for many threads */
    PAGE_BYTES = 4 << 10,
    PADDING = 8                 /* a packed column starts on a cache line */
};

static ptrdiff_t item_size(const rows *view)
{
    return view->is_float ? (ptrdiff_t)sizeof(float) : (ptrdiff_t)sizeof(double);
}

static int is_narrow(const rows *view)
{
    return view->n_columns <= 4 * NARROW_VECTORS;
}

void rows_choose_kind(rows *view)
{
    ptrdiff_t size = item_size(view);
    int whole = view->row_stride % size == 0 && view->column_stride % size == 0
             && (uintptr_t)view->values % (uintptr_t)size == 0;
    if (whole && view->row_stride == size)
        view->kind = ROWS_COLUMNS;
    else if (whole && view->column_stride == size && view->n_columns >= NARROW)
        view->kind = ROWS_CONTIGUOUS;
    else
        view->kind = ROWS_PACKED;
}

ptrdiff_t block_rows(const rows *view)
{
    ptrdiff_t width = view->n_columns > 0 ? view->n_columns : 1, count;
    if (view->kind == ROWS_MONOMIALS) return monomial_block_rows(view);
    if (view->kind == ROWS_SPARSE) {
        ptrdiff_t entries = view->n_entries / (view->n_samples > 0 ? view->n_samples : 1) + 1;
        count = SPARSE_BYTES / (16 * entries);
        return count < 4 ? 4 : count > BLOCK_LIMIT ? BLOCK_LIMIT : count;
    }
    if (view->kind == ROWS_CONTIGUOUS) {
        if (is_narrow(view)) return NARROW_ROWS;
        count = ROWS_BYTES / (width * item_size(view)) / 4 * 4;
        return count < 4 ? 4 : count > 128 ? 128 : count;
    }
    if (view->kind == ROWS_COLUMNS) {
        ptrdiff_t share = view->n_samples / LEAST_BLOCKS;
        count = COLUMNS_BYTES / (width * item_size(view));
        count = count < COLUMN_ROWS ? COLUMN_ROWS : count;
        count = (count < share ? count : share) / 8 * 8;
        return count < 64 ? 64 : count > BLOCK_LIMIT ? BLOCK_LIMIT : count;
    }
    count = PACKED_BYTES / (width * (ptrdiff_t)sizeof(double)) / 8 * 8;
    return count < 8 ? 8 : count > 128 ? 128 : count;
}

ptrdiff_t rows_spread(const rows *view, ptrdiff_t count)
{
    ptrdiff_t spread = count / BLOCK_RUNS;
    int far = spread * view->n_columns * item_size(view) >= PAGE_BYTES;
    return view->kind == ROWS_CONTIGUOUS && far ? spread : 0;
}

static ptrdiff_t packed_stride(ptrdiff_t count)
{
    return (count + PADDING - 1) / PADDING * PADDING;
}

size_t block_scratch(const rows *view, ptrdiff_t count)
{
    if (view->kind == ROWS_MONOMIALS) return monomial_block_scratch(view, count);
    if (view->kind != ROWS_PACKED) return 0;
    return (size_t)(packed_stride(count) * view->n_columns);
}

void block_open(block *b, const rows *view, ptrdiff_t start, ptrdiff_t count, double *scratch)
{
    ptrdiff_t size = item_size(view);
    b->rows = view;
    b->kind = view->kind;
    b->start = start;
    b->count = b->run = count;
    b->spread = 0;
    b->is_float = view->is_float;
    b->centre = view->centre;
    switch (view->kind) {
    case ROWS_CONTIGUOUS:
        b->values = view->values + start * view->row_stride;
        b->stride = view->row_stride / size;
        break;
    case ROWS_COLUMNS:
        b->values = view->values + start * view->row_stride;
        b->stride = view->column_stride / size;
        break;
    case ROWS_PACKED:
        b->stride = packed_stride(count);
        if (view->is_float) dense_pack_float(view, start, count, scratch, b->stride);
        else dense_pack_double(view, start, count, scratch, b->stride);
        b->kind = ROWS_COLUMNS;
        b->values = (const char *)scratch;
        b->is_float = 0;
        b->centre = NULL;
        break;
    case ROWS_SPARSE:
        break;
    case ROWS_MONOMIALS:
        monomial_block_open(b, view, start, count, scratch);
        break;
    }
}

void block_open_spread(block *b, const rows *view, ptrdiff_t start, ptrdiff_t run,
                       ptrdiff_t spread)
{
    block_open(b, view, start, run, NULL);
    b->count = BLOCK_RUNS * run;
    b->spread = spread;
}

void block_dot(const block *b, const double *coef, double *out)
{
    if (b->kind == ROWS_MONOMIALS) {
        monomial_block_dot(b, coef, out);
    } else if (b->kind != ROWS_SPARSE) {
        if (b->is_float) dense_dot_float(b, coef, out);
        else dense_dot_double(b, coef, out);
    } else if (b->is_float) {
        if (b->rows->wide_columns) sparse_dot_float_wide(b, coef, out);
        else sparse_dot_float_narrow(b, coef, out);
    } else {
        if (b->rows->wide_columns) sparse_dot_double_wide(b, coef, out);
        else sparse_dot_double_narrow(b, coef, out);
    }
}

/* In several sums: a single one would wait for each addition. */
static double total(ptrdiff_t count, const double *restrict x)
{
    double s0 = 0, s1 = 0;
    ptrdiff_t i = 0;
#pragma omp simd reduction(+ : s0, s1)
    for (i = 0; i < count / 2; i++) s0 += x[2 * i], s1 += x[2 * i + 1];
    return count % 2 ? s0 + s1 + x[count - 1] : s0 + s1;
}

void block_add(const block *b, const double *pointwise_gradient, double *gradient)
{
    gradient[b->rows->n_columns] += total(b->count, pointwise_gradient);
    if (b->kind == ROWS_MONOMIALS) {
        monomial_block_add(b, pointwise_gradient, gradient);
    } else if (b->kind != ROWS_SPARSE) {
        if (b->is_float) dense_add_float(b, pointwise_gradient, gradient);
        else dense_add_double(b, pointwise_gradient, gradient);
    } else if (b->is_float) {
        if (b->rows->wide_columns) sparse_add_float_wide(b, pointwise_gradient, gradient);
        else sparse_add_float_narrow(b, pointwise_gradient, gradient);
    } else {
        if (b->rows->wide_columns) sparse_add_double_wide(b, pointwise_gradient, gradient);
        else sparse_add_double_narrow(b, pointwise_gradient, gradient);
    }
}

void block_add_dot(const block *done, const double *pointwise_gradient, double *gradient,
                   const block *next, const double *coef, double *out)
{
    int alike = done->count == next->count && done->spread == next->spread
             && done->count % 4 == 0;
    if (!is_narrow(done->rows) && alike) {
        gradient[done->rows->n_columns] += total(done->count, pointwise_gradient);
        if (done->is_float)
            dense_add_dot_float(done, pointwise_gradient, next, coef, gradient, out);
        else dense_add_dot_double(done, pointwise_gradient, next, coef, gradient, out);
    } else {
        block_add(done, pointwise_gradient, gradient);
        block_dot(next, coef, out);
    }
}

void block_add_squares(const block *b, const double *share, const double *mean, double *squares,
                       double *drift)
{
    if (b->kind == ROWS_MONOMIALS) monomial_block_add_squares(b, share, mean, squares, drift);
    else if (b->is_float) dense_squares_float(b, share, mean, squares, drift);
    else dense_squares_double(b, share, mean, squares, drift);
}

void block_open_copy(block *b, const rows *view, ptrdiff_t start, ptrdiff_t count,
                     double *scratch)
{
    if (view->kind == ROWS_MONOMIALS)
        monomial_block_open(b, view, start, count, scratch);
    b->rows = view;
    b->start = start;
    b->count = count;
}

size_t block_copy_scratch(const rows *view, ptrdiff_t count)
{
    return view->kind == ROWS_MONOMIALS ? monomial_block_scratch(view, count) : 0;
}

static void scale_columns(const submatrix *p, double *restrict out, ptrdiff_t ld)
{
    const double *restrict scale = p->column_scale;
    for (ptrdiff_t i = 0; i < p->n_rows; i++)
#pragma omp simd
        for (ptrdiff_t j = 0; j < p->n_columns; j++) out[i * ld + j] *= scale[j];
}

void block_copy(const block *b, const submatrix *p, double *out, ptrdiff_t ld)
{
    const rows *view = b->rows;
    submatrix stored = *p;
    if (p->column + p->n_columns > view->n_columns) {
        stored.n_columns--;
        for (ptrdiff_t i = 0; i < p->n_rows; i++)
            out[i * ld + stored.n_columns] = p->row_scale ? p->row_scale[i] : 1.0;
    }
    if (view->kind == ROWS_MONOMIALS) monomial_block_copy(b, &stored, out, ld);
    else if (view->is_float) dense_copy_float(view, b->start, &stored, out, ld);
    else dense_copy_double(view, b->start, &stored, out, ld);
    if (p->column_scale) scale_columns(p, out, ld);
}
