"""Newton's method on a sweep: one read of the rows a step, and N numbers of state.

The unknown is the state u of the box (kernels/box.py), ``w = m + e tanh u``. With
``gamma = (alpha/e) u + D^T(q l')`` the gradient by w, H the sweep's curvature and
``r = sqrt(S)``, a step solves ``(I + r H r) p = -r gamma`` and moves ``dw = r p``, that is
``du = p e / (alpha r)``. The matrix has no eigenvalue below one (docs/mathematics.md, section 3.3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from entropic.rows.sweep import Evaluation

from .ending import Ending
from .kink import matter, passing_matters
from .newton_steps import CholeskyStep
from .outcome import Status
from .pace import Pace
from .step import Model

ARMIJO = 1e-4
HALVINGS, BISECTIONS = 60, 7
KINK_ROUNDS = 8
PROMISED = 0.25  # of the slope: half of what a quadratic model promises
FARTHEST = 2.0  # a move of the state by secant steps
DISAPPOINTING = 0.07  # of what a start has gained
WORTH_KEEPING = 3e-4  # seconds of a curvature: quicker ones are made anew, at the solution itself
QUICK = 2e-3  # seconds of a step: of quicker ones the interpreter's part is worth saving
POLISHED = 1e-8  # of the goal: a gap that one step more would not improve on
MOST_POLISHES = 2  # steps at the goal: the first all but squares the gap, mostly
MOST_SETTLING = 12  # steps there until no rows pass the kink


def newton(
    sweep,
    box,
    step,
    *,
    tol,
    max_iter,
    start=None,
    promised=None,
    callback=None,
    goal=None,
    rival=np.inf,
    polish=True,
    n_before=0,
    history=None,
):
    """Minimise the box's entropy plus the sweep's loss.

    Parameters
    ----------
    sweep : Sweep
    box : Box
    step : Step
    tol : float
        Stops at a duality gap of ``tol * sweep.total_weight``.
    max_iter : int
    start : array of shape (n_features,) or None
        State to start from; zero is the centre of the box.
    promised : float or None
        The objective that is expected at the start. Where far less has been gained over zero, the
        start is zero after all.
    callback : callable or None
        Called with a dict of the step's figures; returning True stops.
    goal : Goal or None
        Where given, what its certificate says of the gap must be within the goal as well.
    rival : float
        Seconds, by the estimates of rows/work.py, that another method would take from here. Where
        at the pace of the last steps the rest takes longer, Newton's method stops (MAX_ITER).
    polish : bool
        Whether steps are made at the goal, so that the solution is far nearer than it asks.
    n_before, history : int, dict of lists or None
        Steps already made by other stages, and what they have recorded; added to.

    Returns
    -------
    Ending
        Its history has an entry a step of "gap", "objective", "step" (its length), "linear"
        ("secant", "cholesky", "dual", "cg" or "chord": how its direction was found) and "inner"
        (the iterations of conjugate gradients in it).
    """
    search = _Search(sweep, box, step, tol * sweep.total_weight, rival, polish)
    state = np.zeros(sweep.n_features) if start is None else np.array(start, dtype=np.float64)
    history = new_history() if history is None else history
    progress = _Progress(history, callback, n_before, search.pace)
    at, n_iter, n_polished = search.begin(state, promised, max_iter, progress)
    # At the goal a step may lead off it, to where the right rows are beyond the kink.
    best, stopped, certificate = at, None, None
    while not progress.stopped:
        near = best.gap <= search.goal
        if near and (n_iter >= max_iter or search.enough(best, n_polished)):
            best = search.with_samples(best)
            certificate = goal and goal.certify(best.state, best.evaluation)
            if certificate is None or certificate.reached:
                stopped = Status.CONVERGED
                break
        if n_iter >= max_iter or search.outrun():
            stopped = Status.MAX_ITER
            break
        following, length = search.advance(at)
        if following is None:
            best = search.with_samples(best)
            certificate = goal and goal.certify(best.state, best.evaluation)
            reached = near if certificate is None else certificate.reached
            stopped = Status.CONVERGED if reached else Status.PRECISION
            break
        n_polished, n_iter = n_polished + near, n_iter + 1
        if near or following.gap <= search.goal:
            search.unsettled = search.passes_kink(at, following)
        at = following
        if at.gap <= best.gap:
            best, certificate = at, None
        progress.told(at.gap, at.objective, length, **step.figures)
    if stopped in (None, Status.MAX_ITER) and best.gap > search.goal:
        best = at  # on its way, of which the objective is the measure
    evaluation = search.with_samples(best).evaluation
    if evaluation.curvature is None and sweep.work.curvature > WORTH_KEEPING:
        found = step.curvature_at(sweep, evaluation.hessian_weights)
        evaluation = replace(evaluation, curvature=found)
    return Ending(
        best.state,
        evaluation,
        stopped or Status.INTERRUPTED,
        step.name,
        n_before + n_iter,
        history,
        certificate=certificate,
    )


def new_history():
    """Empty lists for what Newton's steps and others on the way record."""
    return {"gap": [], "objective": [], "step": [], "linear": [], "inner": []}


