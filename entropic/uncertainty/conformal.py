"""A guarantee from rows that the fit has not seen: split conformal prediction, class by class.

If a new row of a class and the n calibration rows of that class are exchangeable, its score is
no worse than that of the ``ceil((n + 1) level)``-th best of them with a probability of at least
the level. Nothing else is assumed, of the model or of the share of the classes (V. Vovk, A.
Gammerman, G. Shafer, "Algorithmic Learning in a Random World", chapters 2 and 4;
docs/mathematics.md, section 5.5).
"""

from __future__ import annotations

import math

import numpy as np


def rank(n_rows, level):
    """``ceil((n + 1) level)``, with a product that is whole but for rounding taken as whole."""
    product = (n_rows + 1) * level
    nearest = round(product)
    return nearest if abs(product - nearest) <= 1e-9 * max(1.0, product) else math.ceil(product)


def rows_needed(level):
    """The fewest calibration rows of a class with which a level below 1 can be met."""
    n_rows = max(1, math.ceil(level / (1 - level)) - 1)
    while rank(n_rows, level) > n_rows:
        n_rows += 1
    return n_rows


def thresholds(scores, codes, level):
    """Scores from which each class remains possible.

    Parameters
    ----------
    scores : array of shape (n_samples, n_classes)
        Of rows that had no part in the fit, one for each class.
    codes : int array of shape (n_samples,)
        The class of each row.
    level : float
        In (0, 1): how often, at least, the true class of a new row is among those possible,
        for each class by itself.

    Returns
    -------
    array of shape (n_classes,)
        Minus infinity where a class has too few rows for the level.
    """
    return np.array(
        [-_quantile(-own[codes == code], level) for code, own in enumerate(np.transpose(scores))]
    )


def band(defective, good):
    """The band of the scores for which not exactly one class remains possible.

    Open at either end, as :func:`entropic.uncertainty.band.in_band` has it.
    """
    if good <= defective:
        return math.nextafter(good, -math.inf), math.nextafter(defective, math.inf)
    return float(defective), float(good)


def _quantile(scores, level):
    """The score of the rank that the level asks for, infinite beyond the last."""
    position = rank(len(scores), level)
    if position > len(scores):
        return math.inf
    return float(np.partition(scores, position - 1)[position - 1])
