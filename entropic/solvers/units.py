"""Weights and entropy in a common unit near one, and sizes that double precision can certify.

Dividing all weights and the entropy's weight by one number changes no solution. An entropy
weight so small that rounding would lose it beside the samples is raised to where it no longer
is; that moves the objective by far less than ``tol``, and the gap reported is that of the problem
as it was given.
"""

from __future__ import annotations

import math
from contextlib import contextmanager

import numpy as np

from entropic.kernels.backend import Box

from .continuation import posed
from .outcome import Status
from .rounding import largest_entry

WIDEST = 2.0**50  # weights between this and its inverse are left as they are
LEAST_ENTROPY = 1e-6  # of what tol allows a coefficient
LARGEST = 1e10


def check_sizes(sweep, box):
    """Refuse rows as they are stored that no multiplier in double precision could certify.

    A rounding of ``D^T lambda`` moves the dual by the square of ``max |D_ij| max |w_j|`` times
    1e-16. Of scaled columns, monomials and streamed rows the gap tells (rounding.py).

    Returns
    -------
    float or None
        The largest of the rows' numbers, where it was looked for.

    Raises
    ------
    ValueError
        Naming what is too large, and the remedy.
    """
    asked = float(np.max(np.abs(sweep.target.offset)))
    if asked > LARGEST:
        raise ValueError(
            f"offset holds an entry of size {asked:.1e}; it must not pass {LARGEST:.0e}: "
            "divide the rows and the offset by the same number."
        )
    design = getattr(sweep, "design", None)
    if design is None or design.scale is not None:
        return None
    entry = largest_entry(design.rows)
    most = max(float(np.max(np.abs(box.lower))), float(np.max(np.abs(box.upper))))
    if entry is None or hasattr(design.rows, "listing"):
        return entry
    if entry * most > LARGEST:
        raise ValueError(
            f"The rows hold an entry of size {entry:.1e} and their coefficients may reach "
            f"{most:.1e}; the product must not pass {LARGEST:.0e}: standardize or divide the "
            "columns, or lower the bounds."
        )
    return entry


def solve_in_units(sweep, box, tol, callback, run):
    """Run a solver on the problem in its own unit, and report in that of the caller.

    Parameters
    ----------
    run : callable
        ``run(box, callback)`` returns the Outcome of the sweep with that box.

    Returns
    -------
    Outcome
    """
    unit, alpha = _unit(sweep.target.weights), box.entropy_weight
    inside = min(alpha / unit, 1e300) if unit < 1 else alpha / unit
    floor = LEAST_ENTROPY * tol * sweep.total_weight / unit / sweep.n_features
    raised = inside < floor
    if unit == 1 and not raised:
        return run(box, callback)
    unit_box = Box(box.lower, box.upper, max(inside, floor))
    with _weights_divided(sweep, unit):
        outcome = run(unit_box, _told(callback, unit))
        change = 0.0
        if raised:
            pointwise_gradient = np.ascontiguousarray(sweep.target.sign * outcome.multipliers)
            tau = sweep.rmatvec(pointwise_gradient)
            given = Box(box.lower, box.upper, inside)
            outcome.gap += given.gap(outcome.state, tau) - unit_box.gap(outcome.state, tau)
            change = given.value(outcome.state) - unit_box.value(outcome.state)
    outcome.gap *= unit
    outcome.objective = (outcome.objective + change) * unit
    outcome.multipliers = _scaled(outcome.multipliers, unit)
    outcome.curvature = None
    sweep.hessian_weights = _scaled(sweep.hessian_weights, unit)
    for name in ("gap", "objective"):
        outcome.history[name] = [value * unit for value in outcome.history[name]]
    goal = tol * sweep.total_weight
    if outcome.status is Status.CONVERGED and outcome.gap > goal:
        outcome.status = Status.PRECISION
    counted = np.count_nonzero(np.broadcast_to(sweep.target.weights > 0, sweep.n_samples))
    exact = sweep.target.loss.slack == 0
    outcome.describe(goal, math.sqrt(tol * counted) if exact else math.inf)
    return outcome


def _scaled(values, unit):
    """The largest double stands for what would pass it."""
    with np.errstate(over="ignore"):
        scaled, most = values * unit, np.finfo(np.float64).max
    return np.clip(scaled, -most, most)


def _unit(weights):
    """A power of two near the largest weight where that is far from one."""
    largest = float(np.max(weights))
    if 1 / WIDEST <= largest <= WIDEST:
        return 1.0
    return math.ldexp(1.0, math.frexp(largest)[1])


@contextmanager
def _weights_divided(sweep, unit):
    total = sweep.total_weight
    with posed(sweep, weights=sweep.target.weights / unit):
        sweep.total_weight = total / unit
        try:
            yield
        finally:
            sweep.total_weight = total


def _told(callback, unit):
    if callback is None:
        return None

    def told(figures):
        for name in ("gap", "objective"):
            figures[name] *= unit
        return callback(figures)

    return told
