"""The classifier as a part of what scikit-learn builds: pipelines, searches, displays."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.inspection import DecisionBoundaryDisplay, partial_dependence, permutation_importance
from sklearn.metrics import balanced_accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import estimator_html_repr

from entropic import EntropicClassifier, EntropicClassifierCV, classifier

pytestmark = pytest.mark.one_backend

X, Y = load_iris(return_X_y=True, as_frame=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
TWO = NAMES != "virginica"
QUICK = dict(leave_one_out=False)


@pytest.mark.parametrize("labels", [NAMES, np.where(TWO, "other", "virginica")], ids=["3", "2"])
@pytest.mark.parametrize(
    "build",
    [
        lambda: make_pipeline(StandardScaler(), EntropicClassifier()),
        lambda: GridSearchCV(EntropicClassifier(**QUICK), {"C": [0.5, 2], "degree": [1, 2]}, cv=3),
        lambda: CalibratedClassifierCV(EntropicClassifier(**QUICK), cv=3),
        lambda: CalibratedClassifierCV(EntropicClassifier(**QUICK), method="isotonic", cv=3),
        lambda: BaggingClassifier(EntropicClassifier(), n_estimators=3, random_state=0),
        lambda: StackingClassifier([("a", EntropicClassifier()), ("b", GaussianNB())], cv=3),
        lambda: StackingClassifier([("a", GaussianNB())], EntropicClassifier(), cv=3),
        lambda: VotingClassifier([("a", EntropicClassifier()), ("b", GaussianNB())], voting="soft"),
        lambda: EntropicClassifierCV((1,), (1.0,), slacks=(0.1,)),
    ],
    ids=[
        "pipeline",
        "grid",
        "sigmoid",
        "isotonic",
        "bagging",
        "stacked",
        "final",
        "voting",
        "search",
    ],
)
def test_what_is_built_on_it_learns(build, labels):
    model = build().fit(X, labels)
    assert model.score(X, labels) > 0.91
    assert_array_equal(model.classes_, np.unique(labels))
    proba = model.predict_proba(X) if hasattr(model, "predict_proba") else None
    if proba is not None:
        assert proba.shape == (150, len(model.classes_))
        assert_allclose(proba.sum(axis=1), 1)
    assert set(model.predict(X)) <= set(labels)


def test_columns_of_words_and_numbers():
    frame = X.assign(kind=np.where(np.arange(150) % 2, "odd", "even"))
    columns = make_column_transformer(
        (OneHotEncoder(), ["kind"]),
        (StandardScaler(), list(X.columns)),
        verbose_feature_names_out=False,
    )
    model = make_pipeline(columns, EntropicClassifier()).fit(frame, NAMES)
    assert model.score(frame, NAMES) > 0.93
    named = make_pipeline(columns, EntropicClassifier())
    named[0].set_params(onehotencoder__sparse_output=False).set_output(transform="pandas")
    named.fit(frame, NAMES)
    assert named[-1].feature_names_in_.tolist() == ["kind_even", "kind_odd", *X.columns]
    terms = set(named[-1].summary().to_frame()["term"])
    assert terms == {"kind_even", "kind_odd", *X.columns, "(intercept)"}


def test_features_are_selected_one_by_one_and_by_their_importance():
    chosen = SequentialFeatureSelector(EntropicClassifier(**QUICK), n_features_to_select=1, cv=3)
    chosen.fit(X, NAMES)
    assert chosen.get_feature_names_out()[0].startswith("petal")
    model = EntropicClassifier().fit(X, NAMES)
    found = permutation_importance(model, X, NAMES, n_repeats=3, random_state=0)
    assert X.columns[np.argmax(found.importances_mean)].startswith("petal")


def test_partial_dependence_of_a_hyperplane_is_a_line():
    model = EntropicClassifier().fit(X, TWO)
    found = partial_dependence(model, X, ["petal width (cm)"], response_method="decision_function")
    grid, average = found["grid_values"][0], found["average"][0]
    slope = model.coef_[0, list(X.columns).index("petal width (cm)")]
    assert_allclose(np.diff(average) / np.diff(grid), slope, rtol=1e-6)


@pytest.mark.parametrize("labels", [NAMES, TWO], ids=["3", "2"])
def test_scikit_learns_boundary_display(labels):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    model = EntropicClassifier(2).fit(X.iloc[:, 2:], labels)
    for method in ("predict", "predict_proba", "decision_function"):
        shown = DecisionBoundaryDisplay.from_estimator(
            model, X.iloc[:, 2:], response_method=method, grid_resolution=12
        )
        assert shown.response.shape[:2] == (12, 12)
    matplotlib.pyplot.close("all")


def test_weights_are_routed_through_searches_and_thresholds():
    weights = np.random.default_rng(0).uniform(0.2, 2, 150)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = EntropicClassifier(**QUICK).set_fit_request(sample_weight=True)
        asking.set_score_request(sample_weight=True)
        search = GridSearchCV(asking, {"C": [0.5, 2.0]}, cv=3).fit(X, TWO, sample_weight=weights)
        expected = EntropicClassifier(**QUICK, C=search.best_params_["C"]).fit(X, TWO, weights)
        assert_allclose(search.best_estimator_.coef_, expected.coef_, rtol=1e-10)
        scorer = make_scorer(balanced_accuracy_score).set_score_request(sample_weight=True)
        tuned = TunedThresholdClassifierCV(asking, scoring=scorer, cv=3)
        tuned.fit(X, TWO, sample_weight=weights)
        assert tuned.score(X, TWO) > 0.9
        scores = cross_validate(asking, X, TWO, params={"sample_weight": weights}, cv=3)
        assert scores["test_score"].min() > 0.85
        refused = EntropicClassifier(**QUICK).set_fit_request(sample_weight=False)
        refused.set_score_request(sample_weight=False)
        with pytest.raises(TypeError, match="sample_weight"):
            GridSearchCV(refused, {"C": [1.0]}, cv=3).fit(X, TWO, sample_weight=weights)


def test_nested_parameters_and_the_html_of_an_estimator(monkeypatch):
    model = make_pipeline(StandardScaler(), EntropicClassifier())
    model.set_params(entropicclassifier__degree=2)
    html = estimator_html_repr(model)
    assert "EntropicClassifier" in html and "degree" in html
    page = "https://docs.example/entropic"
    monkeypatch.setattr(classifier, "_documentation", lambda: page)
    linked = estimator_html_repr(EntropicClassifier())
    assert f'href="{page}"' in linked and "Documentation for EntropicClassifier" in linked


@pytest.mark.backend_free
@pytest.mark.parametrize("stated, expected", [
    (["Homepage, https://a.example", "Documentation, https://b.example"], "https://b.example"),
    (None, ""),
])  # fmt: skip
def test_the_link_is_the_one_that_the_distribution_states(monkeypatch, stated, expected):
    class Metadata:
        def get_all(self, name):
            assert name == "Project-URL"
            return stated

    monkeypatch.setattr(classifier, "metadata", lambda name: Metadata())
    assert classifier._documentation.__wrapped__() == expected


def arrays_of(library):
    xp = pytest.importorskip(library)
    rows = X.to_numpy()
    return (xp.tensor(rows) if library == "torch" else xp.asarray(rows)), rows


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_arrays_of_other_libraries_are_read_and_answered_as_numpys(library):
    given, rows = arrays_of(library)
    model = EntropicClassifier().fit(given, Y.to_numpy())
    expected = EntropicClassifier().fit(rows, Y)
    assert_array_equal(model.coef_, expected.coef_)
    assert isinstance(model.predict_proba(given), np.ndarray)
    assert_array_equal(model.predict(given), expected.predict(rows))


class Foreign:
    """An array of a library that NumPy can read."""

    def __init__(self, values):
        self.values, self.shape, self.ndim = values, values.shape, values.ndim
        self.dtype = values.dtype

    def __len__(self):
        return len(self.values)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)

    def __array_namespace__(self, api_version=None):
        return np


def test_arrays_of_other_libraries_are_refused_by_name_where_they_would_be_answered(monkeypatch):
    rows = X.to_numpy()
    model = EntropicClassifier().fit(Foreign(rows), Y)
    monkeypatch.setattr("entropic.checks.get_config", lambda: {"array_api_dispatch": True})
    for call in (
        lambda: EntropicClassifier().fit(Foreign(rows), Y),
        lambda: EntropicClassifier().fit(rows, Foreign(Y.to_numpy())),
        lambda: model.predict(Foreign(rows)),
    ):
        with pytest.raises(ValueError, match=r"array of .*dispatch is on.*give a NumPy array"):
            call()
    assert model.predict(rows).shape == (150,)


class Unreadable(Foreign):
    """An array of a library that NumPy cannot read, as a tensor that is being differentiated."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("call detach() first")


