"""Newton's equations for coefficients and multipliers together, factored once.

With scaled multipliers ``x = lambda/q`` and the box's state u (docs/mathematics.md, section 3.7)::

    S^-1 dw - D^T q dx = -dual residual          D dw + stiffness dx = -primal residual
"""

from __future__ import annotations

import numpy as np

from entropic.rows.memory import memory_limit
from entropic.solvers.cost import choose
from entropic.solvers.factor import Factor
from entropic.solvers.outcome import norm
from entropic.solvers.row_products import ROUNDS, SETTLED

# A solution that leaves more than this of its right-hand side is none.
LOST = 1e-3


def factor_fits(sweep):
    """Whether multipliers can be kept a sample, and a factor for them fits into memory."""
    work = sweep.work
    return work.random_access and choose(work)[1] is not None


class NewtonSystem:
    """The system at one point, for any right-hand side.

    It is solved through the n_features × n_features matrix
    ``I + R D^T diag(q/stiffness) D R``, or the n_samples × n_samples one where that costs less.

    Parameters
    ----------
    sweep : Sweep
    root : array of shape (n_features,)
        ``R = sqrt(S)``, the root of the inverse Hessian of the coefficients' part.
    stiffness : array of shape (n_samples,)
        ``b + slack``, and what a barrier adds to it.
    products : RowProducts or None
        Kept from one system to the next.
    """

    def __init__(self, sweep, root, stiffness, products=None):
        self.sweep, self.root, self.stiffness = sweep, root, stiffness
        self.weights = np.broadcast_to(sweep.target.weights, stiffness.shape)
        self.hessian_weights = self.weights / stiffness
        if choose(sweep.work)[1] == "cholesky":
            self._factor_features()
        else:
            self.curvature = None
            self.sample_root = sweep.target.sign * np.sqrt(self.hessian_weights)
            if products is None:
                gram, self.exact = sweep.gram(root**2), True
            else:
                gram, self.exact, _ = products.of(sweep, root)
            self.factor = Factor(gram, np.abs(self.sample_root), overwrite=True)

    def _factor_features(self):
        self.curvature = self.sweep.curvature(self.hessian_weights)
        self.factor = Factor(self.curvature, self.root)

    def solve(self, dual_residual, primal_residual):
        """The moves of ``(alpha/e) u``, of ``w`` to first order, and of x."""
        dual_residual = np.zeros_like(self.root) + dual_residual
        if self.curvature is None:
            *moves, lost = self._through_samples(dual_residual, primal_residual)
            if lost <= LOST or self.sweep.work.cholesky_bytes > memory_limit():
                return moves
            # Where columns are of sizes far apart, large entries drown the small ones in every
            # number of the samples' matrix; in the features' each size keeps to its own rows.
            self._factor_features()
        return self._through_features(dual_residual, primal_residual)

    def _through_features(self, dual_residual, primal_residual):
        weighted = self.hessian_weights * primal_residual
        gradient = dual_residual + self.sweep.rmatvec_signed(weighted)
        p = self.factor.solve(-self.root * gradient)
        move = self.root * p
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            # where the root has underflowed, the same read off the equation itself
            slope = np.where(self.root > 1e-100, p / self.root, -gradient - self.curvature @ move)
        return slope, move, -(primal_residual + self.sweep.matvec_signed(move)) / self.stiffness

    def _through_samples(self, dual_residual, primal_residual):
        forward, multipliers = self.sweep.matvec_signed, np.zeros(len(primal_residual))
        left = primal_residual - forward(self.root**2 * dual_residual)
        wanted = norm(left)
        # the second round restores what cancellation has lost in the first, and further ones what
        # the products of a root near by lack
        for number in range(2 if self.exact else ROUNDS):
            if number >= 2 and norm(left) <= SETTLED * wanted:
                break
            inner = self.factor.solve(self.sample_root * left)
            multipliers = multipliers - self.sample_root * inner
            slope = self.sweep.rmatvec_signed(multipliers) - dual_residual
            move = self.root**2 * slope
            x = np.divide(
                multipliers, self.weights, out=np.zeros(len(left)), where=self.weights > 0
            )
            left = primal_residual + forward(move) + self.stiffness * x
        return slope, move, x, norm(left) / wanted if wanted > 0 else 0.0


def step_to_boundary(value, move):
    """How far ``value + length * move`` stays positive."""
    shrinking = move < 0
    if not np.any(shrinking):
        return np.inf
    with np.errstate(over="ignore"):
        return float(np.min(-value[shrinking] / move[shrinking]))
