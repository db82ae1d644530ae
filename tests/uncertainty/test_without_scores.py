"""A model without leave-one-out scores says so, and does what needs none."""

import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError

from entropic import EntropicClassifier, EntropicClassifierCV, load_model
from entropic.command.main import main
from entropic.display import BoundaryDisplay, RiskCoverageDisplay, ScoreHistogramDisplay
from entropic.uncertainty import leave_one_out
from entropic.uncertainty.mixin import NEED_A_BAND, NEED_PROBABILITIES


def rows(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0, "yes", "no")


@pytest.fixture
def model():
    return EntropicClassifier(leave_one_out=False).fit(*rows())


def test_scores_only_are_the_same_scores_without_the_work(monkeypatch):
    X, y = rows()
    full = EntropicClassifier().fit(X, y)
    monkeypatch.setattr(leave_one_out, "left_out", None)
    model = EntropicClassifier(leave_one_out=False).fit(X, y)
    assert model.loo_decision_ is None and model.separation_ == full.separation_
    assert_array_equal(model.decision_function(X), full.decision_function(X))
    assert_array_equal(model.predict(X), full.predict(X))


def test_what_needs_more_is_not_there_and_says_why(model):
    for name in (*NEED_A_BAND, *NEED_PROBABILITIES):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=rf"no {name}: .*leave_one_out is False; conform"):
            getattr(model, name)
    with pytest.raises(AttributeError, match="object has no attribute 'banda_'"):
        _ = model.banda_
    with pytest.raises(ValueError, match="no leave-one-out scores; give X and y"):
        model.control_error()


def test_an_unfitted_model_has_what_its_fit_will_give():
    X, _ = rows()
    assert not hasattr(EntropicClassifier(leave_one_out=False), "predict_proba")
    for name in ("predict_proba", "predict_log_proba", "in_band", "predict_set"):
        with pytest.raises(NotFittedError):
            getattr(EntropicClassifier(), name)(X)
    assert not hasattr(EntropicClassifier(), "band_")


def test_a_fit_leaves_nothing_of_the_one_before(model):
    X, y = rows()
    model.set_params(leave_one_out=True).fit(X, y).control_error(X, y, 0.3)
    assert hasattr(model, "predict_proba") and hasattr(model, "error_control_")
    model.set_params(leave_one_out=False).fit(X, y)
    for name in ("band_", "calibration_", "left_out_risk_", "error_control_", "predict_proba"):
        assert not hasattr(model, name)
    assert model.loo_decision_ is None


@pytest.mark.parametrize("method", ["conformalize", "control_error"])
def test_rows_kept_aside_give_a_band(model, method, tmp_path):
    X, y = rows(500, 1)
    settings = {"max_error": 0.1} if method == "control_error" else {}
    getattr(model, method)(X, y, **settings)
    certain = ~model.in_band(X)
    assert 0 < certain.mean() < 1
    assert_array_equal(model.predict_with_reject(X, "?") == "?", ~certain)
    report = model.selective_report(X, y)
    assert report.coverage == certain.mean() and report.risk_coverage_area < report.full_error
    assert not hasattr(model, "predict_proba")
    model.save(tmp_path / "model")
    assert load_model(tmp_path / "model").band_ == model.band_


def test_a_model_without_a_band_is_saved(model, tmp_path):
    X, _ = rows()
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.loo_decision_ is None and not hasattr(loaded, "band_")
    assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_a_model_without_a_band_is_drawn(model):
    pytest.importorskip("matplotlib").use("Agg")
    X, y = rows()
    assert ScoreHistogramDisplay.from_estimator(model, X, y).band is None
    assert BoundaryDisplay.from_estimator(model, X, y).band is None
    assert RiskCoverageDisplay.from_estimator(model, X, y).area < 0.5


