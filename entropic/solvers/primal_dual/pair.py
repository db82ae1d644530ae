"""A pair of coefficients and multipliers, the gap between them, and Newton's system for both.

The primal-dual solvers (dual_newton.py, interior.py) keep one scaled multiplier
``x = lambda/q = -ln b`` a sample beside the N numbers of the box's state u. At the optimum

    lag       (alpha/e) u - D^T lambda = 0
    residual  D w - b + slack x - y    = 0      (the surplus s >= 0, x s = 0, for inequalities)

Where the primal in w alone sees ``ln b`` jump by ``1/slack`` for every sample that a step carries
across zero, b here stays positive by construction: that is what makes any slack possible.
"""

from __future__ import annotations

import numpy as np

from entropic.solvers.cost import choose
from entropic.solvers.factor import Factor


def pairs_fit(sweep):
    """Whether multipliers can be kept a sample, and a factor for them fits into memory."""
    work = sweep.work
    return work.random_access and choose(work)[1] is not None


class Pair:
    """Coefficients and multipliers with all that one read of the rows tells about them.

    Parameters
    ----------
    sweep : Sweep
        Its loss must have slack.
    box : Box
    state : array of shape (n_features,)
    x : array of shape (n_samples,)
        Scaled multipliers ``lambda/q``.
    lag : array of shape (n_features,) or 0.0
        ``(alpha/e) u - D^T lambda``, carried along by the solvers: in a wide box the rounding of
        a newly summed ``D^T lambda`` would be a large move of the coefficients.
    """

    def __init__(self, sweep, box, state, x, lag=0.0):
        target = sweep.target
        self.state, self.x, self.lag = state, x, lag
        self.weights, self.loss, self.offset = target.weights, target.loss, target.offset
        self.coef = box.coef(state)
        self.functional_margins = forward(sweep, self.coef) - target.offset
        self.margins = safe_exp(-x)
        self.residual = self.functional_margins - self.margins + target.loss.slack * x
        self._measure(box)

    def _measure(self, box):
        """Objective of the coefficients, and the gap as a sum of terms that are not negative.

        With ``d = x + ln b(t)`` a sample's part is ``q (b (d - 1 + exp(-d)) + slack d^2/2)``, and
        ``q x (t - 1)`` besides where the inequality form is flat.
        """
        loss, tau = self.loss, box.slope(self.state) - self.lag
        log_margin = loss.log_margin(self.functional_margins)
        move = self.x + log_margin
        near = np.maximum(move, -1.0)
        with np.errstate(over="ignore"):
            best = np.exp(log_margin)
            terms = np.where(
                move > -1, best * (near + np.expm1(-near)), best * (move - 1) + self.margins
            )
            terms = np.maximum(terms, 0.0) + 0.5 * loss.slack * move**2
            if loss.inequality:
                terms = terms + self.x * np.maximum(self.functional_margins - 1, 0.0)
            self.gap = float(np.sum(self.weights * terms))
            if np.any(self.lag):
                self.gap += box.gap(self.state, tau)
            self.objective = box.value(self.state) + float(
                np.sum(self.weights * loss.value(log_margin))
            )

    @property
    def multipliers(self):
        return 0.0 + self.weights * self.x


class NewtonSystem:
    """Newton's equations for both unknowns, factored once for any right-hand side::

        S^-1 dw - D^T q dx = -lag          D dw + stiffness dx = -residual

    through the n_features × n_features matrix ``I + R D^T diag(q/stiffness) D R``,
    ``R = sqrt(S)``, or the n_samples × n_samples one where that costs less.

    Parameters
    ----------
    sweep : Sweep
    scale : array of shape (n_features,)
        R.
    stiffness : array of shape (n_samples,)
        ``b + slack``, and what a barrier adds to it.
    """

    def __init__(self, sweep, scale, stiffness):
        self.sweep, self.scale, self.stiffness = sweep, scale, stiffness
        weights = sweep.target.weights
        self.weights = np.broadcast_to(weights, stiffness.shape)
        self.hessian_weights = sweep.hessian_weights = self.weights / stiffness
        self.by_features = choose(sweep.work)[1] == "cholesky"
        if self.by_features:
            self.curvature = sweep.curvature()
            self.factor = Factor(self.curvature, scale)
        else:
            self.root = np.sqrt(self.hessian_weights)
            self.factor = Factor(sweep.gram(scale**2), self.root, overwrite=True)

    def solve(self, lag, residual):
        """The moves of ``tau = (alpha/e) u``, of ``w`` to first order, and of x."""
        solve = self._through_features if self.by_features else self._through_samples
        return solve(np.zeros_like(self.scale) + lag, residual)

    def _through_features(self, lag, residual):
        pulled = lag + transpose(self.sweep, self.hessian_weights * residual)
        p = self.factor.solve(-self.scale * pulled)
        move = self.scale * p
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            # where the scale has underflowed, the same read off the equation itself
            tau = np.where(self.scale > 1e-100, p / self.scale, -pulled - self.curvature @ move)
        return tau, move, -(residual + forward(self.sweep, move)) / self.stiffness

    def _through_samples(self, lag, residual):
        sign, pointwise_gradient = self.sweep.target.sign, np.zeros(len(residual))
        left = residual - forward(self.sweep, self.scale**2 * lag)
        # the second round restores what cancellation has lost in the first
        for _ in range(2):
            pointwise_gradient = pointwise_gradient - sign * self.root * self.factor.solve(
                sign * self.root * left
            )
            tau = transpose(self.sweep, pointwise_gradient) - lag
            move = self.scale**2 * tau
            with np.errstate(divide="ignore", invalid="ignore"):
                x = np.where(self.weights > 0, pointwise_gradient / self.weights, 0.0)
            left = residual + forward(self.sweep, move) + self.stiffness * x
        return tau, move, x


def forward(sweep, direction):
    """``D direction``."""
    return sweep.target.sign * sweep.scores(direction)


def transpose(sweep, multipliers):
    """``D^T multipliers``."""
    return sweep.rmatvec(np.ascontiguousarray(sweep.target.sign * multipliers, dtype=np.float64))


def safe_exp(power):
    """exp, stopped short of overflow: steps that far are refused anyway."""
    return np.exp(np.minimum(power, 700.0))
