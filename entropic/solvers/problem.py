"""From a problem to its certified outcome: the public ``solve`` and what the classifier calls."""

from __future__ import annotations

import numpy as np

from entropic.checks import (
    check_box,
    check_design,
    check_per_sample,
    check_solver_options,
)
from entropic.features.design import Design
from entropic.kernels.backend import Box
from entropic.kernels.loss import Loss
from entropic.kernels.threads import effective_threads, library
from entropic.rows import rows_of
from entropic.rows.sweep import Sweep
from entropic.rows.target import Target

from .continuation import solve_with_slack
from .exact import solve_exact
from .outcome import MESSAGES, Outcome, Status, least_score, norm
from .rounding import with_rounding
from .spectral import RULES, spectral
from .units import check_sizes, solve_in_units
from .used_columns import extended, restricted, used_columns

AIM = 0.9


def solve(
    D,
    *,
    weights=None,
    offset=0.0,
    lower=-1.0,
    upper=1.0,
    entropy_weight=1.0,
    constraint="equality",
    slack=0.0,
    solver="auto",
    tol=1e-8,
    max_iter=None,
):
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
    lower, upper : float or array of shape (n_features,)
        The box, ``lower < upper``.
    entropy_weight : float
        alpha > 0.
    constraint : {"equality", "inequality"}
    slack : float
        rho >= 0.
    solver : {"auto", "newton", "spectral", "spectral-paper"}
    tol : float
        Stops at a duality gap of ``tol * sum(weights)``; with ``slack=0`` also at
        ``||D w - b - y||_2 <= sqrt(tol * n_samples)``.
    max_iter : int or None
        None lets the solver choose.

    Returns
    -------
    Outcome

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
    box = Box(*check_box(lower, upper, n_features), entropy_weight)
    target = Target.of(Loss(float(slack), constraint == "inequality"), 1, weights, offset)
    design = Design(rows_of(D))
    sweep = Sweep(design, target, effective_threads(None, design.rows.n_entries))
    outcome = minimise(sweep, box, solver=solver, tol=tol, max_iter=max_iter)
    outcome.curvature = None  # of no use without the sweep, and as large as the square of D's width
    return outcome


@library.beside_sweeps()
def minimise(sweep, box, *, solver="auto", tol=1e-8, max_iter=None, start=None, callback=None):
    """Solve the problem that a sweep and a box describe.

    Parameters
    ----------
    sweep : Sweep
        Its last evaluation, with details, is at the returned coefficients.
    box : Box
    solver, tol, max_iter : see :func:`solve`
    start : array of shape (n_features,) or None
        State to start from (``Outcome.state`` of an earlier solution).
    callback : callable or None

    Returns
    -------
    Outcome
    """
    entry, used = check_sizes(sweep, box), used_columns(sweep)
    options = dict(solver=solver, tol=tol, max_iter=max_iter, callback=callback)
    if used is None:
        return _minimise(sweep, box, entry, start=start, **options)
    part, small = restricted(sweep, box, used)
    start = None if start is None else start[used]
    outcome = _minimise(part, small, entry, start=start, **options)
    return extended(outcome, sweep, box, used, part)


def _minimise(sweep, box, entry, *, solver, tol, max_iter, start, callback):
    """The same for columns that all take part, of numbers no larger than ``entry``."""

    def run(box, callback):
        # the solvers aim a little below, to leave room for what rounding hides
        aim = AIM * tol
        options = dict(tol=aim, max_iter=max_iter, start=start, callback=callback)
        if solver in RULES:
            outcome = spectral(sweep, box, solver=solver, **options)
        elif sweep.target.loss.slack == 0:
            outcome = solve_exact(sweep, box, **options)
        else:
            outcome = _outcome(sweep, box, solve_with_slack(sweep, box, **options), aim)
        return with_rounding(sweep, box, outcome, tol, entry)

    return solve_in_units(sweep, box, tol, callback, run)


def _outcome(sweep, box, ending, tol):
    """Collect what is known at the solver's last state."""
    target, report = sweep.target, ending.report
    counts = np.broadcast_to(target.weights > 0, sweep.n_samples)
    violated = target.loss.slack * sweep.log_margins * counts
    status, goal = report["status"], tol * sweep.total_weight
    if status is not Status.CONVERGED and report["gap"] <= goal:
        status = Status.CONVERGED
    return Outcome(
        coef=box.coef(ending.state),
        margins=np.exp(sweep.log_margins),
        multipliers=sweep.multipliers if ending.multipliers is None else ending.multipliers,
        objective=report["objective"],
        gap=report["gap"],
        residual_norm=norm(violated),
        separation=least_score(sweep.functional_margins, target.offset),
        status=status,
        solver=ending.solver,
        n_iter=report["n_iter"],
        n_sweeps=sweep.count,
        history=report["history"],
        message=MESSAGES[status].format(goal=goal, **report),
        state=ending.state,
        curvature=ending.evaluation.curvature,
    )
