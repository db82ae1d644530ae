"""Conformal sets: the exact rank, the coverage they promise, and too few calibration rows."""

import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom

from entropic import EntropicClassifier
from entropic.uncertainty import conformal
from entropic.uncertainty.several import class_scores


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=300) > 0, "yes", "no")
    return EntropicClassifier().fit(X, y)


def rows_like_the_models(n, seed, share=0.5):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < share
    X = rng.normal(size=(n, 3))
    X[:, 0] += np.where(positive, 1.0, -1.0)
    return X, np.where(positive, "yes", "no")


@pytest.mark.parametrize(
    ("n_rows", "level", "expected"),
    [(9, 0.9, 9), (19, 0.95, 19), (99, 0.9, 90), (100, 0.9, 91), (8, 0.9, 9), (29, 0.7, 21)],
)
def test_the_exact_rank(n_rows, level, expected):
    assert conformal.rank(n_rows, level) == expected


@pytest.mark.parametrize(
    ("level", "expected"), [(0.9, 9), (0.95, 19), (0.8, 4), (0.5, 1), (0.1, 1), (0.99, 99)]
)
def test_the_fewest_rows(level, expected):
    assert conformal.rows_needed(level) == expected
    assert conformal.rank(expected, level) <= expected
    assert expected == 1 or conformal.rank(expected - 1, level) > expected - 1


def test_thresholds_are_the_p_values_by_definition():
    """A class stays possible where one more than the rows no better than it pass alpha."""
    rng = np.random.default_rng(0)
    scores, level = np.round(rng.normal(size=60), 1), 0.8
    positive = rng.random(60) < 0.5
    limits = conformal.thresholds(class_scores(scores), positive, level)
    for score in np.round(np.linspace(-3, 3, 61), 1):
        p_good = (np.sum(scores[positive] <= score) + 1) / (positive.sum() + 1)
        p_bad = (np.sum(scores[~positive] >= score) + 1) / ((~positive).sum() + 1)
        expected = [p_bad > 1 - level + 1e-12, p_good > 1 - level + 1e-12]
        assert_array_equal([-score, score] >= limits, expected)


@pytest.mark.parametrize("n_rows", [30, 100, 1000])
@pytest.mark.parametrize("level", [0.9, 0.6])
def test_coverage_of_each_class_over_random_splits(n_rows, level):
    """Rare positives, 4 percent: the promise holds for each class by itself.

    One test row a class and split makes the 200 trials independent given the pool, so that the
    count of covered rows is binomial with at least the level, and at most the level and one rank.
    """
    rng = np.random.default_rng(n_rows)
    covered, exact = np.zeros(2), np.zeros(2)
    for _ in range(200):
        positive = rng.random(n_rows) < 0.04
        scores = rng.normal(size=n_rows) + np.where(positive, 1.0, -1.0)
        limits = conformal.thresholds(class_scores(scores), positive, level)
        new = rng.normal(size=2) + [-1.0, 1.0]
        covered += [-1.0, 1.0] * new >= limits
        counts = np.array([np.sum(~positive), np.sum(positive)])
        exact += [min(conformal.rank(n, level) / (n + 1), 1.0) for n in counts]
    for code in (0, 1):
        # exact coverage of continuous scores is rank/(n + 1); the trials differ only in n
        low, high = binom.interval(0.999, 200, exact[code] / 200)
        assert low <= covered[code] <= high
        assert exact[code] / 200 >= level


@pytest.mark.parametrize("n_rows", [100, 1000])
def test_coverage_of_the_classifier(model, n_rows):
    covered, seen = np.zeros(2), np.zeros(2)
    for seed in range(40):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model.conformalize(*rows_like_the_models(n_rows, seed, 0.04), confidence_level=0.8)
        X, y = rows_like_the_models(2, 1000 + seed)
        sets = model.predict_set(X)
        for code, label in enumerate(model.classes_):
            covered[code] += sets[y == label, code].sum()
            seen[code] += np.sum(y == label)
    for code in (0, 1):
        assert covered[code] >= binom.ppf(0.001, int(seen[code]), 0.8)


def test_six_rows_abstain_everywhere_and_say_how_many_it_takes(model):
    X, y = rows_like_the_models(6, 0)
    with pytest.warns(UserWarning, match="needs 19 calibration rows of each class"):
        model.conformalize(X, y, confidence_level=0.95)
    rows, _ = rows_like_the_models(50, 1)
    assert model.predict_set(rows).all()
    assert model.in_band(rows).all()
    assert set(model.predict_with_reject(rows, "unclear")) == {"unclear"}
    assert model.band_ == (-math.inf, math.inf)


def test_a_calibration_part_without_one_class(model):
    X, y = rows_like_the_models(400, 0)
    X, y = X[y == "no"], y[y == "no"]
    with pytest.warns(UserWarning, match=r"'yes' has 0\. No score excludes it"):
        model.conformalize(X, y)
    assert_array_equal(model.classes_, ["no", "yes"])
    rows, _ = rows_like_the_models(200, 1)
    sets = model.predict_set(rows)
    assert sets.shape == (200, 2) and sets[:, 1].all() and not sets[:, 0].all()


def test_band_sets_and_rejection_agree(model):
    X, _ = rows_like_the_models(500, 3)
    for level in (0.99, 0.9, 0.3):
        model.conformalize(*rows_like_the_models(900, 2), confidence_level=level)
        sets, uncertain = model.predict_set(X), model.in_band(X)
        assert_array_equal(sets.sum(axis=1) != 1, uncertain)
        said = model.predict_with_reject(X, "?")
        assert_array_equal(said[~uncertain], model.classes_[sets[~uncertain].argmax(axis=1)])
    # the calibration rows on the very edge of the band are inside it
    defective, good = model.conformal_
    assert defective < good


def test_sets_before_calibration_and_after_another_fit(model):
    X, y = rows_like_the_models(200, 3)
    before, band = model.predict_set(X), model.band_
    assert_array_equal(before.sum(axis=1) == 2, model.in_band(X))
    assert before.any(axis=1).all()
    model.conformalize(X, y)
    assert model.band_ != band
    model.fit(X, y)
    assert not hasattr(model, "conformal_")


@pytest.mark.parametrize("level", [0, 1, -0.1, 1.5, math.nan, "0.9", None])
def test_a_level_out_of_range(model, level):
    with pytest.raises(ValueError, match="confidence_level"):
        model.conformalize(*rows_like_the_models(30, 0), confidence_level=level)


def test_labels_that_do_not_fit(model):
    X, y = rows_like_the_models(30, 0)
    with pytest.raises(ValueError, match="maybe in row 4"):
        model.conformalize(X, np.where(np.arange(30) == 4, "maybe", y))
    with pytest.raises(ValueError, match="29 labels for 30 rows"):
        model.conformalize(X, y[1:])
    with pytest.raises(ValueError, match="no label in row 2"):
        model.conformalize(X, [None if row == 2 else label for row, label in enumerate(y)])
    assert_allclose(model.conformalize(X, list(y), 0.5).conformal_, model.conformal_)
