"""Probabilities: the empirical frequency of the good class as a rising function of the score.

The scores are leave-one-out scores, whose frequencies hold for new rows as well. Isotonic
regression pools neighbouring scores until the frequency rises. One imaginary row of each class
at either end of the scale keeps it off 0 and 1: it makes the pure region of n rows beyond all
rows of the other class say ``(n + 1)/(n + 2)``, Laplace's rule of succession, and everything
between stays monotone by itself. Between neighbouring pools the frequency changes over the outer
tenth of each, so that it is continuous. Last, the likelier class is made the one that the sign of
the score names: a frequency on the other side of one half becomes one half, but for 1e-9 towards
that class. On real data that costs no likelihood worth mention, and a classifier that contradicts
itself would cost more (docs/mathematics.md, section 5.4).
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import isotonic_regression

from entropic.kernels.backend import ranking as kernels

# The part of a pool's weight at either side over which its frequency turns into its
# neighbour's. Half, an interpolation between the middles, distorts wide pools.
RAMP = 0.1
# Pools whose frequencies differ by less are one pool.
ROUNDING = 1e-12
# How far from one half the frequency is kept on the side of the class that the score names: more
# than any rounding, less than anyone would bet on.
BARELY = 1e-9


def frequencies(ranking):
    """Frequency of the good class by score, as the corners of a rising piecewise linear curve.

    Parameters
    ----------
    ranking : Ranking
        Of leave-one-out scores. An observation of weight q counts as q.

    Returns
    -------
    curve : array of shape (2, n_corners)
        Rising scores, and the frequency at each, strictly between 0 and 1.
    """
    values = ranking.values
    # what does not rise from one score to the next is pooled in any case
    starts, total, good, middle = kernels.pools(ranking.bad, ranking.good)
    share = good / total
    # an imaginary row of each class below and above all others
    pooled = isotonic_regression(
        np.concatenate([[0.5], share, [0.5]]), weights=np.concatenate([[2], total, [2]])
    ).x
    rises = np.diff(pooled) > ROUNDING
    first, last = not rises[0], not rises[-1]  # whether an end's pool holds its imaginary rows
    opening = np.concatenate([[0], np.flatnonzero(rises[1:-1]) + 1])
    level, starts, total = pooled[opening + 1], starts[opening], np.add.reduceat(total, opening)
    stops = np.append(starts[1:], len(values))
    left, right = _inner_edges(values, middle, total, starts, stops)
    # The outermost pools keep their level where nothing lies beyond; the pure ones keep it up
    # to the first row of the other class, which is the edge of the band.
    left[0], right[-1] = values[0], values[-1]
    if first and len(level) > 1:
        start = values[starts[1]]
        right[0] = start if start < left[1] else values[stops[0] - 1]
    if last and len(level) > 1:
        stop = values[stops[-2] - 1]
        left[-1] = stop if stop > right[-2] else values[starts[-1]]
    if len(level) == 2 and first and last:
        right[0], left[-1] = values[stops[0] - 1], values[starts[1]]
    curve = np.array([np.ravel([left, right], order="F"), np.repeat(level, 2)])
    return _through_zero(curve)


def frequency(curve, scores):
    """Frequency of the good class at some scores, strictly between 0 and 1."""
    return np.interp(scores, *curve)


def probability(curve, scores):
    """Probability of the good class at some scores: above one half for positive ones, else below.

    Returns
    -------
    array of the shape of ``scores``
    """
    level = frequency(curve, scores)
    return np.where(scores > 0, np.maximum(level, 0.5 + BARELY), np.minimum(level, 0.5 - BARELY))


def _inner_edges(values, middle, total, starts, stops):
    """Scores at which the outer tenths of every pool begin and end."""
    floor = np.cumsum(total) - total
    edges = []
    for part in (RAMP, 1 - RAMP):
        at = np.interp(floor + part * total, middle, values)
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
