"""Displays of several classes: what they draw is what the classifier says of each."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

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
from entropic.display.axes import styles  # noqa: E402

# of matplotlib's too, as where a class has no region in the picture
pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def clouds(n_classes, n_rows=240):
    X, y = make_blobs(n_rows, 2, centers=n_classes, center_box=(-5, 5), random_state=3)
    return X, np.array([f"kind {code:02d}" for code in range(n_classes)])[y]


@pytest.fixture(scope="module")
def four():
    X, y = clouds(4)
    return EntropicClassifier(2).fit(X, y), X, y


def test_each_class_has_its_colour_where_it_is_predicted(four):
    model, X, y = four
    shown = BoundaryDisplay.from_estimator(model, X, y, grid_resolution=60)
    grid = np.column_stack([shown.first.ravel(), shown.second.ravel()])
    scores = model.decision_function(grid)
    np.testing.assert_array_equal(shown.scores.reshape(-1, 4), scores)
    best = np.sort(scores, axis=1)
    clear = best[:, -1] - best[:, -2] > 0.2  # a line between points of the grid is interpolated
    clear &= np.pad(np.ones((58, 58), dtype=bool), 1).ravel()  # its ends are no inside
    colours = [style["color"] for style in styles(4)]
    assert len(set(colours)) == 4
    fills = [part for part in shown.ax_.collections if getattr(part, "filled", False)]
    regions, (pale,) = fills[:4], fills[4:]
    predicted = model.predict(grid)
    for label, colour, region in zip(model.classes_, colours, regions, strict=True):
        assert matplotlib.colors.to_hex(region.get_facecolor()[0]) == colour
        inside = region.get_paths()[0].contains_points(grid)
        np.testing.assert_array_equal(inside[clear], (predicted == label)[clear])
    in_band = model.in_band(grid)
    assert 0.02 < in_band.mean() < 0.98
    np.testing.assert_array_equal(shown.uncertain[::10, ::10].ravel(), in_band)
    assert np.mean(pale.get_paths()[0].contains_points(grid) == in_band) > 0.99
    names = [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    assert names[:4] == model.classes_.tolist() and "uncertain" in names[4]


@pytest.mark.parametrize("guarantee", ["conformal", "error"])
def test_guarantees_say_what_is_uncertain(guarantee):
    X, y = clouds(3, 120)
    model = make_pipeline(StandardScaler(), EntropicClassifier(2)).fit(X[::2], y[::2])
    rows = model[0].transform(X[1::2])
    if guarantee == "conformal":
        model[-1].conformalize(rows, y[1::2], 0.9)
    else:
        model[-1].control_error(rows, y[1::2], max_error=0.2)
    shown = BoundaryDisplay.from_estimator(model, X, grid_resolution=20)
    grid = model[0].transform(np.column_stack([shown.first.ravel(), shown.second.ravel()]))
    np.testing.assert_array_equal(shown.uncertain[::30, ::30].ravel(), model[-1].in_band(grid))
    bands = ScoreHistogramDisplay.from_estimator(model, X, y).band
    if guarantee == "error":
        assert bands is None
    else:
        np.testing.assert_array_equal(bands.T, [model[-1].conformal_] * 2)


def test_the_lines_of_a_histogram_are_the_scores_of_each_class(four):
    model, X, y = four
    shown = ScoreHistogramDisplay.from_estimator(model, X, y)
    scores = model.decision_function(X)
    assert [text.get_text() for text in shown.ax_.get_yticklabels()] == model.classes_.tolist()
    steps = [part.get_data() for part in shown.ax_.patches if hasattr(part, "get_data")]
    assert len(steps) == 8
    for code, label in enumerate(model.classes_):
        for (heights, edges, baseline), rows in zip(
            steps[2 * code : 2 * code + 2], (y != label, y == label), strict=True
        ):
            assert baseline == -code
            counts = np.histogram(scores[rows, code], edges)[0]
            np.testing.assert_allclose(heights, 0.85 * counts / counts.max() - code)
        assert np.sum(np.histogram(scores[y == label, code], edges)[0]) == np.sum(y == label)
    ends = np.sort([path.vertices[0] for path in shown.ax_.collections[-1].get_paths()], axis=0)
    np.testing.assert_allclose(ends[:, 0], np.sort(model.band_.ravel()))


def ends_of(span):
    """Where an axvspan begins and ends: a rectangle, in old versions of matplotlib a polygon."""
    if hasattr(span, "get_x"):
        return span.get_x(), span.get_x() + span.get_width()
    return np.ptp(span.get_xy()[:, 0]) * np.arange(2) + span.get_xy()[:, 0].min()


def test_one_class_can_be_named(four):
    model, X, y = four
    label = model.classes_[2]
    shown = ScoreHistogramDisplay.from_estimator(model, X, y, class_label=label)
    heights = [patch.get_height() for patch in shown.ax_.patches[:80]]
    assert sum(heights[:40]) == np.sum(y != label) and sum(heights[40:]) == np.sum(y == label)
    np.testing.assert_allclose(ends_of(shown.ax_.patches[80]), model.band_[2])
    chances = model.predict_proba(X)
    one = ReliabilityDisplay.from_estimator(model, X, y, class_label=label)
    two = ReliabilityDisplay.from_predictions(y == label, chances[:, 2])
    np.testing.assert_array_equal(one.observed, two.observed)
    assert one.error == two.error and one.ax_.get_xlabel() == f"predicted probability of {label}"
    for display in (ScoreHistogramDisplay, ReliabilityDisplay):
        with pytest.raises(ValueError, match="class_label is 'nobody', which is not among"):
            display.from_estimator(model, X, y, class_label="nobody")


def test_of_two_classes_either_may_be_named():
    X, y = clouds(2, 60)
    model = EntropicClassifier().fit(X, y)
    first = ScoreHistogramDisplay.from_estimator(model, X, y, class_label=model.classes_[0])
    ends = ends_of(first.ax_.patches[80])
    np.testing.assert_allclose(ends, [-model.band_[1], -model.band_[0]])
    low, high = (
        ReliabilityDisplay.from_estimator(model, X, y, class_label=label, n_bins=4)
        for label in model.classes_
    )
    np.testing.assert_allclose(low.observed, 1 - high.observed[::-1])


def test_the_surest_are_those_of_the_likeliest_class(four):
    model, X, y = four
    shown = RiskCoverageDisplay.from_estimator(model, X, y)
    coverage, risk = model.selective_report(X, y).risk_coverage
    np.testing.assert_array_equal([shown.coverage, shown.risk], [coverage, risk])
    assert shown.risk[-1] == pytest.approx(1 - model.score(X, y))
    scores, chances = model.decision_function(X), model.predict_proba(X)
    known = RiskCoverageDisplay.from_predictions(y, scores, probability=chances)
    np.testing.assert_array_equal(known.risk, shown.risk)
    by_lead = RiskCoverageDisplay.from_predictions([0, 1, 2], [[2, 0, 1], [0, 1, 0.9], [3, 1, 0]])
    np.testing.assert_allclose(by_lead.risk, [1, 1 / 2, 1 / 3])


def test_reliability_of_the_predicted_class_by_hand():
    chances = [[0.7, 0.2, 0.1], [0.1, 0.72, 0.18], [0.3, 0.3, 0.4], [0.05, 0.0, 0.95]]
    shown = ReliabilityDisplay.from_predictions(["a", "c", "c", "c"], chances, labels=list("abc"))
    np.testing.assert_allclose(shown.predicted, [0.4, 0.71, 0.95])
    np.testing.assert_allclose(shown.observed, [1, 0.5, 1])
    assert shown.ax_.get_xlabel() == "probability of the predicted class"
    with pytest.raises(ValueError, match="y_true has 2 different labels and probability is of 3"):
        ReliabilityDisplay.from_predictions(["a", "c", "c", "c"], chances)
    with pytest.raises(ValueError, match="labels has 2 different labels"):
        ReliabilityDisplay.from_predictions(["a", "c", "c", "c"], chances, labels=list("aac"))
    chances[1][2] = 1.5
    with pytest.raises(ValueError, match=r"probability holds 1\.5 in row 1"):
        ReliabilityDisplay.from_predictions(["a", "c", "c", "c"], chances, labels=list("abc"))


def test_convergence_has_a_line_for_each_class(four):
    model = four[0]
    shown = ConvergenceDisplay.from_estimator(model, goal=1e-6)
    lines = shown.ax_.get_lines()
    assert [line.get_label() for line in lines] == [*model.classes_, "goal"]
    for line, history in zip(lines, model.history_, strict=False):
        np.testing.assert_array_equal(line.get_ydata(), history["gap"])


def test_many_classes_differ_by_colour_and_marker():
    for n_classes in (11, 26, 60):
        looks = [(style["color"], style["marker"]) for style in styles(n_classes)]
        assert len({colour for colour, _ in looks}) == n_classes
        assert all(one[1] != other[1] for one, other in pairwise(looks))
    X, y = clouds(12)
    model = EntropicClassifier().fit(X, y)
    shown = BoundaryDisplay.from_estimator(model, X, grid_resolution=30)
    assert len(shown.ax_.get_legend().get_texts()) == 13
    in_all = EntropicClassifier(bound=1e-3).fit(X, y)
    shown_in_all = BoundaryDisplay.from_estimator(in_all, X, y, grid_resolution=10)
    assert in_all.in_band(X).all()
    assert shown_in_all.ax_.get_legend().get_texts()[-1].get_text() == "uncertain everywhere"
    # a name is written inside its region
    for text in shown.ax_.texts:
        assert model.predict([text.get_position()])[0] == text.get_text()
    assert len(shown.ax_.texts) >= 5
    ScoreHistogramDisplay.from_estimator(model, X, y)
    ConvergenceDisplay.from_estimator(model)
