"""The face of the spectral gradient solver: scaling, starting point, and what its end proves.

The iteration itself is compiled (src/spectral.c) or NumPy (numpy_spectral.py). It minimises the
dual, so it ends with multipliers and the coefficients they imply. The gap it reports lies
between these two, and is computed for every sample on its own, without cancellation.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from entropic.kernels import backend
from entropic.kernels.backend import Box
from entropic.kernels.numpy_spectral import FIGURES, Rule
from entropic.rows.target import Target

from .certificate import bracket_margin
from .continuation import PAIR_SLACK
from .exact import solve_exact
from .outcome import MESSAGES, Outcome, Status, least_score, norm

STEPS = 50_000
EASY_STEPS = 2_000
RECORDED = 8192
# Numbers of rows made as they are read (monomials) that are rather made once: the iteration reads
# them hundreds of times.
KEPT = 1 << 22
RULES = {
    # ABBmin with a non-monotone search, and the paper's own rule
    "spectral": Rule(adaptive=True, memory=10, first=0.0),
    "spectral-paper": Rule(adaptive=False, memory=1, first=1.0),
}


def spectral(sweep, box, *, solver="spectral", tol=1e-8, max_iter=None, start=None, callback=None):
    """Minimise the dual by gradient steps of Barzilai and Borwein's length.

    Parameters
    ----------
    sweep : Sweep
        Over rows in memory. Its per-sample arrays are filled for the returned coefficients.
    box : Box
    solver : {"spectral", "spectral-paper"}
        The adaptive step (ABBmin) with the non-monotone line search of Grippo, Lampariello and
        Lucidi; or the rule of the paper, section 4: the long step, first 1, with a monotone
        Armijo search that halves it.
    tol : float
        Stops at a duality gap of ``tol * sweep.total_weight``. Without slack, where the primal is
        met in the limit only, the gap is what the multipliers charge for the residual, and the
        residual must be within ``sqrt(tol * n_samples)`` as well.
    max_iter : int or None
        None is 50,000 steps.
    start : array of shape (n_features,) or None
        State to start from; the multipliers are those that its margins imply.
    callback : callable or None
        Called with a dict of the step's figures; returning True stops.

    Returns
    -------
    Outcome
        With the multipliers that the iteration reached, and the margins that are best for its
        coefficients: ``multipliers == -weights * log(margins)`` holds to the gap only. Without
        slack, and where it is proved that nothing separates, what solve_exact keeps.

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
    ascent = _Ascent(sweep, box, RULES[solver], tol, start)
    if sweep.target.loss.slack > 0:
        return ascent.run(solver, steps, callback)
    # Without slack the multipliers have no limit unless some coefficients separate. A proof that
    # none do is looked for once, after the steps that an easy case takes.
    outcome = ascent.run(solver, min(steps, EASY_STEPS), callback)
    separated = np.min(sweep.functional_margins[ascent.counted]) > 0
    if not separated and outcome.status is not Status.INTERRUPTED:
        details = sweep.functional_margins, sweep.log_margins, sweep.hessian_weights
        if bracket_margin(sweep, box).separable is False:
            kept = solve_exact(sweep, box, tol=tol, callback=callback)
            return replace(kept, n_iter=kept.n_iter + outcome.n_iter)
        sweep.functional_margins, sweep.log_margins, sweep.hessian_weights = details
    if outcome.status is Status.MAX_ITER and outcome.n_iter < steps:
        outcome = ascent.run(solver, steps - outcome.n_iter, callback)
    return outcome


