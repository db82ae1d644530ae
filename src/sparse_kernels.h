/* The loops over sparse rows, for one type of value and one of index.
 *
 * Include with T (value), INDEX (column) and NAME (a suffix for functions) defined. Repeated
 * columns simply add up, and the order of the entries does not matter.
 *
 * Up to three entries that whole fours leave over are taken as three, some of their products as
 * zero: a processor cannot foresee how many there are, and waits longer for a wrong guess.
 */

SCALAR static void NAME(sparse_dot)(const block *b, const double *restrict coef, double *restrict out)
{
    const rows view = *b->rows; /* a copy, which what is written cannot change */
    const T *restrict values = (const T *)view.values;
    const INDEX *restrict columns = (const INDEX *)view.columns;
    const ptrdiff_t start = b->start, count = b->count;
    const double constant = coef[view.n_columns];
    ptrdiff_t k = row_start(&view, start);
    for (ptrdiff_t i = 0; i < count; i++) {
        const ptrdiff_t end = row_start(&view, start + i + 1);
        double s0 = constant, s1 = 0, s2 = 0, s3 = 0; /* four chains: additions need not wait */
        for (; k + 4 <= end; k += 4) {
            s0 += values[k] * coef[columns[k]];
            s1 += values[k + 1] * coef[columns[k + 1]];
            s2 += values[k + 2] * coef[columns[k + 2]];
            s3 += values[k + 3] * coef[columns[k + 3]];
        }
        if (k + 3 <= view.n_entries) {
            s0 += pick(k < end, values[k] * coef[columns[k]], 0);
            s1 += pick(k + 1 < end, values[k + 1] * coef[columns[k + 1]], 0);
            s2 += pick(k + 2 < end, values[k + 2] * coef[columns[k + 2]], 0);
            k = end;
        }
        for (; k < end; k++) s0 += values[k] * coef[columns[k]];
        out[i] = (s0 + s1) + (s2 + s3);
    }
}

SCALAR static void NAME(sparse_add)(const block *b, const double *restrict pointwise_gradient,
                                    double *restrict gradient)
{
    const rows view = *b->rows;
    const T *restrict values = (const T *)view.values;
    const INDEX *restrict columns = (const INDEX *)view.columns;
    const ptrdiff_t start = b->start, count = b->count;
    ptrdiff_t k = row_start(&view, start);
    for (ptrdiff_t i = 0; i < count; i++) {
        const ptrdiff_t end = row_start(&view, start + i + 1);
        const double p = pointwise_gradient[i];
        if (p != 0) {
            for (; k + 4 <= end; k += 4) {
                gradient[columns[k]] += values[k] * p;
                gradient[columns[k + 1]] += values[k + 1] * p;
                gradient[columns[k + 2]] += values[k + 2] * p;
                gradient[columns[k + 3]] += values[k + 3] * p;
            }
            if (k + 3 <= view.n_entries) {
                gradient[columns[k]] += pick(k < end, values[k] * p, 0);
                gradient[columns[k + 1]] += pick(k + 1 < end, values[k + 1] * p, 0);
                gradient[columns[k + 2]] += pick(k + 2 < end, values[k + 2] * p, 0);
                k = end;
            }
            for (; k < end; k++) gradient[columns[k]] += values[k] * p;
        }
        k = end;
    }
}
