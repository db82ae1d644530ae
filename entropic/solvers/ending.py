"""The one ending of every solver: what a point proves, and the status that follows from it.

The duality gap is computed from ``D w`` and ``D^T lambda``, which carry the rounding of their
sums, and from a state whose coefficients are rounded to doubles. Each moves the gap by its square::

    1/2 sum_j S_j dtau_j^2       dtau_j = eps (|D|^T |lambda|)_j
    1/2 sum_i q_i dt_i^2/slack   dt_i = eps ((|D| |w|)_i + |y_i|)

(docs/mathematics.md, section 4.3). What rounding may hide is part of every gap that is compared
with the goal, inside the solvers as at their end. The two sums are bounded without a read of the
rows where their size is known: a standardised column has mean square one, so that no sum with it
passes that of Cauchy and Schwarz, and of other rows the largest entry is known. Only where that
says too little are they summed up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from entropic.kernels.backend import sweeps
from entropic.rows.sweep import Evaluation

from .outcome import Outcome, Status, norm

EPS = np.finfo(np.float64).eps
LARGEST = np.finfo(np.float64).max
SMALLEST = 1e-280  # a sum of squares below this, or above its inverse, has lost some of them
CLOSER = 1e-3  # of gap or goal: from here on a bound on rounding is worth a read of the rows


@dataclass(frozen=True)
class Ending:
    """Where a solver stopped, and why.

    Attributes
    ----------
    state : array of shape (n_features,)
    evaluation : Evaluation
        At the state's coefficients, with the per-sample arrays.
    stopped : Status
        CONVERGED where the solver met the goal by its own measure, PRECISION where it could go
        no further, MAX_ITER, or INTERRUPTED by the callback.
    solver : str
    n_iter : int
    history : dict of lists
    scaled_multipliers : array of shape (n_samples,) or None
        The solver's own; None stands for those that the margins imply, ``-ln b``.
    margin_bound : float
        Proved upper bound on every margin in the box, where one was looked for; else NaN.
    inseparable : bool
        Whether it proves that nothing separates.
    certificate : Certificate or None
        Of this point, where the solver has asked for it.
    """

    state: np.ndarray
    evaluation: Evaluation
    stopped: Status
    solver: str
    n_iter: int
    history: dict
    scaled_multipliers: np.ndarray | None = None
    margin_bound: float = math.nan
    inseparable: bool = False
    certificate: Certificate | None = None


@dataclass(frozen=True)
class Certificate:
    """What a point proves: its gap, rounding included, and how well it meets the constraint.

    ``least_score`` is ``min_i D_i w``, less what rounding may have added to it.
    """

    dual_gap: float
    objective: float
    residual_norm: float
    least_score: float
    reached: bool


class Goal:
    """What ``tol`` asks of a point of one problem.

    Parameters
    ----------
    sweep : Sweep
        Its loss may be without slack.
    box : Box
    tol : float
    """

    def __init__(self, sweep, box, tol):
        self.sweep, self.box, self.target = sweep, box, sweep.target
        self.exact = sweep.target.loss.slack == 0
        self.gap = tol * sweep.total_weight
        self.norm = math.inf
        if self.exact:
            self.norm = math.sqrt(tol * sweep.n_counted)
        self._largest = None

    @property
    def largest_entry(self):
        """A bound on the numbers of rows that are not standardised, looked for once."""
        if self._largest is None:
            self._largest = max(self.sweep.design.rows.largest_entry(), 1e-300)
        return self._largest

    def certify(self, state, evaluation, scaled_multipliers=None):
        """The certificate of a state and multipliers, those of its margins or others.

        Parameters
        ----------
        state : array of shape (n_features,)
        evaluation : Evaluation
            At the state's coefficients, with the per-sample arrays.
        scaled_multipliers : array of shape (n_samples,) or None

        Returns
        -------
        Certificate
        """
        x = scaled_multipliers
        (sums,) = self.sweep.over_parts(SampleSums(x), evaluation)
        squares, total, residual_norm, objective, charged, least_score = sums.tolist()
        with np.errstate(over="ignore", invalid="ignore"):
            tau = -evaluation.gradient
            if x is not None:
                tau = self.sweep.rmatvec_signed(0.0 + self.target.weights * x)
            gap = self.box.gap(state, tau) + charged
            objective += self.box.value(state) + (0.0 if self.exact else evaluation.value)
            columns, samples = self._rounding(_Point(state, evaluation, x, squares, total), gap)
            # the distances to the optimum add up, and the gap is their square
            if self.exact:
                gap = _joined(gap, columns) + samples
            else:
                gap = _joined(gap, columns + samples)
        gap = min(gap, LARGEST) if gap == gap else LARGEST
        reached = gap <= self.gap and residual_norm <= self.norm
        return Certificate(gap, objective, residual_norm, least_score, reached)

    def rank(self, certificate):
        """Less is better: the constraint first, to its goal; then the gap."""
        return max(certificate.residual_norm, self.norm), certificate.dual_gap

    def _rounding(self, point, gap):
        """What rounding may hide in the gap: in ``D^T lambda`` and the state, and in ``D w``."""
        by_column, samples = self._bounds(point)
        columns = self._of_columns(point, by_column)
        if not samples + columns <= CLOSER * max(self.gap, gap):
            by_column, samples = self.sweep.over_parts(RoundingSums(point.x), point.evaluation)
            samples = math.sqrt(float(samples)) if self.exact else float(samples)
            columns = self._of_columns(point, by_column)
        return columns, samples

    def _of_columns(self, point, by_column):
        """From sums ``|D|^T |lambda|`` to what is hidden in them and in the coefficients."""
        box, moved = self.box, EPS * by_column
        if np.max(box.state_of_tau(moved), initial=0.0) > 0.1:
            slope = box.slope(point.state)
            hidden = max(box.gap(point.state, slope + moved), box.gap(point.state, slope - moved))
        else:
            hidden = 0.6 * float(np.sum((box.inverse_hessian_root(point.state) * moved) ** 2))
        # a coefficient next to its bound loses no more than what kept it off
        decay = np.exp(-2 * np.abs(point.state))
        share = decay / (1 + decay)
        width = EPS * np.maximum(np.abs(point.coef), np.abs(box.centre)) / (2 * box.half_width)
        lost = np.minimum(width**2 / np.maximum(share, 1e-300), share)
        return hidden + box.entropy_weight * float(np.sum(lost))

    def _bounds(self, point):
        """Bounds of ``|D|^T |lambda|``, and of what is hidden in ``D w``, without a read."""
        design, target, total = self.sweep.design, self.target, self.sweep.total_weight
        asked = float(np.max(np.abs(target.offset)))
        if design.scale is not None:
            size = np.ones(len(point.coef))
            if design.mean is not None:
                size[: len(design.mean)] += 2 * np.abs(design.mean) / design.scale
            by_column = size * math.sqrt(total * point.squares)
        else:
            size = np.full(len(point.coef), self.largest_entry)
            if design.constant:
                size[-1] = 1.0
            by_column = size * point.multipliers
        moved = EPS * math.sqrt(total) * (float(size @ np.abs(point.coef)) + asked)
        slack = target.loss.slack
        samples = moved * math.sqrt(point.squares) if slack == 0 else moved**2 / (2 * slack)
        return by_column, samples


@dataclass(frozen=True)
class _Point:
    """A point with its multipliers, those of its margins where ``x`` is None.

    ``squares`` and ``multipliers`` are ``sum_i q_i x_i^2`` and ``sum_i |lambda_i|``.
    """

    state: np.ndarray
    evaluation: Evaluation
    x: np.ndarray | None
    squares: float
    multipliers: float

    @property
    def coef(self):
        return self.evaluation.coef


def _margins(sweep, evaluation, x):
    """Log-margins ln b, multipliers and scaled multipliers of the samples."""
    weights, implied = sweep.target.weights, x is None
    log_margins = evaluation.log_margins if implied else 0.0 - x
    x = 0.0 - evaluation.log_margins if implied else x
    if sweep.target.loss.slack > 0:
        log_margins = evaluation.log_margins
    if implied and len(weights) == 1 and weights[0] == 1:
        return log_margins, x, x
    multipliers = weights * x
    multipliers += 0.0  # none is -0
    return log_margins, multipliers, x


@dataclass(frozen=True)
class SampleSums:
    """What the certificate needs to know of the samples, as sums over them.

    They are ``sum q x^2``, ``sum |lambda|``, the norm of the primal residual, the objective's
    terms and what the multipliers add to the gap where they are not read off the margins, and
    the least score.
    """

    x: np.ndarray | None = None

    def __call__(self, sweep, evaluation):
        target, loss, implied = sweep.target, sweep.target.loss, self.x is None
        t, log_margins = evaluation.functional_margins, evaluation.log_margins
        if implied and loss.slack > 0:
            found = sweeps.sample_sums(target, t, log_margins, sweep.n_threads)
            if found is not None and SMALLEST < found[2] < 1 / SMALLEST:
                squares, total, residuals, least = found
                return (np.array([squares, total, math.sqrt(residuals), 0.0, 0.0, least]),)
        counted = sweep.counted

        def of_counted(values):
            return values if len(target.weights) == 1 else np.where(counted, values, 0.0)

        with np.errstate(over="ignore", invalid="ignore"):
            log_margins, multipliers, x = _margins(sweep, evaluation, self.x)
            margins = np.exp(log_margins)
            off = of_counted(t - margins)
            objective = charged = 0.0
            if loss.slack == 0:
                # what the multipliers charge for the residual: the primal is met in the limit only
                charged = float(np.abs(multipliers) @ np.abs(off))
                objective = float(np.sum(of_counted(target.weights * margins * (-x - 1))))
            elif not implied:
                charged = float(np.sum(of_counted(target.weights * loss.gaps(x, t))))
            off = np.minimum(off, 0.0) if loss.inequality else off
            squares = float(np.sum(of_counted(multipliers * x)))
            total = float(np.sum(np.abs(multipliers)))
            least = _least_score(t, target.offset)
        return (np.array([squares, total, norm(off), objective, charged, least]),)

    @staticmethod
    def join(one, other):
        joined = one[0] + other[0]
        joined[2] = math.hypot(one[0][2], other[0][2])
        joined[5] = min(one[0][5], other[0][5])
        return (joined,)


@dataclass(frozen=True)
class RoundingSums:
    """``|D|^T |lambda|``, and what is hidden in ``D w`` (its square without slack), summed up."""

    x: np.ndarray | None = None

    def __call__(self, sweep, evaluation):
        target, slack = sweep.target, sweep.target.loss.slack
        with np.errstate(over="ignore", invalid="ignore"):
            log_margins, multipliers, _ = _margins(sweep, evaluation, self.x)
            margins, multipliers = np.exp(log_margins), np.abs(multipliers)
            coef = np.abs(evaluation.coef)
            by_sample, by_column = sweep.design.absolute_products(coef, multipliers)
            moved = EPS * (by_sample + np.abs(target.offset))
            if slack == 0:
                # the multipliers charge for every bit of the constraint, up or down
                samples = float(np.sum((multipliers * moved) ** 2))
            else:
                stiffness = np.maximum(margins - moved, 0.0) + slack
                samples = float(np.sum(target.weights * moved**2 / (2 * stiffness)))
        return by_column, np.array(samples)


def _joined(gap, more):
    """The gap of a point whose distance to the optimum is the sum of two, in the gap's norm."""
    return (math.sqrt(gap) + math.sqrt(more)) ** 2


