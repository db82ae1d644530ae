/* Chunks of work on several threads, with results that do not depend on how many. */
#include <Python.h>

#include "threads.h"

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>
#ifndef _WIN32
#include <pthread.h>
#include <signal.h>
#endif

enum {
    MOST_JOBS = 16,     /* at a time; the callers of more work alone */
    WOKEN = 2           /* helpers that a thread wakes, which wake others in their turn */
};

static const double ASK_EVERY = 0.1; /* seconds */
static const double PATIENCE =
    50e-6; /* seconds to look for a helper's last chunk before sleeping */
/* Where other processes want the cores, a helper may lose its own in the midst of a chunk, and the
 * caller its own to the helper. After that the caller works alone for a while: as long as it has not
 * run, and twice that for each loss that followed the one before, up to so many times. What help
 * costs on a busy machine is then a small part of the time. */
static const double MOST_CAUTION = 16, MOST_LOST = 0.02; /* and seconds of a loss that count */

/* A job says in one word what of it can be had, so that taking a chunk is one exchange: from the
 * highest bits on, a number that changes with every job, seats for helpers, and chunks that nobody
 * has taken. What else it holds is read only by those who have taken a chunk that is not done, and
 * until all such are done the job does not end. */
typedef struct {
    _Atomic uint64_t offer;
    _Atomic int64_t balance;    /* chunks done by helpers, less those that the caller waits for */
    atomic_int used;
    PyThread_type_lock all_done;
    chunk_body body;
    void *work;
    ptrdiff_t end;              /* one past the last chunk */
    int n_threads;
} job;

static const uint64_t SEAT = (uint64_t)1 << 32, NUMBER = (uint64_t)1 << 40;

static uint64_t number_of(uint64_t offer) { return offer / NUMBER; }
static int seats_left(uint64_t offer) { return (int)(offer % NUMBER / SEAT); }
static uint32_t chunks_left(uint64_t offer) { return (uint32_t)(offer % SEAT); }
static int can_be_joined(uint64_t offer) { return chunks_left(offer) > 0 && seats_left(offer) > 0; }

typedef struct {
    PyThread_type_lock wake;    /* held while there is nothing to do */
    atomic_int asleep;
} helper;

/* By this name threadpoolctl knows the library (kernels/threads.py). */
Py_EXPORTED_SYMBOL int entropic_threads = 1;

static job jobs[MOST_JOBS];
static helper helpers[MOST_THREADS];
static atomic_int n_helpers, starting;

/* -------------------------------------------------------------------------------- the helpers */

static void wake(int count)
{
    for (int k = 0, n = atomic_load(&n_helpers); k < n && count > 0; k++)
        if (atomic_load(&helpers[k].asleep) && atomic_exchange(&helpers[k].asleep, 0)) {
            PyThread_release_lock(helpers[k].wake);
            count--;
        }
}

/* Chunks left when one is taken of a job that is still the same, that one included; else 0. */
static uint32_t take(job *j, uint64_t number)
{
    uint64_t offer = atomic_load(&j->offer);
    do
        if (number_of(offer) != number || chunks_left(offer) == 0) return 0;
    while (!atomic_compare_exchange_weak(&j->offer, &offer, offer - 1));
    return chunks_left(offer);
}

/* Whether there was something to do. */
static int help(job *j)
{
    uint64_t offer = atomic_load(&j->offer);
    do
        if (!can_be_joined(offer)) return 0;
    while (!atomic_compare_exchange_weak(&j->offer, &offer, offer - SEAT - 1));
    int worker = j->n_threads - seats_left(offer);
    if (seats_left(offer) > 1) wake(WOKEN);
    for (uint32_t left = chunks_left(offer); left > 0; left = take(j, number_of(offer))) {
        j->body(j->work, j->end - left, worker);
        /* -1: the caller sleeps, and this was the last */
        if (atomic_fetch_add(&j->balance, 1) == -1) PyThread_release_lock(j->all_done);
    }
    return 1;
}

static void helper_main(void *self)
{
    helper *me = self;
#ifndef _WIN32
    sigset_t all; /* signals are for Python's threads */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
#endif
    for (;;) {
        int found = 0, open = 0;
        for (int k = 0; k < MOST_JOBS; k++) found |= help(&jobs[k]);
        if (found) continue;
        atomic_store(&me->asleep, 1);
        for (int k = 0; k < MOST_JOBS; k++) open |= can_be_joined(atomic_load(&jobs[k].offer));
        /* where somebody has woken this thread in the meantime, the lock is about to be released */
        if (open && atomic_exchange(&me->asleep, 0)) continue;
        PyThread_acquire_lock(me->wake, WAIT_LOCK);
    }
}

/* Have so many helpers, as far as the system gives them. They live as long as the process. */
static void start_helpers(int count)
{
    if (atomic_load(&n_helpers) >= count || atomic_exchange(&starting, 1)) return;
    for (int k = atomic_load(&n_helpers); k < count; k++) {
        helper *h = &helpers[k];
        if (!h->wake) h->wake = PyThread_allocate_lock();
        if (!h->wake) break;
        PyThread_acquire_lock(h->wake, NOWAIT_LOCK);
        /* PYTHREAD_INVALID_THREAD_ID, a name that the stable ABI lacks */
        if (PyThread_start_new_thread(helper_main, h) == (unsigned long)-1) break;
        atomic_store(&n_helpers, k + 1);
    }
    atomic_store(&starting, 0);
}

