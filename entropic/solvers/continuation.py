"""The whole way to a solution: straight by Newton where that is easy, else along a path.

Newton's method in w alone takes 4 to 15 steps where slack is large, the box moderate and the
constraint an equality, or where it starts near by. It is the shortest way there and is tried
first. Elsewhere a pair of coefficients and multipliers goes ahead (dual_newton.py, interior.py),
at a slack no smaller than ``PAIR_SLACK``; from its coefficients Newton needs two or three steps
more, and follows slack down from there by tens. Where no pair can be kept, since rows are streamed
or no factor fits, slack is followed down all the way.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from entropic.solvers.primal_dual.dual_newton import dual_newton
from entropic.solvers.primal_dual.interior import interior
from entropic.solvers.primal_dual.pair import Pair, pairs_fit, transpose

from .newton import newton
from .newton_steps import choose_step
from .outcome import Status

STEPS = 400
STRAIGHT_STEPS = 30  # after so many, an easy-looking problem is given to the path
EASY_SLACK = 1e-2
NEAR_SLACK = 1e-4  # easy down to here where a solution near by is known
PAIR_SLACK = 1e-8
START_SLACK = 0.1
LOOSE = 1e-3  # tol of the stages on the way
STAGE_STEPS = 40
PROXIMAL_ROUNDS = 5
POLISH = 1e-5  # share of tol that fixes the support of the inequality form for Newton


@dataclass
class Ending:
    """Where a solution ended; ``multipliers`` are the pair's, or None: those of the margins."""

    state: np.ndarray
    evaluation: object
    report: dict
    solver: str
    multipliers: np.ndarray | None = None


def solve_with_slack(sweep, box, *, tol, max_iter=None, start=None, callback=None):
    """Minimise the problem of a sweep whose loss has slack.

    Returns
    -------
    Ending
        The sweep's per-sample arrays are those of its state.
    """
    journal = _Journal(sweep, max_iter or STEPS, callback)
    slack, ending = sweep.target.loss.slack, None
    paired = pairs_fit(sweep)
    if slack >= EASY_SLACK or (paired and start is not None and slack >= NEAR_SLACK):
        ending = journal.newton(box, tol, start, None if not paired else STRAIGHT_STEPS)
        if ending.report["status"] is not Status.MAX_ITER and not (
            paired and ending.report["status"] is Status.PRECISION
        ):
            return ending
    if journal.exhausted:
        return ending or journal.newton(box, tol, start)
    if not paired:
        return _down(journal, box, START_SLACK, tol, start)
    first = max(slack, PAIR_SLACK)
    pair = _pair(journal, box, first, tol if first == slack else LOOSE * tol)
    if journal.exhausted:
        return journal.newton(box, tol, pair.state)
    if first > slack:
        last = _down(journal, box, first, tol, pair.state)
        if last.report["status"] is Status.PRECISION:
            last = _proximal(journal, box, first, tol, last)
        return last
    last = journal.newton(box, tol, pair.state, STAGE_STEPS)
    if last.report["status"] is Status.MAX_ITER and not journal.exhausted:
        last.report["status"] = Status.PRECISION  # more steps were allowed, and of no use
    goal = tol * sweep.total_weight
    if last.report["status"] is not Status.CONVERGED and pair.gap < last.report["gap"]:
        last = journal.ending_at(box, pair, goal)
    if last.report["status"] is Status.PRECISION:
        # stuck, as in a box with next to no entropy: slack leads there from where it is large
        other = _down(journal, box, START_SLACK, tol, start)
        if other.report["gap"] < last.report["gap"]:
            return other
        last.evaluation = sweep.evaluate(box.coef(last.state), details=True)
        last.report.update(n_iter=journal.n_iter)
    return last


def _pair(journal, box, slack, tol):
    sweep = journal.sweep
    loss = replace(sweep.target.loss, slack=slack)
    with posed(sweep, loss=replace(loss, inequality=False, slack=slack)) as equality:
        if not loss.inequality:
            return dual_newton(
                equality, box, tol=tol, max_iter=journal.left, watch=journal.watch("dual")
            )
    with posed(sweep, loss=replace(loss, inequality=False, slack=max(slack, 1e-4))) as easier:
        pair = dual_newton(
            easier, box, tol=1e-3, max_iter=journal.left, watch=journal.watch("dual")
        )
    with posed(sweep, loss=loss) as wanted:
        return interior(
            wanted,
            box,
            pair,
            tol=POLISH * tol,
            max_iter=journal.left,
            watch=journal.watch("interior"),
        )


