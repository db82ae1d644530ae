"""The whole way to a solution: straight by Newton where that is easy, else by pairs or a path.

Newton's method in w alone takes 4 to 15 steps where slack is large, the box moderate and the
constraint an equality, or where it starts near by. It is the shortest way there and is tried
first, as long as its pace promises to end before a pair would. Elsewhere a pair of coefficients
and multipliers is followed (primal_dual/kkt.py), which converges at any slack, none included, and
where its steps get short, one with multipliers of the bounds (primal_dual/bounded.py). Where
no pair can be kept, since rows are streamed or no factor fits, slack is followed down from where
Newton converges.
"""

from __future__ import annotations

import math
from dataclasses import replace

from .ending import Ending, Goal
from .newton import POLISHED, new_history, newton
from .newton_steps import CholeskyStep, choose_step
from .outcome import Status
from .primal_dual.bounded import solve_bounded_pair
from .primal_dual.kkt import PATIENCE, pair_at, pair_near, solve_pair
from .primal_dual.system import factor_fits
from .secant import SecantStep

STEPS = 400
PAIR_STEPS, PAIR_CALLS = 12, 5e-4  # that a pair usually takes; seconds of a step's many calls
# Of its goal, where the constraint is an inequality: at the goal itself a pair has not identified
# which of the rows near the kink are beyond it, and so what these would score without themselves.
# An equality has no kink, but in a wide box multipliers so small that the goal leaves them open.
IDENTIFIED = 1e-5
EASY_SLACK = 1e-2
NEAR_SLACK = 1e-4  # easy down to here where a solution near by is known
START_SLACK = 0.1
LOOSE = 1e-3  # tol of the stages on the way
STAGE_STEPS = 40
SHORT_PATIENCE = 15  # steps in which a pair's gap has not halved, before bounds get multipliers
BEGUN = 0.1  # of the features over the sample's rows: part of what its solution is wrong by
ROUNDING = 1e-12  # a gap a unit of weight that is made of little else
TINY_SLACK = 1e-8  # stands for none where log-margins of any functional margin are needed


def solve_with_slack(sweep, box, *, tol, max_iter=None, start=None, callback=None, goal=None):
    """Minimise the problem of a sweep whose loss has slack.

    Parameters
    ----------
    sweep, box, tol, start, callback
        As for :func:`newton`.
    max_iter : int or None
        None is 400 steps.
    goal : Goal or None
        Of the problem itself; None stops at the gap as it is computed.

    Returns
    -------
    Ending
    """
    path = Path(sweep, box, tol, max_iter, callback, goal)
    slack, paired, ending = sweep.target.loss.slack, factor_fits(sweep), None
    if slack >= EASY_SLACK or (paired and start is not None and slack >= NEAR_SLACK):
        ending = path.newton(start, rival=pair_time(sweep) if paired else math.inf)
        if ending.stopped in (Status.CONVERGED, Status.INTERRUPTED) or path.exhausted:
            return ending
    if paired:
        outrun = ending is not None and ending.stopped is Status.MAX_ITER
        near = pair_near(sweep, box, ending) if outrun else None
        pair = path.pair(start=near, patience=SHORT_PATIENCE)
        ending = path.bounded(path.better(path.ending_of(pair), ending))
        if ending.stopped is not Status.CONVERGED and not path.exhausted:
            ending = path.better(path.newton(ending.state, STAGE_STEPS), ending)
    if ending is None or not (ending.stopped is Status.CONVERGED or path.exhausted):
        # slack leads there from where it is large, also where a box has next to no entropy
        ending = path.better(path.down(START_SLACK, start), ending)
    return ending


def pair_time(sweep):
    """Seconds that a pair usually takes, by the estimates of rows/work.py."""
    work = sweep.work
    return PAIR_STEPS * (min(work.cholesky, work.dual) + 4 * work.sweep + PAIR_CALLS)


def told_after(n_before, callback):
    """The callback, told of so many steps more."""
    return callback and (
        lambda figures: callback({**figures, "iteration": figures["iteration"] + n_before})
    )


def start_of_sample(sweep, box, n_rows):
    """The solution of a sample of rows, to start from.

    Returns
    -------
    state : array of shape (n_features,)
    objective : float
        What that of all rows would be there, were they like the sample.
    """
    part = sweep.sample(n_rows).sweep
    share = part.total_weight / sweep.total_weight
    small = box.with_entropy_weight(box.entropy_weight * share)
    tol = BEGUN * sweep.n_features / n_rows
    found = newton(part, small, CholeskyStep(), tol=tol, max_iter=STAGE_STEPS, polish=False)
    return found.state, found.history["objective"][-1] / share


