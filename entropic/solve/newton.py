"""Newton's method on a sweep: one read of the rows a step, and N numbers of state.

The unknown is the state u of the box (entropy.py), ``w = m + e tanh u``. With
``gamma = (alpha/e) u + D^T(q l')`` the gradient by w, H the sweep's curvature and
``r = sqrt(S)``, a step solves ``(I + r H r) p = -r gamma`` and moves ``dw = r p``, that is
``du = p e / (alpha r)``. The matrix has no eigenvalue below one (docs/mathematics.md, section 3).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .outcome import Status

ARMIJO = 1e-4
HALVINGS = 60


class CholeskyStep:
    """Newton directions by a factor of the n_features × n_features matrix."""

    name = "newton-cholesky"
    needs_curvature = True
    needs_details = False

    def direction(self, sweep, evaluation, scale, gamma, gap):
        """Returns ``p`` and ``H dw`` for ``dw = r p``."""
        matrix = evaluation.curvature * scale
        matrix *= scale[:, None]
        matrix.flat[:: len(matrix) + 1] += 1.0
        factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        p = cho_solve(factor, -scale * gamma, check_finite=False)
        return p, evaluation.curvature @ (scale * p)


def newton(sweep, box, step, *, tol, max_iter, start=None, callback=None):
    """Minimise the box's entropy plus the sweep's loss.

    Parameters
    ----------
    sweep : Sweep
    box : Box
    step : CholeskyStep or another object with its members
    tol : float
        Stops at a duality gap of ``tol * sweep.total_weight``.
    max_iter : int
    start : array of shape (n_features,) or None
        State to start from; zero is the centre of the box.
    callback : callable or None
        Called with a dict of the step's figures; returning True stops.

    Returns
    -------
    state : array of shape (n_features,)
    evaluation : Evaluation
        At this state; the last one that the sweep made.
    report : dict
        "status", "n_iter", "gap", "objective", "history".
    """
    state = np.zeros(sweep.n_features) if start is None else np.array(start, dtype=np.float64)
    goal = tol * sweep.total_weight
    history = {"gap": [], "objective": [], "step": []}
    at = _Point(sweep, box, step, state)
    status, length, n_iter = None, 0.0, 0
    while True:
        history["gap"].append(at.gap)
        history["objective"].append(at.objective)
        history["step"].append(length)
        figures = {"iteration": n_iter, "gap": at.gap, "objective": at.objective}
        if callback is not None and callback(figures):
            status = Status.INTERRUPTED
        elif at.gap <= goal:
            status = Status.CONVERGED
        elif n_iter >= max_iter:
            status = Status.MAX_ITER
        if status is Status.INTERRUPTED or status is Status.MAX_ITER or at.gap == 0:
            break
        # At the goal the direction is already paid for: one step more squares the gap.
        move, fall = _direction(sweep, box, step, at)
        following, length = _search(sweep, box, step, at, move, fall, status is not None)
        if following is None:
            status = status or Status.PRECISION
            at = _Point(sweep, box, step, at.state, details=True)
            break
        at, n_iter = following, n_iter + 1
        if status is Status.CONVERGED:
            history["gap"].append(at.gap)
            history["objective"].append(at.objective)
            history["step"].append(length)
            break
    report = dict(
        status=status,
        n_iter=n_iter,
        gap=at.gap,
        objective=at.objective,
        history=history,
    )
    return at.state, at.evaluation, report


class _Point:
    """A state with everything one sweep tells about it."""

    def __init__(self, sweep, box, step, state, details=False):
        self.state, self.coef = state, box.coef(state)
        self.evaluation = sweep.evaluate(
            self.coef, step.needs_curvature, step.needs_details or details
        )
        self.entropy = box.value(state)
        self.objective = self.entropy + self.evaluation.value
        self.gamma = box.slope(state) + self.evaluation.gradient
        self.gap = box.gap(state, -self.evaluation.gradient)


def _direction(sweep, box, step, at):
    """Newton's move of the state, and the slope of the objective along it."""
    scale = box.scale(at.state)
    p, bent = step.direction(sweep, at.evaluation, scale, at.gamma, at.gap)
    ratio = box.half_width / box.entropy_weight
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        # where the scale has underflowed, the same move read off the equation itself
        move = np.where(scale > 1e-100, ratio * p / scale, -ratio * (at.gamma + bent))
    return move, float((scale * at.gamma) @ p)


def _search(sweep, box, step, at, move, fall, last):
    """Backtracking on the objective; the full step is nearly always taken."""
    # Differences below the rounding of the two sums say nothing: there the gap decides.
    noise = 8 * np.finfo(np.float64).eps * (abs(at.entropy) + abs(at.evaluation.value))
    length = 1.0
    for _ in range(HALVINGS):
        trial = _Point(sweep, box, step, box.moved(at.state, length * move), details=last)
        change = trial.objective - at.objective
        if change <= ARMIJO * length * fall:
            return trial, length
        if change <= noise and trial.gap < 0.9 * at.gap:
            return trial, length
        if length * abs(fall) <= noise and not trial.gap < at.gap:
            return None, 0.0
        length /= 2
    return None, 0.0
