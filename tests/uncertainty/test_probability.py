"""Probabilities: empirical, rising, off 0 and 1, and of one mind with ``predict``."""

import numpy as np
import pytest
import real_data
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from entropic import EntropicClassifier
from entropic.uncertainty.probability import frequencies, probability
from entropic.uncertainty.ranking import Ranking
from entropic.uncertainty.several import class_scores, confidence


@given(
    st.lists(
        st.tuples(st.integers(-5, 5), st.booleans(), st.integers(0, 3)), min_size=1, max_size=40
    )
)
def test_a_rising_curve_off_its_ends(rows):
    scores, positive, weights = map(np.array, zip(*rows, (0, False, 1), (1, True, 1), strict=True))
    scores, weights = scores / 2.0, weights.astype(float)
    curve = frequencies(Ranking.of(scores, positive, weights))
    assert np.all(np.diff(curve[0]) >= 0) and np.all(np.diff(curve[1]) >= 0)
    assert curve[1][0] > 0 and curve[1][-1] < 1
    at = np.linspace(-4, 4, 81)
    good = probability(curve, at)
    assert np.all(np.diff(good) >= 0)
    assert_array_equal(good >= 0.5, at > 0)
    assert_array_equal(1 - good >= 0.5, at <= 0)
    # a weight is a number of rows
    counts = weights.astype(int)
    again = frequencies(
        Ranking.of(np.repeat(scores, counts), np.repeat(positive, counts), np.ones(1))
    )
    assert_allclose(probability(again, at), good, rtol=1e-9)
    # the other class's probability is the complement at the mirrored score
    mirrored = probability(frequencies(Ranking.of(-scores, ~positive, weights)), -at)
    assert_allclose(mirrored[at != 0], 1 - good[at != 0], atol=1e-8)


def test_regions_of_certainty_say_n_plus_1_of_n_plus_2():
    low, high = np.linspace(-3, -2, 30), np.linspace(2, 3, 18)
    mixed, labels = np.linspace(-1, 1, 40), np.tile([True, False], 20)
    scores = np.concatenate([low, mixed, high])
    positive = np.concatenate([np.zeros(30, bool), labels, np.ones(18, bool)])
    curve = frequencies(Ranking.of(scores, positive, np.ones(1)))
    lower, upper = mixed[0], mixed[-1]
    assert_allclose(probability(curve, np.array([-9.0, -2.5, lower])), 1 / 32)
    assert_allclose(probability(curve, np.array([upper, 2.5, 9.0])), 19 / 20)
    inside = probability(curve, np.linspace(lower, upper, 50)[1:-1])
    assert inside.min() > 1 / 32 and inside.max() < 19 / 20


def test_a_region_too_small_for_its_claim_joins_its_neighbour():
    """One row on top of forty that are nine tenths good: 2 of 3 would be a fall."""
    scores = np.arange(52.0) - 11
    positive = np.concatenate([np.zeros(11, bool), np.arange(40) % 10 > 0, [True]])
    curve = frequencies(Ranking.of(scores, positive, np.ones(1)))
    assert np.all(np.diff(curve[1]) >= 0)
    assert curve[1][-1] > 0.9


def test_separable_classes():
    scores = np.array([-3.0, -2, -1, 1, 2])
    curve = frequencies(Ranking.of(scores, scores > 0, np.ones(1)))
    assert_allclose(probability(curve, np.array([-9, -1])), 1 / 5)
    assert_allclose(probability(curve, np.array([1, 9])), 3 / 4)
    # the score 0 is of the class that predict gives it
    assert_allclose(probability(curve, np.array([0.0])), 0.5, rtol=1e-8)
    assert probability(curve, np.array([0.0])) < 0.5


@pytest.mark.parametrize("slack", [0.0, 0.1])
def test_separable_data_whose_band_is_empty(slack):
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(-5, 1, (30, 2)), rng.normal(5, 1, (40, 2))]
    y = np.repeat([0, 1], [30, 40])
    fitted = EntropicClassifier(slack=slack, solver="spectral").fit(X, y)
    assert fitted.separation_ > 0 and not fitted.in_band(X).any()
    proba = fitted.predict_proba(X)
    assert_allclose(proba[y == 1, 1], 41 / 42)
    assert_allclose(proba[y == 0, 0], 31 / 32)
    far = fitted.predict_proba(np.array([[1e6, 1e6], [-1e6, -1e6]]))
    assert_allclose(far[:, 1], [41 / 42, 1 / 32])


