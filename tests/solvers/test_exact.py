"""Any slack down to none: paths, proofs, and where they end."""

import certificate
import numpy as np
import paper_sets
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.datasets import make_circles
from sklearn.exceptions import ConvergenceWarning

from entropic import EntropicClassifier, separability, solve
from entropic.solvers.outcome import Status
from entropic.solvers.primal_dual.kkt import PATIENCE

SETS = {name: load() for name, (_, load) in paper_sets.SETS.items()}
DESIGNS = {
    f"{name}, degree {degree}": paper_sets.signed_design(name, degree)
    for name in SETS
    for degree in ((1,) if name == "breast cancer" else (1, 4))
}


@pytest.mark.parametrize("constraint", ["equality", "inequality"])
@pytest.mark.parametrize("slack", [1e-12, 1e-8, 1e-4, 1e4, 1e12])
@pytest.mark.parametrize("name", DESIGNS)
def test_any_slack_converges(name, slack, constraint):
    D = DESIGNS[name]
    # at 1e-12 a rounding of D w is a hundredth of a logarithm of the margin
    tol = 1e-6 if slack == 1e-12 else 1e-8
    outcome = solve(D, slack=slack, constraint=constraint, tol=tol)
    certificate.check(certificate.Problem.of(D, slack=slack, constraint=constraint), outcome, tol)
    assert outcome.n_iter <= 80


@pytest.mark.parametrize("constraint", ["equality", "inequality"])
def test_a_goal_below_what_newtons_multipliers_can_prove(constraint):
    # ln b magnifies the rounding of D w so much that Newton alone ends at 4e-8 and 8e-8 a sample
    D = DESIGNS["breast cancer, degree 1"]
    outcome = solve(D, slack=1e-12, constraint=constraint, tol=1e-8)
    assert outcome.converged
    certificate.check(certificate.Problem.of(D, slack=1e-12, constraint=constraint), outcome, 1e-8)


@pytest.mark.parametrize("constraint", ["equality", "inequality"])
@pytest.mark.parametrize("bound", [1e-6, 1e-3, 30.0, 1e3, 1e6])
@pytest.mark.parametrize("name", ["blobs, degree 4", "circles, degree 1", "moons, degree 4"])
def test_any_box_converges(name, bound, constraint):
    D = DESIGNS[name]
    box = dict(lower=-bound, upper=bound)
    for slack in (0.1, 1e-4):
        outcome = solve(D, slack=slack, constraint=constraint, **box)
        problem = certificate.Problem.of(D, slack=slack, constraint=constraint, **box)
        certificate.check(problem, outcome, 1e-8)
        assert outcome.n_iter <= 120


@pytest.mark.parametrize("constraint", ["equality", "inequality"])
@pytest.mark.parametrize("name", DESIGNS)
def test_the_exact_constraint_or_a_proof_that_it_cannot_be_met(name, constraint):
    D = DESIGNS[name]
    m, n = D.shape
    outcome = solve(D, slack=0, constraint=constraint)
    program = linprog(
        np.r_[np.zeros(n), -1.0],
        A_ub=np.c_[-D, np.ones(m)],
        b_ub=np.zeros(m),
        bounds=[(-1, 1)] * n + [(None, None)],
    )
    best = -program.fun
    if best > 1e-6:
        certificate.check(certificate.Problem.of(D, slack=0, constraint=constraint), outcome, 1e-8)
    else:
        assert outcome.status is Status.NOT_SEPARABLE
        assert best - 1e-9 <= outcome.margin_bound <= 1e-7
        assert f"{outcome.margin_bound:.1e}" in outcome.message and "slack" in outcome.message
        assert np.all(np.isfinite(outcome.coef)) and np.all(np.isfinite(outcome.multipliers))


@pytest.mark.parametrize("constraint", ["equality", "inequality"])
def test_a_goal_below_rounding_keeps_the_best_gap(constraint):
    D = DESIGNS["breast cancer, degree 1"]
    outcome = solve(D, slack=0, constraint=constraint, tol=1e-16)
    assert outcome.status is Status.PRECISION
    assert outcome.dual_gap <= 1e-13 * len(D)
    mark, last = np.inf, 0
    for step, gap in enumerate(outcome.history["gap"]):
        if gap < 0.5 * mark:
            mark, last = gap, step
    # it is rounding that decides when the gap halves for the last time
    assert last < 70 and outcome.n_iter <= last + PATIENCE + 2


