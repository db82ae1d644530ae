"""Small slack: Newton's method on the optimality conditions of coefficients and multipliers.

One scaled multiplier ``x = lambda/q = -ln b`` a sample is kept beside the N numbers of the box's
state u, and the surplus ``s >= 0`` of the inequality form. At the optimum

    dual residual     (alpha/e) u - D^T (q x)       = 0
    primal residual   D w - b + slack x - y - s     = 0          x s = 0

Where the primal in w alone sees ``ln b`` jump by ``1/slack`` for every sample that a step carries
across zero, b here stays positive by construction: that is what makes any slack possible. The
inequality form keeps x and s positive and drives their products to zero together, by Mehrotra's
predictor and corrector; the equality form has neither (docs/mathematics.md, section 3.7).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from entropic.solvers.kink import open_sides_matter
from entropic.solvers.row_products import RowProducts

from .system import NewtonSystem, step_to_boundary

MAX_STEPS = 120
# Added to the slack in Newton's matrix, not in the conditions: a proximal step on the dual, which
# keeps the matrix well conditioned where margins all but vanish.
PROXIMAL = 1e-12
TO_THE_BOUNDARY = 0.99
HALVINGS = 40
LEAST = 1e-150  # of what is kept positive, so that quotients of two stay in range
CHECKS = 3  # of the dual residual, each followed by further steps where it is too large
PATIENCE, SHORT = 80, 3  # steps in which the gap has not halved; at the goal
# Of a gap from which a pair starts: the part that its products are; steps of Newton for that.
BARRIER, CENTRING = 0.1, 6


@dataclass(frozen=True)
class Pair:
    """Coefficients and multipliers with all that one read of the rows tells about them."""

    state: np.ndarray
    scaled_multipliers: np.ndarray
    surplus: np.ndarray | None
    dual_residual: np.ndarray | float
    primal_residual: np.ndarray
    margins: np.ndarray
    gap: float
    objective: float
    norm: float


def pair_at(sweep, box, state, x, surplus=None, dual_residual=0.0):
    """The pair of a state and scaled multipliers.

    The dual residual is carried along by the solver: in a wide box the rounding of a newly summed
    ``D^T lambda`` would be a large move of the coefficients.
    """
    target, loss, coef = sweep.target, sweep.target.loss, box.coef(state)
    # stopped short of overflow: steps that far are refused anyway
    margins = np.exp(np.minimum(-x, 700.0))
    with np.errstate(over="ignore", invalid="ignore"):
        if loss.slack == 0:
            # -x is the log-margin where the constraint is exact
            t, log_margins = sweep.matvec_signed(coef) - target.offset, -x
            value = float(np.sum(target.weights * loss.value(-x)))
        else:
            at = sweep.evaluate(coef, samples=True)
            t, log_margins, value = at.functional_margins, at.log_margins, at.value
        gap = float(np.sum(target.weights * loss.gaps(x, t, log_margins)))
        if np.any(dual_residual):
            gap += box.gap(state, box.slope(state) - dual_residual)
    primal_residual = t - margins + loss.slack * x
    if surplus is not None:
        primal_residual = primal_residual - surplus
    objective = box.value(state) + value
    size = float(np.linalg.norm(primal_residual[sweep.counted]))
    return Pair(state, x, surplus, dual_residual, primal_residual, margins, gap, objective, size)


def pair_near(sweep, box, ending):
    """The pair at an ending of Newton's method: in the inequality form, on the path of a barrier.

    There x and s have the product mu for every sample, a part of what the gap is for each. Their
    primal residual vanishes, so that x is where ``b + mu/x = t + slack x``. What is on the left
    less what is on the right falls with x and is convex, so that Newton's method meets no obstacle
    from below: from the solution with ``1 - x`` for b, or with no mu.

    Parameters
    ----------
    sweep : Sweep
        Its loss has slack.
    box : Box
    ending : Ending
    """
    loss, t = sweep.target.loss, ending.evaluation.functional_margins
    if not loss.inequality:
        residual = box.slope(ending.state) + ending.evaluation.gradient
        return pair_at(sweep, box, ending.state, -ending.evaluation.log_margins, None, residual)
    mu = max(BARRIER * ending.history["gap"][-1] / sweep.total_weight, LEAST)
    over, stiff = t - 1, 1 + loss.slack
    root = np.hypot(over, 2 * np.sqrt(mu * stiff))
    x = np.where(over > 0, 2 * mu / (np.abs(over) + root), (root - over) / (2 * stiff))
    x = np.maximum(x, -ending.evaluation.log_margins)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(CENTRING):
            b, x = np.exp(-x), np.maximum(x, LEAST)
            x = x + (b - t - loss.slack * x + mu / x) / (b + loss.slack + mu / x**2)
    x = np.maximum(x, LEAST)
    residual = box.slope(ending.state) - sweep.rmatvec_signed(sweep.target.weights * x)
    return pair_at(sweep, box, ending.state, x, np.maximum(mu / x, LEAST), residual)


def solve_pair(
    sweep,
    box,
    *,
    tol,
    sharp=1.0,
    goal_norm=np.inf,
    max_iter=MAX_STEPS,
    start=None,
    watch=None,
    patience=PATIENCE,
):
    """Find coefficients and multipliers to a gap of ``tol`` a unit of weight, or near it.

    Parameters
    ----------
    sweep : Sweep
        Rows in memory; with slack or, where some coefficients separate the samples, without.
    box : Box
    tol : float
    sharp : float
        Part of the goal that the gap is still to fall to, as long as a few steps halve it.
    goal_norm : float
        Of the primal residual, where it must be as small as that too.
    max_iter : int
    start : Pair or None
        Of this problem, from an earlier run.
    watch : callable or None
        Called with each Pair and the length of the step to it; returning True stops.
    patience : int
        Steps in which the gap may not halve.

    Returns
    -------
    Pair
        The one with the smallest gap among those that meet ``goal_norm``.
    """
    goal, pair, length = tol * sweep.total_weight, start or _start(sweep, box), 0.0
    carried = checked = None  # the best pairs as they are carried along, and as recomputed
    mark, waited, n_checks, products = pair.gap, 0, 0, RowProducts()

    def better(one, other):
        return one if other is None or rank(one) < rank(other) else other

    def rank(pair):
        return max(pair.norm, goal_norm), pair.gap

    def reached(pair):
        return pair.gap <= goal and pair.norm <= goal_norm

    def settled(pair):
        below = pair.gap <= sharp * goal
        if waited >= SHORT or not below or pair.surplus is None:
            return waited >= SHORT or below
        x, surplus = (each[sweep.counted] for each in (pair.scaled_multipliers, pair.surplus))
        return not open_sides_matter(x, surplus, sweep.n_features)

    def enough(pair):
        # the goal first, by a recomputed pair; then what lies below it, and the sides of the rows
        return reached(pair) and (checked is None or not reached(checked) or settled(pair))

    for n_iter in range(max_iter + 1):
        carried = better(pair, carried)
        if (watch is not None and watch(pair, length)) or n_iter == max_iter or waited > patience:
            break
        moved = None if enough(pair) else _step(sweep, box, pair, products)
        if moved is None:
            # with the dual residual that rounding has left on the way there may be more to do
            pair, n_checks = _recomputed(sweep, box, carried), n_checks + 1
            if checked is not None and reached(checked):
                # far below the goal rounding may have taken the pair off it again
                return pair if reached(pair) else checked
            carried, checked = None, better(pair, checked)
            if n_checks == CHECKS or (reached(pair) and settled(pair)):
                return checked
            if reached(pair):
                mark, waited = pair.gap, 0
            if (moved := _step(sweep, box, pair, products)) is None:
                return checked
        pair, length = moved
        waited += 1
        if pair.gap < 0.5 * mark:
            mark, waited = pair.gap, 0
    return better(_recomputed(sweep, box, carried), checked)


def _recomputed(sweep, box, pair):
    """The same pair with the dual residual that its multipliers have."""
    tau = sweep.rmatvec_signed(sweep.target.weights * pair.scaled_multipliers)
    residual = box.slope(pair.state) - tau
    return pair_at(sweep, box, pair.state, pair.scaled_multipliers, pair.surplus, residual)


def _start(sweep, box):
    x, state = np.zeros(sweep.n_samples), np.zeros(sweep.n_features)
    if not sweep.target.loss.inequality:
        return pair_at(sweep, box, state, x)
    x = x + 1 / (1 + sweep.target.loss.slack)
    dual_residual = box.slope(state) - sweep.rmatvec_signed(sweep.target.weights * x)
    pair = pair_at(sweep, box, state, x, dual_residual=dual_residual)
    surplus = np.maximum(pair.primal_residual, 0.0) + 1.0
    return pair_at(sweep, box, state, x, surplus, dual_residual)


def _step(sweep, box, pair, products):
    """A step whose length lowers the local norm of what is unsatisfied, or None."""
    x, surplus = pair.scaled_multipliers, pair.surplus
    slack = sweep.target.loss.slack
    root = box.inverse_hessian_root(pair.state)
    stiffness = pair.margins + max(slack, PROXIMAL)
    allowed, length, surplus_move = 0.0, 1.0, 0.0
    if surplus is None:
        system = NewtonSystem(sweep, root, stiffness, products)
        slope, _, x_move = system.solve(pair.dual_residual, pair.primal_residual)
    else:
        weights = np.broadcast_to(sweep.target.weights, x.shape)
        share = weights / weights.sum()
        system = NewtonSystem(sweep, root, stiffness + surplus / x, products)

        def direction(product):
            residual = pair.primal_residual + product / x
            slope, _, x_move = system.solve(pair.dual_residual, residual)
            return slope, x_move, -(product + surplus * x_move) / x

        _, x_move, surplus_move = direction(x * surplus)
        length = min(step_to_boundary(x, x_move), step_to_boundary(surplus, surplus_move), 1.0)
        mu = share @ (x * surplus)
        reached = share @ ((x + length * x_move) * (surplus + length * surplus_move))
        centring = min(max((max(reached, 0.0) / mu) ** 3, 1e-6), 1.0)
        slope, x_move, surplus_move = direction(x * surplus - centring * mu + x_move * surplus_move)
        close = max(TO_THE_BOUNDARY, 1 - mu)
        longest = min(step_to_boundary(x, x_move), step_to_boundary(surplus, surplus_move))
        length, allowed = min(close * longest, 1.0), mu * sweep.total_weight

    def norm(state, dual_residual, primal_residual):
        dual = box.inverse_hessian_root(state) * dual_residual
        return float(np.sum(dual**2) + system.hessian_weights @ primal_residual**2)

    with np.errstate(over="ignore", invalid="ignore"):
        before = norm(pair.state, pair.dual_residual, pair.primal_residual)
        for _ in range(HALVINGS):
            state = box.state_of_tau(box.slope(pair.state) + length * slope)
            after, after_surplus = x + length * x_move, surplus
            if surplus is not None:
                after = np.maximum(after, LEAST)
                after_surplus = np.maximum(surplus + length * surplus_move, LEAST)
            left = (1 - length) * pair.dual_residual
            trial = pair_at(sweep, box, state, after, after_surplus, left)
            if norm(state, left, trial.primal_residual) <= (1 - 0.01 * length) * before + allowed:
                return trial, length
            length /= 2
    return None
