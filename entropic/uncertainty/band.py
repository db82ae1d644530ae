"""The uncertainty band: between which scores a point may belong to either class.

The paper's rule with the sign of its lower plane corrected (docs/mathematics.md, section 5):
with g the lowest score of the good class and d the highest of the defective one, the band is
``[min(g, d), max(g, d)]``. One definition covers separated classes (an empty gap) and
overlapping ones. A certainty below one takes quantiles of each class in place of its extreme.
"""

from __future__ import annotations

import numpy as np


def extremes(scores, positive, weights):
    """Band and separation of scored samples; rows of weight 0 do not count.

    Parameters
    ----------
    scores : array of shape (n_samples,)
    positive : bool array of shape (n_samples,)
        Which samples are of the good class, whose scores should be positive.
    weights : array of shape (n_samples,) or (1,)

    Returns
    -------
    lower, upper : float
    separation : float
        g - d; positive where the classes are separated.
    """
    counted = np.broadcast_to(weights > 0, scores.shape)
    good = float(np.min(scores[counted & positive]))
    defective = float(np.max(scores[counted & ~positive]))
    return min(good, defective), max(good, defective), good - defective


def certainty_band(scores, positive, weights, certainty=1.0):
    """The narrowest band outside which each class errs at most ``1 - certainty`` of the time.

    A defective row errs with a score of ``upper`` or more, a good one with ``lower`` or less;
    shares are of the class's weight. ``certainty=1`` gives the extremes, as in the paper. Where
    no band is needed, it has no width and lies as near to 0 as the extremes and shares allow.

    Parameters
    ----------
    scores, positive, weights
        As for :func:`extremes`; both classes have weight.
    certainty : float
        In (0, 1].

    Returns
    -------
    lower, upper : float
    """
    lowest, highest, _ = extremes(scores, positive, weights)
    if certainty == 1:
        return lowest, highest
    weights = np.broadcast_to(weights, scores.shape)
    good, bad = weights * positive, weights * ~positive
    upper = _beyond(scores, bad, certainty)
    lower = -_beyond(-scores, good, certainty)
    if upper <= lower:
        # any point between would do for a band without width
        upper, lower = max(upper, lowest), min(lower, highest)
        lower = upper = min(max(0.0, upper), lower)
    return lower, upper


def in_band(scores, band):
    """Whether each score lies strictly between the bounds: the uncertain ones."""
    lower, upper = band
    return (scores > lower) & (scores < upper)


def _beyond(scores, weights, certainty):
    """The lowest threshold that at most ``1 - certainty`` of the weight reaches."""
    counted = weights > 0
    values, place = np.unique(scores[counted], return_inverse=True)
    reaching = np.cumsum(np.bincount(place, weights[counted])[::-1])[::-1]
    # a share that is met to the last bit counts as met
    allowed = (1 - certainty) * reaching[0] * (1 + 1e-12)
    last_over = max(np.count_nonzero(reaching > allowed), 1) - 1
    return float(np.nextafter(values[last_over], np.inf))
