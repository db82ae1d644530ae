"""The spectral gradient iteration on the dual in NumPy: the fallback, and its specification.

The compiled module offers :func:`iterate` with the same signature and takes the same steps.
Everything here is in terms of the scaled multipliers ``x = lambda/q = -ln b``, one number a
sample, and of the inner product ``sum_i q_i v_i w_i``: a sample of weight two then takes the very
steps of that sample twice, and weights do not spoil the conditioning.

One step reads the data once. With ``tau = D^T (q x)`` so is ``w = m + e tanh(e tau/alpha)`` known,
and a visit to row i gives the primal residual and, while the row is at hand, its part of a sum::

    r_i = D_i w - y_i - b_i + slack x_i           v += q_i r_i D_i

r is the gradient of the dual and ``v = D^T (q r)`` moves tau along it, so that every trial of
the line search, ``x - a r`` and ``tau - a v``, costs no further read. The duality gap needs
none either, since ``D_i w`` can be had back from r_i. (docs/mathematics.md, section 2.2.)

The inequality form keeps ``x >= 0``: r_i counts only where it can move x_i, and the samples
that a step would carry below zero stop there. Those few are read once more, to take their
excess out of v; none is left once the support has settled.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from .numpy_sweeps import _part

ARMIJO = 1e-4
RATIO = 0.8  # of the two Barzilai-Borwein steps, below which a short one is taken
SHORT_STEPS = 5  # the shortest of so many last short steps
CLAMP = 1e10  # farthest factor beyond the exact minimiser along the gradient
TRIALS = 100
PATIENCE = 200  # steps, all below rounding, without progress before giving up
EPS = np.finfo(np.float64).eps
FIGURES = ("iteration", "gap", "objective", "gradient_norm", "step")


@dataclass(frozen=True)
class Rule:
    """How long a step is, and which steps the line search accepts.

    Parameters
    ----------
    adaptive : bool
        The short Barzilai-Borwein step where the two differ much (ABBmin), with a search that
        interpolates; else always the long step, with a search that halves.
    memory : int
        The objective must fall below the largest of this many last values (1: monotone).
    first : float
        First step; 0 is the exact minimiser of the quadratic model along the gradient.
    """

    adaptive: bool
    memory: int
    first: float


def iterate(
    design,
    target,
    box,
    scaled_multipliers,
    tau,
    primal_residual,
    rule,
    *,
    goal_gap,
    goal_norm,
    max_iter,
    record,
    n_threads=1,
    callback=None,
):
    """Minimise the dual from given multipliers.

    Parameters
    ----------
    design : Design
    target : Target
    box : Box
    scaled_multipliers : array of shape (n_samples,)
        Overwritten by the last ones.
    tau : array of shape (n_features,)
        ``D^T (weights * scaled_multipliers)``; overwritten too.
    primal_residual : array of shape (n_samples,)
        Zeros; receives ``D w - y - b + slack * scaled_multipliers`` at the end.
    rule : Rule
    goal_gap, goal_norm : float
        Stops where both the duality gap and the norm of the gradient over the samples that have
        weight are reached: inf asks nothing of one, and a negative goal is never reached.
    max_iter : int
    record : array of shape (capacity, 5)
        Receives the history, a row a step in the order of ``FIGURES``, thinned when full.
    n_threads : int
    callback : callable or None
        Called with the first four figures of each step; returning True stops.

    Returns
    -------
    dict
        "status" (the value of a solvers.outcome.Status), "n_iter", "n_reads" (of all
        rows; reading some counts as a fraction), "gap",
        "objective", "gradient_norm" and "n_recorded".
    """
    loop = _Loop(design, target, box, scaled_multipliers, tau, primal_residual)
    history = _Record(record)
    recent = deque(maxlen=rule.memory)
    shorts = deque(maxlen=SHORT_STEPS)
    best_primal = best_model = seen_model = math.inf
    n_iter, stalled, length, status = 0, 0, 0.0, None
    loop.read(0.0)
    while True:
        recent.append(loop.dual)
        near = loop.norm <= goal_norm and (loop.slack == 0 or loop.model <= 2 * goal_gap)
        # the gap takes logarithms: only where it may end the work, or has fallen tenfold
        if loop.slack == 0:
            gap = loop.gap()
            best_primal = gap - loop.dual
        elif near or loop.model <= 0.1 * seen_model or n_iter == 0:
            seen_model, gap = loop.model, loop.gap()
            best_primal = min(best_primal, gap - loop.dual)
        if not near:
            gap = max(best_primal + loop.dual, 0.0)
        history.add(n_iter, gap, best_primal, loop.norm, length)
        noise = 8 * EPS * loop.size
        if loop.model < 0.9 * best_model:
            best_model, stalled = loop.model, 0
        elif loop.fall <= noise:
            stalled += 1
        if callback is not None and callback(n_iter, gap, best_primal, loop.norm):
            status = "interrupted"
        elif (near and gap <= goal_gap) or loop.norm == 0:
            status = "converged"
        elif n_iter >= max_iter:
            status = "max_iter"
        elif stalled >= PATIENCE:
            status = "precision"
        if status is not None:
            break
        step = _length(rule, loop, shorts, n_iter)
        loop.aim(step)
        share = _search(rule, loop, max(recent), noise)
        if share == 0:
            status = "precision"
            break
        length = step * share
        loop.read(share)
        n_iter += 1
    final = loop.gap()
    return dict(
        status=status,
        n_iter=n_iter,
        n_reads=loop.n_reads,
        gap=final,
        objective=final - loop.dual,
        gradient_norm=loop.norm,
        n_recorded=history.count,
    )


def _length(rule, loop, shorts, n_iter):
    """Length of the step along the negative gradient, before the search."""
    exact = loop.exact
    if n_iter == 0:
        return rule.first if rule.first > 0 else exact
    if not (loop.ss > 0 and loop.sy > 0 and loop.yy > 0):
        return exact
    long, short = loop.ss / loop.sy, loop.sy / loop.yy
    if not rule.adaptive:
        return long
    shorts.append(short)
    step = min(shorts) if short < RATIO * long else long
    return min(step, exact * CLAMP)


def _search(rule, loop, reference, noise):
    """The share of the direction that is accepted, or 0.

    Below ``noise``, differences of the objective say nothing, and the step is taken on trust.
    """
    share = 1.0
    for _ in range(TRIALS):
        value = loop.trial(share)
        if value <= reference + ARMIJO * share * loop.slope + noise:
            return share
        shrink = 0.5
        if rule.adaptive:
            curvature = value - loop.dual - share * loop.slope
            shrink = -0.5 * share * loop.slope / curvature if curvature > 0 else 0.1
            shrink = min(max(shrink, 0.1), 0.5)
        share *= shrink
    return 0.0


class _Loop:
    """Where the iteration stands: multipliers, primal residual, and their images in tau."""

    def __init__(self, design, target, box, scaled_multipliers, tau, primal_residual):
        self.design, self.target, self.box = design, target, box
        self.slack, self.inequality = target.loss.slack, target.loss.inequality
        self.scaled_multipliers, self.tau = scaled_multipliers, tau
        self.weights = np.broadcast_to(target.weights, scaled_multipliers.shape)
        self.counts = self.weights > 0
        self.primal_residual = primal_residual
        self.n_reads = 0.0
        with np.errstate(over="ignore"):
            self.margin = np.exp(-scaled_multipliers)
        self.direction = np.zeros_like(scaled_multipliers)
        self.move = np.zeros_like(tau)
        self.dual, self.size = self._value(scaled_multipliers, self.margin, tau)

    def _value(self, x, margin, tau):
        """The dual, and the size of its largest part, which rounds it."""
        target = self.target
        with np.errstate(over="ignore", invalid="ignore"):
            terms = margin + 0.5 * self.slack * x**2 - x * target.offset
            samples = float(np.sum(self.weights * terms))
        entropy = self.box.conjugate(tau)
        value = entropy + samples
        return (value if value == value else math.inf), abs(entropy) + abs(samples)

    def read(self, share):
        """Take the share of the direction, and read the rows there."""
        design, target = self.design, self.target
        rows = design.rows
        if share > 0:
            self.scaled_multipliers += share * self.direction
            self.tau += share * self.move
            self.margin, self.dual, self.size = self._trial
        coef = design.to_rows(self.box.coef(self.box.state_of_tau(self.tau)))
        before = self.primal_residual.copy()
        total = np.zeros(rows.n_columns + 1)
        for start, stop in rows.ranges():
            block = rows.block(start, stop)
            part = slice(start, stop)
            sign = _part(target.sign, start, stop)
            functional_margins = sign * (block @ coef[:-1] + coef[-1]) - _part(
                target.offset, start, stop
            )
            self.primal_residual[part] = (
                functional_margins - self.margin[part] + self.slack * self.scaled_multipliers[part]
            )
            pointwise_gradient = sign * self.weights[part] * self._free(part)
            total[:-1] += block.T @ pointwise_gradient
            total[-1] += pointwise_gradient.sum()
        self.n_reads += 1
        self.tau_gradient = design.from_rows(total)
        self._measure(share * self.direction, self.primal_residual - before)

    def _free(self, part=slice(None)):
        """The residual where it can move the multiplier: not held by a bound, not at weight 0."""
        residual = self.primal_residual[part]
        if self.inequality:
            free = (self.scaled_multipliers[part] > 0) | (residual < 0)
            residual = np.where(free, residual, 0.0)
        return np.where(self.weights[part] > 0, residual, 0.0)

    def _measure(self, moved, change):
        """The sums over the samples on which lengths and endings are decided."""
        q, gradient = self.weights, self._free()
        stiffness = self.margin + self.slack
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            self.norm = float(np.sqrt(np.sum(gradient**2)))
            self.ss = float(np.sum(q * moved**2))
            self.sy = float(np.sum(q * moved * change))
            self.yy = float(np.sum(q * change**2, where=moved != 0))
            self.gg = float(np.sum(q * gradient**2))
            # the gap to second order
            parts = np.divide(q * gradient**2, 2 * stiffness, where=gradient != 0, out=0 * q)
            self.model = float(np.sum(parts))
            # curvature of the dual along the gradient, its length divided out beforehand
            scale = math.sqrt(self.gg) if self.gg > 0 else 1.0
            along = self.box.inverse_hessian_root(self.box.state_of_tau(self.tau)) * (
                self.tau_gradient / scale
            )
            curvature = (
                float(np.sum(along**2)) + float(np.sum(q * stiffness * gradient**2)) / scale**2
            )
            self.exact = 1 / curvature if 0 < curvature < math.inf else 1.0
            self.fall = self.exact * self.gg

    def aim(self, step):
        """Set the direction of a step of this length, and what it does to tau."""
        gradient = self._free()
        self.direction = -step * gradient
        self.move = -step * self.tau_gradient
        if self.inequality:
            excess = np.minimum(self.scaled_multipliers + self.direction, 0.0)
            if np.any(excess < 0):
                self._hold(excess)
        self.slope = float(np.sum(self.weights * gradient * self.direction))

    def _hold(self, excess):
        """Stop at zero the samples that the direction carries below it."""
        held = np.flatnonzero(excess < 0)
        self.direction[held] = -self.scaled_multipliers[held]
        rows = self.design.rows.take(held)
        sign = np.broadcast_to(self.target.sign, self.scaled_multipliers.shape)
        pointwise_gradient = (sign * self.weights * excess)[held]
        total = np.zeros(rows.n_columns + 1)
        for start, stop in rows.ranges():
            total[:-1] += rows.block(start, stop).T @ pointwise_gradient[start:stop]
            total[-1] += pointwise_gradient[start:stop].sum()
        self.move -= self.design.from_rows(total)
        self.n_reads += len(held) / len(self.scaled_multipliers)

    def trial(self, share):
        """The dual at a share of the direction: inf where it overflows."""
        x = self.scaled_multipliers + share * self.direction
        with np.errstate(over="ignore"):
            margin = np.exp(-x)
        value, size = self._value(x, margin, self.tau + share * self.move)
        self._trial = margin, value, size
        return value

    def gap(self):
        """The duality gap between the multipliers and the coefficients they imply."""
        if self.slack == 0:
            # what the multipliers charge for the residual: the primal is met in the limit only
            gaps = np.abs(self.scaled_multipliers * self.primal_residual)
        else:
            with np.errstate(over="ignore"):
                t = self.primal_residual + self.margin - self.slack * self.scaled_multipliers
            gaps = self.target.loss.gaps(self.scaled_multipliers, t)
        return float(np.sum(self.weights * gaps, where=self.counts))


class _Record:
    """History of bounded size: when it is full, every other entry goes."""

    def __init__(self, entries):
        self.entries, self.count, self.stride = entries, 0, 1

    def add(self, *figures):
        if figures[0] % self.stride:
            return
        if self.count == len(self.entries):
            kept = self.entries[::2].copy()
            self.entries[: len(kept)], self.count = kept, len(kept)
            self.stride *= 2
            if figures[0] % self.stride:
                return
        self.entries[self.count] = figures
        self.count += 1
