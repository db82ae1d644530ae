/* Chunks of work on several threads, with results that do not depend on how many. */
#include "threads.h"

#include <time.h>

#ifdef _OPENMP
#include <omp.h>
#endif

static const double LISTEN_EVERY = 0.1; /* seconds */

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

/* Whether the calling thread is to stop, asked no more often than LISTEN_EVERY. */
static int listen(void)
{
    struct timespec now;
    if (stopped || !listener) return stopped;
    timespec_get(&now, TIME_UTC);
    double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec, past = seconds - last_heard;
    if (past >= 0 && past < LISTEN_EVERY) return 0;
    last_heard = seconds;
    return stopped = listener() != 0;
}

void each_chunk(ptrdiff_t n_chunks, int n_threads, chunk_body body, void *work)
{
#ifdef _OPENMP
    if (n_threads > 1 && n_chunks > 1 && !listen()) {
        int stop = 0;
        if (n_threads > n_chunks) n_threads = (int)n_chunks;
#pragma omp parallel num_threads(n_threads)
        {
            int worker = omp_get_thread_num();
#pragma omp for schedule(dynamic)
            for (ptrdiff_t chunk = 0; chunk < n_chunks; chunk++) {
                int left_out;
                if (worker == 0 && listen()) {
#pragma omp atomic write
                    stop = 1;
                }
#pragma omp atomic read
                left_out = stop;
                if (!left_out) body(work, chunk, worker);
            }
        }
        return;
    }
#endif
    (void)n_threads;
    for (ptrdiff_t chunk = 0; chunk < n_chunks && !listen(); chunk++) body(work, chunk, 0);
}
