"""The face of the spectral gradient solver: starting point, and runs until its end is proved.

The iteration itself (docs/mathematics.md, section 2.2) is compiled (src/spectral.c) or NumPy
(kernels/numpy_spectral.py). It minimises the dual, so it ends with multipliers and the
coefficients they imply.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from entropic.kernels import backend
from entropic.kernels.numpy_spectral import FIGURES, Rule

from .certificate import bracket_margin
from .continuation import TINY_SLACK, told_after
from .ending import Ending
from .exact import solve_exact
from .outcome import Status

STEPS = 50_000
EASY_STEPS = 2_000
RECORDED = 8192
# Numbers of rows made as they are read (monomials) that are rather made once: the iteration reads
# them hundreds of times.
KEPT = 1 << 22
# Runs to ever smaller gaps where rounding hides more than the solver's own aim allows for.
TIGHTER_RUNS = 3
RULES = {
    # ABBmin with a non-monotone search, and the paper's own rule
    "spectral": Rule(adaptive=True, memory=10, first=0.0),
    "spectral-paper": Rule(adaptive=False, memory=1, first=1.0),
}


def spectral(sweep, box, *, solver, goal, tol, max_iter=None, start=None, callback=None):
    """Minimise the dual by gradient steps of Barzilai and Borwein's length.

    Parameters
    ----------
    sweep : Sweep
        Over rows in memory.
    box : Box
    solver : {"spectral", "spectral-paper"}
        The adaptive step (ABBmin) with the non-monotone line search of Grippo, Lampariello and
        Lucidi; or a standard spectral gradient method, as the paper's section 4 recommends: the
        long step, first 1, with a monotone Armijo search that halves it.
    goal : Goal
    tol : float
        What the iteration itself aims at. Without slack, where the primal is met in the limit
        only, the gap is what the multipliers charge for the residual, and the residual must be
        within ``sqrt(tol * n_samples)`` as well.
    max_iter : int or None
        None is 50,000 steps.
    start : array of shape (n_features,) or None
        State to start from; the multipliers are those that its margins imply.
    callback : callable or None
        Called with a dict of the step's figures; returning True stops.

    Returns
    -------
    Ending
        With the multipliers that the iteration reached: ``multipliers == -weights * log(margins)``
        holds to the gap only. Where it is proved that nothing separates, what solve_exact keeps.

    Raises
    ------
    ValueError
        If the rows are not in memory.
    """
    if not sweep.work.random_access:
        raise ValueError(
            f"solver={solver!r} keeps one multiplier a sample and needs all rows in memory; "
            "use solver='newton' for rows in batches."
        )
    steps = STEPS if max_iter is None else max_iter
    ascent = _Ascent(sweep, box, solver, start)
    if sweep.target.loss.slack > 0:
        return ascent.run_to(goal, tol, steps, callback)
    # Without slack the multipliers have no limit unless some coefficients separate. A proof that
    # none do is looked for once, after the steps that an easy case takes.
    ending = ascent.run_to(goal, tol, min(steps, EASY_STEPS), callback)
    separated = np.min(ending.evaluation.functional_margins[sweep.counted]) > 0
    interrupted = ending.stopped is Status.INTERRUPTED
    if not (separated or interrupted) and bracket_margin(sweep, box).separable is False:
        callback = told_after(ending.n_iter, callback)
        kept = solve_exact(sweep, box, goal=goal, tol=tol, callback=callback)
        return replace(kept, n_iter=kept.n_iter + ending.n_iter)
    if ending.stopped is Status.MAX_ITER and ending.n_iter < steps:
        ending = ascent.run_to(goal, tol, steps - ending.n_iter, callback)
    return ending


class _Ascent:
    """Multipliers on their way."""

    def __init__(self, sweep, box, solver, start):
        self.sweep, self.box, self.solver = sweep, box, solver
        self.design = sweep.design.stored(KEPT)
        self.scaled_multipliers, self.tau = _start(sweep, box, start)
        self.primal_residual = np.zeros(sweep.n_samples)
        self.n_iter, self.history = 0, {name: [] for name in FIGURES}

    def run_to(self, goal, tol, max_iter, callback):
        """Steps until the goal is proved, or nothing more is gained; returns the Ending there."""
        most, aim = self.n_iter + max_iter, tol
        for _ in range(TIGHTER_RUNS):
            ending = self._run(aim, most - self.n_iter, callback)
            x = ending.scaled_multipliers
            certificate = goal.certify(ending.state, ending.evaluation, x)
            if ending.stopped is not Status.CONVERGED or certificate.reached:
                break
            aim *= 0.1
        return replace(ending, certificate=certificate)

    def _run(self, tol, max_iter, callback):
        sweep, record = self.sweep, np.empty((RECORDED, len(FIGURES)))
        exact = sweep.target.loss.slack == 0
        counted = np.count_nonzero(sweep.counted)
        report = backend.spectral.iterate(
            self.design,
            sweep.target,
            self.box,
            self.scaled_multipliers,
            self.tau,
            self.primal_residual,
            RULES[self.solver],
            goal_gap=tol * sweep.total_weight,
            goal_norm=math.sqrt(tol * counted) if exact else math.inf,
            max_iter=max_iter,
            record=record,
            n_threads=sweep.n_threads,
            callback=self._told(callback),
        )
        sweep.reads.count += report["n_reads"]
        self._remember(record[: report["n_recorded"]])
        self.n_iter += report["n_iter"]
        return Ending(
            *self._point(),
            stopped=Status(report["status"]),
            solver=self.solver,
            n_iter=self.n_iter,
            history=self.history,
            scaled_multipliers=self.scaled_multipliers.copy(),
        )

    def _point(self):
        """The state, and the evaluation of the problem there or, without slack, of one near by."""
        sweep, loss = self.sweep, self.sweep.target.loss
        near = sweep
        if loss.slack == 0:
            near = sweep.with_target(loss=replace(loss, slack=TINY_SLACK))
        state = self.box.state_of_tau(self.tau)
        return state, near.evaluate(self.box.coef(state), samples=True)

    def _told(self, callback):
        """The callback, told of all steps so far."""
        if callback is None:
            return None
        before = self.n_iter

        def told(iteration, *figures):
            named = dict(zip(FIGURES[1:], figures, strict=False))
            return callback({"iteration": int(iteration) + before, **named})

        return told

    def _remember(self, entries):
        if self.n_iter > 0:
            entries = entries[1:]  # the point where the last run ended
        columns = dict(zip(FIGURES, entries.T.copy(), strict=True))
        columns["iteration"] = columns["iteration"].astype(int) + self.n_iter
        for name, values in columns.items():
            self.history[name].extend(values.tolist())


def _start(sweep, box, start):
    """Scaled multipliers to start from, and their ``D^T lambda``."""
    if start is None:
        return np.zeros(sweep.n_samples), np.zeros(sweep.n_features)
    target, loss = sweep.target, sweep.target.loss
    t = sweep.matvec_signed(box.coef(start)) - target.offset
    if loss.slack > 0:
        x = 0.0 - loss.log_margin(t)
    else:
        # where the start violates the constraint it says nothing about the margin
        x = 0.0 - np.log(np.where(t > 0, t, 1.0))
    if loss.inequality:
        x = np.maximum(x, 0.0)
    return x, sweep.rmatvec_signed(target.weights * x)
