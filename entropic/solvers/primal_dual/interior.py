"""The inequality form by an interior path: Mehrotra's predictor and corrector, any slack, any box.

Multipliers and surplus s are kept positive and their products driven to zero together. Both
moves of a step come from one factor. Neither ``lag`` nor ``residual`` need vanish on the way.
"""

from __future__ import annotations

import numpy as np

from .pair import NewtonSystem, Pair, transpose

MAX_STEPS = 80
TO_THE_BOUNDARY = 0.99
HALVINGS = 30
LEAST = 1e-150  # of what is kept positive, so that quotients of two stay in range
PATIENCE = 15  # steps in which the gap has not halved


def interior(sweep, box, start, *, tol, max_iter=MAX_STEPS, watch=None):
    """Follow the interior path to a gap of ``tol`` a unit of weight, or as far as it goes.

    Parameters
    ----------
    sweep : Sweep
        Of the inequality form, with slack; rows in memory.
    box : Box
    start : Pair
        Of the equality form with the same rows.
    tol : float
    max_iter : int
    watch : callable or None
        Called with each Pair and the length of the step to it; returning True stops.

    Returns
    -------
    Pair
        The one with the smallest gap.
    """
    goal = tol * sweep.total_weight
    x = np.maximum(start.x, 0.0) + 0.1
    lag = box.slope(start.state) - transpose(sweep, sweep.target.weights * x)
    pair, length = Pair(sweep, box, start.state, x, lag), 0.0
    surplus = np.maximum(pair.residual, 0.0) + 0.1
    best, mark, waited = pair, pair.gap, 0
    for n_iter in range(max_iter + 1):
        if (watch is not None and watch(pair, length)) or n_iter == max_iter:
            break
        if pair.gap <= goal or waited > PATIENCE:
            break
        moved = _step(sweep, box, pair, surplus)
        if moved is None:
            break
        pair, surplus, length = moved
        best, waited = min(best, pair, key=lambda one: one.gap), waited + 1
        if pair.gap < 0.5 * mark:
            mark, waited = pair.gap, 0
    return best


def _step(sweep, box, pair, surplus):
    """Predictor, corrector and a length that lowers the local norm of what is unsatisfied."""
    x, weights = pair.x, np.broadcast_to(pair.weights, pair.x.shape)
    share = weights / np.max(weights)
    share = share / share.sum()
    scale = box.inverse_hessian_root(pair.state)
    system = NewtonSystem(sweep, scale, pair.margins + pair.loss.slack + surplus / x)
    unmet = pair.residual - surplus

    def direction(product):
        tau, move, x_move = system.solve(pair.lag, unmet + product / x)
        return tau, move, x_move, -(product + surplus * x_move) / x

    _, _, x_move, surplus_move = direction(x * surplus)
    length = min(_longest(x, x_move), _longest(surplus, surplus_move), 1.0)
    mu = share @ (x * surplus)
    reached = share @ ((x + length * x_move) * (surplus + length * surplus_move))
    centring = min(max((max(reached, 0.0) / mu) ** 3, 1e-6), 1.0)
    tau, _, x_move, surplus_move = direction(x * surplus - centring * mu + x_move * surplus_move)
    close = max(TO_THE_BOUNDARY, 1 - mu)
    length = min(close * min(_longest(x, x_move), _longest(surplus, surplus_move)), 1.0)
    norm = _norm(scale * pair.lag, system.hessian_weights, unmet)
    allowed = mu * sweep.total_weight
    for _ in range(HALVINGS):
        state = box.state_of_tau(box.slope(pair.state) + length * tau)
        after_x = np.maximum(x + length * x_move, LEAST)
        trial = Pair(sweep, box, state, after_x, (1 - length) * pair.lag)
        after = np.maximum(surplus + length * surplus_move, LEAST)
        bound = (1 - 0.01 * length) * norm + allowed
        if (
            _norm(
                box.inverse_hessian_root(state) * trial.lag,
                system.hessian_weights,
                trial.residual - after,
            )
            <= bound
        ):
            return trial, after, length
        length /= 2
    return None


def _longest(value, move):
    """How far ``value + length * move`` stays positive."""
    shrinking = move < 0
    if not np.any(shrinking):
        return np.inf
    with np.errstate(over="ignore"):
        return float(np.min(-value[shrinking] / move[shrinking]))


def _norm(lag, hessian_weights, unmet):
    return float(lag @ lag + hessian_weights @ unmet**2)
