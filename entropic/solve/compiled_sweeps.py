"""The sweeps, compiled where a kernel knows the rows and NumPy's where none does.

Same functions, same signatures as numpy_sweeps, which holds their documentation. Rows of a new
kind work at once, on NumPy, and gain a kernel by an entry in ``VIEWS``.
"""

from __future__ import annotations

import functools

import numpy as np

from entropic import _sweeps

from . import numpy_sweeps
from .monomial_rows import MonomialRows
from .rows import DenseRows, SparseRows


def _monomials(rows):
    """Products of dense features; those of sparse ones have no kernel."""
    listing, base = rows.listing, rows.base
    if base.columns is not None or listing.degree == 1:
        return None
    view = _sweeps.RowView.dense(base.values, base.centre)
    starts = np.array(listing.starts)
    return _sweeps.RowView.monomials(view, starts, listing.offsets, listing.shift, rows.factor)


# How the compiled kernels see rows of each kind; None where they do not.
VIEWS = {
    DenseRows: lambda rows: _sweeps.RowView.dense(rows.values, rows.centre),
    MonomialRows: _monomials,
    SparseRows: lambda rows: _sweeps.RowView.sparse(
        rows.values, rows.columns, rows.starts, rows.n_columns
    ),
}


def view_of(rows):
    """How the compiled kernels see these rows, or None."""
    see = VIEWS.get(type(rows))
    return None if see is None else see(rows)


def _choose(name):
    """The compiled function for rows in ``VIEWS``, else its twin."""
    compiled, twin = getattr(_sweeps, name), getattr(numpy_sweeps, name)

    @functools.wraps(twin)
    def function(rows, *arguments, **options):
        view = view_of(rows)
        if view is None:
            return twin(rows, *arguments, **options)
        return compiled(view, *arguments, **options)

    return function


scores = _choose("scores")
evaluate = _choose("evaluate")
product = _choose("product")
adjoint = _choose("adjoint")
curvature = _choose("curvature")
outer = _choose("outer")
quadratic = _choose("quadratic")
moments = _choose("moments")
