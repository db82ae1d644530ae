"""How many threads a sweep takes, and the library for linear algebra beside it."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import cache

import joblib
from threadpoolctl import ThreadpoolController

from .backend import name

# Numbers read below which starting threads costs more than it saves.
SMALL_WORK = 1 << 17
# Size of a matrix from which several threads of the library earn the time that their start and
# their waiting for each other cost. From 700 on they are faster on a machine at leisure, but where
# another process has one of the cores, a factor of 1,000 took a second in place of 12 ms.
LARGE_MATRIX = 1024


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
    if name == "numpy" or (work is not None and work < SMALL_WORK):
        return 1

    from . import _compiled

    limit = min(_compiled.max_threads(), joblib.cpu_count())
    if n_jobs is None:
        return limit
    if n_jobs < 0:
        return max(1, limit + 1 + int(n_jobs))
    return max(1, min(int(n_jobs), limit))


class LibraryThreads:
    """How many threads the library for linear algebra runs on, while a fit goes on.

    Its threads go on asking for work for a while after each call, on the very cores that the next
    sweep's threads need: the product of a small matrix with a vector can double the time of a
    sweep. So beside compiled sweeps the library has one thread, except for large matrices.

    The number is the process's. Contexts that overlap in several threads must not save each
    other's: the first to enter sets it, and the last to leave sets it back.
    """

    def __init__(self):
        self.lock, self.limit = threading.Lock(), None
        self.fits = self.large = 0

    @contextmanager
    def beside_sweeps(self):
        """One thread; as many as it had where NumPy's sweeps are the library's own work."""
        fits = 0 if name == "numpy" else 1
        self._enter(fits, 0)
        try:
            yield
        finally:
            self._enter(-fits, 0)

    @contextmanager
    def for_size(self, size):
        """As many threads as suit a size × size matrix: all it had, or one."""
        fits, large = (0, 1) if size >= LARGE_MATRIX else (1, 0)
        self._enter(fits, large)
        try:
            yield
        finally:
            self._enter(-fits, -large)

    def _enter(self, fits, large):
        with self.lock:
            self.fits += fits
            self.large += large
            limited = self.fits > 0 and self.large == 0
            if limited and self.limit is None:
                self.limit = _controller().limit(limits=1, user_api="blas")
            elif self.limit is not None and not limited:
                self.limit.restore_original_limits()
                self.limit = None


@cache
def _controller():
    return ThreadpoolController()


library = LibraryThreads()
