/* Cholesky factor and inverse of large symmetric matrices, by blocks that threads share out. The BLAS
 * is on one thread, as for blas.h; the blocks depend on the size alone, and so do the bits. */
#ifndef ENTROPIC_CHOLESKY_H
#define ENTROPIC_CHOLESKY_H

#include <stddef.h>

/* The lower triangle of a row-major matrix, its diagonal included, is replaced by L with
 * L L^T = matrix; what lies above is left as it is. Returns 0, or where the matrix is not positive
 * definite another number. */
int cholesky_factor(double *matrix, ptrdiff_t n, int n_threads);

/* From L the upper triangle L^-T; zeros take the place of L. */
void cholesky_invert(double *matrix, ptrdiff_t n, int n_threads);

#endif
