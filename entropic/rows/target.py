"""What the rows are fitted to: sign, weight and offset of each sample, and the loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from entropic.kernels.loss import Loss


@dataclass(frozen=True)
class Target:
    """Per-sample data of the problem. An array of length one stands for all samples.

    Parameters
    ----------
    sign : int8 array, +1 or -1
    weights : float64 array, not negative
    offset : float64 array
        Right-hand side y, the robust margin of the paper's Problem 1.
    loss : Loss
    """

    sign: np.ndarray
    weights: np.ndarray
    offset: np.ndarray
    loss: Loss

    @classmethod
    def of(cls, loss, sign=1, weights=1.0, offset=0.0):
        def column(values, dtype):
            return np.ascontiguousarray(np.atleast_1d(np.asarray(values)), dtype=dtype)

        return cls(
            column(sign, np.int8),
            column(weights, np.float64),
            column(offset, np.float64),
            loss,
        )

    def total_weight(self, n_samples):
        """Sum of the weights: the unit in which ``tol`` is meant."""
        if len(self.weights) == 1:
            return float(self.weights[0]) * n_samples
        return float(np.sum(self.weights))
