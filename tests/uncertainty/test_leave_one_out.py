"""Leave-one-out scores against what they claim to be: the scores of fits without the row."""

import numpy as np
import pytest
import real_data
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from paper_sets import PAPER
from sklearn.datasets import load_breast_cancer

from entropic import EntropicClassifier
from entropic.features.design import Design
from entropic.kernels.box import Box
from entropic.kernels.loss import Loss
from entropic.rows import rows_of
from entropic.rows.sweep import Sweep
from entropic.rows.target import Target
from entropic.solvers import newton
from entropic.solvers.newton_steps import CholeskyStep
from entropic.solvers.problem import minimise
from entropic.uncertainty import leave_one_out
from entropic.uncertainty.leave_one_out import influence, observations


def problem(seed=0, n=90, p=6, bound=1.0, slack=0.1, inequality=False, weights=1.0):
    """A sweep at its optimum, with its box and outcome."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, p))
    sign = np.where(Z @ rng.normal(size=p) + rng.normal(size=n) > 0, 1, -1)
    target = Target.of(Loss(slack, inequality), sign, weights, 0.05)
    sweep = Sweep(Design(rows_of(Z), constant=True), target)
    box = Box(np.r_[np.full(p, -bound), -4.0], np.r_[np.full(p, bound), 4.0])
    return sweep, box, minimise(sweep, box, tol=1e-13)


def deviation(estimate, refitted, trained):
    """Correlation, and the error's root mean square over the spread of the true shift."""
    error = np.sqrt(np.mean((estimate - refitted) ** 2))
    return np.corrcoef(estimate, refitted)[0, 1], error / np.std(refitted - trained)


def read(name):
    """Features and a label of 0 or 1 of a real set."""
    if name == "sonar":
        rows = np.loadtxt(real_data.path("sonar/sonar.all-data"), dtype=str, delimiter=",")
        return rows[:, :-1].astype(float), (rows[:, -1] == "M").astype(int)
    if name == "heart_cleveland":
        file = real_data.path("heart_cleveland/processed.cleveland.data")
        rows = np.loadtxt(file, dtype=str, delimiter=",")
        rows = rows[~(rows == "?").any(axis=1)].astype(float)
        return rows[:, :-1], (rows[:, -1] > 0).astype(int)
    if name == "banknote":
        file = real_data.path("banknote/data_banknote_authentication.txt")
        rows = np.loadtxt(file, delimiter=",")
        return rows[:, :-1], rows[:, -1].astype(int)
    rows = np.loadtxt(real_data.path("german_numeric/german.data-numeric"))
    return rows[:, :-1], (rows[:, -1] > 1).astype(int)


@pytest.mark.parametrize(
    ("name", "settings", "weighted"),
    [
        ("sonar", {}, False),
        ("heart_cleveland", {}, True),
        ("banknote", {"degree": 2}, False),
        ("german_numeric", {}, False),
        ("sonar", PAPER, False),
        ("sonar", PAPER | {"bound": 0.3, "slack": 0.01}, False),
        ("sonar", PAPER | {"bound": 5.0, "slack": 1.0}, True),
        ("heart_cleveland", PAPER, True),
        ("heart_cleveland", PAPER | {"bound": 0.3, "slack": 0.01}, False),
        ("heart_cleveland", PAPER | {"constraint": "inequality"}, True),
        ("banknote", PAPER | {"degree": 2}, False),
        ("banknote", PAPER | {"degree": 2, "bound": 0.3}, True),
        ("banknote", PAPER | {"degree": 2, "bound": 0.5, "slack": 1.0}, False),
        ("banknote", PAPER | {"degree": 2, "constraint": "inequality"}, False),
        ("banknote", PAPER | {"degree": 2, "bound": 5.0, "slack": 0.01}, True),
        ("german_numeric", PAPER, False),
        ("german_numeric", PAPER | {"bound": 5.0, "slack": 0.01}, False),
        ("german_numeric", PAPER | {"constraint": "inequality"}, True),
    ],
)
def test_against_fits_without_the_row(name, settings, weighted):
    X, y = read(name)
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.3, 3, len(y)) if weighted else np.ones(len(y))
    fitted = EntropicClassifier(**settings, tol=1e-11).fit(X, y, weights)
    chosen = rng.choice(len(y), 20, replace=False)
    refitted = []
    for row in chosen:
        without = weights.copy()
        without[row] = 0
        other = EntropicClassifier(**settings, tol=1e-11).fit(X, y, without)
        refitted.append(other.decision_function(X[[row]])[0])
    trained = fitted.decision_function(X[chosen])
    correlation, error = deviation(fitted.loo_decision_[chosen], np.array(refitted), trained)
    assert correlation >= 0.999
    assert error <= 0.1


