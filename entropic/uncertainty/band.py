"""The uncertainty band: between which scores a point may belong to either class.

The paper's rule with the sign of its lower plane corrected (docs/mathematics.md, section 5.1):
with g the lowest score of the good class and d the highest of the defective one, the band is
``[min(g, d), max(g, d)]``. One definition covers separated classes (an empty gap) and
overlapping ones. A certainty below one takes quantiles of each class in place of its extreme.
"""

from __future__ import annotations

import math

import numpy as np


def certainty_band(ranking, certainty=1.0):
    """The narrowest band outside which each class errs at most ``1 - certainty`` of the time.

    A defective row errs with a score of ``upper`` or more, a good one with ``lower`` or less;
    shares are of the class's weight. ``certainty=1`` gives the extremes, as in the paper. Where
    no band is needed, it has no width and lies as near to 0 as the extremes and shares allow.

    Parameters
    ----------
    ranking : Ranking
        Both classes have weight.
    certainty : float
        In (0, 1].

    Returns
    -------
    lower, upper : float
    """
    values, bad, good = ranking.values, ranking.bad, ranking.good
    lowest_good = float(values[np.argmax(good > 0)])
    highest_bad = float(values[len(values) - 1 - np.argmax((bad > 0)[::-1])])
    lowest, highest = min(lowest_good, highest_bad), max(lowest_good, highest_bad)
    if certainty == 1:
        return lowest, highest
    upper = _beyond(values, bad, certainty)
    lower = -_beyond(-values[::-1], good[::-1], certainty)
    if upper <= lower:
        # any point between would do for a band without width
        upper, lower = max(upper, lowest), min(lower, highest)
        lower = upper = min(max(0.0, upper), lower)
    return lower, upper


def in_band(scores, band):
    """Whether each score lies strictly between the bounds: the uncertain ones."""
    lower, upper = band
    return (scores > lower) & (scores < upper)


def _beyond(values, weights, certainty):
    """The lowest threshold that at most ``1 - certainty`` of the weight reaches."""
    reaching = np.cumsum(weights[::-1])[::-1]
    # a share that is met to the last bit counts as met
    allowed = (1 - certainty) * reaching[0] * (1 + 1e-12)
    over = np.count_nonzero(reaching > allowed)
    last_over = over - 1 if over else np.argmax(weights > 0)
    return math.nextafter(values[last_over], math.inf)