class _Ascent:
    """Multipliers on their way, in weights divided by the largest.

    Weights and entropy divided by one number change no step, and keep their sums in range.
    """

    def __init__(self, sweep, box, rule, tol, start):
        self.sweep, self.box, self.rule, target = sweep, box, rule, sweep.target
        self.unit = float(np.max(target.weights))
        weights = target.weights / self.unit
        self.target = Target(target.sign, weights, target.offset, target.loss)
        self.scaled_box = Box(box.lower, box.upper, box.entropy_weight / self.unit)
        self.counted = np.broadcast_to(weights > 0, sweep.n_samples)
        self.goal = tol * sweep.total_weight
        self.exact = target.loss.slack == 0
        self.goal_norm = math.sqrt(tol * np.count_nonzero(self.counted)) if self.exact else math.inf
        self.ratio, self.tau = _start(sweep, box, self.target, start)
        self.residual = np.zeros(sweep.n_samples)
        self.n_iter, self.history = 0, {name: [] for name in FIGURES}

    def run(self, solver, max_iter, callback):
        """Steps from where the last run ended; returns the Outcome there."""
        record = np.empty((RECORDED, len(FIGURES)))
        report = backend.spectral.iterate(
            self.sweep.design.stored(KEPT),
            self.target,
            self.scaled_box,
            self.ratio,
            self.tau,
            self.residual,
            self.rule,
            goal_gap=self.goal / self.unit,
            goal_norm=self.goal_norm,
            max_iter=max_iter,
            record=record,
            n_threads=self.sweep.n_threads,
            callback=self._told(callback),
        )
        self.sweep.count += math.ceil(report["n_reads"])
        self._remember(record[: report["n_recorded"]])
        self.n_iter += report["n_iter"]
        return self._outcome(solver, report)

    def _told(self, callback):
        """The callback, told gap and objective in the caller's weights and all steps so far."""
        if callback is None:
            return None
        before = self.n_iter

        def told(iteration, gap, objective, gradient_norm):
            return callback(
                {
                    "iteration": int(iteration) + before,
                    "gap": gap * self.unit,
                    "objective": objective * self.unit,
                    "gradient_norm": gradient_norm,
                }
            )

        return told

    def _remember(self, entries):
        if self.n_iter > 0:
            entries = entries[1:]  # the point where the last run ended
        columns = dict(zip(FIGURES, entries.T.copy(), strict=True))
        columns["iteration"] = columns["iteration"].astype(int) + self.n_iter
        columns["gap"] *= self.unit
        columns["objective"] *= self.unit
        for name, values in columns.items():
            self.history[name].extend(values.tolist())

    def _outcome(self, solver, report):
        sweep, target = self.sweep, self.sweep.target
        state = self.scaled_box.state_of_tau(self.tau)
        violation = _details(sweep, self.ratio, self.residual)
        residual_norm = norm(violation[self.counted])
        margins, status = np.exp(sweep.log_margins), Status(report["status"])
        figures = dict(gap=report["gap"] * self.unit, goal=self.goal, n_iter=self.n_iter)
        objective, message = report["objective"] * self.unit, MESSAGES[status].format(**figures)
        if self.exact:
            terms = target.weights * margins * (sweep.log_margins - 1)
            objective = self.box.value(state) + float(np.sum(terms, where=self.counted))
            message += f" The residual is {residual_norm:.1e}, for a goal of {self.goal_norm:.1e}."
        return Outcome(
            coef=self.box.coef(state),
            margins=margins,
            multipliers=0.0 + target.weights * self.ratio,
            objective=objective,
            gap=figures["gap"],
            residual_norm=residual_norm,
            separation=least_score(sweep.functional_margins, target.offset),
            status=status,
            solver=solver,
            n_iter=self.n_iter,
            n_sweeps=sweep.count,
            history=self.history,
            message=message,
            state=state,
        )


def _start(sweep, box, scaled, start):
    """Multipliers over weights, and ``tau`` in scaled weights, to start from."""
    if start is None:
        return np.zeros(sweep.n_samples), np.zeros(sweep.n_features)
    loss = scaled.loss
    functional_margins = scaled.sign * sweep.scores(box.coef(start)) - scaled.offset
    if loss.slack > 0:
        ratio = -loss.log_margin(functional_margins)
    else:
        # where the start violates the constraint it says nothing about the margin
        ratio = -np.log(np.where(functional_margins > 0, functional_margins, 1.0))
    if loss.inequality:
        ratio = np.maximum(ratio, 0.0)
    pointwise_gradient = scaled.sign * scaled.weights * ratio
    sweep.count += 1
    tau = backend.sweeps.rmatvec(sweep.design.rows, pointwise_gradient, sweep.n_threads)
    return ratio, sweep.design.from_rows(tau)


def _details(sweep, ratio, residual):
    """Fill the sweep's per-sample arrays without another read; returns the violation."""
    target, loss = sweep.target, sweep.target.loss
    with np.errstate(over="ignore"):
        margins = np.exp(-ratio)
        sweep.functional_margins = residual + margins - loss.slack * ratio
        if loss.slack > 0:
            sweep.log_margins = loss.log_margin(sweep.functional_margins)
            margins = np.exp(sweep.log_margins)
        else:
            sweep.log_margins = 0.0 - ratio
    # the curvature 1/b of the exact constraint, as far as it can be told from that of a slack
    nearest = replace(loss, slack=max(loss.slack, PAIR_SLACK))
    sweep.hessian_weights = target.weights * nearest.second_derivative(sweep.log_margins)
    violation = sweep.functional_margins - margins
    return np.minimum(violation, 0.0) if loss.inequality else violation
