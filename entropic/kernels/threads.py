"""How many threads a sweep takes, and the library for linear algebra beside it."""

from __future__ import annotations

import os
import threading
from contextlib import ContextDecorator
from functools import cache

import joblib
from threadpoolctl import LibController, ThreadpoolController, register

from entropic._version import __version__

# The most threads of a sweep.
MOST_THREADS = 128
# Numbers read below which a second thread costs more than it saves. Measured on two cores: a helper
# is at work 0.05 to 0.1 ms after it is called, in which one thread reads some 150,000 numbers, and
# two threads break even at about 200,000 (0.12 ms); at 400,000 they take 0.7 of the time.
SMALL_WORK = 1 << 18


def effective_threads(n_jobs=None, work=None):
    """Threads for ``n_jobs``, never more than the surroundings allow.

    The limit is what this process may use: its CPUs (affinity and container quota included), and
    less where OMP_NUM_THREADS, a threadpoolctl limit or an outer joblib pool say so. Results do
    not depend on the number: a sweep gives the same bits for every count.

    Parameters
    ----------
    n_jobs : int or None
        None for all that is allowed; -1 likewise, -2 for one less, and so on.
    work : int or None
        Numbers that one sweep reads; small work gets one thread.

    Returns
    -------
    int, at least 1
    """
    if not one_library_thread.wanted or (work is not None and work < SMALL_WORK):
        return 1  # NumPy's sweeps have the library's threads

    limit = min(joblib.cpu_count(), _of_environment(), SweepThreads.limit)
    if n_jobs is None:
        return limit
    if n_jobs < 0:
        return max(1, limit + 1 + int(n_jobs))
    return max(1, min(int(n_jobs), limit))


def _of_environment():
    """Threads that OMP_NUM_THREADS allows: its first number, as for OpenMP."""
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(first) if first.isdecimal() and int(first) > 0 else MOST_THREADS


class SweepThreads(LibController):
    """The sweeps' threads as threadpoolctl sees them: limits for OpenMP's hold for them too."""

    user_api = "openmp"
    internal_api = "entropic"
    filename_prefixes = ("_compiled",)
    check_symbols = ("entropic_threads",)
    limit = MOST_THREADS

    def get_num_threads(self):
        return min(joblib.cpu_count(), _of_environment(), self.limit)

    def set_num_threads(self, num_threads):
        SweepThreads.limit = num_threads

    def get_version(self):
        return __version__


register(SweepThreads)


class LibraryThreads(ContextDecorator):
    """One thread for the library for linear algebra, while any fit goes on.

    Sweeps share their rows out themselves and call the library from each of their threads. Its own
    threads would go on asking for work for a while after each call, on the very cores that the
    next sweep needs, and its last digits depend on how many they are.

    The number is the process's: the first fit to begin sets it, and the last to end, in whatever
    thread, sets it back. Only an OpenBLAS on OpenMP has a number for each thread that calls it.
    NumPy's sweeps are the library's own work: there it keeps its threads.
    """

    def __init__(self, wanted=True):
        self.wanted = wanted  # not on NumPy's sweeps: backend.py says so
        self.lock, self.here = threading.Lock(), threading.local()
        self.fits, self.before = 0, []

    def __enter__(self):
        if not self.wanted:
            return
        depth = getattr(self.here, "depth", 0)
        self.here.depth = depth + 1
        if depth == 0:
            with self.lock:
                self.here.before = _limit(_libraries()[True])
                if self.fits == 0:
                    self.before = _limit(_libraries()[False])
                self.fits += 1

    def __exit__(self, *error):
        if not self.wanted:
            return
        self.here.depth -= 1
        if self.here.depth == 0:
            with self.lock:
                self.fits -= 1
                _restore(self.here.before)
                if self.fits == 0:
                    _restore(self.before)


def _limit(libraries):
    """Set each to one thread; returns what to restore."""
    before = [(library, library.num_threads) for library in libraries]
    _restore([(library, 1) for library in libraries])
    return before


def _restore(numbers):
    for library, number in numbers:
        # Since 3.8 threadpoolctl silently ignores all threads but the first that ever set a number.
        release = getattr(library, "clear_controlling_thread", lambda force: None)
        release(force=True)
        library.set_num_threads(number)
        release(force=True)


@cache
def _libraries():
    """Libraries whose number of threads is the calling thread's own (True), or the process's."""
    found = {True: [], False: []}
    for library in ThreadpoolController().select(user_api="blas").lib_controllers:
        layer = getattr(library, "threading_layer", None)
        found[library.internal_api == "openblas" and layer == "openmp"].append(library)
    return found


one_library_thread = LibraryThreads()
