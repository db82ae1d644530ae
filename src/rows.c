/* Views of rows and the two operations on a block of them: product and adjoint. */
#include "rows.h"

#include <inttypes.h>
#include <string.h>

#include "monomials.h"

/* Rows at most this long come in blocks of few: see dot_rows. */
enum { NARROW_BYTES = 128, NARROW_ROWS = 32 };

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

#define T double
#define INDEX int32_t
#define NAME(name) name##_double_narrow
#include "sparse_kernels.h"
#undef INDEX
#undef NAME

#define INDEX int64_t
#define NAME(name) name##_double_wide
#include "sparse_kernels.h"
#undef T
#undef INDEX
#undef NAME

#define T float
#define INDEX int32_t
#define NAME(name) name##_float_narrow
#include "sparse_kernels.h"
#undef INDEX
#undef NAME

#define INDEX int64_t
#define NAME(name) name##_float_wide
#include "sparse_kernels.h"
#undef T
#undef INDEX
#undef NAME

enum {
    NARROW = 4,                 /* columns below which rows are too short for loops along them */
    ROWS_BYTES = 16 << 10,      /* of a block read by rows: half of a small first-level cache */
    COLUMNS_BYTES = 512 << 10,  /* of a block read by columns: it needs many rows to pay */
    PADDING = 8                 /* a packed column starts on a cache line */
};

static ptrdiff_t item_size(const rows *view)
{
    return view->is_float ? (ptrdiff_t)sizeof(float) : (ptrdiff_t)sizeof(double);
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
        count = ROWS_BYTES / (16 * entries);
        return count < 4 ? 4 : count > BLOCK_LIMIT ? BLOCK_LIMIT : count;
    }
    if (view->kind == ROWS_CONTIGUOUS) {
        if (width * item_size(view) <= NARROW_BYTES) return NARROW_ROWS;
        count = ROWS_BYTES / (width * item_size(view)) / 4 * 4;
        return count < 4 ? 4 : count > 128 ? 128 : count;
    }
    /* a packed block takes room twice: as it is stored, and the copy */
    ptrdiff_t size = view->kind == ROWS_COLUMNS ? item_size(view) : 2 * (ptrdiff_t)sizeof(double);
    count = COLUMNS_BYTES / (width * size) / 8 * 8;
    return count < 8 ? 8 : count > 128 ? 128 : count;
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
    b->count = count;
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

void block_add(const block *b, const double *pull, double *gradient)
{
    double total = 0;
    for (ptrdiff_t i = 0; i < b->count; i++) total += pull[i];
    gradient[b->rows->n_columns] += total;
    if (b->kind == ROWS_MONOMIALS) {
        monomial_block_add(b, pull, gradient);
    } else if (b->kind != ROWS_SPARSE) {
        if (b->is_float) dense_add_float(b, pull, gradient);
        else dense_add_double(b, pull, gradient);
    } else if (b->is_float) {
        if (b->rows->wide_columns) sparse_add_float_wide(b, pull, gradient);
        else sparse_add_float_narrow(b, pull, gradient);
    } else {
        if (b->rows->wide_columns) sparse_add_double_wide(b, pull, gradient);
        else sparse_add_double_narrow(b, pull, gradient);
    }
}

void block_add_squares(const block *b, const double *share, const double *mean, double *squares,
                       double *drift)
{
    if (b->kind == ROWS_MONOMIALS) monomial_block_add_squares(b, share, mean, squares, drift);
    else if (b->is_float) dense_squares_float(b, share, mean, squares, drift);
    else dense_squares_double(b, share, mean, squares, drift);
}

void block_pack_columns(const block *b, const double *scale, ptrdiff_t first, ptrdiff_t depth,
                        double *strips)
{
    double *constant = strips + (b->rows->n_columns / 4) * depth * 4 + first * 4
                     + b->rows->n_columns % 4;
    for (ptrdiff_t i = 0; i < b->count; i++) constant[4 * i] = scale[i];
    if (b->kind == ROWS_MONOMIALS) monomial_block_pack_columns(b, scale, first, depth, strips);
    else if (b->is_float) dense_pack_columns_float(b, scale, first, depth, strips);
    else dense_pack_columns_double(b, scale, first, depth, strips);
}

void block_pack_rows(const block *b, const double *scale, ptrdiff_t first, ptrdiff_t depth,
                     ptrdiff_t ld, double *strips)
{
    if (b->kind == ROWS_MONOMIALS) monomial_block_pack_rows(b, scale, first, depth, ld, strips);
    else if (b->is_float) dense_pack_rows_float(b, scale, first, depth, ld, strips);
    else dense_pack_rows_double(b, scale, first, depth, ld, strips);
}

void rows_copy(const rows *view, ptrdiff_t start, ptrdiff_t count, double *out, ptrdiff_t ld)
{
    if (view->is_float) dense_copy_float(view, start, count, out, ld);
    else dense_copy_double(view, start, count, out, ld);
}