def _down(journal, box, slack, tol, state):
    """Newton at ``slack``, then at a tenth of it, and so on down to the slack that is wanted."""
    sweep, target = journal.sweep, journal.sweep.target.loss.slack
    while slack > target * (1 + 1e-9) and not journal.exhausted:
        with posed(sweep, loss=replace(sweep.target.loss, slack=slack)):
            state = journal.newton(box, max(tol, LOOSE), state, STAGE_STEPS).state
        slack /= 10
    return journal.newton(box, tol, state)


def _proximal(journal, box, near, tol, last):
    """Proximal steps on the dual, for a slack at which ``ln b`` magnifies the rounding of ``D w``.

    They are those of exact.py: with ``y + near x_k`` for y and ``near + slack`` for the slack the
    problem is well conditioned, and its multipliers tend to those of the problem itself.
    """
    sweep, target = journal.sweep, journal.sweep.target
    goal, best, least = tol * sweep.total_weight, None, last.report["gap"]
    x, state = 0.0 - sweep.log_margins, last.state
    loss = replace(target.loss, slack=near + target.loss.slack)
    for _ in range(PROXIMAL_ROUNDS):
        if journal.exhausted:
            break
        with posed(sweep, loss=loss, offset=target.offset + near * x):
            state = journal.newton(box, LOOSE * tol, state, STAGE_STEPS).state
            x = 0.0 - sweep.log_margins
        pair = Pair(sweep, box, state, x, box.slope(state) - transpose(sweep, target.weights * x))
        if pair.gap < least:
            best, least = pair, pair.gap
        if pair.gap <= goal:
            break
    # the sweep's figures must be those of what is returned
    if best is None:
        last.evaluation = sweep.evaluate(box.coef(last.state), details=True)
        return last
    return journal.ending_at(box, best, goal)


@contextmanager
def posed(sweep, **changes):
    """The sweep with some of its target replaced, for a while."""
    target = sweep.target
    sweep.target = replace(target, **changes)
    try:
        yield sweep
    finally:
        sweep.target = target


class _Journal:
    """What all stages together have used up and seen."""

    def __init__(self, sweep, max_iter, callback):
        self.sweep, self.max_iter, self.callback = sweep, max_iter, callback
        self.n_iter, self.stopped = 0, False
        self.history = {"gap": [], "objective": [], "step": [], "linear": [], "inner": []}

    @property
    def left(self):
        return max(self.max_iter - self.n_iter, 0)

    @property
    def exhausted(self):
        return self.stopped or self.left == 0

    def newton(self, box, tol, start, max_iter=None):
        """A run of Newton's method that knows what the stages before it have used."""
        before = self.n_iter
        step = choose_step(self.sweep)

        def callback(figures):
            figures["iteration"] += before
            return self.stopped or (self.callback is not None and self.callback(figures))

        state, evaluation, report = newton(
            self.sweep,
            box,
            step,
            tol=tol,
            max_iter=self.left if max_iter is None else min(max_iter, self.left),
            start=start,
            callback=callback,
        )
        self.n_iter += report["n_iter"]
        self.stopped |= report["status"] is Status.INTERRUPTED
        for name, values in self.history.items():
            values.extend(report["history"][name])
        if not evaluation.details:
            curvature = evaluation.curvature
            evaluation = self.sweep.evaluate(box.coef(state), details=True)
            evaluation.curvature = curvature
        report.update(n_iter=self.n_iter, history=self.history)
        return Ending(state, evaluation, report, step.name)

    def watch(self, linear):
        """Records the pairs of a primal-dual stage."""
        before, seen = self.n_iter, [0]

        def note(pair, length):
            figures = {"gap": pair.gap, "objective": pair.objective, "step": length}
            figures |= {"linear": linear, "inner": 0}
            for name, values in self.history.items():
                values.append(figures[name])
            self.n_iter, seen[0] = before + seen[0], seen[0] + 1
            if self.callback is not None and self.callback({"iteration": self.n_iter, **figures}):
                self.stopped = True
            return self.stopped

        return note

    def ending_at(self, box, pair, goal):
        """The pair itself as the solution."""
        evaluation = self.sweep.evaluate(box.coef(pair.state), details=True)
        status = Status.CONVERGED if pair.gap <= goal else Status.PRECISION
        if self.stopped:
            status = Status.INTERRUPTED
        elif self.exhausted and status is Status.PRECISION:
            status = Status.MAX_ITER
        report = dict(
            status=status,
            n_iter=self.n_iter,
            gap=pair.gap,
            objective=pair.objective,
            history=self.history,
        )
        return Ending(pair.state, evaluation, report, "newton-pair", pair.multipliers)
