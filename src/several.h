/* The curvatures of several problems on the same rows: together, summed over blocks by one thread,
 * or each for itself. */
#ifndef ENTROPIC_SEVERAL_H
#define ENTROPIC_SEVERAL_H

#include "curvature.h"
#include "level.h"
#include "rows.h"
#include "sweep.h"

typedef struct {
    const rows *view;
    ptrdiff_t n_matrices;
    double *sums, *weights, *copy;
    curvature_sum sum;                      /* of a matrix alone */
} curvatures;

/* Whether so many matrices come of one read: of several, only where they share the products of
 * columns. */
int curvatures_together(const rows *view, ptrdiff_t n_matrices);

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

/* The curvature of each problem, from hessian_weights, by tasks of its own. Returns 0, or -1 where
 * memory is short. */
int curvatures_apart(const rows *view, const problem *problems, ptrdiff_t n_problems,
                     int n_threads);

#endif
