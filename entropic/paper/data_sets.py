"""The paper's data sets (its section 5.1), and the split of its experiments (5.2).

The authors leave the random state of their spiral open. It is a parameter here, so that its rows
can be met in distribution.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    make_blobs,
    make_circles,
    make_moons,
)
from sklearn.model_selection import train_test_split

TEST_SHARE, RANDOM_STATE = 0.3, 42


def spiral(n_samples=500, random_state=0):
    """Two arms of a spiral, with a little noise.

    Parameters
    ----------
    n_samples : int
        Points an arm. (The paper's text says 500 in all; its figures are of 1,000.)
    random_state : int

    Returns
    -------
    X : array of shape (2 * n_samples, 2)
    y : array of shape (2 * n_samples,)
        0 for the first arm, 1 for the second.
    """
    rng = np.random.default_rng(random_state)
    arms = []
    for side in (1, -1):
        angle = 2 * np.pi * np.sqrt(rng.random(n_samples))
        radius = side * (2 * angle + np.pi)
        arm = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
        arms.append(arm + 0.1 * rng.standard_normal(arm.shape))
    return np.vstack(arms), np.repeat([0, 1], n_samples)


SETS = {
    "blobs": lambda: make_blobs(500, 2, centers=2, cluster_std=1.5, random_state=42),
    "circles": lambda: make_circles(500, factor=0.5, noise=0.1, random_state=42),
    "spiral": spiral,
    "moons": lambda: make_moons(500, noise=0.1, random_state=42),
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
}


def split(X, y):
    """The paper's training and test parts: ``X, X_test, y, y_test``."""
    return train_test_split(X, y, test_size=TEST_SHARE, random_state=RANDOM_STATE)
