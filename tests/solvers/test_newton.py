"""Newton's steps: every kind of linear algebra reaches one optimum, and the cheapest is chosen."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, make_circles, make_moons
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from entropic.features.design import Design
from entropic.kernels.backend import Box
from entropic.kernels.loss import Loss
from entropic.rows import rows_of
from entropic.rows.sweep import Sweep
from entropic.rows.target import Target
from entropic.solvers.newton import _Search, newton
from entropic.solvers.newton_steps import (
    CholeskyStep,
    ConjugateGradientStep,
    DualStep,
    choose_step,
)
from entropic.solvers.outcome import Status
from entropic.solvers.problem import minimise
from entropic.solvers.secant import SecantStep
from entropic.solvers.step import Model

STEPS = {
    "cholesky": lambda sweep: CholeskyStep(),
    "secant": lambda sweep: SecantStep(CholeskyStep(), max(1, sweep.n_samples // 4)),
    "secant, then cg": lambda sweep: SecantStep(
        ConjugateGradientStep(sweep.work, None), max(1, sweep.n_samples // 4)
    ),
    "dual": lambda sweep: DualStep(),
    "cg": lambda sweep: ConjugateGradientStep(sweep.work, None),
    "cg, then cholesky": lambda sweep: ConjugateGradientStep(sweep.work, "cholesky"),
    "cg, then dual": lambda sweep: ConjugateGradientStep(sweep.work, "dual"),
}
SETTINGS = {
    "plain": {},
    "inequality": {"inequality": True},
    "zero weights": {"weights": "some zero"},
    "boxes": {"lower": "varied", "upper": "varied"},
    "offset": {"offset": 0.3},
    "small slack": {"slack": 1e-2},
    "large slack, wide box": {"slack": 10.0, "lower": -20.0, "upper": 20.0},
    "inequality, zero weights, boxes": {
        "inequality": True,
        "weights": "some zero",
        "lower": "varied",
        "upper": "varied",
    },
}


def problem(
    X,
    y,
    *,
    slack=0.1,
    inequality=False,
    weights=1.0,
    offset=0.0,
    lower=-1.0,
    upper=1.0,
    alpha=1.0,
    scaled=True,
):
    """A sweep and a box; "varied" bounds and weights that are "some zero" are drawn."""
    rng = np.random.default_rng(7)
    n_samples, n_columns = X.shape
    mean = scale = None
    if scaled:
        dense = X.toarray() if sp.issparse(X) else X
        mean, scale = dense.mean(axis=0), dense.std(axis=0) + 0.1
    design = Design(rows_of(X), mean, scale, constant=True)
    if isinstance(weights, str):
        weights = rng.integers(0, 4, n_samples).astype(float)
    n = n_columns + 1
    lower = -rng.uniform(0.1, 2, n) if isinstance(lower, str) else np.full(n, lower)
    upper = rng.uniform(0.1, 2, n) if isinstance(upper, str) else np.full(n, upper)
    loss = Loss(slack, inequality)
    target = Target.of(loss, np.where(y, 1, -1), weights, offset)
    return Sweep(design, target), Box(lower, upper, alpha)


def data(storage, n_samples=150, n_columns=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_columns)) * (rng.random((n_samples, n_columns)) < 0.6)
    y = X[:, :4].sum(axis=1) + rng.normal(size=n_samples) > 0
    return (sp.csr_array(X) if storage == "csr" else X), y


def run(sweep, box, step, **options):
    """State and ending of Newton's method."""
    ending = newton(sweep, box, step, **options)
    return ending.state, ending


