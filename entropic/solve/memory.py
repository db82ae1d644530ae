"""How much memory this process may use."""

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


def readable(n_bytes):
    """ "1.4 GB" and the like, for messages."""
    value, unit = float(n_bytes), "bytes"
    for larger in ("kB", "MB", "GB", "TB", "PB", "EB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.3g} {unit}"
