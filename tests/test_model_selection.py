"""EntropicClassifierCV: it judges as it says, chooses by its rule, and is its own choice."""

import inspect
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from paper_sets import SETS
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_circles, make_classification, make_moons
from sklearn.model_selection import (
    KFold,
    StratifiedKFold,
    cross_val_predict,
    train_test_split,
)

from entropic import EntropicClassifier, EntropicClassifierCV, model_selection
from entropic.expansions import fit_seconds
from entropic.model_selection import AUTO_DEGREES
from entropic.uncertainty import leave_one_out
from entropic.uncertainty.scoring import SCORINGS

SEARCHED = ("n_knots", "degree", "bound", "C", "slack", "constraint")


def small_search(**options):
    settings = {
        "knots": [0],
        "degrees": [1, 2],
        "bounds": [0.3, 3.0],
        "slacks": [0.1],
        "constraints": ["equality", "inequality"],
    }
    return EntropicClassifierCV(**{**settings, **options})


@pytest.fixture(scope="module")
def circles():
    return make_circles(150, factor=0.5, noise=0.1, random_state=0)


@pytest.fixture(scope="module")
def searched(circles):
    return small_search().fit(*circles)


def test_it_is_the_best_candidate_fitted_on_all_rows(circles, searched):
    X, y = circles
    best = EntropicClassifier(**searched.best_params_).fit(X, y)
    np.testing.assert_array_equal(searched.coef_, best.coef_)
    np.testing.assert_array_equal(searched.predict_proba(X), best.predict_proba(X))
    assert searched.band_ == best.band_
    assert searched.monomials_.degree == searched.best_params_["degree"] == 2


def test_results_have_a_row_for_every_candidate(searched):
    assert len(searched.results_["score"]) == 2 * 2 * 1 * 2
    assert {len(column) for column in searched.results_.values()} == {8}
    assert {searched.results_[name][searched.best_index_] for name in SEARCHED} == set(
        searched.best_params_.values()
    )
    assert searched.best_score_ == searched.results_["score"][searched.best_index_]
    assert np.all(searched.results_["converged"])
    assert set(searched.results_["status"]) == {"judged"}


def test_left_out_scores_are_those_of_each_candidates_own_fit(circles, searched):
    """Warm starts and shared monomials change nothing but the time."""
    X, y = circles
    table = searched.results_
    for index in range(len(table["score"])):
        chosen = {name: table[name][index].item() for name in SEARCHED}
        model = EntropicClassifier(**chosen, tol=1e-12).fit(X, y)
        value, _ = SCORINGS["neg_log_loss"](model.loo_decision_, y == 1, np.ones(len(y)))
        assert table["log_loss"][index] == pytest.approx(-value, abs=2e-3)
        right = (model.loo_decision_ > 0) == y
        assert table["score"][index] == pytest.approx(right.mean(), abs=1.5 / len(y))


@pytest.mark.parametrize("scoring", sorted(SCORINGS))
def test_weights_count_as_repetition(circles, scoring):
    X, y = circles
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, len(y))
    options = {"scoring": scoring, "tol": 1e-12}
    weighted = small_search(**options).fit(X, y, sample_weight=counts)
    repeated = small_search(**options).fit(np.repeat(X, counts, 0), np.repeat(y, counts))
    for name in ("score", "standard_error"):
        np.testing.assert_allclose(
            weighted.results_[name], repeated.results_[name], rtol=1e-6, atol=1e-9
        )
    assert weighted.best_params_ == repeated.best_params_


def test_classes_that_lie_apart_get_a_straight_line():
    X, y = make_blobs(300, centers=[[0, 0], [9, 9]], random_state=0)
    searched = EntropicClassifierCV().fit(X, y)
    assert searched.best_params_["degree"] == 1 and searched.best_params_["n_knots"] == 0
    table, judged = searched.results_, searched.results_["status"] == "judged"
    assert np.sum(table["score"][judged] == 1) > 5  # though curved ones are as accurate


def test_one_standard_error_takes_the_simplest_within_it(circles):
    searched = small_search(rule="one-standard-error").fit(*circles)
    table = searched.results_
    best = int(np.argmax(table["score"]))
    near = table["score"] >= table["score"][best] - table["standard_error"][best]
    chosen = searched.best_index_
    assert near[chosen]
    assert table["degree"][chosen] == table["degree"][near].min()
    same = near & (table["degree"] == table["degree"][chosen])
    assert table["bound"][chosen] == table["bound"][same].min()


def test_the_best_is_taken(circles):
    searched = small_search(scoring="neg_log_loss").fit(*circles)
    assert searched.best_index_ == np.argmax(searched.results_["score"])


