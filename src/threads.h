/* Chunks of work on several threads, with results that do not depend on how many. */
#ifndef ENTROPIC_THREADS_H
#define ENTROPIC_THREADS_H

#include <stddef.h>

/* Called once a chunk; `worker` is below the number of threads and picks scratch memory. */
typedef void (*chunk_body)(void *work, ptrdiff_t chunk, int worker);

/* Run all chunks. One thread never enters OpenMP, so that a forked child cannot hang in it. */
void each_chunk(ptrdiff_t n_chunks, int n_threads, chunk_body body, void *work);

#endif
