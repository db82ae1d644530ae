"""The sweep: coefficients in, (value, gradient, curvature) out, in one read of the rows.

Solvers see nothing else of the data. Rows in memory, on disk and on a cluster differ in who
runs the sweep; the protocol is that of :class:`Sweep`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from entropic.kernels.backend import sweeps
from entropic.rows.work import Work

from .target import Target


@dataclass
class Evaluation:
    """What one sweep returns, in terms of the design's coefficients."""

    value: float
    gradient: np.ndarray
    curvature: np.ndarray | None = None
    details: bool = False  # whether the sweep's per-sample arrays belong to this evaluation


class Sweep:
    """The samples' part of the objective, for rows in memory.

    Parameters
    ----------
    design : Design
    target : Target
    n_threads : int

    Attributes
    ----------
    n_samples, n_features : int
        Sizes of the design.
    total_weight : float
        The unit in which ``tol`` is meant.
    reach, log_margins, bend : arrays of shape (n_samples,)
        ``t``, ``l'(t)`` and ``q l''(t)`` at the last evaluation with details.
    count : int
        Reads of all rows so far.
    """

    def __init__(self, design, target, n_threads=1):
        self.design, self.target, self.n_threads = design, target, n_threads
        self.n_samples, self.n_features = design.n_samples, design.n_features
        self.total_weight = target.total_weight(design.n_samples)
        self.functional_margins = self.log_margins = self.hessian_weights = None
        self.count = 0

    def evaluate(self, coef, curvature=False, details=False):
        """``sum q l(t)`` with its gradient and, when asked, its curvature.

        With ``details`` the per-sample arrays are kept too; they cost a write to memory, so
        ask for them only where they are used.
        """
        if details and self.functional_margins is None:
            self.functional_margins, self.log_margins, self.hessian_weights = np.empty(
                (3, self.n_samples)
            )
        kept = (
            (self.functional_margins, self.log_margins, self.hessian_weights)
            if details
            else (None, None, None)
        )
        value, gradient, matrix = sweeps.evaluate(
            self.design.rows,
            self.design.to_rows(coef),
            self.target,
            curvature,
            self.n_threads,
            *kept,
        )
        self.count += 1
        if matrix is not None:
            matrix = self.design.curvature_from_rows(matrix)
        return Evaluation(value, self.design.from_rows(gradient), matrix, details)

    def hessp(self, direction):
        """Curvature at the last evaluation with details, times a vector."""
        self.count += 1
        out = sweeps.hessp(
            self.design.rows, self.hessian_weights, self.design.to_rows(direction), self.n_threads
        )
        return self.design.from_rows(out)

    def curvature(self):
        """Curvature at the last evaluation with details, by a read of its own."""
        self.count += 1
        matrix = sweeps.curvature(self.design.rows, self.hessian_weights, self.n_threads)
        return self.design.curvature_from_rows(matrix)

    def gram(self, scale):
        """``Phi diag(scale) Phi^T``, n_samples × n_samples, for design rows Phi without sign."""
        self.count += 1
        inner, shift = self.design.gram_to_rows(scale)
        matrix = sweeps.gram(self.design.rows, inner, self.n_threads)
        if shift is not None:
            shift = sweeps.scores(self.design.rows, shift, self.n_threads)
            matrix += shift
            matrix += shift[:, None]
        return matrix

    def quadratic_forms(self, factor):
        """``|phi_i factor|^2`` for every design row, for a factor of shape (n_features, k)."""
        self.count += 1
        factor = self.design.factor_to_rows(factor)
        return sweeps.quadratic_forms(self.design.rows, factor, self.n_threads)

    def rmatvec(self, pointwise_gradient):
        """``Phi^T pull`` for design rows Phi without sign."""
        self.count += 1
        return self.design.from_rows(
            sweeps.rmatvec(self.design.rows, pointwise_gradient, self.n_threads)
        )

    def take(self, indices):
        """A sweep over some of the rows."""
        target = self.target
        columns = (target.sign, target.weights, target.offset)
        columns = [values if len(values) == 1 else values[indices] for values in columns]
        return Sweep(self.design.take(indices), Target(*columns, target.loss), self.n_threads)

    @cached_property
    def work(self):
        """Sizes of the data, from which the cost of each kind of step follows."""
        return Work.of(self.design)

    def scores(self, coef):
        """The design's scores ``f``, without sign and offset."""
        self.count += 1
        return sweeps.scores(self.design.rows, self.design.to_rows(coef), self.n_threads)

    @property
    def multipliers(self):
        """``lambda = -q l'(t)`` at the last evaluation with details."""
        return 0.0 - self.target.weights * self.log_margins