def test_ties_of_accuracy_within_half_its_error_are_broken_by_log_loss():
    X, y = make_moons(200, noise=0.35, random_state=2)
    searched = small_search(degrees=[1, 2, 3], bounds=[0.1, 0.3, 1.0, 3.0], slacks=[0.1, 10.0])
    searched.fit(X, y)
    judged = searched.results_["status"] == "judged"
    table = {name: column[judged] for name, column in searched.results_.items()}
    accuracy = table["score"]
    assert np.allclose(accuracy * len(y), np.rint(accuracy * len(y)))
    best = accuracy.max()
    near = accuracy >= best - 0.5 * np.sqrt(best * (1 - best) / len(y))
    assert 1 < near.sum() < len(near)
    chosen = searched.results_["log_loss"][searched.best_index_]
    alike = near & (len(y) * (table["log_loss"] - table["log_loss"][near].min()) <= 2)
    narrowest = alike & (table["n_columns"] == table["n_columns"][alike].min())
    assert chosen == table["log_loss"][narrowest].min()
    # neither half of the rule decides alone
    assert searched.best_score_ < best


def test_no_candidate_is_judged_by_training_scores(circles, monkeypatch):
    """Where left-out scores cannot be had, the table says so and the rest compete."""
    X, y = circles

    def form(sweep, outcome, always):
        return None if sweep.n_features > 4 else "features"

    monkeypatch.setattr(leave_one_out, "_form", form)
    searched = small_search().fit(X, y)  # degree 2 has six columns with the constant
    table = searched.results_
    unjudged = table["n_columns"] > 4
    assert 0 < unjudged.sum() < len(unjudged)
    assert set(table["status"][unjudged]) == {"not judged"}
    assert np.all(np.isnan(table["score"][unjudged]) & np.isnan(table["log_loss"][unjudged]))
    assert np.all(np.isfinite(table["score"][~unjudged]))
    assert searched.best_params_["degree"] == 1
    monkeypatch.setattr(leave_one_out, "_form", lambda *state: None)
    with pytest.raises(ValueError, match="No candidate's left-out scores can be had"):
        small_search().fit(X, y)


@pytest.mark.filterwarnings("ignore:Leave-one-out scores would take")
def test_left_out_scores_are_made_whatever_they_cost(circles, monkeypatch):
    monkeypatch.setattr(leave_one_out, "AFFORDABLE", 0.0)
    monkeypatch.setattr(leave_one_out, "FIT_IN_SWEEPS", 0.0)
    wide = make_classification(60, 80, n_informative=5, random_state=0)
    for data in (circles, wide):
        assert set(small_search(degrees=[1]).fit(*data).results_["status"]) == {"judged"}


@pytest.mark.parametrize("cv", [3, StratifiedKFold(4, shuffle=True, random_state=0)])
def test_folds_judge_held_out_scores(circles, cv):
    X, y = circles
    model = small_search(cv=cv, scoring="accuracy").fit(X, y)
    index = model.best_index_
    chosen = {name: model.results_[name][index].item() for name in SEARCHED}
    predicted = cross_val_predict(EntropicClassifier(**chosen), X, y, cv=cv)
    assert model.results_["score"][index] == pytest.approx(np.mean(predicted == y))


def test_folds_that_a_class_is_missing_from_are_named(circles):
    X, y = circles
    order = np.argsort(y)
    with pytest.raises(ValueError, match=r"Fold 1 of 2: .* 1 class"):
        small_search(cv=KFold(2)).fit(X[order], y[order])
    only_zeros = [(np.arange(len(y)), np.flatnonzero(y == 0))]
    with pytest.raises(ValueError, match="holds out a row of weight with the label 1"):
        small_search(cv=only_zeros).fit(X, y)


def test_folds_are_silent_and_leave_the_callback_alone(circles, capsys):
    seen, alone = [], []
    model = small_search(cv=3, degrees=[1], bounds=[1.0], verbose=1, callback=seen.append)
    model.fit(*circles)
    EntropicClassifier(**model.best_params_, callback=alone.append).fit(*circles)
    assert seen == alone  # the last fit's steps and no others
    assert capsys.readouterr().out.count("\n") == 2 + len(seen)


def test_a_candidate_without_an_optimum_is_not_taken():
    """The exact constraint cannot be met by classes that overlap: its scores mean nothing."""
    X, y = make_moons(60, noise=0.4, random_state=8)
    options = dict(degrees=[1], slacks=[0.0, 0.1], scoring="roc_auc")
    model = small_search(**options).fit(X, y)
    table = model.results_
    assert not np.any(table["converged"][table["slack"] == 0])
    assert np.max(table["score"]) > model.best_score_  # one of them looked better
    assert model.best_params_["slack"] == 0.1 and model.converged_


