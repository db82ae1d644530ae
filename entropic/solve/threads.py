"""How many threads a sweep takes."""

from __future__ import annotations

import joblib

from .backend import name

# Numbers read below which starting threads costs more than it saves.
SMALL_WORK = 1 << 16


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
    from entropic import _sweeps

    limit = min(_sweeps.max_threads(), joblib.cpu_count())
    if n_jobs is None:
        return limit
    if n_jobs < 0:
        return max(1, limit + 1 + int(n_jobs))
    return max(1, min(int(n_jobs), limit))
