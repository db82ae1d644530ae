"""Weak entropy: a pair with multipliers of the bounds, which keep the coefficients inside.

Where the entropy is weak beside the data, coefficients ``m + e tanh(e D^T lambda / alpha)`` jump
from bound to bound, and where columns nearly cancel many of them must move together: the steps of
a pair without such multipliers (kkt.py) then become short. With distances ``h`` to a bound, in
half-widths, and multipliers ``z >= 0`` for the upper and for the lower ones, at the optimum::

    dual residual     (alpha/e) u + (z_upper - z_lower)/e - D^T (q x)  = 0          z h = 0

Products z h and x s are driven to zero together, by Mehrotra's predictor and corrector. Their
limit is the solution of the problem itself, where the entropy alone keeps coefficients inside: one
that is pressed against its bound is there as near to it as ``D^T lambda`` says
(docs/mathematics.md, section 3.7).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from entropic.solvers.row_products import RowProducts

from .kkt import LEAST, PROXIMAL, SHORT, TO_THE_BOUNDARY, pair_at
from .system import NewtonSystem, step_to_boundary

MOST_STEPS, PATIENCE = 100, 25  # in all; in which the gap has not halved
FARTHEST = 3.0  # that a step takes a log-margin over 0, or over where it is
BEGUN = 0.1  # of the mean force on a coefficient: the multipliers of the bounds at first
PRESSED = 1e-8  # of its half-width from a bound: a coefficient follows the force on it


@dataclass(frozen=True)
class _Walls:
    """The bounds: distances to the upper and to the lower, in half-widths, and multipliers.

    Attributes
    ----------
    distance, multipliers : arrays of shape (2, n_features)
    """

    distance: np.ndarray
    multipliers: np.ndarray

    SIGN = np.array([[-1.0], [1.0]])  # of a distance's change as the coefficient grows

    @classmethod
    def at(cls, state, multipliers):
        with np.errstate(over="ignore"):
            return cls(2 / (1 + np.exp(-2 * cls.SIGN * state)), multipliers)

    @property
    def products(self):
        return self.multipliers * self.distance

    @property
    def stiffness(self):
        return np.sum(self.multipliers / self.distance, axis=0)

    def force(self, multipliers):
        """The force of such multipliers on the coefficients, times the half-width."""
        return np.sum(-self.SIGN * multipliers, axis=0)


def solve_bounded_pair(sweep, box, *, tol, sharp=1.0, goal_norm=np.inf, max_iter, watch=None):
    """Find coefficients and multipliers to a gap of ``tol`` a unit of weight, or near it.

    Parameters
    ----------
    sweep, box, tol, sharp, goal_norm, max_iter, watch
        As for :func:`entropic.solvers.primal_dual.kkt.solve_pair`.

    Returns
    -------
    Pair
        The one with the smallest gap among those that meet ``goal_norm``.
    """
    goal = tol * sweep.total_weight
    x, state = np.zeros(sweep.n_samples), np.zeros(sweep.n_features)
    inequality = sweep.target.loss.inequality
    if inequality:
        x = x + 1 / (1 + sweep.target.loss.slack)
    tau = sweep.rmatvec_signed(sweep.target.weights * x)
    force = box.half_width * tau
    first = BEGUN * np.mean(np.abs(force)) + box.entropy_weight
    walls = _Walls.at(state, first + np.maximum([force, -force], 0.0))
    surplus = np.ones(len(x)) if inequality else None
    pair = pair_at(sweep, box, state, x, surplus, box.slope(state) - tau)
    if inequality:
        surplus = surplus + np.maximum(pair.primal_residual + surplus, 0.0)
        pair = pair_at(sweep, box, state, x, surplus, box.slope(state) - tau)
    shown = best = pair
    mark, waited, length, products = pair.gap, 0, 0.0, RowProducts()
    for n_iter in range(max_iter + 1):
        if (max(shown.norm, goal_norm), shown.gap) < (max(best.norm, goal_norm), best.gap):
            best = shown
        asked = watch is not None and watch(shown, length)
        near = best.gap <= goal and best.norm <= goal_norm
        settled = near and (best.gap <= sharp * goal or waited >= SHORT)
        if asked or settled or n_iter == min(max_iter, MOST_STEPS) or waited > PATIENCE:
            break
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            pair, walls, length = _step(sweep, box, pair, walls, products)
        if not np.isfinite(pair.gap):
            break
        shown = _shown(sweep, box, pair, walls)
        waited += 1
        if shown.gap < 0.5 * mark:
            mark, waited = shown.gap, 0
    return best


def _shown(sweep, box, pair, walls):
    """The pair with each coefficient that is pressed against its bound where its force keeps it."""
    tau = box.slope(pair.state) - pair.dual_residual
    by_force = box.state_of_tau(tau)
    pressed = (walls.distance.min(axis=0) < PRESSED) & (by_force * pair.state > pair.state**2)
    if not np.any(pressed):
        return pair
    state = np.where(pressed, by_force, pair.state)
    residual = box.slope(state) - tau
    return pair_at(sweep, box, state, pair.scaled_multipliers, pair.surplus, residual)


def _step(sweep, box, pair, walls, products):
    """The pair and the multipliers of the bounds after a step, and its length."""
    x, surplus = pair.scaled_multipliers, pair.surplus
    width, weights = box.half_width, np.broadcast_to(sweep.target.weights, x.shape)
    n_products, x_surplus = 2 * len(width), 0.0
    stiffness = pair.margins + max(sweep.target.loss.slack, PROXIMAL)
    if surplus is not None:
        stiffness, x_surplus = stiffness + surplus / x, x * surplus
        n_products += sweep.total_weight
    of_entropy = box.inverse_hessian_root(pair.state)
    root = 1 / np.sqrt(1 / of_entropy**2 + walls.stiffness / width**2)
    system = NewtonSystem(sweep, root, stiffness, products)

    def direction(of_walls, of_rows):
        """Moves by which the products grow by these numbers."""
        force = walls.force(walls.multipliers + of_walls / walls.distance)
        dual, primal, s_move = pair.dual_residual + force / width, pair.primal_residual, None
        if surplus is not None:
            primal = primal - of_rows / x
        _, move, x_move = system.solve(dual, primal)
        if surplus is not None:
            s_move = (of_rows - surplus * x_move) / x
        distance_move = walls.SIGN * move / width
        z_move = (of_walls - walls.multipliers * distance_move) / walls.distance
        return distance_move, z_move, x_move, s_move

    def after(length, distance_move, z_move, x_move, s_move):
        """The distances, their multipliers, x and surplus after a step of that length."""
        distance = walls.distance + length * distance_move
        z, moved = walls.multipliers + length * z_move, x + length * x_move
        return distance, z, moved, None if surplus is None else surplus + length * s_move

    def longest(distance_move, z_move, x_move, s_move):
        """The length that keeps positive what must be."""
        kept = [(walls.distance, distance_move), (walls.multipliers, z_move)]
        if surplus is not None:
            kept += [(x, x_move), (surplus, s_move)]
        return min(step_to_boundary(*each) for each in kept)

    moves = direction(-walls.products, -x_surplus)
    distance, z, x_there, s_there = after(min(longest(*moves), 1.0), *moves)
    total, reached = np.sum(walls.products), np.sum(z * distance)
    if surplus is not None:
        total, reached = total + weights @ x_surplus, reached + weights @ (x_there * s_there)
    centring = min(max((max(reached, 0.0) / total) ** 3, 1e-6), 1.0)
    wanted = centring * total / n_products
    distance_move, z_move, x_move, s_move = moves
    of_rows = 0.0 if surplus is None else wanted - x_surplus - x_move * s_move
    moves = direction(wanted - walls.products - distance_move * z_move, of_rows)
    length = min(TO_THE_BOUNDARY * longest(*moves), 1.0)
    # a margin may rise from next to nothing in one step, but not without limit
    length = min(length, step_to_boundary(np.maximum(x, 0.0) + FARTHEST, moves[2]))

    distance, z, x, surplus = after(length, *moves)
    distance = np.maximum(distance, LEAST)
    state = 0.5 * (np.log(distance[1]) - np.log(distance[0]))
    if surplus is not None:
        x, surplus = np.maximum(x, LEAST), np.maximum(surplus, LEAST)
    residual = box.slope(state) - sweep.rmatvec_signed(sweep.target.weights * x)
    following = pair_at(sweep, box, state, x, surplus, residual)
    return following, _Walls.at(state, np.maximum(z, LEAST)), length
