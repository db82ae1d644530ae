/* Chunks of work on several threads, with results that do not depend on how many.
 *
 * The chunks of a job are taken in their order by whoever is awake: the calling thread, and helpers
 * that sleep between jobs. The caller waits only for chunks that a helper has taken, never for a
 * helper that has taken none: on a busy machine that would be a whole time slice. Bodies keep what
 * they sum apart by chunks, not by threads, and it is added up in the order of the chunks.
 */
#ifndef ENTROPIC_THREADS_H
#define ENTROPIC_THREADS_H

#include <stddef.h>

/* The most threads of a job. */
enum { MOST_THREADS = 128 };

/* Called once a chunk; `worker` is below the number of threads and picks scratch memory. */
typedef void (*chunk_body)(void *work, ptrdiff_t chunk, int worker);

/* Run all chunks, on at most n_threads threads.
 *
 * Now and then the calling thread asks whether to stop, while no helper is at work for it. If so,
 * the chunks that remain are left out, and so are those of every later call by the same thread
 * until it has asked chunks_stopped: what they would have computed is for nobody. */
void each_chunk(ptrdiff_t n_chunks, int n_threads, chunk_body body, void *work);

/* The same for tasks that differ in length or wait for the interpreter. */
void each_task(ptrdiff_t n_tasks, int n_threads, chunk_body body, void *work);

/* Whether chunks were left out by this thread; forget it, if so asked. */
int chunks_stopped(int forget);

/* What each_chunk calls to ask; nonzero means stop. Nothing at first. */
void chunks_ask(int (*callback)(void));

/* In the child of a fork, which has none of its parent's helpers: start anew. */
void threads_forget(void);

#endif