void threads_forget(void)
{
    for (int k = 0; k < MOST_THREADS; k++) helpers[k] = (helper){0};
    for (int k = 0; k < MOST_JOBS; k++) {
        atomic_store(&jobs[k].offer, 0);
        atomic_store(&jobs[k].balance, 0);
        atomic_store(&jobs[k].used, 0);
        jobs[k].all_done = NULL;
    }
    atomic_store(&n_helpers, 0);
    atomic_store(&starting, 0);
}

/* ------------------------------------------------------------------------ whether to go on */

static int (*callback)(void);
static _Thread_local int stopped;
static _Thread_local double last_asked;

void chunks_ask(int (*of)(void))
{
    callback = of;
}

int chunks_stopped(int forget)
{
    int was = stopped;
    if (forget) stopped = 0;
    return was;
}

static double seconds_now(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds for which the calling thread has had a core. */
static double seconds_worked(void)
{
#ifdef CLOCK_THREAD_CPUTIME_ID
    struct timespec now;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0)
        return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
#endif
    return seconds_now();
}

/* Whether it is time to ask again. */
static int is_time(double now)
{
    double past = now - last_asked;
    if (!callback || (past >= 0 && past < ASK_EVERY)) return 0;
    last_asked = now;
    return 1;
}

/* Whether the calling thread is to stop. */
static int told_to_stop(void)
{
    if (!stopped && is_time(seconds_now())) stopped = callback() != 0;
    return stopped;
}

/* -------------------------------------------------------------------------------- the callers */

/* Seconds of work to be done without helpers, and for how much more the next loss counts. */
static _Thread_local double alone, caution = 1;

/* A job that nobody uses, or NULL. */
static job *job_claim(void)
{
    for (int k = 0; k < MOST_JOBS; k++) {
        job *j = &jobs[k];
        if (atomic_load(&j->used) || atomic_exchange(&j->used, 1)) continue;
        if (!j->all_done) {
            j->all_done = PyThread_allocate_lock();
            if (j->all_done) PyThread_acquire_lock(j->all_done, NOWAIT_LOCK);
        }
        if (j->all_done) return j;
        atomic_store(&j->used, 0);
    }
    return NULL;
}

/* Wait for `count` chunks that helpers have taken. */
static void wait_for(job *j, int64_t count)
{
    double start = seconds_now(), past = 0;
    while (atomic_load(&j->balance) != count && past >= 0 && past < PATIENCE)
        past = seconds_now() - start;
    if (atomic_fetch_sub(&j->balance, count) != count)
        PyThread_acquire_lock(j->all_done, WAIT_LOCK);
}

/* Chunks from `first` on, until all are done or it is time to ask: what the callback does, which
 * may be a sweep or a fork, should find no job begun. Where they are `alike`, to wait for longer
 * than one takes is to have lost a core. Returns where to go on. */
static ptrdiff_t share_out(ptrdiff_t first, ptrdiff_t n_chunks, int n_threads, chunk_body body,
                           void *work, int alike)
{
    job *j = job_claim();
    if (!j) {
        body(work, first, 0);
        return first + 1;
    }
    ptrdiff_t count = n_chunks - first < INT32_MAX ? n_chunks - first : INT32_MAX, own = 0;
    uint64_t closed = (number_of(atomic_load(&j->offer)) + 1) * NUMBER;
    j->body = body, j->work = work, j->end = first + count, j->n_threads = n_threads;
    atomic_store(&j->offer, closed + (uint64_t)count);
    double start = seconds_now(), worked = seconds_worked(), now = start;
    int called = 0, pause = 0;
    for (uint32_t left; !pause && (left = take(j, number_of(closed))) > 0; own++) {
        if (!called && alone <= 0) {
            atomic_fetch_add(&j->offer, (uint64_t)(n_threads - 1) * SEAT);
            start_helpers(n_threads - 1);
            wake(n_threads - 1 < WOKEN ? n_threads - 1 : WOKEN);
            called = 1;
        }
        double begun = now;
        body(work, j->end - left, 0);
        now = seconds_now();
        if (alone > 0) alone -= now - begun;
        pause = is_time(now);
    }
    uint32_t rest = chunks_left(atomic_exchange(&j->offer, closed));
    wait_for(j, count - rest - own);
    /* a chunk's time apart, which the caller must expect to wait for the last one */
    now = seconds_now(), worked = seconds_worked() - worked;
    double lost = now - start - worked - worked / (double)(own > 0 ? own : 1);
    if (alike && called && lost > 0) {
        alone = caution * (lost < MOST_LOST ? lost : MOST_LOST);
        if (caution < MOST_CAUTION) caution *= 2;
    } else if (alike && called && caution > 1) {
        caution /= 2;
    }
    atomic_store(&j->used, 0);
    if (pause) stopped = callback() != 0;
    return first + count - rest;
}

static void each(ptrdiff_t n_chunks, int n_threads, chunk_body body, void *work, int alike)
{
    ptrdiff_t next = 0;
    if (n_threads > MOST_THREADS) n_threads = MOST_THREADS;
    if (n_threads > n_chunks) n_threads = (int)n_chunks;
    while (next < n_chunks && !told_to_stop()) {
        if (n_threads > 1) next = share_out(next, n_chunks, n_threads, body, work, alike);
        else body(work, next++, 0);
    }
}

void each_chunk(ptrdiff_t n_chunks, int n_threads, chunk_body body, void *work)
{
    each(n_chunks, n_threads, body, work, 1);
}

void each_task(ptrdiff_t n_tasks, int n_threads, chunk_body body, void *work)
{
    each(n_tasks, n_threads, body, work, 0);
}
