/* Rows of monomials: blocks whose columns are made in cache from the features, never stored.
 *
 * The columns are listed by degree, and the monomials of degree d with first feature j are x_j
 * times a suffix of those of degree d - 1 (rows/listing.py). A block holds, for each
 * of its rows, the monomials below the highest degree; what concerns the highest one, nearly all
 * columns, is then a matrix product with the features (docs/mathematics.md, section 6):
 *
 *     f_i    = sum_j x_ij (sum_k q_ik c_jk)          one multiply-add a coefficient
 *     g_jk  += sum_i (pointwise_gradient_i x_ij) q_ik
 *
 * over k in the suffix of j, q the monomials of the degree before.
 */
#ifndef ENTROPIC_MONOMIALS_H
#define ENTROPIC_MONOMIALS_H

#include "level.h"
#include "rows.h"

struct monomials {
    const rows *features;       /* dense */
    const double *inverse_scale;  /* multiplied onto the (centred) features, or NULL */
    const int64_t *starts;      /* [degree][n_features + 1]: where each first feature begins */
    const int64_t *offsets;     /* [degree + 1]: column at which each degree begins */
    ptrdiff_t degree;           /* at least 2 */
    ptrdiff_t shift;            /* 1 to leave out powers, else 0 */
};

/* The same as the functions of rows.h without the prefix, for views of kind ROWS_MONOMIALS. */
ptrdiff_t monomial_block_rows(const rows *view);
size_t monomial_block_scratch(const rows *view, ptrdiff_t count);
void monomial_block_open(block *b, const rows *view, ptrdiff_t start, ptrdiff_t count,
                         double *scratch);
void monomial_block_dot(const block *b, const double *coef, double *out);
void monomial_block_add(const block *b, const double *pointwise_gradient, double *gradient);
void monomial_block_add_squares(const block *b, const double *share, const double *mean,
                                double *squares, double *drift);
void monomial_block_copy(const block *b, const submatrix *p, double *out, ptrdiff_t ld);

#endif