def conclude(goal, ending, unit=1.0):
    """The outcome of a solver's ending: gap, status and message are decided here and only here.

    Parameters
    ----------
    goal : Goal
    ending : Ending
    unit : float
        Of all weights: the message is told in the caller's.

    Returns
    -------
    Outcome
    """
    sweep, evaluation, x = goal.sweep, ending.evaluation, ending.scaled_multipliers
    certificate = ending.certificate or goal.certify(ending.state, evaluation, x)
    if ending.stopped is Status.INTERRUPTED:
        status = Status.INTERRUPTED
    elif certificate.reached:
        status = Status.CONVERGED
    elif ending.inseparable:
        status = Status.NOT_SEPARABLE
    elif ending.stopped is Status.MAX_ITER:
        status = Status.MAX_ITER
    else:
        status = Status.PRECISION
    history, log_margins, multipliers = ending.history, None, None
    if evaluation.log_margins is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            log_margins, multipliers, _ = _margins(sweep, evaluation, x)
    if x is None and history["gap"]:
        history["gap"][-1] = certificate.dual_gap
    if x is not None and goal.exact:
        evaluation = _at_the_limit(goal, evaluation, x)
    figures = dict(gap=min(certificate.dual_gap * unit, LARGEST), goal=goal.gap * unit)
    figures |= dict(n_iter=ending.n_iter, bound=ending.margin_bound)
    message = MESSAGES[status].format(**figures)
    if goal.exact and status is not Status.NOT_SEPARABLE:
        message += (
            f" The residual is {certificate.residual_norm:.1e}, for a goal of {goal.norm:.1e}."
        )
    return Outcome(
        coef=evaluation.coef,
        log_margins=log_margins,
        multipliers=multipliers,
        objective=certificate.objective,
        dual_gap=certificate.dual_gap,
        residual_norm=certificate.residual_norm,
        separation=certificate.least_score,
        margin_bound=ending.margin_bound,
        status=status,
        solver=ending.solver,
        n_iter=ending.n_iter,
        n_sweeps=math.ceil(sweep.reads.count),
        history=history,
        message=message,
        state=ending.state,
        evaluation=evaluation,
    )


