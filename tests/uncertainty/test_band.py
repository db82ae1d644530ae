"""The band: extremes, quantiles class by class, and what happens where none is needed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from entropic import EntropicClassifier
from entropic.kernels.backend import left_out
from entropic.kernels.loss import Loss
from entropic.rows.target import Target
from entropic.uncertainty.band import certainty_band, in_band
from entropic.uncertainty.ranking import Ranking


@st.composite
def scored(draw):
    """Scores with ties, both classes of some weight, whole-number weights."""
    n = draw(st.integers(2, 30))
    scores = np.array(draw(st.lists(st.integers(-6, 6), min_size=n, max_size=n))) / 2.0
    positive = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    weights = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), dtype=float)
    positive[:2], weights[:2] = (False, True), 1
    return scores, positive, weights


def error_rates(scores, positive, weights, band):
    """Weighted share of each class that is certain to be of the other."""
    lower, upper = band
    bad = np.sum(weights[~positive & (scores >= upper)]) / np.sum(weights[~positive])
    good = np.sum(weights[positive & (scores <= lower)]) / np.sum(weights[positive])
    return bad, good


def test_extremes_of_overlapping_and_of_separated_classes():
    positive = np.array([False, False, True, True])
    weights = np.ones(1)
    scores = np.array([-1.0, 0.5, -0.2, 2.0])
    cases = [
        (scores, weights, (-0.2, 0.5, -0.7)),
        (np.array([-2.0, -1, 1, 2]), weights, (-1, 1, 2)),
        # the same rows counted in part
        (scores, np.array([1.0, 0, 0, 1]), (-1, 2, 3)),
    ]
    for values, counted, expected in cases:
        found = certainty_band(Ranking.of(values, positive, counted))
        sign = np.where(positive, 1, -1)
        target = Target.of(Loss(1.0), sign, counted, 0.25)
        _, separation = left_out.left_out_scores_of(target, sign * values - 0.25)
        assert_allclose((*found, separation), expected)


@given(scored(), st.sampled_from([0.5, 0.8, 0.9, 0.99]))
def test_a_certainty_bounds_the_errors_of_each_class_and_no_narrower_band_does(data, certainty):
    scores, positive, weights = data
    band = certainty_band(Ranking.of(*data), certainty)
    lower, upper = band
    assert lower <= upper
    allowed = (1 - certainty) * (1 + 1e-9)
    if lower < upper:
        assert max(error_rates(*data, band)) <= allowed
        # one row further in, on either side, is one row too many
        inner = in_band(scores, band)
        assert np.any(inner & positive) and np.any(inner & ~positive)
        narrower = np.max(scores[inner & ~positive & (weights > 0)])
        assert error_rates(*data, (lower, narrower))[0] > 1 - certainty
        narrower = np.min(scores[inner & positive & (weights > 0)])
        assert error_rates(*data, (narrower, upper))[1] > 1 - certainty
    outermost = certainty_band(Ranking.of(*data))
    assert np.nextafter(lower, np.inf) >= outermost[0]
    assert np.nextafter(upper, -np.inf) <= outermost[1]


def test_no_band_where_none_is_needed():
    scores, positive = np.array([-3.0, -1, 2, 3]), np.array([False, False, True, True])
    ranking = Ranking.of(scores, positive, np.ones(1))
    assert certainty_band(ranking, 0.9) == (0.0, 0.0)
    above = Ranking.of(scores + 5, positive, np.ones(1))
    assert certainty_band(above, 0.9)[0] == pytest.approx(4.0)
    assert certainty_band(ranking) == (-1.0, 2.0)


def test_the_classifier_takes_the_leave_one_out_scores():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    fitted = EntropicClassifier().fit(X, y)
    left_out = fitted.loo_decision_
    assert fitted.band_ == (left_out[y == 1].min(), left_out[y == 0].max())
    trained = fitted.decision_function(X)
    assert_allclose(fitted.separation_, trained[y == 1].min() - trained[y == 0].max())
    # honest scores overlap more than trained ones
    assert fitted.band_[1] - fitted.band_[0] > -fitted.separation_
    narrower = EntropicClassifier(certainty=0.9).fit(X, y)
    assert max(error_rates(narrower.loo_decision_, y == 1, np.ones(200), narrower.band_)) <= 0.1
    assert fitted.in_band(X).mean() > narrower.in_band(X).mean() > 0


@pytest.mark.parametrize(
    ("labels", "reject"),
    [((0, 1), -1), ((0, 1), 2.5), (("no", "yes"), "unclear"), ((False, True), 2), ((10, 20), 0)],
)
def test_rejected_rows_have_the_label_asked_for(labels, reject):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    code = (X[:, 0] + rng.normal(size=150) > 0).astype(int)
    y = np.array(labels)[code]
    fitted = EntropicClassifier().fit(X, y)
    said, uncertain = fitted.predict_with_reject(X, reject), fitted.in_band(X)
    assert uncertain.any() and not uncertain.all()
    assert all(label == reject for label in said[uncertain].tolist())
    assert said[~uncertain].tolist() == fitted.predict(X[~uncertain]).tolist()


@pytest.mark.parametrize(
    ("labels", "reject"), [((0, 1), "?"), (("a", "b"), 0), ((0, 1), 1), (("a", "b"), b"?")]
)
def test_a_label_that_does_not_fit_is_refused(labels, reject):
    X = np.arange(8.0)[:, None]
    fitted = EntropicClassifier().fit(X, np.array(labels)[[0, 0, 0, 1, 0, 1, 1, 1]])
    with pytest.raises(ValueError, match="reject_label"):
        fitted.predict_with_reject(X, reject)


@given(scored())
def test_a_ranking_holds_the_weight_of_each_class_at_each_score(data):
    scores, positive, weights = data
    ranking = Ranking.of(*data)
    assert np.all(np.diff(ranking.values) > 0)
    for value, bad, good in zip(ranking.values, ranking.bad, ranking.good, strict=True):
        assert bad == np.sum(weights[(scores == value) & ~positive])
        assert good == np.sum(weights[(scores == value) & positive])
    assert np.sum(ranking.bad + ranking.good) == np.sum(weights)
    assert np.all(ranking.bad + ranking.good > 0)
