"""The spectral iteration, compiled where a kernel knows the rows and NumPy's where none does."""

from __future__ import annotations

import functools

from entropic import _sweeps
from entropic.data.design import Design

from . import numpy_spectral
from .compiled_sweeps import view_of
from .rows import rows_of

# Numbers of rows made as they are read (monomials) that are rather made once: the iteration reads
# them hundreds of times.
KEPT = 1 << 22


@functools.wraps(numpy_spectral.iterate)
def iterate(design, *arguments, **options):
    rows = design.rows
    view = view_of(rows)
    if view is None and rows.n_samples * rows.n_columns <= KEPT:
        rows = rows_of(rows.block(0, rows.n_samples))
        design, view = Design(rows, design.mean, design.scale, design.constant), view_of(rows)
    if view is None:
        return numpy_spectral.iterate(design, *arguments, **options)
    return _sweeps.iterate(view, design, *arguments, **options)
