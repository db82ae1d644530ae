/* Chunks of work on several threads, with results that do not depend on how many. */
#ifndef ENTROPIC_THREADS_H
#define ENTROPIC_THREADS_H

#include <stddef.h>

/* Called once a chunk; `worker` is below the number of threads and picks scratch memory. */
typedef void (*chunk_body)(void *work, ptrdiff_t chunk, int worker);

/* Run all chunks. One thread never enters OpenMP, so that a forked child cannot hang in it.
 *
 * Now and then the calling thread listens whether to stop, while no other thread is at work. Then
 * the chunks that remain are left out, and so are those of every later call by the same thread
 * until it has asked chunks_stopped: what they would have computed is for nobody. */
void each_chunk(ptrdiff_t n_chunks, int n_threads, chunk_body body, void *work);

/* Whether chunks were left out by this thread; forget it, if so asked. */
int chunks_stopped(int forget);

/* Whether OpenMP was compiled in, and the threads that it would use by itself; 1 without it. */
int has_openmp(void);
int max_threads(void);

/* Whom each_chunk asks; nonzero means stop. Nobody at first. */
void chunks_listen(int (*listener)(void));

#endif
