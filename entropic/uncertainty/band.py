"""The uncertainty band: between which scores a point may belong to either class.

The paper's rule with the sign of its lower plane corrected (docs/mathematics.md, section 5):
with g the lowest score of the good class and d the highest of the defective one, the band is
``[min(g, d), max(g, d)]``. One definition covers separated classes (an empty gap) and
overlapping ones.
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