def test_scikit_learn_takes_scores_where_there_are_no_probabilities():
    X, y = rows()
    model = EntropicClassifier(leave_one_out=False)
    assert clone(model).get_params()["leave_one_out"] is False
    chance = CalibratedClassifierCV(model, cv=3).fit(X, y).predict_proba(X)
    assert chance.shape == (200, 2)


def test_a_search_for_scores_only():
    X, y = rows(80)
    model = EntropicClassifierCV([1], [1.0], slacks=[10.0], leave_one_out=False).fit(X, y)
    assert model.best_score_ is not None and not hasattr(model, "band_")
    assert model.loo_decision_ is None


def test_another_search_leaves_nothing_of_the_one_before():
    X, y = rows(80)
    model = EntropicClassifierCV([1], [1.0], slacks=[10.0]).fit(X, y).control_error(X, y, 0.3)
    model.fit(X, y)
    assert not hasattr(model, "error_control_")
    model.set_params(leave_one_out=False).fit(X, y)
    assert not hasattr(model, "band_") and not hasattr(model, "predict_proba")


def test_scores_that_were_not_affordable_are_missed_aloud(monkeypatch):
    """Training scores never take their place."""
    X, y = rows()
    for name in ("AT_ONCE", "AFFORDABLE", "FIT_IN_SWEEPS", "LONGEST"):
        monkeypatch.setattr(leave_one_out, name, 0.0)
    monkeypatch.setattr(leave_one_out, "ROWS_A_COLUMN", 1000)
    expected = r"take about \S+ s and \S+ GiB and were not made.*no band and no probabilities"
    with pytest.warns(UserWarning, match=expected) as caught:
        model = EntropicClassifier(solver="spectral").fit(X, y)
    assert caught[0].filename == __file__
    assert model.loo_decision_ is None and not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="more time or memory than there was"):
        _ = model.band_
    assert set(model.predict(X)) == {"yes", "no"}
    # too little memory for any factor
    monkeypatch.setattr(leave_one_out, "LONGEST", 60.0)
    monkeypatch.setattr(leave_one_out, "memory_limit", lambda: 0)
    with pytest.warns(UserWarning, match=expected):
        model.fit(X, y)


@pytest.mark.parametrize("n_columns", [3, 200])
def test_a_factor_is_made_where_nothing_cheaper_would_do(monkeypatch, n_columns):
    """However short the fit: in either form, and with the same scores."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, n_columns))
    y = X[:, 0] + rng.normal(size=60) > 0
    settings = dict(solver="spectral", tol=1e-11)
    expected = EntropicClassifier(**settings).fit(X, y).loo_decision_
    monkeypatch.setattr(leave_one_out, "AFFORDABLE", 0.0)
    monkeypatch.setattr(leave_one_out, "FIT_IN_SWEEPS", 0.0)
    monkeypatch.setattr(leave_one_out, "_projected", None)
    assert_array_equal(EntropicClassifier(**settings).fit(X, y).loo_decision_, expected)


@pytest.mark.parametrize("value", [None, 1, "yes"])
def test_the_parameter_is_a_flag(value):
    with pytest.raises(ValueError, match="leave_one_out"):
        EntropicClassifier(leave_one_out=value).fit(*rows())


def test_the_command_without_leave_one_out(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    pytest.importorskip("clevercsv")
    X, y = rows()
    table = tmp_path / "table.csv"
    lines = [f"{a},{b},{label}" for (a, b), label in zip(X.tolist(), y, strict=True)]
    table.write_text("a,b,y\n" + "\n".join(lines) + "\n")
    place = str(tmp_path / "model")
    assert main(["fit", str(table), "--target", "y", "--no-leave-one-out", "--model", place]) == 0
    shown = capsys.readouterr().out
    assert "unknown: there are no leave-one-out scores" in shown
    assert re.search(r"certain +unknown", shown)
    assert main(["predict", place, str(table)]) == 0
    assert capsys.readouterr().out.count(",unknown") == 200