def test_values_of_any_sequence_become_plain(circles):
    model = small_search(degrees=np.array([1, 2]), bounds=np.logspace(-1, 1, 2)).fit(*circles)
    assert {type(value) for value in model.best_params_.values()} == {int, float, str}


def test_directions_allow_hyperplanes_only(circles):
    model = small_search(degrees=None, knots=None, monotonic_cst=[1, 0]).fit(*circles)
    assert set(model.results_["degree"]) == {1} and set(model.results_["n_knots"]) == {0}


def test_automatic_degrees_stop_where_they_take_too_long(monkeypatch):
    X, y = make_classification(150, 8, random_state=0)  # degrees of 8, 44, 164, 494, ... monomials
    options = dict(knots=[0], bounds=[0.3], slacks=[0.1], constraints=["equality"])
    model = EntropicClassifierCV(**options)
    assert list(model.fit(X, y).results_["degree"]) == list(AUTO_DEGREES)  # columns cost little
    monkeypatch.setattr(model_selection, "AFFORDABLE", fit_seconds(150, 500))
    assert list(model.fit(X, y).results_["degree"]) == [1, 2, 3, 4]
    assert list(clone(model).set_params(degrees=[5]).fit(X, y).results_["degree"]) == [5]


def test_sparse_rows_and_frames(circles):
    X, y = circles
    dense = small_search(standardize=False).fit(X, y)
    sparse = small_search(standardize=False).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.results_["score"], dense.results_["score"], rtol=1e-6)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b"])
    model = small_search().fit(frame, np.where(y, "yes", "no"))
    assert list(model.feature_names_in_) == ["a", "b"]
    assert set(model.predict(frame)) == {"yes", "no"}
    pandas.DataFrame(model.results_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bounds": []}, "bounds is empty"),
        ({"degrees": []}, "degrees is empty"),
        ({"bounds": [1.0, "wide"]}, "bound must be a number"),
        ({"bounds": [0.0]}, "bound"),
        ({"degrees": 3}, "degrees must be a list"),
        ({"degrees": [1.5]}, "degree must be an integer"),
        ({"constraints": "equality"}, "constraints must be a list"),
        ({"constraints": ["equal"]}, "constraint='equal'"),
        ({"slacks": [-1.0]}, "slack"),
        ({"scoring": "f1"}, "scoring='f1'"),
        ({"rule": "worst"}, "rule='worst'"),
    ],
)
def test_bad_searches_are_named(circles, options, message):
    with pytest.raises(ValueError, match=message):
        small_search(**options).fit(*circles)


def test_wider_boxes_and_higher_degrees_are_tried_until_they_do_worse():
    """Worse in both figures than the one before; what was judged is as if all had been."""
    X, y = make_classification(300, 8, n_informative=3, flip_y=0.2, random_state=3)
    bounds = [0.1, 0.3, 1.0, 3.0, 10.0]
    table = EntropicClassifierCV(knots=[0], bounds=bounds).fit(X, y).results_
    every = EntropicClassifierCV(knots=[0], degrees=range(1, 7), bounds=bounds).fit(X, y).results_
    judged = table["status"] == "judged"
    for name in ("score", "log_loss"):
        np.testing.assert_allclose(table[name][judged], every[name][: len(judged)][judged])
    assert np.all(np.isnan(table["score"][~judged]))
    assert set(table["status"]) == {"judged", "dropped", "skipped"}
    for degree in np.unique(table["degree"][table["status"] != "skipped"]):
        of_degree = table["degree"] == degree
        score, loss = table["score"][of_degree], table["log_loss"][of_degree]
        worse = (np.diff(score) < 0) & (np.diff(loss) > 0)
        n_judged = np.argmax(worse) + 2 if worse.any() else len(bounds)
        assert np.array_equal(np.isfinite(score), np.arange(len(bounds)) < n_judged)
    best = [
        (np.nanmax(table["score"][own]), np.nanmin(table["log_loss"][own]))
        for degree in AUTO_DEGREES
        if np.any(own := judged & (table["degree"] == degree))
    ]
    falls = [b[0] < a[0] and b[1] > a[1] for a, b in pairwise(best)]
    assert falls == [False] * (len(falls) - 1) + [True]


