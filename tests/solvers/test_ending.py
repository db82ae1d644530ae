"""The ending: gaps are never below those of wider arithmetic, and decide the status."""

import warnings

import certificate
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from entropic import solve
from entropic.features.design import Design
from entropic.features.monomials import Monomials
from entropic.features.scaling import design_of
from entropic.kernels.backend import sweeps
from entropic.kernels.box import Box
from entropic.kernels.loss import Loss
from entropic.rows import rows_of
from entropic.rows.sweep import Evaluation, Sweep
from entropic.rows.target import Target
from entropic.solvers.ending import Ending, Goal, SampleSums, conclude
from entropic.solvers.newton import newton
from entropic.solvers.newton_steps import choose_step
from entropic.solvers.outcome import Status
from entropic.solvers.problem import minimise

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4))
SIGN = np.where(X[:, 0] + RNG.standard_normal(60) > 0, 1, -1)


def recomputed(outcome, rows, box, slack):
    box = dict(lower=box.lower, upper=box.upper, entropy_weight=box.entropy_weight)
    problem = certificate.Problem.of(rows, slack=slack, **box)
    return certificate.gap(problem, outcome.coef, outcome.multipliers)


def expanded(design):
    """The signed design rows, as the sums of the sweep have them but in wider arithmetic."""
    rows = design.rows.block(0, design.n_samples)
    rows = np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.longdouble)
    if design.mean is not None:
        rows = rows - design.mean
    if design.scale is not None:
        rows = rows / design.scale
    return SIGN[:, None] * (np.c_[rows, np.ones(len(rows))] if design.constant else rows)


@pytest.mark.parametrize("solver", ["auto", "spectral"])
@pytest.mark.parametrize("alpha", [1.0, 1e-6, 1e-12])
@pytest.mark.parametrize("bound", [1.0, 1e4, 1e8, 1e12])
@pytest.mark.parametrize("kind", ["dense", "dense 2", "raw 2", "sparse", "sparse 2", "raw sparse"])
def test_no_gap_below_the_true_one(kind, bound, alpha, solver):
    values = X * [1.0, 100.0, 1e-3, 5.0] + [0.0, 30.0, 0.0, 1.0]
    rows = sp.csr_array(np.where(np.abs(X) > 0.5, values, 0)) if "sparse" in kind else values
    degree = 2 if "2" in kind else 1
    monomials = Monomials(degree)
    design = design_of(rows, np.ones(1), monomials, scaled="raw" not in kind, constant=True)
    box = Box(np.full(design.n_features, -bound), np.full(design.n_features, bound), alpha)
    sweep = Sweep(design, Target.of(Loss(0.01), SIGN))
    try:
        outcome = minimise(
            sweep, box, solver=solver, tol=1e-12, max_iter=300 if solver == "spectral" else None
        )
    except ValueError as error:
        assert "must not pass" in str(error)
        return
    true = recomputed(outcome, expanded(design), box, 0.01)
    assert true <= 1.01 * outcome.dual_gap + 1e-17 * abs(outcome.objective)
    if outcome.converged:
        assert true <= 1.01e-12 * 60


def test_a_rounding_above_the_goal_is_said():
    D = SIGN[:, None] * X
    box = dict(lower=-1e6, upper=1e6, entropy_weight=1e-12, slack=0.1)
    outcome = solve(D, tol=1e-16, **box)
    assert outcome.status is Status.PRECISION and f"{outcome.dual_gap:.1e}" in outcome.message
    assert certificate.gap(certificate.Problem.of(D, **box), outcome.coef, outcome.multipliers) < (
        outcome.dual_gap
    )
    assert solve(D, tol=1e-4, **box).converged


