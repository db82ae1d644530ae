"""How well held-out scores tell the classes apart, with the standard error of that figure.

Every scoring takes (scores, positive, weights), leave-one-out or out-of-fold scores, and returns
a figure of which more is better. A row of weight q counts as q rows, also in the standard error.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit
from sklearn.metrics import roc_auc_score

# Of the sigmoid's Newton steps, relative to a weight of one: what keeps them finite where the
# scores all but separate the classes.
RIDGE = 1e-9
STEPS, HALVINGS = 50, 30


def neg_log_loss(scores, positive, weights):
    """Mean logarithm of the probability of the row's own class, by a sigmoid through the scores.

    The empirical frequencies of ``predict_proba`` follow the rows they were made of so closely that
    their log-loss flatters; two parameters are hardly flattered.
    """
    slope, offset = sigmoid(scores, positive, weights)
    logit = slope * scores + offset
    return _mean(-np.logaddexp(0.0, np.where(positive, -logit, logit)), weights)


def sigmoid(scores, positive, weights):
    """Slope and offset of the sigmoid through some scores (docs/mathematics.md, section 5.7).

    Its targets are not 0 and 1 but ``1/(n_- + 2)`` and ``(n_+ + 1)/(n_+ + 2)`` for classes of n_-
    and n_+ rows, which have a maximum of likelihood for separated classes as well. The slope is
    not negative: scores that point the wrong way tell no more than the frequencies do.

    Parameters
    ----------
    scores : array of shape (n_samples,)
    positive : bool array of shape (n_samples,)
    weights : array of shape (n_samples,)
        A row of weight q counts as q rows.

    Returns
    -------
    slope, offset : float

    References
    ----------
    J. Platt, "Probabilistic outputs for support vector machines" (1999); H.-T. Lin, C.-J. Lin,
    R. C. Weng, "A note on Platt's probabilistic outputs for support vector machines" (2007).
    """
    good, bad = weights[positive].sum(), weights[~positive].sum()
    total = good + bad
    share = weights / total
    target = np.where(positive, (good + 1) / (good + 2), 1 / (bad + 2))
    centre = float(share @ scores)
    spread = float(np.sqrt(share @ np.square(scores - centre))) or 1.0
    scaled = (scores - centre) / spread

    def loss(at):
        logit = at[0] * scaled + at[1]
        return logit, float(share @ (np.logaddexp(0.0, logit) - target * logit))

    mean = float(share @ target)
    flat = np.array([0.0, np.log(mean / (1 - mean))])
    at, (logit, value) = flat, loss(flat)
    for _ in range(STEPS):
        chance = expit(logit)
        error, curved = share * (chance - target), share * chance * (1 - chance)
        gradient = np.array([error @ scaled, error.sum()])
        mixed = curved @ scaled
        matrix = np.array([[curved @ scaled**2, mixed], [mixed, curved.sum()]])
        step = -np.linalg.solve(matrix + RIDGE * np.eye(2), gradient)
        fall = float(gradient @ step)
        if fall > -1e-16:
            break
        length = 1.0
        for _ in range(HALVINGS):
            trial = loss(at + length * step)
            if trial[1] <= value + 1e-4 * length * fall:
                break
            length /= 2
        else:
            break
        at, (logit, value) = at + length * step, trial
    if at[0] < 0:
        at = flat
    slope = at[0] / spread
    return float(slope), float(at[1] - slope * centre)


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
    # ties of accuracy, within its error, are broken by the log-loss (model_selection.py)
    "accuracy_log_loss": accuracy,
    **{
        scoring.__name__: scoring
        for scoring in (neg_log_loss, accuracy, balanced_accuracy, roc_auc)
    },
}


def _mean(values, weights):
    """Weighted mean and its standard error."""
    total = weights.sum()
    mean = float(weights @ values / total)
    return mean, float(np.sqrt(weights @ np.square(values - mean)) / total)
