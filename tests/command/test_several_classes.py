"""The command with more than two labels: a class each, in memory and streamed."""

import csv
import io

import numpy as np
import pytest
from sklearn.datasets import load_iris

from entropic import load_model


@pytest.fixture
def iris(write):
    data = load_iris()
    names = data.target_names[data.target]
    lines = [",".join([*map(str, row), name]) for row, name in zip(data.data, names, strict=True)]
    return write("\n".join(["a,b,c,d,kind", *lines]) + "\n")


@pytest.mark.parametrize("settings", [["--no-search"], ["--no-search", "--batch-rows", "40"], []])
def test_a_fit_and_its_predictions(run, iris, tmp_path, settings):
    model = tmp_path / "model"
    code, out, error = run("fit", iris, "--target", "kind", *settings, "--model", model)
    assert code == 0, error
    assert "setosa: 50, versicolor: 50, virginica: 50" in out
    assert "(mean over the classes)" in out and "true class, predicted:" in out
    code, out, _ = run("predict", model, iris)
    rows = list(csv.DictReader(io.StringIO(out)))
    saved, X = load_model(model), load_iris().data
    scores = saved.decision_function(X)
    assert [row["label"] for row in rows] == saved.predict(X).tolist()
    np.testing.assert_array_equal([float(row["score"]) for row in rows], scores.max(axis=1))
    assert [row["certainty"] == "uncertain" for row in rows] == saved.in_band(X).tolist()
    right = np.mean(saved.predict(X) == load_iris().target_names[load_iris().target])
    assert right > 0.9


def test_one_kind_against_the_others(run, iris):
    code, out, _ = run("fit", iris, "--target", "kind", "--positive", "setosa", "--no-search")
    assert code == 0 and "not setosa: 100, setosa: 50 (positive)" in out


def test_many_classes_are_named_by_what_is_confused(run, write):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 2)), np.arange(600) % 20
    X[:, 0] += y
    path = write(
        "\n".join(["p,q,y", *(f"{a},{b},c{k:02d}" for (a, b), k in zip(X, y, strict=True))])
    )
    code, out, _ = run("fit", path, "--target", "y", "--no-search")
    assert code == 0 and "and 8 more" in out
    assert "most confused" in out and " for c" in out and "predicted:" not in out


def test_a_quantity_is_refused(fails, write):
    path = write("\n".join(["p,y", *(f"{i},{i / 7}" for i in range(200))]))
    assert "200 labels" in (error := fails("fit", path, "--target", "y")) and "quantity" in error
