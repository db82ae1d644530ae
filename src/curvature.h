/* Second-order sweeps: sums of outer products of rows. What each computes is said in
 * kernels/numpy_sweeps.py. All return 0, or -1 when there is no memory for their work arrays. */
#ifndef ENTROPIC_CURVATURE_H
#define ENTROPIC_CURVATURE_H

#include "level.h"
#include "rows.h"

/* Whether each chunk of rows can afford a matrix of its own, so that one read gives value,
 * gradient and curvature; else the curvature takes a read for itself. */
int curvature_fits(const rows *view);

/* [Z 1]^T diag(hessian_weights) [Z 1] summed over blocks of rows by one thread, into a matrix that
 * starts at zero. Only curvature_fold makes the matrix symmetric, so that sums of several may be added
 * before. Of dense rows, those of some weight are collected in a copy, times its root, until they
 * are enough for a product. */
typedef struct {
    const rows *view;
    double *matrix, *copy;
    ptrdiff_t first, stop;              /* columns of the matrix: from the diagonal down */
    ptrdiff_t ld, filled;
} curvature_sum;

/* The most rows a block may have. */
enum { CURVATURE_ROWS = 256 };

size_t curvature_scratch(const rows *view);
void curvature_begin(curvature_sum *sum, const rows *view, double *matrix, double *scratch);
void curvature_add(curvature_sum *sum, const block *b, const double *hessian_weights);
void curvature_end(curvature_sum *sum);
void curvature_fold(const rows *view, double *matrix);

/* The curvature of rows that don't fit, in a read for itself. */
int curvature_alone(const rows *view, const double *hessian_weights, int n_threads, double *out);

int sweep_gram(const rows *view, const double *scale, int n_threads, double *out);

/* A form of each row: |[z 1] factor|^2. */
typedef struct {
    const double *factor;               /* n_columns + 1 rows of `width` numbers */
    ptrdiff_t width;
    const double *weights;              /* rows of weight 0 get 0; NULL: all have some */
    double *out;
} quadratic_form;

int sweep_quadratic_forms(const rows *view, const quadratic_form *each, ptrdiff_t n_forms,
                          int n_threads);

/* The same for a symmetric matrix in place of factor factor^T, of sparse rows: n_i^2/2 a row. */
void sweep_pairs(const rows *view, const quadratic_form *form, int n_threads);

/* Of dense rows z with phi = (z - mean)/scale, and image = [phi 1] factor, of width >= n + 3. */
typedef struct {
    const double *mean;                 /* NULL: zeros */
    const double *scale, *factor, *squares;
    double slope;
    ptrdiff_t width;
} cubic_form;

/* The cubic form of each row. */
int sweep_cubic_forms(const rows *view, const cubic_form *form, int n_threads, double *out);

#endif
