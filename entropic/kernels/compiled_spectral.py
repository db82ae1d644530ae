"""The spectral iteration, compiled where a kernel knows the rows and NumPy's where none does."""

from __future__ import annotations

import functools

from . import _compiled, numpy_spectral
from .compiled_sweeps import view_of


@functools.wraps(numpy_spectral.iterate)
def iterate(design, *arguments, **options):
    view = view_of(design.rows)
    if view is None:
        return numpy_spectral.iterate(design, *arguments, **options)
    return _compiled.iterate(view, design, *arguments, **options)
