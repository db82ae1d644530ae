"""The sweeps, compiled where a kernel knows the rows and NumPy's where none does.

Same functions, same signatures as numpy_sweeps, which holds their documentation. Rows of a new
kind work at once, on NumPy, and gain a kernel by an entry in ``VIEWS``.
"""

from __future__ import annotations

import functools

from entropic import _sweeps

from . import numpy_sweeps
from .rows import DenseRows, SparseRows

# How the compiled kernels see rows of each kind.
VIEWS = {
    DenseRows: lambda rows: _sweeps.RowView.dense(rows.values, rows.centre),
    SparseRows: lambda rows: _sweeps.RowView.sparse(
        rows.values, rows.columns, rows.starts, rows.n_columns
    ),
}


def _choose(name):
    """The compiled function for rows in ``VIEWS``, else its twin."""
    compiled, twin = getattr(_sweeps, name), getattr(numpy_sweeps, name)

    @functools.wraps(twin)
    def function(rows, *arguments, **options):
        view = VIEWS.get(type(rows))
        if view is None:
            return twin(rows, *arguments, **options)
        return compiled(view(rows), *arguments, **options)

    return function


scores = _choose("scores")
evaluate = _choose("evaluate")
product = _choose("product")
adjoint = _choose("adjoint")
curvature = _choose("curvature")
outer = _choose("outer")
quadratic = _choose("quadratic")
moments = _choose("moments")