def true_gap(X, y, sweep, box, state):
    """F + G from the raw arrays, by their definitions."""
    target, design = sweep.target, sweep.design
    Z = X.toarray() if sp.issparse(X) else X
    D = np.column_stack([(Z - design.mean) / design.scale, np.ones(len(Z))])
    D *= np.where(y, 1.0, -1.0)[:, None]
    weights = np.broadcast_to(target.weights, len(Z))
    t = D @ box.coef(state) - target.offset
    slope = target.loss.log_margin(t)
    multipliers = -weights * slope
    primal = box.value(state) + weights @ target.loss.value(slope)
    dual = box.conjugate(D.T @ multipliers) + target.loss.conjugate(multipliers, weights)
    return primal + dual - float(multipliers @ np.broadcast_to(target.offset, len(Z)))


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("step", STEPS)
def test_every_step_reaches_the_optimum(step, storage, settings):
    X, y = data(storage)
    sweep, box = problem(X, y, **settings)
    state, report = run(sweep, box, STEPS[step](sweep), tol=1e-20, max_iter=200)
    reference, reference_box = problem(X, y, **settings)
    best, _ = run(reference, reference_box, CholeskyStep(), tol=1e-20, max_iter=200)
    assert report.stopped in (Status.CONVERGED, Status.PRECISION)
    assert_allclose(box.coef(state), box.coef(best), rtol=0, atol=1e-9)
    assert abs(true_gap(X, y, sweep, box, state)) <= 1e-10 * sweep.total_weight


@pytest.mark.parametrize("shape", [(40, 300), (300, 40)])
@pytest.mark.parametrize("step", STEPS)
def test_wide_and_tall_data(step, shape):
    X, y = data("csr", *shape)
    sweep, box = problem(X, y)
    state, report = run(sweep, box, STEPS[step](sweep), tol=1e-18, max_iter=100)
    assert report.stopped is Status.CONVERGED
    assert abs(true_gap(X, y, sweep, box, state)) <= 1e-11 * sweep.total_weight


@pytest.mark.parametrize("inequality", [False, True])
def test_sampled_and_stale_factors_serve_many_rows(inequality):
    X, y = data("dense", 3000, 30)
    sweep, box = problem(X, y, inequality=inequality)
    step = ConjugateGradientStep(sweep.work, "cholesky")
    # as if a curvature cost many sweeps, which it does from some hundred columns on
    step._price = {"sample": 2 * sweep.work.sweep, "cholesky": 15 * sweep.work.sweep}.get
    state, report = run(sweep, box, step, tol=1e-12, max_iter=100)
    assert report.stopped is Status.CONVERGED
    assert step.n_samples_taken > 0
    assert abs(true_gap(X, y, sweep, box, state)) <= 1.1e-12 * sweep.total_weight


@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_every_step_takes_a_factor_where_few_rows_are_before_the_kink(storage):
    X, _ = data(storage, 8000, 200)
    y = X[:, :4].sum(axis=1) > 4
    sweep, box = problem(X, y, slack=10.0, inequality=True, upper=4.0, lower=-4.0)
    step = ConjugateGradientStep(sweep.work, "cholesky")
    assert step._price("cholesky") > 6 * sweep.work.sweep
    state, report = run(sweep, box, step, tol=1e-12, max_iter=100)
    assert report.stopped is Status.CONVERGED
    assert np.mean(report.evaluation.hessian_weights > 0) < 0.3
    last = report.history["linear"][-6:], report.history["inner"][-6:]
    assert last == (["cholesky"] * 6, [0] * 6)
    assert abs(true_gap(X, y, sweep, box, state)) <= 1.1e-12 * sweep.total_weight


def test_chord_steps_cost_one_sweep_each():
    X, y = data("dense", 2000, 20)
    sweep, box = problem(X, y)
    step = ConjugateGradientStep(sweep.work, "cholesky")
    first, _ = run(sweep, box, CholeskyStep(), tol=1e-12, max_iter=50)
    at = sweep.evaluate(box.coef(first), samples=True)
    root = box.inverse_hessian_root(first)
    step._make("cholesky", sweep, Model(root, box.slope(first), at.hessian_weights, None, at.coef))
    step.chord, sweep.reads.count = True, 0
    state, report = run(sweep, box, step, tol=1e-12, max_iter=50, start=first + 1e-3)
    assert report.stopped is Status.CONVERGED
    chords = report.history["linear"].count("chord")
    assert chords >= 2
    assert sweep.reads.count == 1 + chords + sum(1 + n for n in report.history["inner"] if n)
    assert_allclose(box.coef(state), box.coef(first), rtol=0, atol=1e-6)


PAPER = {
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "breast cancer, quadratic": lambda: raised(load_breast_cancer(return_X_y=True), 2),
    "circles, cubic": lambda: raised(make_circles(500, noise=0.1, factor=0.5, random_state=0), 3),
    "moons, cubic": lambda: raised(make_moons(500, noise=0.2, random_state=0), 3),
}


