"""How much memory one problem may take, and the refusal of what takes more."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

_CGROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


@cache
def machine_memory():
    """Bytes of the machine's memory, or of the container's where that is less.

    Returns
    -------
    int; 2**63 where the system does not say
    """
    limit = 1 << 63
    with suppress(AttributeError, ValueError, OSError):  # Windows has no sysconf
        limit = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in _CGROUP_LIMITS:
        with suppress(OSError, ValueError):  # no such group, or "max"
            limit = min(limit, int(path.read_text()))
    return limit


def memory_limit():
    """Bytes that one problem may take: four fifths of the machine's memory."""
    return machine_memory() * 4 // 5


def check_memory(n_bytes, what, remedy, limit=None):
    """Refuse an allocation that does not fit, before it is tried.

    Parameters
    ----------
    n_bytes : int
        A Python int, so that no size wraps.
    what, remedy : str
        The start of the sentence, and what to do about it.
    limit : int or None
        Bytes that may be allocated; None is :func:`memory_limit`.

    Raises
    ------
    ValueError
    """
    limit = memory_limit() if limit is None else limit
    if n_bytes > limit:
        raise ValueError(
            f"{what} would take {readable(n_bytes)} of memory, and {readable(limit)} can be had; "
            f"{remedy}."
        )


def readable(n_bytes):
    """ "1.4 GB" and the like, for messages."""
    value, unit = float(n_bytes), "bytes"
    for larger in ("kB", "MB", "GB", "TB", "PB", "EB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.3g} {unit}"
