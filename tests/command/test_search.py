"""``entropic fit`` chooses the model where nothing of it is given, and says what it chose."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_circles

from entropic import EntropicClassifier, EntropicClassifierCV, load_model
from entropic.command import search


@pytest.fixture
def rows(tmp_path):
    X, y = make_circles(120, factor=0.5, noise=0.1, random_state=0)
    path = tmp_path / "rows.csv"
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header="a,b,y", comments="")
    return path, X, y


@pytest.fixture
def fit(rows, tmp_path, run):
    """Run ``entropic fit`` on the rows: output, error output, and the model."""

    def fit(*options):
        model = tmp_path / "model"
        words = ["fit", rows[0], "--target", "y", "--holdout", 0, "--model", model, *options]
        code, out, error = run(*words)
        assert code == 0
        return out, error, load_model(model)

    return fit


def said(out, label):
    return next(line.strip() for line in out.splitlines() if line.strip().startswith(label))


def test_a_search_where_nothing_of_the_model_is_given(rows, fit):
    out, error, model = fit()
    _, X, y = rows
    assert error == "" and type(model) is EntropicClassifierCV
    X = X.round(18)  # as the file gives them
    expected = EntropicClassifierCV(standardize=True).fit(X, y)
    assert model.best_params_ == expected.best_params_
    chosen = model.best_params_
    shown = said(out, "chosen")
    for words in (f"degree {chosen['degree']}", chosen["constraint"], f"bound {chosen['bound']:g}"):
        assert words in shown
    loss = model.results_["log_loss"][model.best_index_]
    assert f"accuracy {model.best_score_:.4f}" in said(out, "left out")
    assert f"log-loss {loss:.4f}" in said(out, "left out")
    table = model.results_
    for n_knots, degree in dict.fromkeys(zip(table["n_knots"], table["degree"], strict=True)):
        if (n_knots, degree) != (chosen["n_knots"], chosen["degree"]):
            own = (table["n_knots"] == n_knots) & (table["degree"] == degree)
            label = f"degree {degree}" + (f", {n_knots} knots" if n_knots else " ")
            if np.any(np.isfinite(table["score"][own])):
                assert f"accuracy {np.nanmax(table['score'][own]):.4f}"[:13] in said(out, label)
    assert f"{len(model.results_['score'])} settings" in said(out, "tried")


@pytest.mark.parametrize(
    "options", [["--no-search"], ["--degree", 1], ["--slack", 10], ["--tol", 1e-8]]
)
def test_one_model_where_something_of_it_is_given(rows, fit, options):
    out, _, model = fit(*options)
    assert type(model) is EntropicClassifier and "chosen" not in out
    assert model.get_params() == EntropicClassifier(standardize=True).get_params()


def test_what_is_no_part_of_the_model_is_handed_on(fit):
    _, _, model = fit("--class-weight", "balanced", "--certainty", 0.9, "--n-jobs", 1)
    assert type(model) is EntropicClassifierCV
    assert (model.class_weight, model.certainty, model.n_jobs) == ("balanced", 0.9, 1)


def test_a_search_that_is_insisted_on_keeps_what_is_given(fit):
    _, error, model = fit("--search", "--degree", 2, "--bound", 3, "--margin", 0.1, "--verbose")
    table = model.results_
    assert set(table["degree"]) == {2} and set(table["bound"]) == {3.0}
    assert len(set(table["n_knots"])) > 1 and model.margin == 0.1
    lines = error.splitlines()
    assert sum("log-loss" in line for line in lines) == len(table["score"])
    assert sum("gap" in line for line in lines) > model.n_iter_


def test_a_search_that_takes_long_must_be_asked_for(fit, monkeypatch):
    monkeypatch.setattr(search, "LONG", 0.0)
    out, _, model = fit()
    assert type(model) is EntropicClassifier and "note: " in out and "--search" in out
    assert type(fit("--search")[2]) is EntropicClassifierCV


def test_what_a_search_is_expected_to_take():
    model = EntropicClassifierCV()
    X, _ = load_breast_cancer(return_X_y=True)
    assert 0.1 < model.expected_seconds(*X.shape) < 10
    assert model.expected_seconds(10**6, 300) > 30
    alone = EntropicClassifierCV(degrees=[1]).expected_seconds(*X.shape)
    assert alone < model.expected_seconds(*X.shape)
