"""From a problem to its certified outcome: the public ``solve`` and what the classifier calls."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from entropic.checks import (
    check_box,
    check_design,
    check_per_sample,
    check_solver_options,
)
from entropic.features.design import Design
from entropic.kernels.backend import Box
from entropic.kernels.library_threads import one_library_thread
from entropic.kernels.loss import Loss
from entropic.kernels.threads import effective_threads
from entropic.rows import rows_of
from entropic.rows.sweep import Recomputed, Sweep
from entropic.rows.target import Target
from entropic.typing import Constraint, Rows, Solver

from .continuation import solve_with_slack
from .ending import Goal, conclude
from .exact import solve_exact
from .outcome import Outcome
from .spectral import RULES, spectral
from .used_columns import extended, restricted, used_columns

AIM = 0.9
LEAST_ENTROPY = 1e-6  # of what tol allows a coefficient
LARGEST = 1e10  # of an entry times a coefficient
WIDEST = 2.0**100  # of a weight over another
STRONGEST = 990  # of the entropy's weight in the unit of the samples': the exponent of two


def solve(
    D: Rows,
    *,
    weights: ArrayLike | None = None,
    offset: ArrayLike = 0.0,
    lower: ArrayLike = -1.0,
    upper: ArrayLike = 1.0,
    entropy_weight: float = 1.0,
    constraint: Constraint = "equality",
    slack: float = 0.0,
    solver: Solver = "auto",
    tol: float = 1e-8,
    max_iter: int | None = None,
) -> Outcome:
    """Solve the entropy problem for a signed design (Problem 4 of the paper, and its relaxation).

    Minimises, over coefficients w in their box and margins b > 0::

        alpha sum_j h_j(w_j) + sum_i q_i (b_i ln b_i - b_i) + 1/(2 slack) sum_i q_i xi_i^2
        subject to   D w - b - offset = xi       (>= xi for the inequality form)

    where h_j is the entropy of w_j in ``[lower_j, upper_j]`` (docs/mathematics.md, section 1).
    With ``slack=0`` the constraint is exact, xi = 0.

    Parameters
    ----------
    D : array or CSR matrix of shape (n_samples, n_features)
        Signed design: a row of the class -1 enters with its sign changed. Never modified.
    weights : array of shape (n_samples,) or None
        Sample weights q, not negative, not all zero. None is 1 for each.
    offset : float or array of shape (n_samples,)
        Right-hand side y.
    lower : float or array of shape (n_features,)
        The box's lower end of each coefficient.
    upper : float or array of shape (n_features,)
        Its upper end, above ``lower``.
    entropy_weight : float
        alpha > 0, the 1/C of the classifier.
    constraint : {"equality", "inequality"}
        Problem 2 of the paper, or Problem 1.
    slack : float
        rho: 0, or at least 1e-30.
    solver : {"auto", "newton", "spectral", "spectral-paper"}
        As in :class:`~entropic.EntropicClassifier`.
    tol : float
        Stops at a duality gap of ``tol * sum(weights)``; with ``slack=0`` also at
        ``||D w - b - y||_2 <= sqrt(tol * n_samples)``.
    max_iter : int or None
        None lets the solver choose.

    Returns
    -------
    Outcome
        Where it has not converged, its ``status`` and ``message`` say so; nothing warns.

    Raises
    ------
    ValueError
        If an argument is out of range or not finite.
    """
    D = check_design(D)
    n_samples, n_features = D.shape
    check_solver_options(constraint, slack, solver, tol, max_iter, entropy_weight)
    weights = check_per_sample(weights, n_samples, "weights", default=1.0, sign=True)
    offset = check_per_sample(offset, n_samples, "offset", default=0.0)
    lower, upper = check_box(lower, upper, n_features)
    box = Box(lower, upper, entropy_weight)
    target = Target.of(Loss(float(slack), constraint == "inequality"), 1, weights, offset)
    design = Design(rows_of(D))
    sweep = Sweep(design, target, effective_threads(None, design.rows.n_entries))
    outcome = minimise(sweep, box, solver=solver, tol=tol, max_iter=max_iter)
    # of no use without the sweep, and as large as the square of D's width
    return replace(outcome, evaluation=None)


@one_library_thread
def minimise(sweep, box, *, solver="auto", tol=1e-8, max_iter=None, start=None, callback=None):
    """Solve the problem that a sweep and a box describe.

    Parameters
    ----------
    sweep : Sweep
    box : Box
    solver, tol, max_iter : see :func:`solve`
    start : array of shape (n_features,) or None
        State to start from (``Outcome.state`` of an earlier solution).
    callback : callable or None

    Returns
    -------
    Outcome
        Its evaluation is that of the sweep at the solution.
    """
    _check_sizes(sweep, box)
    used = used_columns(sweep)
    with np.errstate(under="ignore"):  # whatever the caller's: what is so small is 0
        if used is None:
            return _minimise(sweep, box, solver, tol, max_iter, start, callback)
        part, small = restricted(sweep, box, used)
        start = None if start is None else start[used]
        return extended(_minimise(part, small, solver, tol, max_iter, start, callback), box, used)


def _minimise(sweep, box, solver, tol, max_iter, start, callback):
    """The same for columns that all take part, with weights near one.

    Dividing all weights and the entropy's weight by one number changes no solution. An entropy
    weight so small that rounding would lose it beside the samples is raised to where it no longer
    is; that moves the objective by far less than ``tol``, and the gap reported is that of the
    problem as it was given (docs/mathematics.md, section 3.9).
    """
    _, exponent = math.frexp(sweep.weight_range[1])
    _, of_entropy = math.frexp(box.entropy_weight)
    unit = math.ldexp(1.0, max(exponent - 1, of_entropy - STRONGEST))
    part = sweep if unit == 1 else sweep.in_units(unit)
    given = box.with_entropy_weight(max(box.entropy_weight / unit, 1e-300))
    least = LEAST_ENTROPY * tol * part.total_weight / part.n_features
    raised = given.with_entropy_weight(max(given.entropy_weight, least))
    goal = Goal(part, given, tol)
    # the solvers aim a little below, to leave room for what rounding hides
    options = dict(goal=goal, tol=AIM * tol, max_iter=max_iter, start=start)
    options["callback"] = _in_units(callback, unit)
    if solver in RULES:
        ending = spectral(part, raised, solver=solver, **options)
    elif sweep.target.loss.slack == 0:
        ending = solve_exact(part, raised, **options)
    else:
        ending = solve_with_slack(part, raised, **options)
    return _given_back(conclude(goal, ending, unit), unit)


def _in_units(callback, unit):
    """The callback, told of gap and objective in the caller's weights."""
    if callback is None or unit == 1:
        return callback

    def told(figures):
        figures = dict(figures)
        for name in ("gap", "objective"):
            figures[name] *= unit
        return callback(figures)

    return told