class Path:
    """A problem, and what all stages on the way to it have used up and seen.

    Parameters
    ----------
    sweep, box, tol, max_iter, callback, goal
        As for :func:`solve_with_slack`.
    """

    def __init__(self, sweep, box, tol, max_iter, callback, goal):
        self.sweep, self.box, self.tol = sweep, box, tol
        self.max_iter, self.goal = max_iter or STEPS, goal
        self.judge = goal or Goal(sweep, box, tol)
        self.n_iter, self.callback, self.interrupted = 0, callback, False
        self.history = new_history()

    def told(self, figures):
        """Whether the callback, told of a step, has asked to stop, of this stage or one before."""
        if self.callback is not None and not self.interrupted:
            self.interrupted = bool(self.callback(figures))
        return self.interrupted

    @property
    def left(self):
        return max(self.max_iter - self.n_iter, 0)

    @property
    def exhausted(self):
        return self.interrupted or self.left == 0

    def newton(self, start, max_iter=None, stage=None, tol=None, rival=math.inf):
        """A run of Newton's method, on the problem itself or on a stage before it."""
        sweep = self.sweep if stage is None else stage
        step = choose_step(sweep)
        promised = None
        if start is None and isinstance(step, SecantStep) and step.polishes:
            start, promised = start_of_sample(sweep, self.box, step.n_begun)
        ending = newton(
            sweep,
            self.box,
            step,
            tol=self.tol if tol is None else tol,
            max_iter=self.left if max_iter is None else min(max_iter, self.left),
            start=start,
            promised=promised,
            callback=self.told,
            goal=self.goal if stage is None else None,
            rival=rival,
            polish=stage is None,
            n_before=self.n_iter,
            history=self.history,
        )
        self.n_iter = ending.n_iter
        return ending

    def down(self, slack, state):
        """Newton at ``slack``, then at a tenth of it, and so on down to the slack wanted."""
        loss, tol = self.sweep.target.loss, max(self.tol, LOOSE)
        while slack > loss.slack * (1 + 1e-9) and not self.exhausted:
            stage = self.sweep.with_target(loss=replace(loss, slack=slack))
            state = self.newton(state, STAGE_STEPS, stage, tol).state
            slack /= 10
        return self.newton(state)

    def pair(self, slack=None, most=None, start=None, until=None, patience=PATIENCE):
        """Coefficients and multipliers of the problem, or of it with another slack.

        After ``most`` steps, where ``until`` says so of a pair, and where in so many steps the gap
        has not halved, they are what has been reached; ``start`` is a pair to go on from.

        Returns
        -------
        Pair
        """
        stage, loss = self.sweep, self.sweep.target.loss
        if slack is not None:
            stage = stage.with_target(loss=replace(loss, slack=slack))
            if start is not None:
                at = start.state, start.scaled_multipliers, start.surplus, start.dual_residual
                start = pair_at(stage, self.box, *at)
        return solve_pair(
            stage,
            self.box,
            tol=0.1 * self.tol,
            sharp=self._sharp if slack is None else 1.0,
            goal_norm=0.1 * self.judge.norm if slack is None else math.inf,
            max_iter=self.left if most is None else min(most, self.left),
            start=start,
            watch=self._watch(until),
            patience=patience,
        )

    def bounded(self, ending):
        """An ending, or a pair with multipliers of the bounds where that proves more.

        It is not tried from a solution, nor where rounding is all that the gap is made of.
        """
        gap = self._certificate(ending).dual_gap
        rounding = gap <= ROUNDING * self.sweep.total_weight
        if ending.stopped is Status.CONVERGED or self.exhausted or rounding:
            return ending
        pair = solve_bounded_pair(
            self.sweep,
            self.box,
            tol=0.1 * self.tol,
            sharp=self._sharp,
            goal_norm=0.1 * self.judge.norm,
            max_iter=self.left,
            watch=self._watch(),
        )
        return self.better(self.ending_of(pair), ending)

    @property
    def _sharp(self):
        """Of a pair's goal, the part that the gap is to fall to."""
        loss = self.sweep.target.loss
        if loss.slack == 0:
            return 1.0
        return IDENTIFIED if loss.inequality else POLISHED

    def _watch(self, until=None):
        """What counts and records the steps of a pair, and says when to stop."""
        before, seen = self.n_iter, [0]

        def watch(pair, length):
            figures = {"gap": pair.gap, "objective": pair.objective, "step": length}
            figures |= {"linear": "pair", "inner": 0}
            for name, values in self.history.items():
                values.append(figures[name])
            self.n_iter, seen[0] = before + seen[0], seen[0] + 1
            asked = self.told({"iteration": self.n_iter, **figures})
            return asked or (until is not None and until(pair))

        return watch

    def ending_of(self, pair):
        """A pair as the solution."""
        return self.ending_at(pair.state, pair.scaled_multipliers)

    def ending_at(self, state, x, solver="newton-pair"):
        """A state and scaled multipliers as the solution."""
        near = self.sweep
        if near.target.loss.slack == 0:
            # the evaluation is that of a problem near by, whose log-margins are defined everywhere
            near = near.with_target(loss=replace(near.target.loss, slack=TINY_SLACK))
        evaluation = near.evaluate(self.box.coef(state), samples=True)
        ending = Ending(
            state,
            evaluation,
            Status.PRECISION,
            solver,
            self.n_iter,
            self.history,
            x,
        )
        certificate, stopped = self._certificate(ending), Status.PRECISION
        if self.interrupted:
            stopped = Status.INTERRUPTED
        elif certificate.reached:
            stopped = Status.CONVERGED
        elif self.left == 0:
            stopped = Status.MAX_ITER
        return replace(ending, stopped=stopped, certificate=certificate)

    def better(self, one, other):
        """The ending that proves more, told of all steps so far."""
        if other is not None:
            ranks = [self.judge.rank(self._certificate(each)) for each in (one, other)]
            if ranks[1] < ranks[0]:
                # why the path as a whole stopped is what its last stage says
                keep = other.stopped is Status.CONVERGED
                one = other if keep else replace(other, stopped=one.stopped)
        return replace(one, n_iter=self.n_iter)

    def _certificate(self, ending):
        if ending.certificate is not None:
            return ending.certificate
        return self.judge.certify(ending.state, ending.evaluation, ending.scaled_multipliers)
