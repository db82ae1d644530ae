"""Rows near the kink of the inequality form: whether it matters that their side is open.

Below the kink, at a functional margin of 1, a row has its share in the curvature, beyond it none.
A gap within the goal may leave the side of some rows open. All leverages together are at most the
number of columns: where many rows bear on each column, one row more or less changes little of what
the others would score without themselves; where few do, it may change all of it
(docs/mathematics.md, section 5.2).
"""

from __future__ import annotations

import numpy as np

# Rows whose side is open, times the columns for each row below the kink, that do not matter.
FEW = 0.1
# A multiplier and a surplus in this ratio tell that the smaller of the two vanishes.
VANISHING = 1e-4


def matter(n_rows, n_features, n_below):
    """Whether so many rows matter beside those below the kink."""
    return n_rows * n_features > FEW * n_below


def passing_matters(before, after, n_features):
    """Whether rows pass the kink from one point to the next, and so many that it matters.

    Parameters
    ----------
    before, after : array of shape (n_samples,)
        Hessian weights, which vanish beyond the kink.
    n_features : int
    """
    below = after > 0
    return matter(np.count_nonzero(below != (before > 0)), n_features, np.count_nonzero(below))


def open_sides_matter(scaled_multipliers, surplus, n_features):
    """Whether a pair's multipliers and surplus leave open the side of rows that matter.

    Parameters
    ----------
    scaled_multipliers, surplus : array of shape (n_samples,)
        Of the samples that count; one of the two vanishes at the optimum.
    n_features : int
    """
    x, s = scaled_multipliers, surplus
    n_open = np.count_nonzero(np.minimum(x, s) > VANISHING * np.maximum(x, s))
    return matter(n_open, n_features, np.count_nonzero(x > s))