@pytest.mark.parametrize("weights", [None, 1e-200, 1e200, "fractions"])
def test_rows_sum_to_one_whatever_the_weights(weights):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 2))
    y = (X[:, 0] + rng.normal(size=100) > 0).astype(int)
    if weights == "fractions":
        weights = rng.dirichlet(np.ones(100))
    elif weights is not None:
        weights = np.full(100, weights)
    C = 1.0 if weights is None else 1 / float(np.mean(weights))
    fitted = EntropicClassifier(C=C, class_weight="balanced").fit(X, y, weights)
    proba = fitted.predict_proba(X)
    assert_allclose(proba.sum(axis=1), 1, rtol=1e-15)
    assert proba.min() > 0.001 and proba.max() < 0.999
    assert_array_equal(fitted.classes_[proba.argmax(axis=1)], fitted.predict(X))
    assert_allclose(fitted.predict_log_proba(X), np.log(proba))


def test_probabilities_on_both_sides_of_a_large_feature():
    """The branch of a stable exponential is where sums have gone wrong elsewhere."""
    X = np.array([[-1.0], [-0.5], [0.5], [1.0]] * 10)
    y = np.tile([0, 1, 0, 1], 10)
    fitted = EntropicClassifier(standardize=False).fit(X, y)
    assert_allclose(fitted.predict_proba([[36.0], [37.0], [750.0], [-1e9]]).sum(axis=1), 1)


def calibration_error(good, truth):
    """Expected calibration error over ten equal bins."""
    part = np.minimum((good * 10).astype(int), 9)
    gaps = [abs(np.sum(good[part == k] - truth[part == k])) for k in range(10)]
    return np.sum(gaps) / len(good)


@pytest.mark.parametrize(
    ("file", "options"),
    [
        ("banknote/data_banknote_authentication.txt", {}),
        ("phoneme/phoneme.csv", {}),
        ("keel_banana/banana.dat", {"comments": "@"}),
        ("spambase/spambase.data", {}),
    ],
)
def test_log_loss_and_calibration_on_real_rows(file, options):
    table = np.loadtxt(real_data.path(file), delimiter=",", **options)
    X, truth = table[:, :-1], (table[:, -1] > 0).astype(int)
    good, peer = np.empty(len(truth)), np.empty(len(truth))
    for rows, held in StratifiedKFold(4, shuffle=True, random_state=0).split(X, truth):
        good[held] = EntropicClassifier().fit(X[rows], truth[rows]).predict_proba(X[held])[:, 1]
        other = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
        peer[held] = other.fit(X[rows], truth[rows]).predict_proba(X[held])[:, 1]
    assert log_loss(truth, good) <= log_loss(truth, peer) + 0.02
    assert calibration_error(good, truth) <= 0.05


def test_thresholded_probabilities_are_predictions():
    """Rows whose frequency contradicts their score, and the score 0 itself."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = rng.random(300) < np.where(X[:, 0] > 0, 0.55, 0.4)
    fitted = EntropicClassifier().fit(X, y)
    rows = np.r_[rng.normal(size=(100_000, 4)), np.zeros((1, 4))]
    good = fitted.predict_proba(rows)[:, 1]
    assert np.sum(np.abs(good - 0.5) < 1e-8) > 100
    assert_array_equal(good >= 0.5, fitted.predict(rows))
    fitted.coef_, fitted.intercept_ = fitted.coef_ * 0, fitted.intercept_ * 0
    assert not fitted.predict(rows[:1]) and fitted.predict_proba(rows[:1])[0, 1] < 0.5


def test_confidence_orders_rows_by_probability_and_then_by_distance():
    curve = np.array([[-2.0, -1.0, 1.0, 2.0], [0.1, 0.4, 0.6, 0.9]])
    scores = np.array([3.0, -4.0, 1.5, 4.0, -1.5, 3.0, 0.0])
    said = np.maximum(probability(curve, scores), 1 - probability(curve, scores))
    assert_allclose(said, [0.9, 0.9, 0.75, 0.9, 0.75, 0.9, 0.5])
    order = confidence(class_scores(scores), said[:, None])
    assert_array_equal(order, [2, 3, 1, 3, 1, 2, 0])
