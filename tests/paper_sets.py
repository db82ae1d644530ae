"""The paper's five data sets, the form of its problem, and the signed designs of both."""

import numpy as np
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from entropic.paper import data_sets

# The paper's form of the problem, in its box, relaxed so far that classes may overlap.
PAPER = dict(constraint="equality", slack=0.1, bound=1.0)

DEGREES = {"blobs": 1, "circles": 3, "spiral": 1, "moons": 3, "breast cancer": 1}
SETS = {name: (DEGREES[name], load) for name, load in data_sets.SETS.items()}


def signed_design(name, degree=None):
    """Scaled monomials with a constant, the rows of class 0 with their sign changed."""
    usual, load = SETS[name]
    (X, y), degree = load(), degree or usual
    X = StandardScaler().fit_transform(X)
    X = PolynomialFeatures(degree, include_bias=False).fit_transform(X)
    X = np.column_stack([StandardScaler().fit_transform(X), np.ones(len(X))])
    return np.where(y == 1, 1.0, -1.0)[:, None] * X
