/* The rows as every kernel sees them: a view, read in blocks, with two operations.
 *
 * A view (struct rows) says where the numbers lie; a block (struct block) is a few consecutive
 * rows of it, opened once and then used several times while it is in cache:
 *
 *     block_open(&block, rows, start, count, scratch);
 *     block_dot(&block, coef, f);            f_i  = z_i . coef[:n] + coef[n]
 *     ... per-sample arithmetic on count numbers ...
 *     block_add(&block, pointwise_gradient, gradient);     gradient += [Z 1]^T pointwise_gradient
 *
 * Everything above these functions is written once for dense rows of either type, order and
 * stride, and for sparse rows of either type of value and of index. Sums are in double.
 *
 * Coefficients and gradients have n_columns + 1 places, the constant's the last.
 */
#ifndef ENTROPIC_ROWS_H
#define ENTROPIC_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "level.h"

typedef enum {
    ROWS_CONTIGUOUS,    /* dense, a row's numbers side by side: read in place, by rows */
    ROWS_COLUMNS,       /* dense, a column's numbers side by side: read in place, by columns */
    ROWS_PACKED,        /* dense, any strides, or narrow: a block is first copied, by columns */
    ROWS_SPARSE,        /* compressed sparse rows */
    ROWS_MONOMIALS      /* dense, columns made from features as a block is opened: monomials.h */
} rows_kind;

typedef struct {
    rows_kind kind;
    ptrdiff_t n_samples, n_columns;
    int is_float;                           /* values are float, else double */
    const char *values;
    /* dense */
    ptrdiff_t row_stride, column_stride;    /* in bytes, may be negative or unaligned */
    const double *centre;                   /* subtracted from each row as it is read, or NULL */
    /* sparse: unsorted and repeated columns allowed; all within [0, n_columns) */
    const void *columns, *starts;
    int wide_columns, wide_starts;          /* 64-bit, else 32-bit */
    ptrdiff_t n_entries;
    /* monomials */
    const struct monomials *monomials;
} rows;

/* The most rows a block may have, whatever the view: sizes per-sample work arrays. */
enum { BLOCK_LIMIT = 1024 };

/* A block may be made of so many runs of rows that lie far apart, where rows are read in place. From
 * several places at once memory sends more than from one. In arrays of `count` numbers for the
 * block's samples the runs follow each other. */
enum { BLOCK_RUNS = 4 };

typedef struct {
    const rows *rows;
    rows_kind kind;                         /* how the block is read, after packing */
    int is_float;
    ptrdiff_t start, count;
    ptrdiff_t run, spread;                  /* rows of a run, and from run to run; one run: 0 */
    const char *values;                     /* dense: first number of the first row */
    ptrdiff_t stride;                       /* dense: numbers from a row (column) to the next */
    const double *centre;                   /* still to be subtracted, or NULL */
} block;

/* Fill in the kind of a dense view, once its other fields are set. */
void rows_choose_kind(rows *view);

/* Rows a block should have so that it stays in cache; at most BLOCK_LIMIT. */
ptrdiff_t block_rows(const rows *view);

/* Doubles of scratch memory that block_open needs for blocks of up to `count` rows. */
size_t block_scratch(const rows *view, ptrdiff_t count);

void block_open(block *b, const rows *view, ptrdiff_t start, ptrdiff_t count, double *scratch);

/* Rows between the runs of blocks that together cover `count` rows, or 0 where blocks of one run
 * are better; and a block of such runs, the first from `start` on. */
ptrdiff_t rows_spread(const rows *view, ptrdiff_t count);
void block_open_spread(block *b, const rows *view, ptrdiff_t start, ptrdiff_t run,
                       ptrdiff_t spread);

/* out_i = z_i . coef[:n] + coef[n] for the rows of the block. */
void block_dot(const block *b, const double *coef, double *out);

/* gradient += [Z 1]^T pointwise_gradient. */
void block_add(const block *b, const double *pointwise_gradient, double *gradient);

/* Both at once for two blocks, so that the memory of one is on its way during the arithmetic of the
 * other. Only for rows read in place: elsewhere, opening a block closes the one before it. */
void block_add_dot(const block *done, const double *pointwise_gradient, double *gradient,
                   const block *next, const double *coef, double *out);

/* drift_j += sum_i share_i (z_ij - mean_j) and squares_j of its squares, dense blocks only. */
void block_add_squares(const block *b, const double *share, const double *mean, double *squares,
                       double *drift);

/* Some rows of a block and some of its columns, of which the last, n_columns of the view, is the
 * constant's; and what they are multiplied with, one number each, or NULL. */
typedef struct {
    ptrdiff_t row, n_rows, column, n_columns;
    const double *row_scale, *column_scale;
} submatrix;

/* out[i * ld + j] = row_scale_i column_scale_j z_ij for a part of a dense block. */
void block_copy(const block *b, const submatrix *p, double *out, ptrdiff_t ld);

/* Open a block that is only copied: dense rows that are stored are copied from where they lie. */
void block_open_copy(block *b, const rows *view, ptrdiff_t start, ptrdiff_t count,
                     double *scratch);

/* Doubles of scratch memory that block_open_copy needs for blocks of up to `count` rows. */
size_t block_copy_scratch(const rows *view, ptrdiff_t count);

/* First entry of a sparse row; of n_samples, the number of entries. */
static inline ptrdiff_t row_start(const rows *view, ptrdiff_t row)
{
    return view->wide_starts ? (ptrdiff_t)((const int64_t *)view->starts)[row]
                             : (ptrdiff_t)((const int32_t *)view->starts)[row];
}

/* Column and value of one entry of sparse rows. */
static inline ptrdiff_t entry_column(const rows *view, ptrdiff_t entry)
{
    return view->wide_columns ? (ptrdiff_t)((const int64_t *)view->columns)[entry]
                              : (ptrdiff_t)((const int32_t *)view->columns)[entry];
}

static inline double entry_value(const rows *view, ptrdiff_t entry)
{
    return view->is_float ? (double)((const float *)view->values)[entry]
                          : ((const double *)view->values)[entry];
}

#endif
