"""Columns that no row fills take no part: the problem without them, and the way back.

Text has far more words than any sample of it uses. An empty column feels only its own entropy,
which is least at the centre of the box, so its coefficient is known beforehand. Without such
columns the work on coefficients shrinks to that of the words there are (docs/mathematics.md,
section 3.9).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from entropic.kernels.backend import Box
from entropic.rows import SparseRows

# Numbers stored a column, on average, above which empty columns are too few to look for.
CROWDED = 8
# The share of the columns that must be empty to be worth a copy of the column numbers.
EMPTY_SHARE = 0.25


def used_columns(sweep):
    """Indices of the design's columns that some row fills, or None to take all of them."""
    design, rows = sweep.design, sweep.design.rows
    if not isinstance(rows, SparseRows) or rows.n_entries > CROWDED * rows.n_columns:
        return None
    if not sweep.work.random_access:
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
    small = Box(box.lower[used], box.upper[used], box.entropy_weight)
    return sweep.with_design(sweep.design.restricted(used)), small


def extended(outcome, box, used):
    """The outcome of the whole problem; of the samples it says the same."""

    def placed(values, rest):
        rest[used] = values
        return rest

    size = len(box.centre)
    # p = 1/2 in an empty column
    constant = -np.log(2.0) * box.entropy_weight * (size - len(used))
    coef = placed(outcome.coef, box.centre.copy())
    gradient = placed(outcome.evaluation.gradient, np.zeros(size))
    evaluation = replace(outcome.evaluation, coef=coef, gradient=gradient, curvature=None)
    return replace(
        outcome,
        coef=coef,
        state=placed(outcome.state, np.zeros(size)),
        objective=outcome.objective + constant,
        evaluation=evaluation,
    )
