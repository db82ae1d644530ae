"""How many threads a sweep takes, within whose limits; and Python's work on the same threads."""

from __future__ import annotations

import os

import joblib
from threadpoolctl import LibController, register

from entropic._version import __version__

from .backend import name

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
    if name == "numpy" or (work is not None and work < SMALL_WORK):
        return 1

    limit = min(joblib.cpu_count(), _of_environment(), SweepThreads.limit)
    if n_jobs is None:
        return limit
    if n_jobs < 0:
        return max(1, limit + 1 + int(n_jobs))
    return max(1, min(int(n_jobs), limit))


def in_threads(n_threads, function, *arguments):
    """``list(map(function, *arguments))`` on so many threads, the caller's among them.

    What is set for one thread, as ``np.errstate``, the function sets itself. Results must not
    depend on the order of the calls.
    """
    if name == "numpy" or n_threads == 1 or len(arguments[0]) == 1:
        return list(map(function, *arguments))
    from ._compiled import each_call

    return each_call(function, list(zip(*arguments, strict=True)), n_threads)


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