def test_arrays_that_numpy_cannot_read_are_refused_by_name():
    rows = X.to_numpy()
    model = EntropicClassifier().fit(rows, Y)
    for call in (
        lambda: EntropicClassifier().fit(Unreadable(rows), Y),
        lambda: model.predict(Unreadable(rows)),
    ):
        with pytest.raises(ValueError, match=r"X cannot be read as a NumPy array: call detach"):
            call()


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_dispatch_on_arrays_of_other_libraries_is_refused_by_name(library, monkeypatch):
    given, _ = arrays_of(library)
    monkeypatch.setattr("entropic.checks.get_config", lambda: {"array_api_dispatch": True})
    with pytest.raises(ValueError, match=rf"array of {library}.*dispatch is on"):
        EntropicClassifier().fit(given, Y)


def test_what_holds_no_rows_in_order_is_refused_by_name():
    rows = X.to_numpy()
    for call in (
        lambda: EntropicClassifier().fit((row for row in rows), Y),
        lambda: EntropicClassifier().fit(rows, (label for label in Y)),
        lambda: EntropicClassifier().fit(rows, Y).predict(iter(rows)),
        lambda: EntropicClassifier().fit(dict(enumerate(rows.T)), Y),
        lambda: EntropicClassifier().fit(rows, set(Y.tolist())),
    ):
        with pytest.raises(ValueError, match=r"[Xy] is a \w+, which holds no rows in order; "):
            call()


def test_frames_of_any_library_give_one_model():
    plain = EntropicClassifier().fit(X.to_numpy(), NAMES)
    polars = pytest.importorskip("polars")
    model = EntropicClassifier().fit(polars.from_pandas(X), NAMES)
    assert_allclose(model.coef_, plain.coef_, rtol=1e-12)  # columns lie otherwise in memory
    assert model.feature_names_in_.tolist() == list(X.columns)


def test_labels_of_a_frame_are_answered_as_an_array():
    labels = pd.Series(NAMES, dtype="category")
    assert_array_equal(
        EntropicClassifier().fit(X, labels).predict(X) == NAMES,
        EntropicClassifier().fit(X, NAMES).predict(X) == NAMES,
    )
