"""The paper's five data sets and the form of its problem, with the signed designs of both."""

import numpy as np
from sklearn.datasets import load_breast_cancer, make_blobs, make_circles, make_moons
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

# The paper's form of the problem, in its box, relaxed so far that classes may overlap.
PAPER = dict(constraint="equality", slack=0.1, bound=1.0)


def _spiral(n_samples=500, seed=0):
    rng = np.random.default_rng(seed)
    arms = []
    for side in (1, -1):
        angle = 2 * np.pi * np.sqrt(rng.random(n_samples))
        radius = side * (2 * angle + np.pi)
        arm = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
        arms.append(arm + 0.1 * rng.standard_normal(arm.shape))
    return np.vstack(arms), np.repeat([0, 1], n_samples)


SETS = {
    "blobs": (1, lambda: make_blobs(500, 2, centers=2, cluster_std=1.5, random_state=42)),
    "circles": (3, lambda: make_circles(500, factor=0.5, noise=0.1, random_state=42)),
    "spiral": (1, _spiral),
    "moons": (3, lambda: make_moons(500, noise=0.1, random_state=42)),
    "breast cancer": (1, lambda: load_breast_cancer(return_X_y=True)),
}


def signed_design(name):
    """Scaled monomials with a constant, the rows of class 0 with their sign changed."""
    degree, load = SETS[name]
    X, y = load()
    X = StandardScaler().fit_transform(X)
    X = PolynomialFeatures(degree, include_bias=False).fit_transform(X)
    X = np.column_stack([StandardScaler().fit_transform(X), np.ones(len(X))])
    return np.where(y == 1, 1.0, -1.0)[:, None] * X
