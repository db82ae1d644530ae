"""The estimator as its users meet it: what it finds, what it accepts, what it says and keeps."""

import copy
import pickle
import warnings
from types import SimpleNamespace

import certificate
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from paper_sets import PAPER
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from entropic import EntropicClassifier
from entropic.features import monomials, scaling
from entropic.rows import memory, rows_of


@pytest.fixture
def breast_cancer():
    """The split of the paper."""
    X, y = load_breast_cancer(return_X_y=True)
    return train_test_split(X, y, test_size=0.3, random_state=42)


# ------------------------------------------------------------------- what it finds


@pytest.mark.parametrize("settings, accuracy", [({}, 0.97), (PAPER, 0.955)], ids=["", "paper"])
def test_breast_cancer_split_of_the_paper(breast_cancer, settings, accuracy):
    X, X_test, y, y_test = breast_cancer
    fitted = EntropicClassifier(**settings).fit(X, y)
    assert fitted.score(X_test, y_test) >= accuracy
    assert 4 <= fitted.n_iter_ <= 15
    assert 0 <= fitted.dual_gap_ <= 1e-8 * len(y)


@pytest.mark.parametrize("constraint", ["equality", "inequality"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_certificate_recomputed_from_raw_arrays(two_clouds, constraint, weighted):
    """With nothing of the solver's in it but coefficients and multipliers."""
    X, y = two_clouds
    q = np.random.default_rng(0).uniform(0, 2, len(y)) if weighted else np.ones(len(y))
    shared = dict(constraint=constraint, slack=0.2)
    fitted = EntropicClassifier(bound=0.8, C=3.0, margin=0.3, standardize=False, **shared)
    fitted.fit(X, y, q)
    D = np.where(y == 1, 1, -1)[:, None] * np.column_stack([X, np.ones(len(X))])
    ends = np.array([0.8] * 4 + [4.0])
    problem = certificate.Problem.of(D, q, 0.3, -ends, ends, entropy_weight=1 / 3, **shared)
    outcome = SimpleNamespace(
        coef=np.append(fitted.coef_[0], fitted.intercept_),
        multipliers=fitted.multipliers_,
        margins=np.exp(-fitted.multipliers_ / q),
        objective=fitted.objective_,
        dual_gap=fitted.dual_gap_,
        residual_norm=fitted.residual_norm_,
        separation=-np.inf,
        converged=fitted.converged_,
        message="",
    )
    certificate.check(problem, outcome, 1e-8)


def test_coefficients_are_in_the_units_of_the_input(two_clouds):
    X, y = two_clouds
    raw = X * [1, 100, 1e-3, 5] + [0, 7, 0, -40]
    fitted = EntropicClassifier().fit(raw, y)
    by_hand = (raw @ fitted.coef_.T + fitted.intercept_).ravel()
    assert_allclose(fitted.decision_function(raw), by_hand, rtol=1e-12, atol=1e-12)
    assert fitted.coef_.shape == (1, 4) and fitted.intercept_.shape == (1,)


def test_band_and_separation_of_training_scores():
    X = np.array([[-3.0], [-2.0], [0.5], [-0.5], [2.0], [3.0]])
    y = np.array([0, 0, 0, 1, 1, 1])
    fitted = EntropicClassifier().fit(X, y)
    lower, upper = fitted.band_
    assert lower < 0 < upper and fitted.separation_ < 0
    assert_array_equal(fitted.in_band([[0.0], [-2.5], [2.5]]), [True, False, False])
    assert_array_equal(fitted.predict_with_reject([[0.0], [-2.5], [2.5]], -1), [-1, 0, 1])


def test_no_intercept_and_no_scaling(two_clouds):
    X, y = two_clouds
    fitted = EntropicClassifier(bound=1.0, fit_intercept=False, standardize=False).fit(X, y)
    assert fitted.intercept_ == 0
    assert 0.5 < np.abs(fitted.coef_).max() <= 1


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_monotonic_constraints_hold_the_signs(two_clouds, convert):
    X, y = two_clouds
    free = EntropicClassifier().fit(convert(X), y)
    assert free.coef_[0, 1] < 0 < free.coef_[0, 0]
    fitted = EntropicClassifier(monotonic_cst=[1, 1, -1, 0]).fit(convert(X), y)
    assert fitted.converged_
    assert fitted.coef_[0, 0] > 0 and fitted.coef_[0, 1] >= 0 and fitted.coef_[0, 2] <= 0


def test_warm_start_begins_at_the_last_solution(two_clouds):
    X, y = two_clouds
    fitted = EntropicClassifier(warm_start=True).fit(X, y)
    cold, coef = fitted.n_iter_, fitted.coef_
    fitted.fit(X, y)
    assert fitted.n_iter_ < cold
    assert_allclose(fitted.coef_, coef, rtol=1e-6)
    fitted.set_params(C=1.5).fit(X, y)
    assert_allclose(fitted.coef_, EntropicClassifier(C=1.5).fit(X, y).coef_, rtol=1e-6)
    assert fitted.fit(X[:, :2], y).coef_.shape == (1, 2)


def test_tol_sets_the_gap_that_is_reached(breast_cancer):
    X, _, y, _ = breast_cancer
    steps = []
    for tol in (1e-1, 1e-3, 1e-8, 1e-13):
        fitted = EntropicClassifier(tol=tol).fit(X, y)
        assert (
            fitted.dual_gap_ <= tol * len(y) and fitted.converged_ and fitted.status_ == "converged"
        )
        steps.append(fitted.n_iter_)
    assert steps == sorted(steps) and steps[0] < steps[-1]


def test_an_unconverged_fit_warns_with_gap_goal_and_remedy(breast_cancer):
    X, _, y, _ = breast_cancer
    with pytest.warns(ConvergenceWarning, match=r"gap is .*goal .*raise max_iter") as caught:
        fitted = EntropicClassifier(max_iter=1).fit(X, y)
    assert caught[0].filename == __file__
    assert not fitted.converged_ and fitted.status_ == "max_iter" and fitted.n_iter_ == 1
    assert fitted.dual_gap_ > 1e-8 * len(y)


def test_history_has_an_entry_a_step(two_clouds):
    fitted = EntropicClassifier().fit(*two_clouds)
    assert len(fitted.history_["gap"]) == fitted.n_iter_ + 1
    assert fitted.history_["gap"][-1] == fitted.dual_gap_
    assert np.all(np.diff(fitted.history_["objective"]) <= 1e-9)
    assert fitted.n_sweeps_ >= fitted.n_iter_


# ----------------------------------------------------------------- what it accepts


def test_float_data_are_not_copied(monkeypatch, two_clouds):
    seen = []
    for module in (scaling, monomials):
        monkeypatch.setattr(module, "rows_of", lambda X: seen.append(X) or rows_of(X))
    X, y = two_clouds
    for dtype in (np.float64, np.float32):
        given = X.astype(dtype)
        EntropicClassifier().fit(given, y).decision_function(given)
        sparse = sp.csr_array(given)
        EntropicClassifier().fit(sparse, y)
        assert np.shares_memory(seen[-3], given) and np.shares_memory(seen[-2], given)
        assert np.shares_memory(seen[-1].data, sparse.data)


def test_class_weights_are_sample_weights(two_clouds):
    X, y = two_clouds
    y = y * (X[:, 3] > 0.5)
    q = np.random.default_rng(4).uniform(0, 2, len(y))
    total = q.sum()
    balanced = np.where(y == 1, total / (2 * q[y == 1].sum()), total / (2 * q[y == 0].sum()))
    for class_weight, factor in (("balanced", balanced), ({1: 3.0}, np.where(y == 1, 3.0, 1.0))):
        fitted = EntropicClassifier(class_weight=class_weight).fit(X, y, q)
        assert_allclose(fitted.coef_, EntropicClassifier().fit(X, y, q * factor).coef_, rtol=1e-10)


# -------------------------------------------------------------- hard but honest data

HARD = {
    "scales apart": lambda X: X * [1e4, 1, 1, 1] + [0, 1e4, 0, 0],
    "far from zero": lambda X: X + 1e5,
    "large entries": lambda X: 875 + 125 * np.tanh(X),
    "constant column": lambda X: np.column_stack([X, np.full(len(X), 3.7)]),
    "zero column": lambda X: np.column_stack([X, np.zeros(len(X))]),
    "duplicate columns": lambda X: np.column_stack([X, X, X[:, 0] * 250]),
    "tiny": lambda X: X * 1e-100,
    "huge": lambda X: X * 1e100,
}


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("standardize", [True, False])
def test_hard_columns_end_finite_certified_and_silent(two_clouds, kind, standardize):
    X, y = two_clouds
    X = HARD[kind](X)
    if not standardize and kind == "huge":
        pytest.skip("scores of 1e100 carry no meaning in a box of one")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = EntropicClassifier(standardize=standardize).fit(X, y)
        scores = fitted.decision_function(X)
    assert np.all(np.isfinite(scores)) and fitted.converged_
    if standardize:
        assert fitted.score(X, y) > 0.9 and fitted.n_iter_ <= 15


def test_one_entry_below_the_range_of_squares():
    X = np.zeros((30, 2))
    X[7, 1] = 3.7e-208
    y = np.arange(30) % 2
    for standardize in (True, False):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fitted = EntropicClassifier(standardize=standardize).fit(X, y)
        assert fitted.n_iter_ <= 15 and np.all(np.isfinite(fitted.decision_function(X)))


def test_a_point_with_both_labels():
    fitted = EntropicClassifier().fit([[1.0], [1.0]], [0, 1])
    assert fitted.converged_ and fitted.separation_ <= 0
    assert_allclose(fitted.decision_function([[1.0]]), 0, atol=1e-6)


# ------------------------------------------------------------------- what it says


def test_silent_unless_asked(two_clouds, capfd):
    X, y = two_clouds
    EntropicClassifier().fit(X, y).predict(X)
    assert capfd.readouterr() == ("", "")
    fitted = EntropicClassifier(verbose=1).fit(X, y)
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) >= fitted.n_iter_ and all("gap" in line for line in lines)


def test_callback_sees_every_step_and_may_stop(two_clouds):
    X, y = two_clouds
    seen = []
    fitted = EntropicClassifier(callback=seen.append).fit(X, y)
    assert len(seen) >= fitted.n_iter_ and {"iteration", "gap", "objective"} <= set(seen[0])
    stopped = EntropicClassifier(callback=lambda figures: figures["iteration"] == 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the user asked for it
        stopped.fit(X, y)
    assert stopped.n_iter_ == 2 and stopped.status_ == "interrupted" and not stopped.converged_
    assert stopped.predict(X).shape == y.shape


# ------------------------------------------------------------ beside scikit-learn


def test_names_of_a_frame(two_clouds):
    X, y = two_clouds
    frame = pd.DataFrame(X, columns=list("abcd"))
    fitted = EntropicClassifier().fit(frame, y)
    assert_array_equal(fitted.feature_names_in_, list("abcd"))
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame.rename(columns={"a": "z"}))


def test_no_false_warning_in_a_pipeline_of_frames(two_clouds):
    X, y = two_clouds
    pipeline = make_pipeline(StandardScaler(), EntropicClassifier()).set_output(transform="pandas")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipeline.fit(X, y).predict(X)


@pytest.mark.parametrize("again", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy])
def test_fitted_estimators_can_be_copied(two_clouds, again):
    X, y = two_clouds
    fitted = EntropicClassifier(slack=0.3).fit(X, np.array(["no", "yes"])[y])
    copied = again(fitted)
    assert_array_equal(copied.decision_function(X), fitted.decision_function(X))
    assert_array_equal(copied.predict(X), fitted.predict(X))
    assert copied.band_ == fitted.band_ and copied.get_params() == fitted.get_params()