class _Progress:
    """What is recorded of each point, and whether the callback has asked to stop."""

    def __init__(self, history, callback, n_before, pace):
        self.history, self.callback, self.pace = history, callback, pace
        self.iteration, self.stopped = n_before, False

    def told(self, gap, objective, length=0.0, linear="", inner=0):
        """A point, and the step that led to it."""
        self.pace.see(gap)
        figures = {"gap": gap, "objective": objective, "linear": linear, "inner": inner}
        for name, values in self.history.items():
            values.append(length if name == "step" else figures[name])
        if self.callback is not None:
            self.stopped = bool(self.callback({"iteration": self.iteration, **figures}))
        self.iteration += 1
        return self.stopped


@dataclass(frozen=True)
class Point:
    """A state with everything one sweep tells about it."""

    state: np.ndarray
    evaluation: Evaluation
    entropy: float
    gamma: np.ndarray
    gap: float

    @property
    def coef(self):
        return self.evaluation.coef

    @property
    def objective(self):
        return self.entropy + self.evaluation.value

    @property
    def noise(self):
        """Differences of the objective below this are rounding: there the gap decides."""
        return 8 * np.finfo(np.float64).eps * (abs(self.entropy) + abs(self.evaluation.value))

    def accepts(self, trial, length, slope):
        """Whether a trial lowers the objective enough, or, where that is rounding, the gap."""
        change = trial.objective - self.objective
        enough = change <= ARMIJO * length * slope
        return enough or (change <= self.noise and trial.gap < 0.9 * self.gap)