@pytest.mark.parametrize("inequality", [False, True])
@pytest.mark.parametrize("slack", [0.03, 1.0])
def test_both_forms_are_one_newton_step_by_hand(monkeypatch, inequality, slack):
    weights = np.random.default_rng(1).uniform(0, 2, 90)
    weights[:5] = 0
    sweep, box, outcome = problem(slack=slack, inequality=inequality, weights=weights)
    Z = np.column_stack([sweep.design.rows.values, np.ones(90)])
    c, scale = outcome.evaluation.hessian_weights, box.inverse_hessian_root(outcome.state)
    newton = np.diag(1 / scale**2) + Z.T @ (c[:, None] * Z)
    by_hand = np.zeros(90)
    for i in range(90):
        without = newton - c[i] * np.outer(Z[i], Z[i])
        pointwise_gradient = weights[i] * outcome.evaluation.log_margins[i]
        by_hand[i] = pointwise_gradient * Z[i] @ np.linalg.solve(without, Z[i])
    for form in ("features", "samples"):
        monkeypatch.setattr(leave_one_out, "_form", lambda *state, form=form: form)
        found = influence(sweep, box, outcome)
        assert_allclose(found.shift(), by_hand, rtol=1e-8, atol=1e-12)
        assert found.exact
    assert_array_equal(found.shift()[:5], 0)  # rows of no weight score what they score


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_a_refit_scales_its_columns_anew(monkeypatch, degree):
    """Where the box holds the coefficients fast, most of the shift comes from the scaling."""
    rng = np.random.default_rng(4)
    X = rng.gamma(2.0, size=(400, 3))
    y = (X @ [1.0, -1.0, 0.2] + 0.3 * rng.normal(size=400) > 0.1).astype(int)
    settings = dict(PAPER, degree=degree, bound=0.1, tol=1e-12)
    fitted = EntropicClassifier(**settings).fit(X, y)
    monkeypatch.setattr(leave_one_out, "rescaling", lambda *state: None)
    plain = EntropicClassifier(**settings).fit(X, y).loo_decision_
    monkeypatch.undo()
    chosen = np.arange(0, 400, 20)
    refitted = []
    for row in chosen:
        other = EntropicClassifier(**settings).fit(np.delete(X, row, 0), np.delete(y, row))
        refitted.append(other.decision_function(X[[row]])[0])
    trained = fitted.decision_function(X[chosen])
    assert deviation(fitted.loo_decision_[chosen], np.array(refitted), trained)[1] <= 0.05
    assert deviation(plain[chosen], np.array(refitted), trained)[1] > 0.2


