"""The selective report against counts made by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import precision_recall_fscore_support

from entropic import EntropicClassifier
from entropic.uncertainty.report import risk_coverage


@pytest.fixture
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.where(X[:, 0] + 0.6 * rng.normal(size=400) > 0.5, "good", "bad")
    return EntropicClassifier(certainty=0.95).fit(X[:200], y[:200]), X[200:], y[200:]


def test_the_area_under_risk_and_coverage():
    wrong = np.array([False, True, False, True])
    coverage, risk, area = risk_coverage(wrong, np.array([4.0, 3, 2, 1]))
    assert_allclose(coverage, [0.25, 0.5, 0.75, 1])
    assert_allclose(risk, [0, 1 / 2, 1 / 3, 1 / 2])
    assert_allclose(area, np.mean(risk))
    # tied rows share their errors, in whatever order they come
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        _, tied, area = risk_coverage(wrong[order], np.ones(4))
        assert_allclose(tied, 0.5)
        assert_allclose(area, 0.5)


def test_the_area_with_weights_is_that_of_a_fine_repetition():
    rng = np.random.default_rng(0)
    wrong, confidence = rng.random(30) < 0.3, rng.normal(size=30)
    weights = rng.integers(0, 3, 30)
    coverage, risk, _ = risk_coverage(wrong, confidence, weights)
    keep = np.repeat(np.arange(30), weights)
    whole, repeated, _ = risk_coverage(wrong[keep], confidence[keep])
    assert_allclose(np.interp(coverage, whole, repeated), risk)


def test_every_figure_by_hand(fitted):
    model, X, y = fitted
    report = model.selective_report(X, y)
    certain = ~model.in_band(X)
    said = model.predict_with_reject(X, "?")
    assert 0.05 < certain.mean() < 0.95
    assert report.n_samples == 200
    assert_allclose(report.coverage, certain.mean())
    assert_allclose(report.abstention_rate, 1 - certain.mean())
    assert_allclose(report.error, np.mean(said[certain] != y[certain]))
    assert_allclose(report.full_error, 1 - model.score(X, y))
    expected = precision_recall_fscore_support(y[certain], said[certain], labels=["bad", "good"])
    assert_allclose([one.precision for one in report.classes], expected[0])
    assert_allclose([one.recall for one in report.classes], expected[1])
    for one in report.classes:
        mine = y == one.label
        assert one.weight == mine.sum()
        assert_allclose(one.abstention_rate, 1 - certain[mine].mean())
        assert_allclose(one.error, np.mean(certain[mine] & (said[mine] != y[mine])))
    assert 0 < report.risk_coverage_area < report.full_error
    assert_allclose(report.risk_coverage[1][-1], report.full_error)


def test_weights_are_repetitions(fitted):
    model, X, y = fitted
    counts = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = model.selective_report(X, y, counts)
    repeated = model.selective_report(np.repeat(X, counts, 0), np.repeat(y, counts))
    for name in ("coverage", "error", "abstention_rate", "full_error"):
        assert_allclose(getattr(weighted, name), getattr(repeated, name))
    for one, other in zip(weighted.classes, repeated.classes, strict=True):
        assert_allclose(one.precision, other.precision)


def test_the_table(fitted):
    model, X, y = fitted
    text = str(model.selective_report(X, y))
    assert "coverage" in text and "good" in text and "%" in text
    assert len({len(line) for line in text.splitlines()[-3:]}) == 1


def test_nothing_certain_and_one_class_only(fitted):
    model, X, y = fitted
    with pytest.warns(UserWarning):
        model.conformalize(X[:4], y[:4])
    report = model.selective_report(X[y == "good"], y[y == "good"])
    assert report.coverage == 0 and np.isnan(report.error)
    assert np.isnan(report.classes[0].recall)
    assert "n/a" in str(report)


def test_unknown_labels(fitted):
    model, X, y = fitted
    with pytest.raises(ValueError, match="not among the classes"):
        model.selective_report(X, np.arange(len(y)))
