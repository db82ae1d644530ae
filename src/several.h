/* The curvatures of several problems on the same rows, summed over blocks by one thread. */
#ifndef ENTROPIC_SEVERAL_H
#define ENTROPIC_SEVERAL_H

#include "curvature.h"
#include "level.h"
#include "rows.h"

typedef struct {
    const rows *view;
    ptrdiff_t n_matrices;
    double *sums, *weights, *copy;
    curvature_sum sum;
    ptrdiff_t summed;               /* the matrix of that sum, or -1 */
} curvatures;

/* Numbers of the sums, which start at zero, and of scratch memory. */
size_t curvatures_size(const rows *view, ptrdiff_t n_matrices);
size_t curvatures_scratch(const rows *view, ptrdiff_t n_matrices);

void curvatures_begin(curvatures *c, const rows *view, ptrdiff_t n_matrices, double *sums,
                      double *scratch);

/* Where the Hessian weights of a block belong before it is added to a matrix. Of every block, all
 * matrices are added in their order. */
double *curvatures_weights(const curvatures *c, ptrdiff_t matrix);
void curvatures_add(curvatures *c, const block *b, ptrdiff_t matrix);
void curvatures_end(curvatures *c);

/* One of the matrices, whole, from the sums. */
void curvatures_unpack(const rows *view, ptrdiff_t n_matrices, const double *sums,
                       ptrdiff_t matrix, double *out);

#endif
