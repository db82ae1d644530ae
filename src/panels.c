/* A matrix of products of many vectors, panel by panel. */
#include "panels.h"

#include <stdlib.h>
#include <string.h>

enum { SQUARE = 16 }; /* rows and columns that are transposed at once */

void mirror_lower(double *matrix, ptrdiff_t n)
{
    for (ptrdiff_t top = 0; top < n; top += SQUARE)
        for (ptrdiff_t left = 0; left <= top; left += SQUARE)
            for (ptrdiff_t j = left; j < left + SQUARE && j < n; j++)
                for (ptrdiff_t i = top > j ? top : j + 1; i < top + SQUARE && i < n; i++)
                    matrix[j * n + i] = matrix[i * n + j];
}

static void tiles_task(void *work, ptrdiff_t task, int worker)
{
    panels *p = work;
    (void)worker;
    symmetric_tiles(p->strips, p->used, PANEL_DEPTH, p->n, task, p->out, p->n);
}

int panels_multiply(panels *p, ptrdiff_t (*packed_rows)(const panels *p), chunk_body pack,
                    int n_threads)
{
    p->scratch_size = block_scratch(p->view, PACK_ROWS);
    p->scratch = malloc(((size_t)n_threads * p->scratch_size + 1) * sizeof(double));
    p->strips = calloc(panel_size(p->n, PANEL_DEPTH) + 1, sizeof(double));
    int status = p->scratch && p->strips ? 0 : -1;
    if (status == 0) {
        memset(p->out, 0, (size_t)p->n * (size_t)p->n * sizeof(double));
        for (p->first = 0; p->first < p->length; p->first += PANEL_DEPTH) {
            ptrdiff_t rest = p->length - p->first;
            p->used = rest < PANEL_DEPTH ? rest : PANEL_DEPTH;
            each_chunk((packed_rows(p) + PACK_ROWS - 1) / PACK_ROWS, n_threads, pack, p);
            each_chunk(symmetric_tasks(p->n), n_threads, tiles_task, p);
        }
        mirror_lower(p->out, p->n);
    }
    free(p->scratch);
    free(p->strips);
    return status;
}
