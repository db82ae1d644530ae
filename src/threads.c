/* Chunks of work on several threads, with results that do not depend on how many. */
#include "threads.h"

#include <time.h>

#ifdef _OPENMP
#include <omp.h>
#endif

static const double LISTEN_EVERY = 0.1; /* seconds */

int has_openmp(void)
{
#ifdef _OPENMP
    return 1;
#else
    return 0;
#endif
}

int max_threads(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

static int (*listener)(void);
static _Thread_local int stopped;
static _Thread_local double last_heard;

void chunks_listen(int (*to)(void))
{
    listener = to;
}

int chunks_stopped(int forget)
{
    int was = stopped;
    if (forget) stopped = 0;
    return was;
}

/* Whether it is time to listen again. */
static int is_time(void)
{
    struct timespec now;
    if (!listener) return 0;
    timespec_get(&now, TIME_UTC);
    double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec, past = seconds - last_heard;
    if (past >= 0 && past < LISTEN_EVERY) return 0;
    last_heard = seconds;
    return 1;
}

/* Whether the calling thread is to stop. */
static int told_to_stop(void)
{
    if (!stopped && is_time()) stopped = listener() != 0;
    return stopped;
}

#ifdef _OPENMP
/* Chunks from *next on, until all are done or it is time to listen: what a listener does, which may
 * be a sweep or a fork, should find no other thread at work. */
static void share_out(ptrdiff_t *next, ptrdiff_t n_chunks, int n_threads, chunk_body body,
                      void *work)
{
    int pause = 0;
#pragma omp parallel num_threads(n_threads)
    {
        int worker = omp_get_thread_num();
        for (;;) {
            ptrdiff_t chunk;
            int enough;
#pragma omp atomic read
            enough = pause;
            if (enough) break;
#pragma omp atomic capture
            chunk = (*next)++;
            if (chunk >= n_chunks) break;
            body(work, chunk, worker);
            if (worker == 0 && is_time()) {
#pragma omp atomic write
                pause = 1;
            }
        }
    }
    if (pause) stopped = listener() != 0;
}
#endif

void each_chunk(ptrdiff_t n_chunks, int n_threads, chunk_body body, void *work)
{
    ptrdiff_t next = 0;
#ifdef _OPENMP
    if (n_threads > 1 && n_chunks > 1) {
        if (n_threads > n_chunks) n_threads = (int)n_chunks;
        while (next < n_chunks && !told_to_stop())
            share_out(&next, n_chunks, n_threads, body, work);
        return;
    }
#endif
    (void)n_threads;
    for (; next < n_chunks && !told_to_stop(); next++) body(work, next, 0);
}
