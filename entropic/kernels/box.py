"""The box of the coefficients and its entropy in NumPy: the specification of the compiled one."""

from __future__ import annotations

import numpy as np

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

    def with_entropy_weight(self, weight):
        """The same box with another weight of its entropy."""
        if weight == self.entropy_weight:
            return self
        return type(self)(self.lower, self.upper, weight)

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

    def inverse_hessian_root(self, state):
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
        without cancellation (docs/mathematics.md, section 4.1).
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
