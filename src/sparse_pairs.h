/* Products of the pairs of entries of sparse rows, for one type of value and one of index.
 *
 * Include with T (value), INDEX (column) and NAME (a suffix for functions) defined. Every pair of a
 * row's entries is added once, wherever it falls, and half of each square. Adding the transpose
 * (curvature_fold) then completes both, for any order and repetition of columns.
 */

static void NAME(add_pairs)(const pairs *p)
{
    const rows *view = p->view;
    const T *restrict values = (const T *)view->values;
    const INDEX *restrict columns = (const INDEX *)view->columns;
    const double *restrict hessian_weights = p->hessian_weights;
    ptrdiff_t n = view->n_columns + 1, low = p->low, high = p->high;
    for (ptrdiff_t i = 0; i < p->count; i++) {
        ptrdiff_t begin = row_start(view, p->first + i), end = row_start(view, p->first + i + 1);
        double weight = hessian_weights[i];
        if (weight == 0) continue;
        for (ptrdiff_t k = begin; k < end; k++) {
            ptrdiff_t column = columns[k];
            if (column < low || column >= high) continue;
            double part = weight * values[k];
            double *restrict into = p->matrix + column * n;
            for (ptrdiff_t l = begin; l < k; l++) into[columns[l]] += part * values[l];
            into[column] += 0.5 * part * values[k];
            into[n - 1] += part;
        }
        if (low < high && high == n) p->matrix[n * n - 1] += 0.5 * weight;
    }
}