def test_splines_are_tried_beside_plain_features():
    """A curve in one feature is found by splines of degree 1."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (400, 6))
    y = np.cos(2 * X[:, 0]) + 0.3 * X[:, 1] > rng.normal(scale=0.2, size=400)
    model = EntropicClassifierCV().fit(X, y)
    assert set(model.results_["n_knots"]) == {0, 6}
    assert model.best_params_["n_knots"] == 6 and model.best_params_["degree"] == 1
    table = model.results_
    assert model.best_score_ > np.nanmax(table["score"][table["n_knots"] == 0]) + 0.02
    for without in (sp.csr_array(X), np.sign(X)):
        assert set(EntropicClassifierCV().fit(without, y).results_["n_knots"]) == {0}
    with pytest.raises(ValueError, match="n_knots needs dense rows"):
        EntropicClassifierCV(knots=[4]).fit(sp.csr_array(X), y)


def test_time_that_is_up_ends_with_the_best_so_far(circles):
    X, y = circles
    with pytest.raises(ValueError, match="max_seconds"):
        small_search(max_seconds=0).fit(X, y)
    model = small_search(max_seconds=1e-9).fit(X, y)
    assert list(model.results_["status"]) == ["judged"] + ["not tried"] * 7
    assert model.best_index_ == 0 and np.all(np.isnan(model.results_["score"][1:]))
    assert model.predict(X).shape == y.shape
    folds = small_search(max_seconds=1e-9, cv=3).fit(X, y).results_["status"]
    assert list(folds) == ["judged"] + ["not tried"] * 7


def test_batches_are_searched_on_a_sample_and_fitted_on_all(circles, monkeypatch):
    X, y = circles
    batches = [(X[i : i + 30], y[i : i + 30]) for i in range(0, len(y), 30)]
    whole, model = small_search().fit(X, y), small_search().fit_batches(batches)
    assert model.best_params_ == whole.best_params_
    assert model.best_score_ == whole.best_score_
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-7)
    monkeypatch.setattr(model_selection, "SAMPLE_ROWS", 60)
    sampled = small_search().fit_batches(batches)
    again = EntropicClassifier(**sampled.best_params_).fit(X, y)
    np.testing.assert_allclose(sampled.coef_, again.coef_, rtol=1e-7)
    assert np.array_equal(small_search().fit_batches(batches).coef_, sampled.coef_)


def test_it_is_silent_unless_asked(circles, capsys):
    small_search().fit(*circles)
    assert capsys.readouterr().out == ""
    small_search(verbose=1).fit(*circles)
    assert capsys.readouterr().out.count("accuracy_log_loss") == 8


def test_clone_and_parameters(searched):
    copy = clone(searched)
    assert not hasattr(copy, "coef_")
    assert copy.get_params() == searched.get_params()
    assert "degree" not in searched.get_params()


# Accuracy to reach on the test part, with the degree, box, slack and form chosen on the rest; in
# hundredths, as the paper gives its own.
REACHED = {"blobs": 1.0, "circles": 0.99, "spiral": 1.0, "moons": 0.99, "breast cancer": 0.98}


@pytest.mark.parametrize("name", sorted(REACHED))
def test_the_papers_sets_are_met_without_a_look_at_their_test_part(name):
    X, y = SETS[name][1]()
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=42)
    model = EntropicClassifierCV().fit(X, y)
    assert round(model.score(X_test, y_test), 2) >= REACHED[name]


def test_everything_a_candidate_shares_is_handed_on():
    """A parameter added to the classifier is either searched over or handed on."""
    shared = {
        name: value
        for name, value in EntropicClassifier().get_params().items()
        if name not in (*SEARCHED, "warm_start")
    }
    parameters = EntropicClassifierCV().get_params()
    assert shared == {name: parameters[name] for name in shared}
    assert not {*SEARCHED, "warm_start"} & set(parameters)
    model = EntropicClassifierCV(tol=1e-5, margin=0.1)
    assert model.tol == 1e-5 and model.get_params()["margin"] == 0.1
    assert "certainty" in inspect.signature(EntropicClassifierCV).parameters
    with pytest.raises(TypeError, match="no parameter 'degree'"):
        EntropicClassifierCV(degree=2)


def test_neighbours_in_the_grid_start_each_other():
    """Alone, candidates of little slack take 20 to 80 reads of the data; a neighbour saves most."""
    X, y = make_moons(300, noise=0.1, random_state=42)
    settings = dict(knots=[0], degrees=[3], bounds=[0.1, 0.3], slacks=[1e-3, 0.1, 10.0])
    settings["constraints"] = ["equality", "inequality"]
    table = EntropicClassifierCV(**settings).fit(X, y).results_
    assert np.all(table["converged"])
    alone = [
        EntropicClassifier(**{name: table[name][row].item() for name in SEARCHED})
        .fit(X, y)
        .n_sweeps_
        for row in np.flatnonzero(table["slack"] == 1e-3)
    ]
    assert np.mean(table["n_sweeps"][table["slack"] == 1e-3]) < np.mean(alone) / 2


def test_many_columns_few_rows():
    X, y = make_classification(40, 60, n_informative=5, random_state=0)
    model = small_search(degrees=[1]).fit(X, y)
    assert np.all(np.isfinite(model.results_["score"]))