@pytest.mark.parametrize("slack", [0.1, 10.0])
@pytest.mark.parametrize(
    "shape, degree, seed", [((300, 600), 1, 1), ((300, 600), 1, 3), ((200, 40), 2, 3)]
)
def test_the_usual_goal_is_near_enough_for_wide_data(shape, degree, seed, slack):
    """A fit at the usual goal tells which rows are beyond the kink as one near rounding does."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape)
    y = X[:, :3].sum(axis=1) + rng.normal(size=len(X)) > 0
    settings = dict(degree=degree, slack=slack)
    usual = EntropicClassifier(**settings).fit(X, y).loo_decision_
    near = EntropicClassifier(**settings, tol=1e-14).fit(X, y).loo_decision_
    assert_allclose(usual, near, rtol=0, atol=1e-4 * np.std(near))


@pytest.mark.parametrize("bound", [2.0, 100.0])
@pytest.mark.parametrize("slack", [0.1, 10.0])
def test_the_usual_goal_is_near_enough_for_polynomials(slack, bound):
    """So it does where the box is wide, and where directions come of conjugate gradients."""
    X, y = load_breast_cancer(return_X_y=True)
    settings = dict(degree=2, slack=slack, bound=bound)
    usual = EntropicClassifier(**settings).fit(X, y).loo_decision_
    near = EntropicClassifier(**settings, tol=1e-14).fit(X, y).loo_decision_
    assert_allclose(usual, near, rtol=0, atol=1e-4 * np.std(near))


@pytest.mark.parametrize("slack", [1e-8, 1e-6, 1e-3])
@pytest.mark.parametrize("shape, degree", [((40, 120), 1), ((60, 60), 1), ((50, 12), 2)])
def test_the_usual_goal_is_near_enough_for_an_equality_of_little_slack(shape, degree, slack):
    """Multipliers are small in a wide box, and the scores that they make of left-out rows not."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=shape)
    y = X @ rng.normal(size=shape[1]) > 0
    settings = dict(degree=degree, slack=slack, constraint="equality", bound=100.0)
    usual = EntropicClassifier(**settings).fit(X, y).loo_decision_
    near = EntropicClassifier(**settings, tol=1e-14).fit(X, y).loo_decision_
    assert_allclose(usual, near, rtol=0, atol=1e-4 * np.std(near))


def test_the_projected_estimate_is_close(monkeypatch):
    sweep, box, outcome = problem(n=4000, p=12)
    exact = influence(sweep, box, outcome).shift()
    monkeypatch.setattr(leave_one_out, "_form", lambda *state: "projected")
    found = influence(sweep, box, outcome)
    assert not found.exact
    relative = found.shift() / exact - 1
    # sqrt(2/128) = 0.125 from the projection and some from the sample of rows
    assert abs(np.mean(relative)) < 0.1
    assert np.std(relative) < 0.25


def test_a_vanishing_denominator_is_bounded():
    """Rows of enormous weight are interpolated: 1 - a c is all rounding."""
    weights = np.ones(90)
    weights[:3] = 1e14
    sweep, box, outcome = problem(weights=weights)
    found = influence(sweep, box, outcome)
    Z = np.column_stack([sweep.design.rows.values, np.ones(90)])
    assert np.all(found.left > 0) and np.all(found.left <= 1)
    # without the row, its leverage is at most the one where there are no data at all
    free = np.square(Z * box.inverse_hessian_root(outcome.state)).sum(axis=1)
    bound = np.abs(weights * outcome.evaluation.log_margins) * free
    assert np.all(np.abs(found.shift()) <= bound * (1 + 1e-9))


@pytest.mark.parametrize("slack", [0.0, 1e-6])
def test_separable_and_exact(slack):
    rng = np.random.default_rng(2)
    X = np.r_[rng.normal(-2, 1, (40, 3)), rng.normal(2, 1, (40, 3))]
    y = np.repeat([0, 1], 40)
    settings = dict(PAPER, slack=slack, solver="spectral", standardize=False, tol=1e-10)
    fitted = EntropicClassifier(**settings).fit(X, y)
    chosen = np.arange(0, 80, 8)
    refitted = []
    for row in chosen:
        other = EntropicClassifier(**settings).fit(np.delete(X, row, 0), np.delete(y, row))
        refitted.append(other.decision_function(X[[row]])[0])
    trained = fitted.decision_function(X[chosen])
    correlation, error = deviation(fitted.loo_decision_[chosen], np.array(refitted), trained)
    assert correlation >= 0.999
    assert error <= 0.1


