"""Properties that are computed once, and not under a lock."""

from __future__ import annotations

import functools
from contextlib import nullcontext
from typing import TypeVar

T = TypeVar("T")


class cached_property(functools.cached_property[T]):
    """functools.cached_property, without the lock that it has before Python 3.12.

    That lock is one for all instances, held while the property is computed: problems side by side
    would wait for each other, and the child of a fork for a thread that it does not have.
    """

    def __init__(self, function):
        super().__init__(function)
        self.lock = nullcontext()