@pytest.mark.parametrize("constraint", ["equality", "inequality"])
@pytest.mark.parametrize("slack", [0, 1e-12, 1e-8, 1e-3, 0.1, 10.0])
@pytest.mark.parametrize("name", ["breast cancer, degree 1", "moons, degree 4", "blobs, degree 1"])
def test_tightening_tol_turns_no_later_success_into_an_earlier_failure(name, slack, constraint):
    tols = 10.0 ** np.arange(-2, -16, -1)
    problem = dict(slack=slack, constraint=constraint)
    reached = [solve(DESIGNS[name], tol=tol, **problem).converged for tol in tols]
    first_failure = reached.index(False) if False in reached else len(tols)
    assert not any(reached[first_failure:]), dict(zip(tols, reached, strict=True))
    assert first_failure > 8


def test_margins_far_below_the_smallest_double():
    # pressed to exp(-x) with x in the hundreds, where D w itself is nothing but rounding
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 6))
    D = np.sign(X @ np.ones(6))[:, None] * X
    D[0] = 1e-3 * D[0] - 0.2 * D[1]
    outcome = solve(D, slack=0, lower=-0.5, upper=0.5, entropy_weight=300.0, tol=1e-10)
    proof = separability(np.r_[D, -D], np.r_[np.ones(40), np.zeros(40)], fit_intercept=False)
    assert proof.separable is not None
    if proof.separable:
        assert outcome.converged
        assert np.max(outcome.multipliers) > 100
    else:
        assert outcome.status is Status.NOT_SEPARABLE


def test_the_estimator_warns_with_the_proof_and_keeps_a_model():
    X, y = make_circles(200, noise=0.1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="No coefficients in the box separate.*slack > 0"):
        model = EntropicClassifier(constraint="equality", slack=0).fit(X, y)
    assert model.status_ == "not_separable" and not model.converged_
    assert np.all(np.isfinite(model.decision_function(X)))
    assert set(model.predict(X)) <= {0, 1}


def test_a_step_limit_is_kept():
    outcome = solve(DESIGNS["moons, degree 4"], slack=0, max_iter=2)
    assert outcome.status is Status.MAX_ITER and outcome.n_iter <= 2


# ------------------------------------------------------------------ separability


def exact_margin(D, bound, last):
    m, n = D.shape
    bounds = [(-bound, bound)] * (n - 1) + [(-last, last), (None, None)]
    found = linprog(
        np.r_[np.zeros(n), -1.0], A_ub=np.c_[-D, np.ones(m)], b_ub=np.zeros(m), bounds=bounds
    )
    return -found.fun


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_the_bracket_holds_the_linear_programs_optimum(degree, name):
    if name == "breast cancer" and degree > 2:
        pytest.skip("a linear program of 5,456 columns takes HiGHS minutes")
    X, y = SETS[name]
    found = separability(X, y, degree=degree)
    D = paper_sets.signed_design(name, degree)
    best = exact_margin(D, 1.0, 4.0)
    size = np.sum(np.abs(D), axis=1).max() * 4
    assert found.margin <= best + 1e-9 * size and best <= found.margin_bound + 1e-9 * size
    assert found.margin_bound - max(found.margin, 0) <= 1e-6 * size
    assert found.separable is (best > 1e-7)
    # the proofs, recomputed
    reached = np.min(D @ found.coef)
    assert abs(reached - found.margin) <= 1e-9 * size
    assert np.all(found.multipliers >= 0)
    box = np.r_[np.ones(D.shape[1] - 1), 4.0]
    bound = box @ np.abs(D.T @ found.multipliers) / np.sum(found.multipliers)
    assert abs(bound - found.margin_bound) <= 1e-9 * size