def test_a_box_without_room_for_digits_is_refused():
    with pytest.raises(ValueError, match="too close for their size"):
        solve(X, lower=1.0, upper=1.0 + 1e-12, slack=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert solve(X, lower=1.0, upper=1.0 + 1e-6, slack=0.1).converged


@pytest.mark.parametrize("slack", [0, 1e-8, 0.1])
@pytest.mark.parametrize("max_iter", [1, 2, 5])
def test_no_more_steps_than_allowed(max_iter, slack):
    outcome = solve(SIGN[:, None] * X, slack=slack, max_iter=max_iter)
    assert outcome.n_iter <= max_iter
    assert outcome.converged or outcome.status in (Status.MAX_ITER, Status.NOT_SEPARABLE)


def test_rows_that_ask_for_more_than_the_box_holds():
    asked = RNG.standard_normal(60)
    outcome = solve(1e-140 * X, offset=asked, slack=0)
    assert outcome.status is Status.NOT_SEPARABLE
    assert outcome.margin_bound <= -asked.max() + 1e-9


@pytest.mark.parametrize("slack", [0.0, 0.1])
@pytest.mark.parametrize("solver", ["auto", "spectral"])
def test_the_separation_is_no_more_than_the_rows_show(solver, slack):
    # next to an offset of 7e8, 1e-7 is rounded to 1.2e-7
    outcome = solve([[1e-7]], lower=0.9, upper=1, offset=-7e8, slack=slack, solver=solver, tol=0.1)
    assert outcome.separation <= 1e-7 * outcome.coef[0]


def test_residuals_whose_squares_overflow_are_finite():
    rows = [[3.0, -5.0], [90.0, 1.0]]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        outcome = solve(
            rows, weights=1e-301, offset=3e7, slack=1e12, solver="spectral", max_iter=200
        )
    assert np.isfinite(outcome.residual_norm)


# ------------------------------------------------------------------- the stopping test


def breast_cancer_at(slack):
    data = load_breast_cancer()
    X = StandardScaler().fit_transform(data.data)
    rows = np.where(data.target, 1.0, -1.0)[:, None] * np.c_[X, np.ones(len(X))]
    sweep = Sweep(Design(rows_of(rows)), Target.of(Loss(slack)))
    return sweep, Box(-np.ones(31), np.ones(31))


@pytest.mark.parametrize("slack", [1e-12, 1e-6, 0.1])
def test_newton_ends_at_no_point_that_proves_less_than_one_before(slack):
    """From a solution near by; a slack of 1e-12 magnifies rounding until the gap is made of it."""
    sweep, box = breast_cancer_at(slack)
    start = minimise(sweep, box, tol=1e-9).state
    for tol in 10.0 ** np.arange(-3.0, -10.0, -0.5):
        goal = Goal(sweep, box, tol)
        step = choose_step(sweep)
        ending = newton(sweep, box, step, tol=tol, max_iter=50, start=start, goal=goal)
        gap = box.gap(ending.state, -ending.evaluation.gradient)
        assert gap <= max(min(ending.history["gap"]), goal.gap)
        certificate_of_ending = goal.certify(ending.state, ending.evaluation)
        assert (ending.stopped is Status.CONVERGED) == certificate_of_ending.reached


def test_the_status_is_that_of_the_certificate():
    sweep, box = breast_cancer_at(0.1)
    history = {"gap": [1.0], "objective": [1.0]}
    state = minimise(sweep, box, tol=1e-12).state
    for moved, stopped, expected in [
        (0.0, Status.PRECISION, Status.CONVERGED),
        (0.0, Status.MAX_ITER, Status.CONVERGED),
        (0.0, Status.INTERRUPTED, Status.INTERRUPTED),
        (0.1, Status.CONVERGED, Status.PRECISION),
        (0.1, Status.MAX_ITER, Status.MAX_ITER),
    ]:
        evaluation = sweep.evaluate(box.coef(state + moved), samples=True)
        ending = Ending(state + moved, evaluation, stopped, "any", 3, history)
        outcome = conclude(Goal(sweep, box, 1e-8), ending)
        assert outcome.status is expected
        assert (outcome.dual_gap <= 1e-8 * 569) == (moved == 0)
        assert f"{outcome.dual_gap:.1e}" in outcome.message


def test_given_multipliers_are_charged_for_what_they_lack():
    sweep, box = breast_cancer_at(0.1)
    outcome = minimise(sweep, box, tol=1e-12)
    x = outcome.multipliers * np.linspace(0.9, 1.1, 569)
    found = Goal(sweep, box, 1e-8).certify(outcome.state, outcome.evaluation, x)
    rows = sweep.design.rows.values
    true = certificate.gap(certificate.Problem.of(rows, slack=0.1), outcome.coef, x)
    assert true > 1e-3
    assert abs(found.dual_gap - true) <= 1e-9 * true


def test_evaluations_do_not_change():
    sweep, box = breast_cancer_at(0.1)
    evaluation = sweep.evaluate(np.zeros(31), samples=True)
    kept = {name: np.copy(value) for name, value in vars(evaluation).items() if value is not None}
    sweep.evaluate(np.ones(31), samples=True)
    minimise(sweep, box)
    for name, value in kept.items():
        np.testing.assert_array_equal(getattr(evaluation, name), value)
    with pytest.raises(AttributeError):
        evaluation.value = 0.0


@pytest.mark.parametrize("n_samples", [1, 7, 1024, 100_001])
@pytest.mark.parametrize("inequality", [False, True])
@pytest.mark.parametrize("drawn", [False, True])
def test_sums_over_samples_are_those_of_numpy(monkeypatch, n_samples, inequality, drawn):
    rng = np.random.default_rng(n_samples)
    t, loss = 2 * rng.normal(size=n_samples), Loss(0.5, inequality)
    weights = np.append(1.0, rng.integers(0, 3, n_samples - 1)) if drawn else 2.0
    offset = rng.normal(size=n_samples) * (rng.random(n_samples) < 0.5) if drawn else 0.0
    target = Target.of(loss, 1, weights, offset)
    evaluation = Evaluation(
        np.zeros(1), 0.0, np.zeros(1), functional_margins=t, log_margins=loss.log_margin(t)
    )
    found = []
    for n_threads in (1, 2, 3):
        sweep = Sweep(Design(rows_of(np.zeros((n_samples, 1)))), target, n_threads)
        found.append(SampleSums()(sweep, evaluation)[0])
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()
    monkeypatch.setattr(sweeps, "sample_sums", lambda *_: None)
    assert_allclose(found[0], SampleSums()(sweep, evaluation)[0], rtol=1e-13)