def _given_back(outcome, unit):
    """The outcome in the caller's weights; what would pass the largest double stays there."""
    if unit == 1:
        return outcome
    most, at = np.finfo(np.float64).max, outcome.evaluation

    def scaled(values):
        # what is recomputed with each read has no unit
        unscaled = values is None or isinstance(values, Recomputed)
        return values if unscaled else np.clip(values * unit, -most, most)

    with np.errstate(over="ignore"):
        for name in ("gap", "objective"):
            outcome.history[name] = [value * unit for value in outcome.history[name]]
        evaluation = replace(
            at,
            value=float(scaled(at.value)),
            gradient=scaled(at.gradient),
            curvature=scaled(at.curvature),
            hessian_weights=scaled(at.hessian_weights),
        )
        return replace(
            outcome,
            objective=float(scaled(outcome.objective)),
            dual_gap=float(scaled(outcome.dual_gap)),
            multipliers=scaled(outcome.multipliers),
            evaluation=evaluation,
        )


def _check_sizes(sweep, box):
    """Refuse sizes that double precision could not certify, and that no data have.

    A rounding of ``D^T lambda`` moves the dual by the square of ``max |D_ij| max |w_j|`` times
    1e-16. Of scaled columns and of monomials the gap tells (ending.py).

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
    least, most = sweep.weight_range
    if least < most / WIDEST:
        raise ValueError(
            f"The weights lie between {least:.1e} and {most:.1e}; the largest must not pass "
            f"{WIDEST:.0e} times the smallest that is not 0: set the smallest to 0."
        )
    design = sweep.design
    if design.scale is not None or hasattr(design.rows, "listing"):
        return
    entry = design.rows.largest_entry()
    reach = max(float(np.max(np.abs(box.lower))), float(np.max(np.abs(box.upper))))
    if entry * reach > LARGEST:
        raise ValueError(
            f"The rows hold an entry of size {entry:.1e} and their coefficients may be as large "
            f"as {reach:.1e}; the product must not pass {LARGEST:.0e}: standardize or divide the "
            "columns, or lower the bounds."
        )
