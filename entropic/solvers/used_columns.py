"""Columns that no row fills take no part: the problem without them, and the way back.

Text has far more words than any sample of it uses. An empty column feels only its own entropy,
which is least at the centre of the box, so its coefficient is known beforehand. Without such
columns the work on coefficients shrinks to that of the words there are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from entropic.kernels.backend import Box
from entropic.rows import SparseRows
from entropic.rows.sweep import Sweep

# Numbers stored a column, on average, above which empty columns are too few to look for.
CROWDED = 8
# The share of the columns that must be empty to be worth a copy of the column numbers.
EMPTY_SHARE = 0.25


def used_columns(sweep):
    """Indices of the design's columns that some row fills, or None to take all of them."""
    design = getattr(sweep, "design", None)
    rows = getattr(design, "rows", None)
    if not isinstance(rows, SparseRows) or rows.n_entries > CROWDED * rows.n_columns:
        return None
    filled = np.zeros(rows.n_columns + design.constant, dtype=bool)
    filled[rows.columns[rows.starts[0] : rows.starts[-1]]] = True
    if design.constant:
        filled[-1] = True
    used = np.flatnonzero(filled)
    if not 0 < len(used) <= (1 - EMPTY_SHARE) * len(filled):
        return None
    return used


def restricted(sweep, box, used):
    """The sweep and the box of the used columns only."""
    rows, design = sweep.design.rows, sweep.design
    kept = used[:-1] if design.constant else used
    place = np.zeros(rows.n_columns, dtype=rows.columns.dtype)
    place[kept] = np.arange(len(kept), dtype=place.dtype)
    rows = SparseRows(rows.values, place[rows.columns], rows.starts, len(kept))
    mean, scale = (None if part is None else part[kept] for part in (design.mean, design.scale))
    design = type(design)(rows, mean, scale, design.constant)
    small = Box(box.lower[used], box.upper[used], box.entropy_weight)
    return Sweep(design, sweep.target, sweep.n_threads), small


def extended(outcome, sweep, box, used, inner):
    """The outcome of the whole problem; the sweep is left as if it had been solved on it."""
    sweep.functional_margins, sweep.log_margins, sweep.hessian_weights = (
        inner.functional_margins,
        inner.log_margins,
        inner.hessian_weights,
    )
    sweep.count += inner.count
    state = np.zeros(len(box.centre))
    state[used] = outcome.state
    # p = 1/2 in an empty column
    constant = -np.log(2.0) * box.entropy_weight * (len(state) - len(used))
    coef = box.centre.copy()
    coef[used] = outcome.coef
    return replace(
        outcome, coef=coef, state=state, objective=outcome.objective + constant, curvature=None
    )
