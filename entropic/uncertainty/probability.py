"""Probabilities: the empirical frequency of the good class as a rising function of the score.

The scores are leave-one-out scores, whose frequencies hold for new rows as well. Isotonic
regression pools neighbouring scores until the frequency rises. One imaginary row of each class
at either end of the scale keeps it off 0 and 1: it makes the pure region of n rows beyond all
rows of the other class say ``(n + 1)/(n + 2)``, Laplace's rule of succession, and everything
between stays monotone by itself. Between neighbouring pools the frequency changes over the outer
tenth of each, so that it is continuous. Last, the likelier class is made the one that the sign of
the score names: a frequency on the other side of one half becomes one half. On real data that
costs no likelihood worth mention, and a classifier that contradicts itself would cost more.
"""

from __future__ import annotations

import numpy as np
from sklearn.isotonic import isotonic_regression

# The part of a pool's weight at either side over which its frequency turns into its
# neighbour's. Half, an interpolation between the middles, distorts wide pools.
RAMP = 0.1
# What a frequency below one half becomes at a positive score: more than one half in every
# rounding, less than anyone would bet on.
BARELY = 0.5 + 1e-9


def frequencies(scores, positive, weights):
    """Frequency of the good class by score, as the corners of a rising piecewise linear curve.

    Parameters
    ----------
    scores : array of shape (n_samples,)
        Leave-one-out scores where there are any.
    positive : bool array of shape (n_samples,)
    weights : array of shape (n_samples,) or (1,)
        A row of weight q counts as q rows, one of weight 0 not at all.

    Returns
    -------
    curve : array of shape (2, n_corners)
        Rising scores, and the frequency at each, strictly between 0 and 1.
    """
    values, weight, share = _ties(scores, positive, np.broadcast_to(weights, scores.shape))
    # an imaginary row of each class below and above all others
    pooled = isotonic_regression(
        np.concatenate([[0.5], share, [0.5]]), sample_weight=np.concatenate([[2], weight, [2]])
    )
    first, last = pooled[0], pooled[-1]
    pooled = pooled[1:-1]
    starts = np.flatnonzero(np.diff(pooled, prepend=-1.0) != 0)
    stops = np.append(starts[1:], len(pooled))
    level = pooled[starts]
    left, right = _inner_edges(values, weight, starts, stops)
    # The outermost pools keep their level where nothing lies beyond; the pure ones keep it up
    # to the first row of the other class, which is the edge of the band.
    left[0], right[-1] = values[0], values[-1]
    if first == level[0] and len(level) > 1:
        start = values[starts[1]]
        right[0] = start if start < left[1] else values[stops[0] - 1]
    if last == level[-1] and len(level) > 1:
        stop = values[stops[-2] - 1]
        left[-1] = stop if stop > right[-2] else values[starts[-1]]
    if len(level) == 2 and first == level[0] and last == level[-1]:
        right[0], left[-1] = values[stops[0] - 1], values[starts[1]]
    curve = np.array([np.ravel([left, right], order="F"), np.repeat(level, 2)])
    return _through_zero(curve)


def probability(curve, scores):
    """Probability of the good class at some scores: above one half for positive ones only.

    Returns
    -------
    array of the shape of ``scores``
    """
    level = np.interp(scores, *curve)
    return np.where(scores > 0, np.maximum(level, BARELY), np.minimum(level, 0.5))


def confidence(scores, curve):
    """An order of the rows by how sure their predicted class is, the surest highest.

    Rows count by the probability of the class on whose side of 0 they lie; among rows of one
    probability, by their distance from 0.

    Returns
    -------
    int array of shape (n_samples,)
        Equal for rows that tie.
    """
    good = probability(curve, scores)
    order = np.column_stack([np.where(scores > 0, good, 1 - good), np.abs(scores)])
    return np.unique(order, axis=0, return_inverse=True)[1].ravel()


def _ties(scores, positive, weights):
    """Distinct scores of weight, with the weight and the share of the good class at each."""
    counted = weights > 0
    values, place = np.unique(scores[counted], return_inverse=True)
    total = np.bincount(place, weights[counted])
    good = np.bincount(place, weights[counted] * positive[counted])
    return values, total, good / total


def _inner_edges(values, weight, starts, stops):
    """Scores at which the outer tenths of every pool begin and end."""
    below = np.cumsum(weight) - weight / 2
    floor = (np.cumsum(weight) - weight)[starts]
    total = np.add.reduceat(weight, starts)
    edges = []
    for part in (RAMP, 1 - RAMP):
        at = np.interp(floor + part * total, below, values)
        edges.append(np.clip(at, values[starts], values[stops - 1]))
    return edges


def _through_zero(curve):
    """Let a rise past one half that spans the score 0 pass through it there.

    Between two corners the data say nothing on where the frequency is one half. Zero is where
    ``predict`` changes its mind.
    """
    scores, level = curve
    after = int(np.searchsorted(scores, 0.0))
    if 0 < after < len(scores) and scores[after] > 0 and level[after - 1] < 0.5 < level[after]:
        return np.insert(curve, after, [0.0, 0.5], axis=1)
    return curve
