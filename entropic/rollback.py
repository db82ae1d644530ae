"""A step that fails leaves its object as it was."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np


@contextmanager
def all_or_nothing(estimator):
    """Give an object its former attributes back where what follows raises, Ctrl-C included.

    Attributes are set anew by a fit, never changed in place, so that remembering which they were
    is enough. Whatever the caller has asked for, underflow is no error in it: what is so small
    is 0.
    """
    before = dict(vars(estimator))
    try:
        with np.errstate(under="ignore"):
            yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
