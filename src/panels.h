/* A matrix of products of many vectors, made by all threads together: they pack a panel, a part of
 * every vector, and then share out the tiles of its products. */
#ifndef ENTROPIC_PANELS_H
#define ENTROPIC_PANELS_H

#include "level.h"
#include "rows.h"
#include "threads.h"
#include "tiles.h"

enum {
    PANEL_DEPTH = 256,      /* numbers of each vector in a panel: three strips fill half of L1 */
    PACK_ROWS = 32          /* rows that one task packs */
};

typedef struct {
    const rows *view;
    const double *scale;
    double *out;                /* n × n */
    ptrdiff_t n, length;        /* vectors, and numbers in each */
    ptrdiff_t first, used;      /* the part of them in the panel at work */
    double *strips, *scratch;
    size_t scratch_size;
} panels;

/* Numbers in a panel of so many vectors. */
static inline size_t panel_size(ptrdiff_t vectors, ptrdiff_t depth)
{
    return (size_t)strips_for(vectors) * 4 * (size_t)depth;
}

/* out = sum over panels of their products. `pack` fills the strips from PACK_ROWS of the rows that
 * `packed_rows` counts for the panel at work. Returns -1 where memory is short, else 0. */
int panels_multiply(panels *p, ptrdiff_t (*packed_rows)(const panels *p), chunk_body pack,
                    int n_threads);

/* Copy the lower triangle to the upper one. */
void mirror_lower(double *matrix, ptrdiff_t n);

#endif
