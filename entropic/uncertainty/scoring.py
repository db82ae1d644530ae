"""How well held-out scores tell the classes apart, with the standard error of that figure.

Every scoring takes (scores, positive, weights), leave-one-out or out-of-fold scores, and returns
a figure of which more is better. A row of weight q counts as q rows, also in the standard error.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics import roc_auc_score

from .probability import frequencies, probability
from .ranking import Ranking


def neg_log_loss(scores, positive, weights):
    """Mean logarithm of the empirical probability of the row's own class."""
    chance = probability(frequencies(Ranking.of(scores, positive, weights)), scores)
    return _mean(np.log(np.where(positive, chance, 1 - chance)), weights)


def accuracy(scores, positive, weights):
    """Share of the rows on their own side of zero."""
    return _mean(((scores > 0) == positive).astype(float), weights)


def balanced_accuracy(scores, positive, weights):
    """Mean over the classes of the share on its own side of zero."""
    right = ((scores > 0) == positive).astype(float)
    parts = [_mean(right[part], weights[part]) for part in (positive, ~positive)]
    return np.mean([value for value, _ in parts]), np.hypot(*[error for _, error in parts]) / 2


def roc_auc(scores, positive, weights):
    """Chance that a good row scores above a defective one; standard error by Hanley and McNeil."""
    area = float(roc_auc_score(positive, scores, sample_weight=weights))
    good, bad = weights[positive].sum(), weights[~positive].sum()
    same, other = area / (2 - area), 2 * area**2 / (1 + area)
    spread = (
        area * (1 - area)
        + max(good - 1, 0.0) * max(same - area**2, 0.0)
        + max(bad - 1, 0.0) * max(other - area**2, 0.0)
    )
    return area, float(np.sqrt(spread / (good * bad)))


SCORINGS = {
    scoring.__name__: scoring for scoring in (neg_log_loss, accuracy, balanced_accuracy, roc_auc)
}


def _mean(values, weights):
    """Weighted mean and its standard error."""
    total = weights.sum()
    mean = float(weights @ values / total)
    return mean, float(np.sqrt(weights @ np.square(values - mean)) / total)