def _at_the_limit(goal, evaluation, x):
    """The evaluation of the exact constraint: log-margins of the multipliers, curvature 1/b.

    The evaluation itself is that of a problem near by with slack, which keeps 1/b finite.
    """
    target = goal.target
    nearest = evaluation.hessian_weights
    if target.loss.inequality:
        nearest = np.where(x > 0, nearest, 0.0)
    return replace(evaluation, log_margins=0.0 - x, hessian_weights=nearest, curvature=None)


def _least_score(functional_margins, offset):
    """``min_i D_i w`` from ``D_i w - y_i``, less what rounding may have added to it."""
    if not np.any(offset):
        return float(np.min(functional_margins))
    lost = EPS * (np.abs(functional_margins) + np.abs(offset))
    return float(np.min(functional_margins + offset - np.where(offset == 0, 0.0, lost)))


# One sentence an ending.
MESSAGES = {
    Status.CONVERGED: "The duality gap {gap:.1e} is within the goal {goal:.1e}.",
    Status.MAX_ITER: (
        "After {n_iter} steps the duality gap is {gap:.1e}, above the goal {goal:.1e}; "
        "raise max_iter or tol, or raise slack."
    ),
    Status.PRECISION: (
        "Rounding ended the descent at a duality gap of {gap:.1e}, above the goal {goal:.1e}; "
        "raise tol, raise slack, or scale the columns."
    ),
    Status.INTERRUPTED: (
        "The callback stopped the solver after {n_iter} steps at a duality gap of {gap:.1e}; "
        "the goal was {goal:.1e}."
    ),
    Status.NOT_SEPARABLE: (
        "No coefficients in the box separate the classes: none reaches a margin above "
        "{bound:.1e}, as the multipliers of the proof show. The exact constraint has no "
        "solution; use slack > 0. What is returned is the solution for a tiny slack."
    ),
}
