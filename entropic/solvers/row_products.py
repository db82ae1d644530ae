"""Products of rows with each other, kept for as long as they are near enough."""

from __future__ import annotations

import numpy as np

# They serve while no number of the root has changed by more than this share.
NEAR = 0.01
# Rounds of refinement by products of a root near by, which end once one changes or leaves no more
# than this share; by those of the very root two restore what cancellation loses.
ROUNDS, SETTLED = 6, 1e-8


def made(n_active, n_samples):
    """Of how many rows products are made where so many are active.

    Rows beyond a kink mostly come back: where many are active, those of all are made.
    """
    return n_samples if 2 * n_active >= n_samples else n_active


class RowProducts:
    """``D diag(r^2) D^T`` for some rows of a sweep and a root r: what a samples' form is made of.

    They do not depend on Hessian weights, so that one matrix serves many. For another root that is
    near they are near as well: rounds of refinement, which take the true one, do the rest.
    """

    def __init__(self):
        self.gram = self.rows = self.root = None

    def of(self, sweep, root, active=None):
        """The products of the active rows, of all where None, in an array of its own.

        Returns
        -------
        array of shape (n_active, n_active)
        exact : bool
            Whether they are those of this very root.
        seconds : float
            What making them took, by the estimates of rows/work.py.
        """
        seconds, n_samples = 0.0, sweep.n_samples
        active = np.arange(n_samples) if active is None else active
        near = self.root is not None and np.all(np.abs(root - self.root) <= NEAR * self.root)
        if not (near and np.all(self.rows[active])):
            many = made(len(active), n_samples) == n_samples
            self.rows, self.root = np.full(n_samples, many), root
            self.rows[active] = True
            self.gram = None  # one of them at a time
            self.gram = (sweep if many else sweep.take(active)).gram(root**2)
            seconds = sweep.work.gram * (len(self.gram) / n_samples) ** 2
        places = np.cumsum(self.rows)[active] - 1
        # a plain copy of all takes a fifth of the time
        every = len(active) == len(self.gram)
        found = self.gram.copy() if every else self.gram[np.ix_(places, places)]
        return found, self.root is root, seconds
