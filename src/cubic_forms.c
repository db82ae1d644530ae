/* Cubic forms of standardised dense rows: what scaling the columns anew does to each row's score
 * (kernels/numpy_sweeps.py, cubic_forms). */
#include "curvature.h"

#include <stdlib.h>
#include <string.h>

#include "blas.h"
#include "threads.h"

enum { FORM_ROWS = 256 }; /* that are multiplied with the factor together */

typedef struct {
    const rows *view;
    const cubic_form *form;
    double *out, *scratch, *inverse_scale;
    size_t scratch_size;
    ptrdiff_t block_rows;
} forms;

static double row_form(const cubic_form *f, ptrdiff_t n, const double *restrict phi,
                       const double *restrict image)
{
    const double *restrict squares = f->squares, *restrict through = image + n + 3;
    double sum = image[n] * image[n + 1] - image[n + 2], slope = f->slope;
#pragma omp simd reduction(+ : sum)
    for (ptrdiff_t j = 0; j < n; j++) sum += phi[j] * image[j] * (squares[j] * phi[j] + slope);
    for (ptrdiff_t j = 0; j < f->width - n - 3; j++) sum += phi[j] * through[j];
    return sum;
}

static void forms_chunk(void *work, ptrdiff_t chunk, int worker)
{
    const forms *s = work;
    const cubic_form *f = s->form;
    ptrdiff_t n = s->view->n_columns, ld = n + 1, row = chunk * FORM_ROWS, count;
    ptrdiff_t total = s->view->n_samples - row < FORM_ROWS ? s->view->n_samples - row : FORM_ROWS;
    double *phi = s->scratch + (size_t)worker * s->scratch_size, *image = phi + FORM_ROWS * ld;
    for (ptrdiff_t at = 0; at < total; at += count) {
        block b;
        count = total - at < s->block_rows ? total - at : s->block_rows;
        submatrix p = {0, count, 0, ld, NULL, NULL};
        block_open_copy(&b, s->view, row + at, count, image + FORM_ROWS * f->width);
        block_copy(&b, &p, phi + at * ld, ld);
    }
    for (ptrdiff_t i = 0; i < total; i++) {
        double *restrict own = phi + i * ld;
        for (ptrdiff_t j = 0; j < n; j++)
            own[j] = (own[j] - (f->mean ? f->mean[j] : 0)) * s->inverse_scale[j];
    }
    memset(image, 0, (size_t)(total * f->width) * sizeof(double));
    blas_product(phi, ld, 0, f->factor, f->width, 0, total, f->width, ld, image, f->width);
    for (ptrdiff_t i = 0; i < total; i++)
        s->out[row + i] = row_form(f, n, phi + i * ld, image + i * f->width);
}

int sweep_cubic_forms(const rows *view, const cubic_form *form, int n_threads, double *out)
{
    ptrdiff_t n = view->n_columns, block_size = block_rows(view);
    forms s = {.view = view, .form = form, .out = out};
    s.block_rows = block_size < FORM_ROWS ? block_size : FORM_ROWS;
    s.scratch_size = (size_t)(FORM_ROWS * (n + 1 + form->width))
                   + block_copy_scratch(view, s.block_rows);
    s.scratch = malloc(((size_t)n_threads * s.scratch_size + 1) * sizeof(double));
    s.inverse_scale = malloc((size_t)(n + 1) * sizeof(double));
    int status = s.scratch && s.inverse_scale ? 0 : -1;
    if (status == 0) {
        for (ptrdiff_t j = 0; j < n; j++) s.inverse_scale[j] = 1 / form->scale[j];
        each_chunk((view->n_samples + FORM_ROWS - 1) / FORM_ROWS, n_threads, forms_chunk, &s);
    }
    free(s.scratch);
    free(s.inverse_scale);
    return status;
}
