"""The formulas of the method in NumPy: the specification that every kernel must match.

Two functions make up the problem (docs/mathematics.md, sections 1 to 3): the entropy of the
coefficients in their box, and the loss of one sample's margin. Both come with the derivatives
that Newton's method and the duality gap need.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import wrightomega

# Share of the half-width up to which coefficients move along straight lines (0.9 and 0.9999
# cost a few steps more, 0.5 many).
STRAIGHT = 0.99


class Box:
    """The box of the coefficients and the entropy that keeps them inside.

    A coefficient is written ``coef = centre + half_width * tanh(state)``. The state, not the
    coefficient, is what solvers move: the box then holds by construction, and a coefficient
    that sits on its bound to the last bit still knows how hard it is pressed there.

    Parameters
    ----------
    lower, upper : array of shape (n_features,)
        Bounds with ``lower < upper``, finite.
    entropy_weight : float
        Weight alpha of the entropy against the data, positive.
    """

    def __init__(self, lower, upper, entropy_weight=1.0):
        self.lower = np.asarray(lower, dtype=np.float64)
        self.upper = np.asarray(upper, dtype=np.float64)
        self.entropy_weight = float(entropy_weight)
        self.centre = self.lower + (self.upper - self.lower) / 2
        self.half_width = (self.upper - self.lower) / 2

    def coef(self, state):
        """Coefficients of a state: ``m + e tanh(u)``."""
        return np.clip(self.centre + self.half_width * np.tanh(state), self.lower, self.upper)

    def state(self, coef):
        """State of coefficients strictly inside the box (those on a bound are moved inside)."""
        ratio = (np.asarray(coef, dtype=np.float64) - self.centre) / self.half_width
        limit = 1 - np.finfo(np.float64).eps
        return np.arctanh(np.clip(ratio, -limit, limit))

    def moved(self, state, move):
        """The state after a move whose coefficients go straight, at speed ``e sech^2(u) move``.

        Where columns nearly cancel, as those far from zero do, a path bent by tanh would leave
        the valley that a Newton step follows. Only a coefficient that the straight line takes
        to its bound or beyond moves by its state.
        """
        decay = np.exp(-np.abs(state))
        speed = (2 * decay / (1 + decay * decay)) ** 2
        with np.errstate(over="ignore", invalid="ignore"):
            ratio = np.tanh(state) + speed * move
            inside = np.abs(ratio) < STRAIGHT
            return np.where(inside, np.arctanh(np.where(inside, ratio, 0.0)), state + move)

    def value(self, state):
        """Weighted entropy ``alpha sum_j p ln p + (1-p) ln(1-p)`` with ``p = (1 + tanh u)/2``."""
        size = np.abs(state)
        decay = np.exp(-2 * size)
        # u tanh u - ln 2cosh u, with the two terms of size |u| cancelled by hand
        terms = -2 * size * decay / (1 + decay) - np.log1p(decay)
        return self.entropy_weight * float(np.sum(terms))

    def slope(self, state):
        """Derivative of the weighted entropy by the coefficients: ``(alpha/e) u``."""
        return self.entropy_weight / self.half_width * state

    def scale(self, state):
        """``sqrt(S)`` with ``S = (e^2 - (w-m)^2)/alpha``, the inverse curvature of the entropy."""
        decay = np.exp(-np.abs(state))
        # sech u, which keeps its relative precision where 1 - tanh^2 u has lost it
        return 2 * decay / (1 + decay * decay) * self.half_width / np.sqrt(self.entropy_weight)

    def state_of_tau(self, tau):
        """The state that is optimal for ``tau = D^T multipliers``: ``u = e tau / alpha``."""
        with np.errstate(over="ignore"):
            return self.half_width * tau / self.entropy_weight

    def conjugate(self, tau):
        """``sum_j m tau + alpha ln 2cosh(e tau/alpha)``: the coefficients' part of the dual."""
        decay = np.exp(-2 * np.abs(self.state_of_tau(tau)))
        # |u| alpha = e |tau|, which stays finite where a tiny alpha lets u overflow
        terms = self.centre * tau + self.half_width * np.abs(tau)
        return float(np.sum(terms + self.entropy_weight * np.log1p(decay)))

    def gap(self, state, tau):
        """Duality gap of ``state`` against the multipliers that its own margins imply.

        The samples' part of the gap vanishes when the multipliers are ``-q l'(t)``. What is
        left is the relative entropy between the coefficient's ``p = (1 + tanh u)/2`` and the
        one that ``tau`` asks for, summed over the coefficients: never negative, and computed
        without cancellation (docs/mathematics.md, section 4).
        """
        first, second = 2 * state, 2 * self.state_of_tau(tau)
        # mirror so that p <= 1/2: both logarithms below then keep their precision
        side = np.where(first > 0, -1.0, 1.0)
        first, second = side * first, side * second
        decay = np.exp(first)
        p = decay / (1 + decay)
        move = np.clip(second - first, -1e300, 1e300)
        terms = np.log1p(p * np.expm1(np.minimum(move, 30.0))) - move * p
        far, small = move >= 30.0, np.abs(move) < 1e-4
        if np.any(far):
            softplus = np.logaddexp(0.0, second[far])
            terms[far] = softplus - np.log1p(decay[far]) - move[far] * p[far]
        if np.any(small):
            p, move = p[small], move[small]
            terms[small] = p * (1 - p) * move**2 * (0.5 + (1 - 2 * p) * move / 6)
        return self.entropy_weight * float(np.sum(np.maximum(terms, 0.0)))


