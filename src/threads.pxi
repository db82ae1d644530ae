# Binding of the threads, and of signals that end what they do, part of _compiled.pyx.

cdef extern from "threads.h" nogil:
    enum:
        MOST_THREADS
    void each_task(ptrdiff_t n_tasks, int n_threads,
                   void (*body)(void *work, ptrdiff_t task, int worker) noexcept nogil,
                   void *work)
    int chunks_stopped(int forget)
    void chunks_ask(int (*callback)() noexcept nogil)
    void threads_forget()

# What stopped the sweep of the main thread, the only one that signals come to.
cdef object stopped_by = None


cdef int signal_came() noexcept with gil:
    """Whether a signal such as Ctrl-C came in."""
    global stopped_by
    try:
        PyErr_CheckSignals()
    except BaseException as error:
        stopped_by = error
        return 1
    return 0


chunks_ask(signal_came)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: threads_forget())


cdef int usable(n_threads) except -1:
    return max(1, min(int(n_threads), MOST_THREADS))


cdef class Calls:
    """Calls of a Python function that threads share out."""

    cdef object function, error
    cdef list arguments, results


cdef void call(void *work, ptrdiff_t task, int worker) noexcept with gil:
    cdef Calls calls = <Calls>work
    try:
        if calls.error is None:
            calls.results[task] = calls.function(*calls.arguments[task])
    except BaseException as error:
        calls.error = error


def each_call(function, list arguments, n_threads):
    """``[function(*each) for each in arguments]``; the first error ends it and is raised."""
    cdef Calls calls = Calls()
    cdef ptrdiff_t count = len(arguments)
    cdef int threads = usable(n_threads)
    calls.function, calls.arguments, calls.results = function, arguments, [None] * count
    with nogil:
        each_task(count, threads, call, <void *>calls)
    check(0)
    if calls.error is not None:
        raise calls.error
    return calls.results


cdef int check(int status) except -1:
    """Raise what a sweep could not: that a signal ended it, or that memory was short."""
    global stopped_by
    if chunks_stopped(1):
        error, stopped_by = stopped_by, None
        raise error
    if status != 0:
        raise MemoryError("no memory for the work arrays of a sweep")
    return 0
