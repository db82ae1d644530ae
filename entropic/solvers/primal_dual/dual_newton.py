"""Newton's method on the dual of the equality form: it converges at any slack.

Along a step the dual is a function of one number that needs no data, so the line search is
exact and free (docs/mathematics.md, section 2):

    slope(a) = <d_tau, w(tau + a d_tau)> + <q d_x, slack x - exp(-x) - y>   at x + a d_x
"""

from __future__ import annotations

import numpy as np

from .pair import NewtonSystem, Pair, safe_exp, transpose

MAX_STEPS = 80
SEARCHES = 50
# The dual is solved when a step promises to lower it by less than this share of the goal. What
# its coefficients then lack in the primal, where slack is tiny, no dual step mends.
DECREMENT = 1e-3


def dual_newton(sweep, box, *, tol, x=None, max_iter=MAX_STEPS, watch=None):
    """Minimise the dual, to a gap of a tenth of ``tol`` a unit of weight or as far as it goes.

    Parameters
    ----------
    sweep : Sweep
        Of the equality form, with slack; rows in memory.
    box : Box
    tol : float
    x : array of shape (n_samples,) or None
        Scaled multipliers to start from.
    max_iter : int
    watch : callable or None
        Called with each Pair and the length of the step to it; returning True stops.

    Returns
    -------
    Pair
    """
    goal = tol * sweep.total_weight
    x = np.zeros(sweep.n_samples) if x is None else x
    tau = transpose(sweep, sweep.target.weights * x) if np.any(x) else np.zeros(sweep.n_features)
    pair, length = Pair(sweep, box, box.state_of_tau(tau), x), 0.0
    for n_iter in range(max_iter + 1):
        if (watch is not None and watch(pair, length)) or n_iter == max_iter:
            break
        if pair.gap <= 0.1 * goal:
            break
        stiffness = pair.margins + pair.loss.slack
        system = NewtonSystem(sweep, box.inverse_hessian_root(pair.state), stiffness)
        tau_move, _, x_move = system.solve(0.0, pair.residual)
        ray = _Ray(box, pair, tau_move, x_move)
        if not -ray.fall > max(DECREMENT * goal, ray.noise):
            break
        length = ray.search()
        if length == 0:
            break
        state = box.state_of_tau(ray.tau + length * tau_move)
        pair = Pair(sweep, box, state, pair.x + length * x_move)
    return pair


class _Ray:
    """The slope of the dual along one direction."""

    def __init__(self, box, pair, tau_move, x_move):
        self.box, self.pair, self.tau_move, self.x_move = box, pair, tau_move, x_move
        self.tau = box.slope(pair.state)
        self.pointwise_gradient = pair.weights * x_move
        self.fall = self.slope(0.0)
        # what rounding may make of the slope
        terms = pair.margins + np.abs(pair.loss.slack * pair.x) + np.abs(pair.offset)
        size = np.abs(tau_move) @ np.abs(pair.coef) + np.abs(self.pointwise_gradient) @ terms
        self.noise = 64 * np.finfo(np.float64).eps * float(size)

    def slope(self, length):
        x = self.pair.x + length * self.x_move
        coef = self.box.coef(self.box.state_of_tau(self.tau + length * self.tau_move))
        # infinite or not a number where a step went much too far: refused, like any rise
        with np.errstate(over="ignore", invalid="ignore"):
            terms = self.pair.loss.slack * x - safe_exp(-x) - self.pair.offset
            return float(self.tau_move @ coef + self.pointwise_gradient @ terms)

    def search(self):
        """A length at which the slope has all but vanished; one where that is good enough."""
        enough, length = 0.3 * abs(self.fall), 1.0
        slope = self.slope(length)
        while slope < -enough and length < 1e8:
            if not self.slope(2 * length) <= enough:
                return length
            length *= 2
            slope = self.slope(length)
        if abs(slope) <= enough:
            return length
        low, high = 0.0, length
        for _ in range(SEARCHES):
            length = (low + high) / 2
            slope = self.slope(length)
            if abs(slope) <= enough / 3:
                return length
            low, high = (length, high) if slope < 0 else (low, length)
        return low
