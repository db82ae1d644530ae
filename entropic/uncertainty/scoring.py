"""How well held-out scores tell the classes apart, with the standard error of that figure.

Every scoring takes (scores, codes, weights): leave-one-out or out-of-fold scores, one a row for two
classes, else one a row and class; and the place of each row's class. More of its figure is better.
A row of weight q counts as q rows, also in the standard error.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logsumexp
from sklearn.metrics import roc_auc_score

from .several import class_scores

# Of the sigmoid's Newton steps, relative to a weight of one: what keeps them finite where the
# scores all but separate the classes.
RIDGE = 1e-9
STEPS, HALVINGS = 50, 30


def neg_log_loss(scores, codes, weights):
    """Mean logarithm of the probability of the row's own class, by a sigmoid through the scores.

    Of several classes there is a sigmoid for each, and their values are divided by their sum. The
    empirical frequencies of ``predict_proba`` follow the rows they were made of so closely that
    their log-loss flatters; two parameters are hardly flattered.
    """
    if scores.ndim == 1:
        slope, offset = sigmoid(scores, codes == 1, weights)
        logit = slope * scores + offset
        return _mean(-np.logaddexp(0.0, np.where(codes == 1, -logit, logit)), weights)
    logs = np.empty_like(scores)
    for code, own in enumerate(scores.T):
        slope, offset = sigmoid(own, codes == code, weights)
        logs[:, code] = -np.logaddexp(0.0, -(slope * own + offset))
    own = np.take_along_axis(logs, codes[:, None], axis=1)[:, 0]
    return _mean(own - logsumexp(logs, axis=1), weights)


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


def accuracy(scores, codes, weights):
    """Share of the rows whose class has the highest score."""
    return _mean(_right(scores, codes), weights)


def balanced_accuracy(scores, codes, weights):
    """Mean of that share over the classes."""
    right = _right(scores, codes)
    parts = [_mean(right[codes == code], weights[codes == code]) for code in np.unique(codes)]
    values, errors = np.transpose(parts)
    return float(np.mean(values)), float(np.linalg.norm(errors)) / len(parts)


def roc_auc(scores, codes, weights):
    """Chance that a row of a class scores above another; standard error by Hanley and McNeil.

    Of several classes the mean over each against the rest.
    """
    if scores.ndim == 1:
        return _area(scores, codes == 1, weights)
    parts = [_area(own, codes == code, weights) for code, own in enumerate(scores.T)]
    values, errors = np.transpose(parts)
    return float(np.mean(values)), float(np.linalg.norm(errors)) / len(parts)


def _area(scores, positive, weights):
    """Area under the curve of two classes, and its standard error."""
    area = float(roc_auc_score(positive, scores, sample_weight=weights))
    good, bad = weights[positive].sum(), weights[~positive].sum()
    same, other = area / (2 - area), 2 * area**2 / (1 + area)
    spread = (
        area * (1 - area)
        + max(good - 1, 0.0) * max(same - area**2, 0.0)
        + max(bad - 1, 0.0) * max(other - area**2, 0.0)
    )
    return area, float(np.sqrt(spread / (good * bad)))


def _right(scores, codes):
    return (np.argmax(class_scores(scores), axis=1) == codes).astype(float)


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
