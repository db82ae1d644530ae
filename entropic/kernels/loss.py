"""The loss of one sample's margin in NumPy: the specification of the compiled one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import wrightomega


@dataclass(frozen=True)
class Loss:
    """The loss of one sample as a function of its functional margin ``t = D_i w - y_i``.

    It is what remains of the margin's entropy and of the penalty for a violated constraint
    once margin and violation are minimised out::

        l(t)  = b ln b - b + (slack/2)(ln b)^2    where b > 0 solves  b + slack ln b = t
        l'(t) = ln b                    l''(t) = 1/(b + slack)

    With ``inequality`` the loss is flat (-1) from t = 1 on (docs/mathematics.md, sections 3.1 and
    3.2).

    Parameters
    ----------
    slack : float
        rho > 0. The exact constraint is reached as a limit (solvers/exact.py).
    inequality : bool
        Problem 1 of the paper (``D w >= b``) for Problem 2 (``D w = b``).
    """

    slack: float
    inequality: bool = False

    def log_margin(self, functional_margins):
        """``ln b``, the derivative of the loss."""
        slack = self.slack
        # Beyond these numbers ln b or the loss itself would overflow.
        t = np.clip(np.asarray(functional_margins, dtype=np.float64), -1e307 * min(slack, 1), 1e307)
        with np.errstate(over="ignore"):
            ratio = t / slack
        margin = slack * wrightomega(np.minimum(ratio, 1e100) - np.log(slack))
        margin = np.where(ratio < 1e100, margin, t)  # where slack ln b is lost beside b
        # Below `slack` the logarithm is read off the equation: b itself may underflow.
        small = margin < slack
        log_margin = np.where(small, (t - margin) / slack, np.log(np.where(small, 1.0, margin)))
        # One step on the equation itself: for large slack the Wright function's argument, and
        # with it the margin, has lost a digit to the logarithm of slack.
        margin = np.exp(log_margin)
        log_margin += (t - slack * log_margin - margin) / (margin + slack)
        if self.inequality:
            log_margin = np.where(t >= 1, 0.0, log_margin)
        return log_margin

    def value(self, log_margin):
        """``l`` at a sample whose log-margin is known; the largest double where it overflows."""
        margin = np.exp(log_margin)
        with np.errstate(over="ignore"):
            value = margin * (log_margin - 1) + 0.5 * self.slack * log_margin * log_margin
        return np.minimum(value, np.finfo(np.float64).max)

    def second_derivative(self, log_margin):
        """``l''``; zero on the flat part of the inequality form (log-margin exactly 0)."""
        second = 1 / (np.exp(log_margin) + self.slack)
        if self.inequality:
            second = np.where(log_margin >= 0, 0.0, second)
        return second

    def gaps(self, scaled_multipliers, functional_margins, log_margins=None):
        """Each sample's part of the duality gap: never negative, computed without cancellation.

        With x the scaled multiplier, ``ln b = l'(t)`` the log-margin and ``d = ln b + x``::

            l(t) + e^-x + slack/2 x^2 + x t = b (d - 1) + e^-x + slack/2 d^2

        and ``x (t - 1)`` besides where the inequality form is flat. It vanishes for the
        multipliers ``x = -ln b`` (docs/mathematics.md, section 4.1). The log-margins may be
        given where they are known.
        """
        with np.errstate(over="ignore"):
            if self.slack == 0:
                # what the multipliers charge for the residual: the primal is met in the limit only
                return np.abs(
                    scaled_multipliers * (functional_margins - np.exp(-scaled_multipliers))
                )
            log_margin = self.log_margin(functional_margins) if log_margins is None else log_margins
            d, best = log_margin + scaled_multipliers, np.exp(log_margin)
            series = d * d * (0.5 - d * (1 / 6 - d * (1 / 24 - d / 120)))
            near = best * np.where(np.abs(d) < 1e-2, series, d + np.expm1(-np.maximum(d, -1.0)))
            far = best * (d - 1) + np.exp(-scaled_multipliers)
            gaps = np.where(np.abs(d) < 1, near, far) + 0.5 * self.slack * d * d
            if self.inequality:
                flat = scaled_multipliers * np.maximum(functional_margins - 1, 0.0)
                gaps += np.where(log_margin >= 0, flat, 0.0)
            return gaps

    def conjugate(self, multipliers, weights):
        """``sum_i q exp(-lambda/q) + (slack/2) lambda^2/q``: the samples' part of the dual."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            ratio = np.where(weights > 0, multipliers / weights, 0.0)
            return float(np.sum(weights * (np.exp(-ratio) + 0.5 * self.slack * ratio**2)))
