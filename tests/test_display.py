"""Displays: what they compute, and that they say what they need."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import binomtest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from entropic import EntropicClassifier

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

from entropic.display import (  # noqa: E402 - after the backend without a screen was chosen
    BoundaryDisplay,
    ConvergenceDisplay,
    ReliabilityDisplay,
    RiskCoverageDisplay,
    ScoreHistogramDisplay,
)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(200, noise=0.2, random_state=0)
    return EntropicClassifier(3, bound=3.0).fit(X, y), X, y


@pytest.fixture(scope="module")
def flowers():
    pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True, as_frame=True)
    X, y = X[y > 0], y[y > 0]
    return EntropicClassifier(2).fit(X, y), X, y


def test_boundary_scores_are_the_classifiers_own(moons):
    model, X, y = moons
    shown = BoundaryDisplay.from_estimator(model, X, y, grid_resolution=20)
    grid = np.column_stack([shown.first.ravel(), shown.second.ravel()])
    np.testing.assert_array_equal(shown.scores.ravel(), model.decision_function(grid))
    assert shown.band == model.band_
    assert shown.figure_ is shown.ax_.figure
    assert shown.ax_.get_xlabel() == "feature 0"


def test_boundary_draws_on_the_axes_it_is_given(moons):
    model, X, _ = moons
    _, ax = plt.subplots()
    shown = BoundaryDisplay.from_estimator(model, X, ax=ax, grid_resolution=10)
    assert shown.ax_ is ax
    assert shown.plot().ax_ is not ax


def test_boundary_of_four_columns_asks_which_two(flowers):
    model, X, y = flowers
    with pytest.raises(ValueError, match="4 columns; name the two"):
        BoundaryDisplay.from_estimator(model, X, y)


def test_boundary_holds_the_other_columns_at_medians_or_as_told(flowers):
    model, X, y = flowers
    pair = ["petal length (cm)", "petal width (cm)"]
    fixed = {"sepal length (cm)": 5.0}
    shown = BoundaryDisplay.from_estimator(
        model, X, y, features=pair, fixed=fixed, grid_resolution=5
    )
    row = X.median().to_frame().T
    row["sepal length (cm)"] = 5.0
    row[pair[0]], row[pair[1]] = shown.first[2, 3], shown.second[2, 3]
    assert shown.scores[2, 3] == pytest.approx(model.decision_function(row)[0], rel=1e-12)
    assert shown.labels == tuple(pair)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": ["petal width (cm)", "nose"]}, "names 'nose', which is not a column"),
        ({"features": [1, 1]}, "twice"),
        ({"features": "petal width (cm)"}, "must name two columns"),
        ({"features": [0, 1], "fixed": {0: 1.0}}, "one of the two free features"),
        ({"features": [0, 1], "fixed": {2: np.nan}}, "finite number"),
        ({"features": [0, 1], "grid_resolution": 1}, "grid_resolution must be an integer"),
    ],
)
def test_boundary_names_what_is_wrong(flowers, options, message):
    model, X, y = flowers
    with pytest.raises(ValueError, match=message):
        BoundaryDisplay.from_estimator(model, X, y, **options)


def test_boundary_of_a_pipeline(moons):
    _, X, y = moons
    pipeline = make_pipeline(StandardScaler(), EntropicClassifier(2)).fit(X, y)
    shown = BoundaryDisplay.from_estimator(pipeline, X, y, grid_resolution=8)
    assert shown.band == pipeline[-1].band_


def test_displays_want_an_entropic_classifier(moons):
    _, X, y = moons
    with pytest.raises(ValueError, match="is a StandardScaler; give"):
        ScoreHistogramDisplay.from_estimator(StandardScaler().fit(X), X, y)


def test_score_histogram(moons):
    model, X, y = moons
    shown = ScoreHistogramDisplay.from_estimator(model, X, y)
    counts = sum(patch.get_height() for patch in shown.ax_.patches[:80])
    assert counts == len(y)
    np.testing.assert_array_equal(shown.codes, y)
    ScoreHistogramDisplay.from_predictions(np.where(y, "b", "a"), model.decision_function(X))


def test_risk_coverage_ends_at_the_error_of_all(moons):
    model, X, y = moons
    for shown in (
        RiskCoverageDisplay.from_estimator(model, X, y),
        RiskCoverageDisplay.from_predictions(y, model.decision_function(X)),
    ):
        assert shown.coverage[-1] == pytest.approx(1)
        assert shown.risk[-1] == pytest.approx(1 - model.score(X, y))


def test_reliability_by_hand():
    truth = np.array([0, 0, 1, 1, 1, 0])
    probability = np.array([0.05, 0.12, 0.15, 0.93, 1.0, 0.0])
    shown = ReliabilityDisplay.from_predictions(truth, probability)
    np.testing.assert_allclose(shown.predicted, [0.025, 0.135, 0.965])
    np.testing.assert_allclose(shown.observed, [0.0, 0.5, 1.0])
    assert shown.error == pytest.approx((2 * 0.025 + 2 * 0.365 + 2 * 0.035) / 6)
    bars = [path.vertices[:, 1] for path in shown.ax_.collections[0].get_paths()]
    for hits, bar in enumerate(bars):
        exact = binomtest(hits, 2).proportion_ci(0.95, "exact")
        np.testing.assert_allclose(bar, [exact.low, exact.high])


def test_convergence_shows_the_gaps():
    X, y = load_breast_cancer(return_X_y=True)
    model = EntropicClassifier().fit(X, y)
    shown = ConvergenceDisplay.from_estimator(model)
    np.testing.assert_array_equal(shown.gap, model.history_["gap"])
    ConvergenceDisplay.from_predictions({"gap": [1.0, 1e-3, 0.0]}, goal=1e-2)


def test_predictions_of_one_class_are_refused():
    with pytest.raises(ValueError, match="1 different labels"):
        RiskCoverageDisplay.from_predictions([1, 1], [0.5, -0.5])
    with pytest.raises(ValueError, match="one number a row"):
        RiskCoverageDisplay.from_predictions([1, 0], [0.5])
    shown = RiskCoverageDisplay.from_predictions([1, 1], [0.5, -0.5], labels=[0, 1])
    assert shown.risk.tolist() == [0.5, 0.5]
    for history in ({}, [{"gap": [1.0]}, {"objective": [1.0]}], [1.0]):
        with pytest.raises(ValueError, match='history has no entry "gap"; give the history_'):
            ConvergenceDisplay.from_predictions(history)


def test_a_frame_with_words_is_drawn_at_their_most_frequent_value(moons):
    pandas = pytest.importorskip("pandas")
    _, X, y = moons
    kind = pandas.Categorical(np.where(np.arange(200) % 3, "often", "rare"))
    frame = pandas.DataFrame({"a": X[:, 0], "kind": kind, "b": X[:, 1]})
    encode = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    pipeline = make_pipeline(encode, EntropicClassifier()).fit(frame, y)
    options = dict(features=("a", "b"), grid_resolution=6)
    for fixed, value in [(None, "often"), ({"kind": "rare"}, "rare")]:
        shown = BoundaryDisplay.from_estimator(pipeline, frame, y, fixed=fixed, **options)
        row = frame.iloc[:1].assign(a=shown.first[1, 2], b=shown.second[1, 2], kind=value)
        assert shown.scores[1, 2] == pytest.approx(pipeline.decision_function(row)[0], rel=1e-12)
    with pytest.raises(ValueError, match="'kind', which holds no numbers"):
        BoundaryDisplay.from_estimator(pipeline, frame, features=("a", "kind"))


def test_rows_that_no_plane_can_show_are_named(moons):
    model, X, y = moons
    with pytest.raises(ValueError, match="single column"):
        BoundaryDisplay.from_estimator(EntropicClassifier().fit(X[:, :1], y), X[:, :1])
    with pytest.raises(ValueError, match="X is sparse"):
        BoundaryDisplay.from_estimator(model, sp.csr_array(X))


@pytest.mark.parametrize(
    "display", [BoundaryDisplay, ScoreHistogramDisplay, RiskCoverageDisplay, ReliabilityDisplay]
)
def test_labels_that_are_no_class_are_named(moons, display):
    model, X, y = moons
    with pytest.raises(ValueError, match="label 2 in row 3"):
        display.from_estimator(model, X, np.where(np.arange(200) == 3, 2, y))
    with pytest.raises(ValueError, match="150 labels for 200 rows"):
        display.from_estimator(model, X, y[:150])


@pytest.mark.parametrize(
    ("display", "bad"),
    [
        (ScoreHistogramDisplay, np.nan),
        (RiskCoverageDisplay, np.inf),
        (ReliabilityDisplay, np.nan),
        (ReliabilityDisplay, -0.5),
    ],
)
def test_predictions_that_are_none_are_named(display, bad):
    with pytest.raises(ValueError, match="in row 1; give"):
        display.from_predictions([0, 1, 1], [0.2, bad, 0.9])


def test_a_band_without_ends_fills_the_histogram(moons):
    _, X, y = moons
    model = EntropicClassifier().fit(X, y)
    with pytest.warns(UserWarning, match="every row is uncertain"):
        model.conformalize(X[:6], y[:6], 0.99)
    shown = ScoreHistogramDisplay.from_estimator(model, X, y)
    shown.figure_.canvas.draw()
    assert np.all(np.isfinite(shown.ax_.get_xlim()))
    BoundaryDisplay.from_estimator(model, X, y, grid_resolution=5)