@pytest.mark.parametrize("degree", [1, 2])
def test_every_storage_and_solver_says_the_same(degree):
    rng = np.random.default_rng(5)
    X = rng.poisson(0.7, size=(120, 5)).astype(float)
    y = (X @ [1, -1, 0.5, 0, 1] + rng.normal(size=120) > 0.7).astype(int)
    base = EntropicClassifier(degree, standardize=False, tol=1e-12).fit(X, y)
    for other, rows in [
        ({}, sp.csr_matrix(X)),
        ({}, X.astype(np.float32)),
        ({}, np.asfortranarray(X)),
        ({"solver": "spectral", "tol": 1e-12}, X),
    ]:
        fitted = EntropicClassifier(degree, **{"standardize": False, "tol": 1e-12} | other)
        loose = 1e-4 if other else 1e-8
        assert_allclose(fitted.fit(rows, y).loo_decision_, base.loo_decision_, atol=loose)


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 300)), np.arange(40) % 2
    fitted = EntropicClassifier(tol=1e-11, standardize=False).fit(X, y)
    refitted = []
    for row in range(10):
        weights = np.ones(40)
        weights[row] = 0
        other = EntropicClassifier(tol=1e-11, standardize=False).fit(X, y, weights)
        refitted.append(other.decision_function(X[[row]])[0])
    trained = fitted.decision_function(X[:10])
    correlation, error = deviation(fitted.loo_decision_[:10], np.array(refitted), trained)
    assert correlation >= 0.999
    assert error <= 0.1


def test_counts_leave_one_observation_out():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), np.arange(50) % 2
    counts = rng.integers(0, 4, 50)
    counts[:2] = 1
    weighted = EntropicClassifier(tol=1e-12).fit(X, y, counts)
    repeated = EntropicClassifier(tol=1e-12).fit(np.repeat(X, counts, 0), np.repeat(y, counts))
    assert_allclose(weighted.band_, repeated.band_, atol=1e-8)
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-8)


def test_what_one_observation_is():
    counts = np.array([0.0, 1.0, 4.0])
    share, rows = observations(counts, counts * [1, 1, 2], 3)
    assert_allclose(share, [1, 1, 0.25])
    assert_allclose(rows, np.array([0, 1, 8]) * 5 / 9)
    share, rows = observations(counts / 5, counts / 5, 3)
    assert share == 1
    assert_allclose(rows.sum(), 2)  # rows of weight
    share, rows = observations(None, np.array([1e300]), 3)
    assert_allclose(rows, 1)


def test_rows_that_are_all_flat_say_what_they_would_say(capfd):
    design = Design(rows_of(np.full((2, 5), 10.0)), constant=True)
    sweep = Sweep(design, Target.of(Loss(0.1, True), 1, 1.0, -1e3))
    box = Box(np.full(6, -1.0), np.full(6, 1.0))
    found = influence(sweep, box, minimise(sweep, box))
    assert_array_equal(found.shift(), np.zeros(2))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("slack", [0.01, 0.1, 10.0])
@pytest.mark.parametrize("constraint", ["equality", "inequality"])
def test_the_solvers_last_curvature_serves_as_well_as_a_new_one(monkeypatch, slack, constraint):
    """Also where few rows fill a column, whose leverages a row on its way over the kink changes."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(3000, 4)), rng.random((3000, 12)) < 0.004])
    y = X @ rng.normal(size=16) + rng.logistic(size=3000) > 0
    shifts, kept = [], []
    curvature_at = CholeskyStep.curvature_at

    def watch(step, *arguments):
        kept.append(curvature_at(step, *arguments) is not None)
        return curvature_at(step, *arguments)

    monkeypatch.setattr(CholeskyStep, "curvature_at", watch)
    monkeypatch.setattr(newton, "QUICK", 0.0)  # quick steps bring the curvature with each read
    for seconds in (0.0, np.inf):
        monkeypatch.setattr(newton, "WORTH_KEEPING", seconds)
        fitted = EntropicClassifier(slack=slack, constraint=constraint).fit(X, y)
        shifts.append(fitted.loo_decision_ - fitted.decision_function(X))
    assert kept == [True]
    assert_allclose(*shifts, rtol=1e-3, atol=1e-4 * np.max(np.abs(shifts[1])))