class _Search:
    """How one point leads to the next."""

    def __init__(self, sweep, box, step, goal, rival, polish):
        self.sweep, self.box, self.step, self.goal = sweep, box, step, goal
        self.rival, self.polish = rival, polish
        self.pace, self.inequality = Pace(), sweep.target.loss.inequality
        self.in_memory = sweep.work.random_access
        quick = self.in_memory and sweep.work.sweep + sweep.work.cholesky <= QUICK
        self.quick = quick and isinstance(step, CholeskyStep)
        self.wide = self.in_memory and matter(1, sweep.n_features, sweep.n_samples)
        self.unsettled = False  # whether the last step has taken rows over the kink, and it matters

    def point(self, state):
        """The point of a state, with the samples' arrays where there is memory and use for them.

        Rows that are only streamed give the curvature with the read, or else take one more for it;
        so do rows so few that the reads themselves are what takes the time.
        """
        eager = self.step.needs_curvature and (self.quick or not self.in_memory)
        box = self.box
        kept = self.in_memory and self.step.keeps
        self.pace.spend(self.sweep.work, reads=1)
        evaluation = self.sweep.evaluate(box.coef(state), eager, kept)
        gamma = box.slope(state) + evaluation.gradient
        gap = box.gap(state, -evaluation.gradient)
        return Point(state, evaluation, box.value(state), gamma, gap)

    def begin(self, state, promised, max_iter, progress):
        """The first point to be looked at, how many steps led to it, and how many polished.

        Where a step is but a few calls it is the interpreter that takes the time: the steps that
        need no decision are then made without it.
        """
        if self.quick and promised is None:
            sharp = self.goal * (POLISHED if self.polish else 1)
            rules = self.goal, sharp, ARMIJO, PROMISED, max_iter

            def told(gap, objective, length=0.0, *figures):
                # a step of half the length, or a quarter, has taken one read more, or two
                reads = 1 - math.log2(length or 1.0)
                self.pace.spend(self.sweep.work, reads, factors=length > 0)
                return progress.told(gap, objective, length, *figures) or self.outrun()

            found = self.sweep.newton_steps(self.box, state, rules, told)
            if found is not None:
                state, evaluation, entropy, gap, n_iter, polished = found
                gamma = self.box.slope(state) + evaluation.gradient
                return Point(state, evaluation, entropy, gamma, gap), n_iter, int(polished)
        at = self.point(state)
        if promised is not None:
            gained = self.objective_at_zero() - at.objective
            if not at.objective - promised <= DISAPPOINTING * gained:
                at = self.point(np.zeros(self.sweep.n_features))
        progress.told(at.gap, at.objective)
        return at, 0, 0

    def enough(self, at, n_polished):
        """Whether no further step is worth its while at a point within the goal.

        A step there all but squares the gap, for a read. Where few rows bear on each coefficient
        the gap says little of left-out scores as long as rows still pass the kink.
        """
        most = MOST_POLISHES if self.step.polishes else int(self.wide)
        most = MOST_SETTLING if self.unsettled else most
        return n_polished >= most or at.gap <= POLISHED * self.goal or not self.polish

    def passes_kink(self, at, following):
        """Whether rows pass the kink between two points, and so many that it matters."""
        before, after = at.evaluation.hessian_weights, following.evaluation.hessian_weights
        if not (self.inequality and self.in_memory) or before is None or after is None:
            return False
        return passing_matters(before, after, self.sweep.n_features)

    def outrun(self):
        """Whether the other method that there may be is the better choice from here."""
        return self.pace.outrun(self.rival, self.goal)

    def objective_at_zero(self):
        """The objective at the centre of a box whose centre is zero; inf for others."""
        if np.any(self.box.centre):
            return np.inf
        target = self.sweep.target
        loss = target.weights * target.loss.value(target.loss.log_margin(-target.offset))
        each = self.sweep.n_samples if len(loss) == 1 else 1
        return self.box.value(np.zeros(self.sweep.n_features)) + each * float(np.sum(loss))

    def with_samples(self, at):
        if at.evaluation.hessian_weights is not None:
            return at
        evaluation = self.sweep.evaluate(at.coef, samples=True)
        return replace(at, evaluation=replace(evaluation, curvature=at.evaluation.curvature))

    def advance(self, at):
        """The next point and the length of the step to it, or ``(None, 0)``."""
        self.step.see(self.sweep, at.gap, self.goal, self.pace)
        at, model, move, slope = self.descent(at)
        if self.step.tentative:
            trial = self.point(self.box.moved(at.state, move))
            if at.accepts(trial, 1.0, slope):
                return trial, 1.0
            self.step.give_up()
            at, model, move, slope = self.descent(at)
        if self.inequality and self.in_memory:
            return self.over_kink(at, model, move, slope)
        return self.backtrack(at, move, slope)

    def descent(self, at):
        """Newton's model at a point, with all that the step takes, and its direction."""
        if self.step.takes_samples:
            at = self.with_samples(at)
        evaluation = at.evaluation
        model = Model(
            self.box.inverse_hessian_root(at.state),
            at.gamma,
            evaluation.hessian_weights,
            evaluation.curvature,
            at.coef,
        )
        return at, model, *self.direction(at, model)

    def direction(self, at, model):
        """Newton's move of the state, and the slope of the objective along it."""
        p, bent = self.step.direction(self.sweep, model, at.gap, self.goal)
        ratio = self.box.half_width / self.box.entropy_weight
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            # where the root has underflowed, the same move read off the equation itself
            move = np.where(
                model.root > 1e-100, ratio * p / model.root, -ratio * (model.gamma + bent)
            )
        if self.step.tentative:
            # pairs know nothing of a bound: they shall not drive a coefficient far out on it
            move = np.clip(move, -FARTHEST, FARTHEST)
        return move, float((model.root * at.gamma) @ p)

    def over_kink(self, at, model, move, slope):
        """A step of the inequality form, whose loss has a kink at t = 1.

        Beyond it a row has neither slope nor curvature. A step that takes many such rows back
        below meets a force of which its model knew nothing, and backtracking alone would creep. So
        the model of rows that the step is seen to take back is that of the equality form, which
        is the same below the kink, and the step is computed anew until it takes back no others, or
        leads no lower than the one before.
        """
        sweep, target = self.sweep, self.sweep.target
        smooth = replace(target.loss, inequality=False)
        t = at.evaluation.functional_margins
        best = trial = self.point(self.box.moved(at.state, move))
        taken = np.zeros(len(t), dtype=bool)
        for _ in range(KINK_ROUNDS):
            if at.objective - trial.objective >= -PROMISED * slope:
                break
            ahead = trial.evaluation.functional_margins
            back = (t >= 1) & (ahead < 1) & sweep.counted & ~taken
            if not np.any(back):
                break
            taken |= back
            log_margins = np.where(taken, smooth.log_margin(t), 0.0)
            gamma = at.gamma + sweep.rmatvec_signed(target.weights * log_margins)
            weights = target.weights * smooth.second_derivative(log_margins)
            weights = np.where(taken, weights, model.hessian_weights)
            wider, _ = self.direction(at, replace(model, gamma=gamma, hessian_weights=weights))
            trial = self.point(self.box.moved(at.state, wider))
            along = float(at.gamma @ (trial.coef - at.coef))
            if along >= 0 or trial.objective >= best.objective:
                break
            best, move, slope = trial, wider, along
        if at.accepts(best, 1.0, slope):
            return best, 1.0
        return self.backtrack(at, move, slope, self.least_on_the_way(at, best, move))

    def least_on_the_way(self, at, ahead, move):
        """The length of a step at which the objective is about least on the way to its end.

        Where there are about as many columns as rows kinks are many, and that is worth finding. No
        row is read: on a straight way functional margins change in proportion.
        """
        if not self.wide:
            return 0.5
        target, t, coef = self.sweep.target, at.evaluation.functional_margins, ahead.coef - at.coef
        change = ahead.evaluation.functional_margins - t
        low, high = 0.0, 1.0
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            forces = target.weights * target.loss.log_margin(t + middle * change)
            slope = self.box.slope(self.box.moved(at.state, middle * move)) @ coef
            low, high = (middle, high) if forces @ change + slope < 0 else (low, middle)
        return high

    def backtrack(self, at, move, slope, length=1.0):
        """Halve the step until the objective falls; the full step is nearly always taken."""
        for _ in range(HALVINGS):
            trial = self.point(self.box.moved(at.state, length * move))
            if at.accepts(trial, length, slope):
                return trial, length
            # On a bound the slope says nothing of a step that leads off it: the objective must
            # agree.
            change = abs(trial.objective - at.objective)
            if max(length * abs(slope), change) <= at.noise and not trial.gap < at.gap:
                return None, 0.0
            length /= 2
        return None, 0.0
