/* Chunks of work on several threads, with results that do not depend on how many. */
#include "threads.h"

#ifdef _OPENMP
#include <omp.h>
#endif

void each_chunk(ptrdiff_t n_chunks, int n_threads, chunk_body body, void *work)
{
#ifdef _OPENMP
    if (n_threads > 1 && n_chunks > 1) {
        if (n_threads > n_chunks) n_threads = (int)n_chunks;
#pragma omp parallel num_threads(n_threads)
        {
            int worker = omp_get_thread_num();
#pragma omp for schedule(dynamic)
            for (ptrdiff_t chunk = 0; chunk < n_chunks; chunk++) body(work, chunk, worker);
        }
        return;
    }
#endif
    (void)n_threads;
    for (ptrdiff_t chunk = 0; chunk < n_chunks; chunk++) body(work, chunk, 0);
}
