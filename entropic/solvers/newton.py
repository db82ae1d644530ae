"""Newton's method on a sweep: one read of the rows a step, and N numbers of state.

The unknown is the state u of the box (entropy.py), ``w = m + e tanh u``. With
``gamma = (alpha/e) u + D^T(q l')`` the gradient by w, H the sweep's curvature and
``r = sqrt(S)``, a step solves ``(I + r H r) p = -r gamma`` and moves ``dw = r p``, that is
``du = p e / (alpha r)``. The matrix has no eigenvalue below one (docs/mathematics.md, section 3).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .outcome import Status

ARMIJO = 1e-4
HALVINGS = 60
KINK_ROUNDS = 8


def newton(sweep, box, step, *, tol, max_iter, start=None, callback=None):
    """Minimise the box's entropy plus the sweep's loss.

    Parameters
    ----------
    sweep : Sweep
    box : Box
    step : CholeskyStep or another object with its members (newton_steps.py)
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
        "status", "n_iter", "gap", "objective", and "history": lists with an entry a step of
        "gap", "objective", "step" (its length), "linear" ("cholesky", "dual", "cg" or "chord":
        how its direction was found) and "inner" (the iterations of conjugate gradients in it).
    """
    state = np.zeros(sweep.n_features) if start is None else np.array(start, dtype=np.float64)
    goal = tol * sweep.total_weight
    history = {"gap": [], "objective": [], "step": [], "linear": [], "inner": []}
    at = _Point(sweep, box, step, state)
    status, length, n_iter, figures = None, 0.0, 0, {"linear": "", "inner": 0}
    while True:
        figures = {"iteration": n_iter, "gap": at.gap, "objective": at.objective, **figures}
        for name, values in history.items():
            values.append(length if name == "step" else figures[name])
        if status is Status.CONVERGED:
            break
        if callback is not None and callback(figures):
            status = Status.INTERRUPTED
        elif at.gap <= goal:
            status = Status.CONVERGED
        elif n_iter >= max_iter:
            status = Status.MAX_ITER
        if status is Status.INTERRUPTED or status is Status.MAX_ITER or at.gap == 0:
            break
        # At the goal the next factor is all but paid for: one step more squares the gap.
        if status is Status.CONVERGED and not (step.polishes and n_iter < max_iter):
            break
        following, length = _advance(sweep, box, step, at, goal, status is not None)
        if following is None:
            status = status or Status.PRECISION
            at = _Point(sweep, box, step, at.state, last=True)
            break
        at, n_iter, figures = following, n_iter + 1, step.figures
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

    def __init__(self, sweep, box, step, state, last=False):
        self.state, self.coef = state, box.coef(state)
        # the last one needs no curvature, but the figures of every sample
        details = step.needs_details or last or sweep.target.loss.inequality
        self.evaluation = sweep.evaluate(self.coef, step.needs_curvature and not last, details)
        self.entropy = box.value(state)
        self.objective = self.entropy + self.evaluation.value
        self.gamma = box.slope(state) + self.evaluation.gradient
        self.gap = box.gap(state, -self.evaluation.gradient)


def _advance(sweep, box, step, at, goal, last):
    """The next point and the length of the step to it, or ``(None, 0)``."""
    if sweep.target.loss.inequality and sweep.work.random_access:
        return _advance_over_kink(sweep, box, step, at, goal, last)
    move, fall = _direction(sweep, box, step, at, at.gamma, goal)
    return _search(sweep, box, step, at, move, fall, last)


def _advance_over_kink(sweep, box, step, at, goal, last):
    """The same for the inequality form, whose loss has a kink at t = 1.

    Beyond it a row has neither slope nor curvature. A step that takes many such rows back below
    meets a force of which its model knew nothing, and backtracking alone would creep. So the
    model of rows that the step is seen to take back is that of the equality form, which is the
    same below the kink, and the step is computed anew until it takes back no others.
    """
    target = sweep.target
    smooth = replace(target.loss, inequality=False)
    functional_margins, hessian_weights, curvature = (
        sweep.functional_margins.copy(),
        sweep.hessian_weights.copy(),
        at.evaluation.curvature,
    )
    move, fall = _direction(sweep, box, step, at, at.gamma, goal)
    trial = _Point(sweep, box, step, box.moved(at.state, move), last)
    if _accepts(at, trial, 1.0, fall):
        return trial, 1.0
    taken = np.zeros(len(functional_margins), dtype=bool)
    for _ in range(KINK_ROUNDS):
        back = (
            (functional_margins >= 1)
            & (sweep.functional_margins < 1)
            & (target.weights > 0)
            & ~taken
        )
        if not np.any(back):
            break
        taken |= back
        slope = np.where(taken, smooth.log_margin(functional_margins), 0.0)
        gamma = at.gamma + sweep.rmatvec(target.weights * target.sign * slope)
        sweep.hessian_weights[:] = np.where(
            taken, target.weights * smooth.second_derivative(slope), hessian_weights
        )
        if step.needs_curvature:
            at.evaluation.curvature = sweep.curvature()
        wider, _ = _direction(sweep, box, step, at, gamma, goal)
        trial = _Point(sweep, box, step, box.moved(at.state, wider), last)
        along = float(at.gamma @ (trial.coef - at.coef))
        if along >= 0:
            break
        move, fall = wider, along
        if _accepts(at, trial, 1.0, fall):
            return trial, 1.0
    at.evaluation.curvature = curvature
    return _search(sweep, box, step, at, move, fall, last)


def _direction(sweep, box, step, at, gamma, goal):
    """Newton's move of the state, and the slope of the objective along it."""
    scale = box.inverse_hessian_root(at.state)
    p, bent = step.direction(sweep, at.evaluation, scale, gamma, at.gap, goal)
    ratio = box.half_width / box.entropy_weight
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        # where the scale has underflowed, the same move read off the equation itself
        move = np.where(scale > 1e-100, ratio * p / scale, -ratio * (gamma + bent))
    return move, float((scale * gamma) @ p)


def _noise(at):
    """Differences of the objective below this are rounding: there the gap decides."""
    return 8 * np.finfo(np.float64).eps * (abs(at.entropy) + abs(at.evaluation.value))


def _accepts(at, trial, length, fall):
    change = trial.objective - at.objective
    return change <= ARMIJO * length * fall or (change <= _noise(at) and trial.gap < 0.9 * at.gap)


def _search(sweep, box, step, at, move, fall, last):
    """Backtracking on the objective; the full step is nearly always taken."""
    length = 1.0
    for _ in range(HALVINGS):
        trial = _Point(sweep, box, step, box.moved(at.state, length * move), last)
        if _accepts(at, trial, length, fall):
            return trial, length
        # On a bound the slope says nothing of a step that leads off it: the objective must agree.
        change = abs(trial.objective - at.objective)
        if max(length * abs(fall), change) <= _noise(at) and not trial.gap < at.gap:
            return None, 0.0
        length /= 2
    return None, 0.0
