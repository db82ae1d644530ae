"""One thread for the library for linear algebra, while sweeps share their rows out themselves."""

from __future__ import annotations

import os
import threading
from contextlib import ContextDecorator
from functools import cache

from threadpoolctl import ThreadpoolController


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
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget_other_threads)

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

    def _forget_other_threads(self):
        """In the child of a fork, where their fits do not go on and nobody releases the lock."""
        self.lock, others = threading.Lock(), self.fits
        self.fits = int(getattr(self.here, "depth", 0) > 0)
        if others and not self.fits:
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
