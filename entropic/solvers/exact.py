"""The exact constraint, ``slack = 0``: the paper's Problem 4, or the hard margin.

Proximal steps on the dual. With ``y + slack x_k`` in place of y, the problem with slack has the
dual ``G(lambda) + (slack/2) sum q (x - x_k)^2``: its constraint is violated by
``slack (x - x_k)`` only, which vanishes from step to step while slack stays where Newton's
method is well conditioned. Where no coefficients separate, x has no limit; then a proof of that
(certificate.py) ends the steps.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from .certificate import bracket_margin
from .continuation import PAIR_SLACK, posed, solve_with_slack
from .outcome import Outcome, Status, least_score, norm

ROUNDS = 12
PATIENCE = 2  # rounds without a better solution, once the constraint is met
LEAST_SLACK = 1e-11


def solve_exact(sweep, box, *, tol, max_iter=None, start=None, callback=None):
    """Minimise the problem of a sweep whose loss has no slack.

    Stops at a gap of ``tol * sweep.total_weight`` and at ``||D w - b - y|| <= sqrt(tol M)`` with
    M the number of samples of positive weight (docs/mathematics.md, section 3).

    Returns
    -------
    Outcome
        NOT_SEPARABLE where ``margin_bound`` proves it; its coefficients are then those of the
        smallest slack that was reached.
    """
    target = sweep.target
    weights = np.broadcast_to(target.weights, sweep.n_samples)
    counted = weights > 0
    goal, goal_norm = tol * sweep.total_weight, math.sqrt(tol * np.count_nonzero(counted))
    x, slack, n_iter, history, bracket, best = np.zeros(1), PAIR_SLACK, 0, None, None, None
    waited = 0

    def rank(figures):
        """The constraint first, to its goal; then the gap."""
        return max(figures.norm, goal_norm), figures.gap

    for _ in range(ROUNDS):
        nearer = replace(target.loss, slack=slack)
        with posed(sweep, loss=nearer, offset=target.offset + slack * x):
            ending = solve_with_slack(
                sweep,
                box,
                tol=0.1 * tol,
                max_iter=None if max_iter is None else max_iter - n_iter,
                start=start,
                callback=callback,
            )
        start = ending.state
        n_iter += ending.report["n_iter"]
        history = _joined(history, ending.report["history"])
        sweep.functional_margins = sweep.functional_margins + slack * x
        x = -sweep.log_margins
        if ending.multipliers is not None:
            x = np.divide(ending.multipliers, weights, out=np.zeros(len(weights)), where=counted)
        now = _Figures(sweep, box, ending, x, weights, counted)
        best, waited = (now, 0) if best is None or rank(now) <= rank(best) else (best, waited + 1)
        stopped = ending.report["status"] is Status.INTERRUPTED
        if stopped or (now.gap <= goal and now.norm <= goal_norm):
            best = now
            break
        if max_iter is not None and n_iter >= max_iter:
            break
        if waited == PATIENCE and best.norm <= goal_norm:
            break
        if bracket is None and not now.reached > 0:
            bracket = bracket_margin(sweep, box)
            if bracket.separable is False:
                break
        slack = max(0.1 * slack, LEAST_SLACK)
    if best is not now:
        sweep.functional_margins = best.functional_margins
    sweep.log_margins = 0.0 - best.x
    # the curvature 1/b of the exact constraint, as far as it can be told from that of the slack
    sweep.hessian_weights = weights / (best.margins + PAIR_SLACK)
    if target.loss.inequality:
        sweep.hessian_weights[best.x <= 0] = 0.0
    return _outcome(sweep, box, best, bracket, goal, goal_norm, stopped, n_iter, max_iter, history)


class _Figures:
    """What the exact constraint says of a solution with slack."""

    def __init__(self, sweep, box, ending, x, weights, counted):
        self.state, self.solver, self.x, self.functional_margins = (
            ending.state,
            ending.solver,
            x,
            sweep.functional_margins,
        )
        self.reached = float(np.min(self.functional_margins[counted]))
        with np.errstate(over="ignore"):
            self.margins = np.exp(-x)
        off = np.where(counted, self.functional_margins - self.margins, 0.0)
        self.multipliers = 0.0 + weights * x
        # the coefficients' part, and what the unmet constraint is worth
        self.gap = ending.report["gap"] + float(np.abs(self.multipliers) @ np.abs(off))
        if sweep.target.loss.inequality:
            off = np.minimum(off, 0.0)
        self.norm = norm(off)
        terms = np.where(counted, weights * self.margins * (-x - 1), 0.0)
        self.objective = box.value(ending.state) + float(np.sum(terms))


def _joined(history, more):
    if history is None:
        return {name: list(values) for name, values in more.items()}
    for name, values in more.items():
        history[name].extend(values)
    return history


def _outcome(sweep, box, best, bracket, goal, goal_norm, stopped, n_iter, max_iter, history):
    figures = dict(gap=best.gap, goal=goal, norm=best.norm, goal_norm=goal_norm, n_iter=n_iter)
    bound = math.nan if bracket is None else bracket.margin_bound
    if best.gap <= goal and best.norm <= goal_norm:
        status = Status.CONVERGED
        message = (
            "The duality gap {gap:.1e} is within the goal {goal:.1e}, and the residual {norm:.1e} "
            "within {goal_norm:.1e}."
        )
    elif bracket is not None and bracket.separable is False:
        status = Status.NOT_SEPARABLE
        message = (
            "No coefficients in the box separate the classes: none reaches a margin above "
            "{bound:.1e}, as the multipliers of the proof show. The exact constraint has no "
            "solution; use slack > 0. What is returned is the solution for a slack of {slack:.0e}."
        )
    else:
        ended = Status.MAX_ITER if max_iter is not None and n_iter >= max_iter else None
        status = Status.INTERRUPTED if stopped else ended or Status.PRECISION
        message = (
            "After {n_iter} steps the duality gap is {gap:.1e} for a goal of {goal:.1e}, and the "
            "residual {norm:.1e} for one of {goal_norm:.1e}; raise tol, or use slack > 0."
        )
    return Outcome(
        coef=box.coef(best.state),
        margins=best.margins,
        multipliers=best.multipliers,
        objective=best.objective,
        gap=best.gap,
        residual_norm=best.norm,
        separation=least_score(best.functional_margins, sweep.target.offset),
        status=status,
        solver=best.solver,
        n_iter=n_iter,
        n_sweeps=sweep.count,
        history=history,
        message=message.format(bound=bound, slack=PAIR_SLACK, **figures),
        state=best.state,
        margin_bound=bound,
    )