def test_points_with_both_labels():
    rng = np.random.default_rng(0)
    X = np.r_[rng.standard_normal((200, 5)) + np.repeat([[-5], [5]], 100, axis=0), np.zeros((2, 5))]
    y = np.r_[np.zeros(100), np.ones(100), 0, 1]
    found = separability(X, y)
    assert found.separable is False and found.margin_bound <= found.tolerance
    left_out = separability(X, y, sample_weight=np.r_[np.ones(201), 0])
    assert left_out.separable is True and left_out.multipliers[-1] == 0


@pytest.mark.parametrize("name", ["circles", "blobs", "breast cancer"])
def test_positive_weights_say_nothing_of_the_margin(name):
    X, y = SETS[name]
    plain = separability((X - X.mean(axis=0)) / X.std(axis=0), y, standardize=False)
    for spread in (1, 8, 150):
        weights = 10.0 ** np.random.default_rng(0).uniform(-spread, spread, len(y))
        X_scaled = (X - X.mean(axis=0)) / X.std(axis=0)
        found = separability(X_scaled, y, standardize=False, sample_weight=weights)
        assert found.separable is plain.separable is not None
        assert found.margin_bound == plain.margin_bound and found.margin == plain.margin


@pytest.mark.parametrize("constraint", ["equality", "inequality"])
@pytest.mark.parametrize("name", ["moons, degree 1", "circles, degree 1", "one row"])
def test_multipliers_on_the_way_prove_that_nothing_separates(name, constraint, monkeypatch):
    def too_late(*arguments):
        raise AssertionError("the pair's own multipliers prove it")

    monkeypatch.setattr("entropic.solvers.exact.bracket_margin", too_late)
    D = DESIGNS.get(name)
    if D is None:
        # one row on the wrong side of classes that keep a distance
        X = np.random.default_rng(0).normal(size=(400, 3))
        D = np.sign(X[:, :1]) * X + np.array([0.1, 0, 0])
        D[0] *= -1
    outcome = solve(D, slack=0, constraint=constraint)
    assert outcome.status is Status.NOT_SEPARABLE
    assert outcome.n_iter <= 40
    # the largest margin of the box by a linear program
    n_samples, n_features = D.shape
    program = linprog(
        np.append(np.zeros(n_features), -1.0),
        np.column_stack([-D, np.ones(n_samples)]),
        np.zeros(n_samples),
        bounds=[(-1, 1)] * n_features + [(None, None)],
    )
    assert -program.fun <= outcome.margin_bound <= 1e-8


def test_what_cancels_is_no_proof():
    """Two points are separable, also where subtracting the mean of sparse columns hides it."""
    X = np.random.default_rng(0).standard_normal((2, 8))
    for shift in (0.0, 1e4, 1e8, 1e10):
        found = separability(sp.csr_array(X + shift), [0, 1], standardize=True)
        assert found.separable is not False
        assert found.tolerance < 1e-7
        assert separability(X + shift, [0, 1]).separable is True


def test_sparse_and_dense_agree():
    X = sp.random(300, 40, 0.2, random_state=0, format="csr")
    y = np.asarray(X @ np.linspace(-1, 1, 40) > 0)
    dense = separability(X.toarray(), y, standardize=False)
    sparse = separability(X, y)
    assert dense.separable is sparse.separable is True
    assert abs(dense.margin_bound - sparse.margin_bound) < 1e-5


def test_the_callers_arrays_stay_as_they_are():
    matrix = sp.csr_array((np.array([1.0, 2.0, -3.0, 1.0]), [1, 1, 0, 0], [0, 2, 4]), shape=(2, 2))
    before = matrix.data.copy(), matrix.indices.copy(), matrix.indptr.copy()
    separability(matrix, [0, 1])
    for part, whole in zip(before, (matrix.data, matrix.indices, matrix.indptr), strict=True):
        np.testing.assert_array_equal(part, whole)


def test_more_columns_than_rows_always_separate():
    rng = np.random.default_rng(0)
    found = separability(rng.standard_normal((30, 100)), rng.integers(0, 2, 30))
    assert found.separable is True


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"one class|two"):
        separability(np.eye(3), np.zeros(3))
    with pytest.raises(ValueError, match="NaN"):
        separability(np.array([[np.nan], [1.0]]), [0, 1])
    with pytest.raises(ValueError, match="degree"):
        separability(np.eye(2), [0, 1], degree=0)