def raised(Xy, degree):
    X, y = Xy
    X = StandardScaler().fit_transform(X)
    return PolynomialFeatures(degree, include_bias=False).fit_transform(X), y


@pytest.mark.parametrize("name", PAPER)
def test_steps_are_few(name):
    """4 to 15 steps at slack 0.1 (docs/mathematics.md, section 3.3)."""
    X, y = PAPER[name]()
    X = StandardScaler().fit_transform(X)
    sweep, box = problem(X, y == 1, scaled=False)
    _, report = run(sweep, box, CholeskyStep(), tol=1e-10, max_iter=50)
    assert report.stopped is Status.CONVERGED
    assert 4 <= report.n_iter <= 15
    assert report.history["step"].count(1.0) >= report.n_iter - 2


def test_the_kink_of_the_inequality_is_crossed_in_few_steps():
    """Wide data, where most rows end near t = 1: backtracking alone took about 40 steps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2000))
    y = X[:, :20].sum(axis=1) > 0
    sweep, box = problem(X, y, inequality=True, scaled=False)
    step = ConjugateGradientStep(sweep.work, None)
    _, report = run(sweep, box, step, tol=1e-8, max_iter=100)
    assert report.stopped is Status.CONVERGED
    assert report.n_iter <= 15


def test_a_direction_computed_anew_begins_at_the_one_before():
    X, y = data("dense", 300, 400)
    sweep, box = problem(X, y)
    at = sweep.evaluate(np.zeros(401), samples=True)
    root = box.inverse_hessian_root(np.zeros(401))
    model = Model(root, at.gradient, at.hessian_weights, None, at.coef)
    weights = at.hessian_weights.copy()
    weights[::50] *= 3
    changed = replace(model, hessian_weights=weights)
    found, inner = [], []
    for models in ((changed,), (model, changed)):
        step = ConjugateGradientStep(sweep.work, None)
        for each in models:
            p, bent = step.direction(sweep, each, 1e-10, 1e-12)
        found.append(p)
        inner.append(step.figures["inner"])
        assert_allclose(bent, sweep.hessp(weights, root * p), rtol=1e-10, atol=1e-10)
    assert_allclose(found[1], found[0], rtol=0, atol=1e-4 * np.linalg.norm(found[0]))
    assert inner[1] < inner[0]


@pytest.mark.parametrize("step", STEPS)
def test_warm_start_is_at_the_end(step):
    X, y = data("dense")
    sweep, box = problem(X, y)
    state, _ = run(sweep, box, STEPS[step](sweep), tol=1e-10, max_iter=100)
    _, report = run(sweep, box, STEPS[step](sweep), tol=1e-8, max_iter=100, start=state)
    assert report.stopped is Status.CONVERGED
    assert report.n_iter <= 2


@pytest.mark.parametrize("step", STEPS)
def test_saturated_coefficients_keep_their_state(step):
    """At a start far out on the bounds tanh is 1 to the last bit; the way back must be found."""
    X, y = data("dense")
    sweep, box = problem(X, y)
    best, _ = run(sweep, box, CholeskyStep(), tol=1e-16, max_iter=100)
    start = np.where(np.arange(len(best)) % 2, 40.0, -40.0)
    assert np.all(np.abs(np.tanh(start)) == 1)
    state, report = run(sweep, box, STEPS[step](sweep), tol=1e-16, max_iter=200, start=start)
    assert report.history["gap"][-1] <= 1e-10
    assert_allclose(box.coef(state), box.coef(best), rtol=0, atol=1e-6)


def test_a_coefficient_pressed_against_its_bound():
    """A strong pull saturates the coefficient; the gap still proves the optimum."""
    X = np.ones((50, 1))
    sweep, box = problem(X, np.ones(50, bool), weights=1e6, upper=1e-3, lower=-1e-3, scaled=False)
    state, report = run(sweep, box, CholeskyStep(), tol=1e-12, max_iter=100)
    assert report.stopped is Status.CONVERGED
    assert state[0] > 19  # 1 - tanh u is below the rounding of 1
    assert_allclose(box.coef(state)[0], 1e-3, rtol=1e-12)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (2, 2)])
def test_the_smallest_problems(step, shape):
    X = np.random.default_rng(0).normal(size=shape)
    sweep, box = problem(X, np.arange(shape[0]) % 2 == 0, scaled=False)
    _, report = run(sweep, box, STEPS[step](sweep), tol=1e-14, max_iter=50)
    assert report.stopped is Status.CONVERGED


@pytest.mark.parametrize("size", [1e9, 1e8, 1e-8, 1e-150, 5e-324])
def test_entries_of_any_size_end_finite_and_silent(size):
    X, y = data("dense", 60, 4)
    X[:, 1] *= size
    X[:, 3] = X[:, 1]  # and a column twice
    sweep, box = problem(X, y, scaled=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        outcome = minimise(sweep, box, tol=1e-8)
    for values in (outcome.coef, outcome.multipliers, outcome.margins, outcome.dual_gap):
        assert np.all(np.isfinite(values))
    assert outcome.converged or outcome.status is Status.PRECISION


def test_columns_of_wild_scales_converge_unscaled():
    X, y = data("dense", 200, 6)
    X *= 10.0 ** np.arange(-6, 6, 2)
    sweep, box = problem(X, y, scaled=False)
    outcome = minimise(sweep, box, tol=1e-10)
    assert outcome.converged
    assert outcome.n_iter <= 40


def test_callback_sees_and_stops_every_step():
    X, y = data("dense")
    sweep, box = problem(X, y)
    seen = []

    def stop(figures):
        seen.append(figures)
        return len(seen) == 3

    _, report = run(sweep, box, CholeskyStep(), tol=1e-12, max_iter=50, callback=stop)
    assert report.stopped is Status.INTERRUPTED
    assert [figures["iteration"] for figures in seen] == [0, 1, 2]
    assert [figures["linear"] for figures in seen] == ["", "cholesky", "cholesky"]


def test_columns_without_entries_stay_at_the_centre():
    """The problem is solved without them, and its outcome is that of the whole."""
    rng = np.random.default_rng(3)
    X = np.zeros((60, 500))
    columns = rng.choice(500, 40, replace=False)
    X[:, columns] = rng.normal(size=(60, 40)) * (rng.random((60, 40)) < 0.2)
    y = X.sum(axis=1) > 0
    settings = dict(lower=-1.0, upper=3.0, scaled=False)
    sweep, box = problem(sp.csr_array(X), y, **settings)
    outcome = minimise(sweep, box, tol=1e-16)
    whole, whole_box = problem(X, y, **settings)
    reference = minimise(whole, whole_box, tol=1e-16)
    assert_allclose(outcome.coef, reference.coef, rtol=0, atol=1e-8)
    assert_allclose(outcome.objective, reference.objective, rtol=1e-13)
    margins = (each.evaluation.functional_margins for each in (outcome, reference))
    assert_allclose(*margins, rtol=0, atol=1e-7)
    empty = np.setdiff1d(np.arange(500), np.flatnonzero(X.any(axis=0)))
    assert np.all(outcome.coef[empty] == 1.0)
    again = minimise(sweep, box, tol=1e-10, start=outcome.state)
    assert again.n_iter <= 2


def test_what_was_chosen_is_told():
    X, y = data("dense", 60, 3)
    sweep, box = problem(X, y)
    assert minimise(sweep, box).solver == choose_step(sweep).name == "newton-cholesky"


def test_a_step_over_many_kinks_goes_to_about_the_least_on_its_way():
    """With about as many columns as rows no length on a fine grid gains much more."""
    rng = np.random.default_rng(0)
    X = rng.standard_t(3, size=(400, 300))
    y = X[:, :5].sum(axis=1) + rng.logistic(size=400) > 0
    sweep, box = problem(X, y, slack=0.01, inequality=True, upper=9.0, lower=-9.0)
    search = _Search(sweep, box, CholeskyStep(), 1e-9, np.inf, True)
    at, n_shortened = search.point(np.zeros(sweep.n_features)), 0
    for _ in range(10):
        at, _, move, _ = search.descent(at)

        def gain(length, at=at, move=move):
            return at.objective - search.point(box.moved(at.state, length * move)).objective

        length = search.least_on_the_way(at, search.point(box.moved(at.state, move)), move)
        best = max(gain(each / 64) for each in range(1, 65))
        assert gain(length) > 0.95 * best
        n_shortened += best > 1.05 * gain(1.0)
        at, _ = search.advance(at)
    assert n_shortened >= 3
