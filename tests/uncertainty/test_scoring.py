"""How a search judges candidates by left-out scores: each figure, its error, and the sigmoid."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from entropic.uncertainty.scoring import SCORINGS, sigmoid


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "roc_auc"])
def test_scorings_against_scikit_learn(scoring):
    rng = np.random.default_rng(0)
    scores, positive = rng.normal(size=200), rng.random(200) < 0.3
    weights = rng.integers(1, 4, 200).astype(float)
    value, error = SCORINGS[scoring](scores, positive, weights)
    judge = {
        "accuracy": lambda: np.average((scores > 0) == positive, weights=weights),
        "balanced_accuracy": lambda: balanced_accuracy_score(
            positive, scores > 0, sample_weight=weights
        ),
        "roc_auc": lambda: roc_auc_score(positive, scores, sample_weight=weights),
    }[scoring]
    assert value == pytest.approx(judge(), rel=1e-12)
    assert 0 < error < 0.1


@pytest.mark.parametrize("scoring", sorted(SCORINGS))
def test_standard_errors_are_those_of_repeated_draws(scoring):
    rng = np.random.default_rng(1)
    values, errors = [], []
    for _ in range(300):
        positive = rng.random(300) < 0.4
        scores = rng.normal(np.where(positive, 1.0, -1.0))
        value, error = SCORINGS[scoring](scores, positive, np.ones(300))
        values.append(value)
        errors.append(error)
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.25)


@pytest.mark.parametrize(("shift", "unit"), [(1.0, 1.0), (0.3, 1e-6), (5.0, 1e8)])
def test_the_sigmoid_is_that_of_a_minimiser_at_large(shift, unit):
    rng = np.random.default_rng(0)
    positive, weights = rng.random(300) < 0.3, rng.integers(1, 4, 300).astype(float)
    scores = rng.normal(size=300) + shift * positive
    good, bad = weights[positive].sum(), weights[~positive].sum()
    target = np.where(positive, (good + 1) / (good + 2), 1 / (bad + 2))

    def loss(at):
        logit = at[0] * scores + at[1]
        return weights @ (np.logaddexp(0, logit) - target * logit)

    slope, offset = sigmoid(unit * scores, positive, weights)
    found = minimize(loss, [1.0, 0.0], options={"gtol": 1e-7}).x
    np.testing.assert_allclose([slope * unit, offset], found, rtol=1e-3, atol=1e-3)


def test_a_sigmoid_does_not_turn_scores_round():
    positive = np.arange(40) < 10
    slope, offset = sigmoid(np.where(positive, -1.0, 1.0), positive, np.ones(40))
    assert slope == 0 and expit(offset) == pytest.approx(0.25, abs=0.03)
