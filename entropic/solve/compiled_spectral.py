"""The spectral iteration, compiled where a kernel knows the rows and NumPy's where none does."""

from __future__ import annotations

import functools

from entropic import _sweeps

from . import numpy_spectral
from .compiled_sweeps import VIEWS


@functools.wraps(numpy_spectral.iterate)
def iterate(design, *arguments, **options):
    view = VIEWS.get(type(design.rows))
    if view is None:
        return numpy_spectral.iterate(design, *arguments, **options)
    return _sweeps.iterate(view(design.rows), design, *arguments, **options)