@dataclass(frozen=True)
class Loss:
    """The loss of one sample as a function of its reach ``t = D_i w - y_i``.

    It is what remains of the margin's entropy and of the penalty for a violated constraint
    once margin and violation are minimised out::

        l(t)  = b ln b - b + (slack/2)(ln b)^2    where b > 0 solves  b + slack ln b = t
        l'(t) = ln b                    l''(t) = 1/(b + slack)

    With ``inequality`` the loss is flat (-1) from t = 1 on.

    Parameters
    ----------
    slack : float
        rho > 0. The exact constraint is reached as a limit (see solve/exact.py).
    inequality : bool
        Problem 1 of the paper (``D w >= b``) for Problem 2 (``D w = b``).
    """

    slack: float
    inequality: bool = False

    def log_margin(self, reach):
        """``ln b``, the derivative of the loss."""
        slack = self.slack
        # Beyond these numbers ln b or the loss itself would overflow.
        reach = np.clip(np.asarray(reach, dtype=np.float64), -1e307 * min(slack, 1.0), 1e307)
        with np.errstate(over="ignore"):
            ratio = reach / slack
        margin = slack * wrightomega(np.minimum(ratio, 1e100) - np.log(slack))
        margin = np.where(ratio < 1e100, margin, reach)  # where slack ln b is lost beside b
        # Below `slack` the logarithm is read off the equation: b itself may underflow.
        small = margin < slack
        log_margin = np.where(small, (reach - margin) / slack, np.log(np.where(small, 1.0, margin)))
        # One step on the equation itself: for large slack the Wright function's argument, and
        # with it the margin, has lost a digit to the logarithm of slack.
        margin = np.exp(log_margin)
        log_margin += (reach - slack * log_margin - margin) / (margin + slack)
        if self.inequality:
            log_margin = np.where(reach >= 1, 0.0, log_margin)
        return log_margin

    def value(self, log_margin):
        """``l`` at a sample whose log-margin is known; the largest double where it overflows."""
        margin = np.exp(log_margin)
        with np.errstate(over="ignore"):
            value = margin * (log_margin - 1) + 0.5 * self.slack * log_margin * log_margin
        return np.minimum(value, np.finfo(np.float64).max)

    def bend(self, log_margin):
        """``l''``; zero on the flat part of the inequality form (log-margin exactly 0)."""
        bend = 1 / (np.exp(log_margin) + self.slack)
        if self.inequality:
            bend = np.where(log_margin >= 0, 0.0, bend)
        return bend

    def conjugate(self, multipliers, weights):
        """``sum_i q exp(-lambda/q) + (slack/2) lambda^2/q``: the samples' part of the dual."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            ratio = np.where(weights > 0, multipliers / weights, 0.0)
            return float(np.sum(weights * (np.exp(-ratio) + 0.5 * self.slack * ratio**2)))