def test_fitting_twice_is_fitting_once(two_clouds):
    X, y = two_clouds
    again = EntropicClassifier().fit(X[:, :2], 1 - y).fit(X, y)
    assert_array_equal(again.coef_, EntropicClassifier().fit(X, y).coef_)


def test_sample_weights_are_routed(two_clouds):
    import sklearn

    X, y = two_clouds
    q = np.random.default_rng(0).uniform(0.1, 3, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        asking = EntropicClassifier().set_fit_request(sample_weight=True)
        asking.set_score_request(sample_weight=False)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = make_pipeline(scaler, asking).fit(X, y, sample_weight=q)
        assert_allclose(
            routed[-1].coef_,
            EntropicClassifier().fit(routed[0].transform(X), y, q).coef_,
            rtol=1e-12,
        )
        cross_val_score(asking, X, y, params={"sample_weight": q}, cv=3, error_score="raise")


def test_n_jobs_changes_no_bit(two_clouds):
    X, y = two_clouds
    X = np.tile(X, (60, 10))
    y = np.tile(y, 60)
    one = EntropicClassifier(n_jobs=1).fit(X, y)
    two = EntropicClassifier(n_jobs=2).fit(X, y)
    assert_array_equal(one.coef_, two.coef_)
    assert_array_equal(one.decision_function(X), two.decision_function(X))


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_array])
def test_constant_columns_of_many_rows_change_nothing(form):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (5686, 3)).astype(float)
    y = X[:, 0] + X[:, 1] + rng.normal(size=len(X)) > 1
    plain = EntropicClassifier(standardize=True).fit(form(X), y)
    X = np.column_stack([X, np.ones(len(X)), np.full(len(X), 0.1)])
    model = EntropicClassifier(standardize=True).fit(form(X), y)
    assert np.abs(model.coef_).max() < 10
    wanted = plain.decision_function(X[:, :3])
    np.testing.assert_allclose(model.decision_function(X), wanted, atol=2e-3)


