"""The paper's iteration in plain NumPy: what the compiled one is measured against.

Written from the paper's section 4 and nothing else. Gradient steps on the dual in the box
[-1, 1]: from multipliers zero, first step 1, then the long step of Barzilai and Borwein, each
halved until Armijo's condition holds. A gradient takes two products with D, a trial one.
"""

import numpy as np
from scipy.special import wrightomega


class PaperIteration:
    """Steps of the iteration on one signed design.

    Attributes
    ----------
    multipliers : array of shape (n_samples,)
    n_iter : int
    """

    def __init__(self, D, slack):
        self.D, self.slack = D, slack
        self.multipliers, self.step, self.n_iter = np.zeros(len(D)), 1.0, 0
        self.value, self.gradient = self.dual(self.multipliers), self.slope(self.multipliers)

    def dual(self, multipliers):
        tau = self.D.T @ multipliers
        with np.errstate(over="ignore"):
            margins = np.exp(-multipliers)
        entropy = np.sum(np.logaddexp(tau, -tau))
        return entropy + np.sum(margins) + 0.5 * self.slack * (multipliers @ multipliers)

    def slope(self, multipliers):
        coef = np.tanh(self.D.T @ multipliers)
        return self.D @ coef - np.exp(-multipliers) + self.slack * multipliers

    def advance(self, n_steps):
        for _ in range(n_steps):
            step, square = self.step, self.gradient @ self.gradient
            while True:
                multipliers = self.multipliers - step * self.gradient
                value = self.dual(multipliers)
                if value <= self.value - 1e-4 * step * square or step < 1e-20:
                    break
                step /= 2
            gradient = self.slope(multipliers)
            moved, change = multipliers - self.multipliers, gradient - self.gradient
            curvature = moved @ change
            self.step = (moved @ moved) / curvature if curvature > 0 else 1.0
            self.multipliers, self.value, self.gradient = multipliers, value, gradient
            self.n_iter += 1

    def gap(self):
        """Duality gap between the multipliers and the coefficients they imply."""
        coef = np.tanh(self.D.T @ self.multipliers)
        functional_margins, p = self.D @ coef, (1 + coef) / 2
        margins = self.slack * wrightomega(functional_margins / self.slack - np.log(self.slack))
        log_margins = (functional_margins - margins) / self.slack
        primal = np.sum(xlogx(p) + xlogx(1 - p)) + np.sum(
            margins * (log_margins - 1) + 0.5 * self.slack * log_margins**2
        )
        return primal + self.value


def xlogx(p):
    return p * np.log(np.maximum(p, np.finfo(float).tiny))


def steps_to_gap(D, slack, goal, most=50_000):
    """How many steps the iteration needs to a duality gap, looked at every tenth."""
    iteration = PaperIteration(D, slack)
    while iteration.gap() > goal:
        if iteration.n_iter >= most:
            raise RuntimeError(f"no gap of {goal:g} within {most} steps")
        iteration.advance(10)
    return iteration.n_iter
