/* Matrix products and factors by the BLAS and LAPACK that SciPy brings, for row-major arrays. The caller sees to it that
 * the library runs on one thread. */
#ifndef ENTROPIC_BLAS_H
#define ENTROPIC_BLAS_H

#include <stddef.h>

/* The routines, by address: called once, when the module is imported. */
void blas_load(void *dsyrk, void *dgemm, void *dpotrf, void *dpotrs);

/* out[i][j] += sum_k a[k][i] a[k][j] for j <= i < n and k < depth; ld, ld_out numbers a row. What
 * lies above the diagonal is left as it is. */
void blas_squares(const double *a, ptrdiff_t ld, ptrdiff_t depth, ptrdiff_t n, double *out,
                  ptrdiff_t ld_out);

/* The same for the rows of a: sum_k a[i][k] a[j][k]. */
void blas_row_squares(const double *a, ptrdiff_t ld, ptrdiff_t depth, ptrdiff_t n, double *out,
                      ptrdiff_t ld_out);

/* out[i][j] += sum_k a(i, k) b(k, j) for i < n, j < m, k < depth, where a(i, k) is a[i][k], or
 * a[k][i] if turned; likewise b. */
void blas_product(const double *a, ptrdiff_t ld_a, int a_turned, const double *b, ptrdiff_t ld_b,
                  int b_turned, ptrdiff_t n, ptrdiff_t m, ptrdiff_t depth, double *out,
                  ptrdiff_t ld_out);

/* x = matrix^-1 x by LAPACK's Cholesky factor, which takes the place of one triangle of the
 * symmetric matrix. Returns 0, or where it is not positive definite, or empty, another number. */
int blas_cholesky_solve(double *matrix, ptrdiff_t n, double *x);

#endif