def test_more_columns_than_memory_holds_are_refused_beforehand(monkeypatch):
    monkeypatch.setattr(memory, "machine_memory", lambda: 25 * 10**9)
    X = sp.csr_matrix(([1.0, 2.0], ([0, 1], [0, 10**9 - 1])), shape=(2, 10**9))
    with pytest.raises(ValueError, match=r"1000000000 columns .* 128 GB of memory"):
        EntropicClassifier().fit(X, [0, 1])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.filterwarnings("ignore:Of the 90 surest")  # in a box in which nothing moves
@pytest.mark.parametrize("size", [1.0, 1e-200, 1e-310])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"slack": 1e-6},
        {"slack": 1e-6, "constraint": "equality", "degree": 2},
        {"standardize": False},
        {"n_knots": 4},
        {"bound": 1e-200},
    ],
    ids=str,
)
def test_errors_of_floating_point_that_the_caller_has_raised_are_none(settings, size, n_classes):
    rng = np.random.default_rng(0)
    y = np.arange(90) % n_classes
    X = rng.normal(size=(90, 3)) + 3 * np.eye(3)[y]
    X[:, 1] *= size

    def answers():
        model = EntropicClassifier(**settings).fit(X, y)
        model.conformalize(X, y, 0.5)
        bands = [model.predict_set(X)]
        model.control_error(X, y, max_error=0.3)
        return model, [*bands, model.predict_set(X), model.predict_proba(100 * X), model.coef_]

    with np.errstate(all="raise"):
        _, strict = answers()
    model, plain = answers()
    assert model.converged_
    for one, other in zip(strict, plain, strict=True):
        assert_array_equal(one, other)
