"""Newton's system for coefficients and multipliers, and the method on their conditions."""

import certificate
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

from entropic.features.design import Design
from entropic.kernels.backend import Box
from entropic.kernels.loss import Loss
from entropic.rows import rows_of
from entropic.rows.sweep import Sweep
from entropic.rows.target import Target
from entropic.solvers.newton import newton
from entropic.solvers.newton_steps import choose_step
from entropic.solvers.pace import Pace
from entropic.solvers.primal_dual.kkt import pair_near, solve_pair
from entropic.solvers.primal_dual.margin import margin_path
from entropic.solvers.primal_dual.system import NewtonSystem, step_to_boundary
from entropic.solvers.problem import minimise


def problem(
    shape, storage="dense", slack=0.1, inequality=False, bound=1.0, seed=0, separable=False
):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape) * (rng.random(shape) < 0.7)
    sign = np.where(X[:, :3].sum(axis=1) + (not separable) * rng.normal(size=shape[0]) > 0, 1, -1)
    weights = rng.integers(1, 4, shape[0]).astype(float)
    design = Design(rows_of(sp.csr_array(X) if storage == "csr" else X))
    sweep = Sweep(design, Target.of(Loss(slack, inequality), sign, weights))
    return sweep, Box(np.full(shape[1], -bound), np.full(shape[1], bound)), sign[:, None] * X


@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("shape", [(60, 8), (12, 90)])
@pytest.mark.parametrize("form", ["cholesky", "dual"])
def test_both_forms_of_the_system_satisfy_its_equations(form, shape, storage, monkeypatch):
    monkeypatch.setattr("entropic.solvers.primal_dual.system.choose", lambda work: ("", form))
    sweep, _, D = problem(shape, storage)
    rng = np.random.default_rng(1)
    root, stiffness = rng.uniform(0.1, 2, shape[1]), rng.uniform(0.01, 3, shape[0])
    dual, primal = rng.normal(size=shape[1]), rng.normal(size=shape[0])
    system = NewtonSystem(sweep, root, stiffness)
    slope, move, x = system.solve(dual, primal)
    assert_allclose(move, root**2 * slope, rtol=1e-12)
    assert_allclose(slope - D.T @ (sweep.target.weights * x), -dual, atol=1e-10)
    assert_allclose(D @ move + stiffness * x, -primal, atol=1e-10)


def test_the_way_to_the_boundary():
    assert step_to_boundary(np.array([1.0, 2.0]), np.array([-0.5, -4.0])) == 0.5
    assert step_to_boundary(np.array([1.0]), np.array([3.0])) == np.inf


@pytest.mark.parametrize("slack", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("n_steps", [1, 3, 6])
@pytest.mark.parametrize("inequality", [False, True])
def test_a_pair_near_newtons_point_meets_the_constraint(inequality, n_steps, slack):
    sweep, box, D = problem((80, 6), slack=slack, inequality=inequality)
    ending = newton(sweep, box, choose_step(sweep), tol=1e-9, max_iter=n_steps)
    pair = pair_near(sweep, box, ending)
    x, t = pair.scaled_multipliers, D @ box.coef(pair.state)
    surplus = 0.0 if pair.surplus is None else pair.surplus
    assert_allclose(t - np.exp(-x) + slack * x - surplus, 0, atol=1e-9 * np.max(np.abs(t) + 1))
    tau = D.T @ (sweep.target.weights * x)
    assert_allclose(pair.dual_residual, box.slope(pair.state) - tau, atol=1e-9)
    if not inequality:
        assert pair.gap == pytest.approx(
            ending.history["gap"][-1], rel=1e-9
        )  # it is the same point
    if inequality:
        mu = 0.1 * ending.history["gap"][-1] / sweep.total_weight
        assert np.all(x > 0)
        assert_allclose(x * surplus, mu, rtol=1e-9)


def test_a_pair_takes_over_where_rows_crowd_at_the_kink():
    """As many columns as make half of the rows end there: Newton's own way is long."""
    rng = np.random.default_rng(0)
    X = rng.standard_t(3, size=(600, 300))
    truth = X @ rng.normal(size=300) / np.sqrt(300) * 3 + rng.logistic(size=600) > 0
    sweep = Sweep(
        Design(rows_of(X)), Target.of(Loss(0.03, True), np.where(truth, 1, -1), np.ones(600))
    )
    box = Box(np.full(300, -2.0), np.full(300, 2.0))
    found = minimise(sweep, box, tol=1e-10)
    assert found.status == "converged" and "pair" in found.history["linear"]
    assert found.n_iter <= 20
    before = sweep.reads.count
    alone = newton(sweep, box, choose_step(sweep), tol=1e-10, max_iter=200)
    assert sweep.reads.count - before > 2 * found.n_sweeps
    assert_allclose(found.coef, box.coef(alone.state), atol=1e-6)


def test_a_pair_tells_which_rows_are_beyond_the_kink():
    """On these depends what rows would score without themselves; the goal alone hides them."""
    rng = np.random.default_rng(1)
    X = rng.standard_t(3, size=(200, 100))
    truth = X @ rng.normal(size=100) / 10 + rng.logistic(size=200) > 0
    y = np.where(truth, 1, -1)
    sweep = Sweep(Design(rows_of(X)), Target.of(Loss(0.1, True), y, np.ones(200)))
    box = Box(np.full(100, -100.0), np.full(100, 100.0))
    found, best = (minimise(sweep, box, tol=tol) for tol in (1e-8, 1e-15))
    assert found.status == "converged" and found.history["linear"][-1] == "pair"
    beyond, truly = (each.evaluation.functional_margins >= 1 for each in (found, best))
    assert 20 < np.sum(truly) < 180
    assert_array_equal(beyond, truly)


def test_the_pace_of_steps():
    pace = Pace()
    for spent, gap in ((0, 1e4), (1, 1e3), (2, 1e5), (3, 1e2), (4, 10.0)):
        assert pace.left(1e-2, np.inf) == np.inf  # not known yet
        assert not pace.outrun(1e-3, 1e-2)
        pace.spent = spent
        pace.see(gap)
    # the last power of ten has taken one, and all three have taken four
    assert pace.left(1e-2, 0.0) == pytest.approx(3.0)
    assert pace.left(10.0, 0.0) == 0
    assert pace.left(0.0, 0.0) > 100  # no goal
    assert pace.outrun(1.4, 1e-2)
    assert not pace.outrun(1.6, 1e-2)
    for _ in range(4):
        assert not pace.outrun(20.0, 1e-2)  # hardly begun
        pace.spent += 1
        pace.see(20.0)
    assert pace.left(1e-2, 0.0) == np.inf  # no progress
    assert pace.outrun(15.9, 1e-2) and not pace.outrun(16.1, 1e-2)


@pytest.mark.parametrize("inequality", [False, True])
@pytest.mark.parametrize("bound", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("slack", [1e-3, 0.1, 10.0])
def test_pairs_reach_newtons_optimum(slack, bound, inequality):
    sweep, box, _ = problem((80, 6), slack=slack, inequality=inequality, bound=bound)
    pair = solve_pair(sweep, box, tol=1e-14)
    ending = newton(sweep, box, choose_step(sweep), tol=1e-16, max_iter=200)
    assert_allclose(box.coef(pair.state), ending.evaluation.coef, atol=1e-6 * bound)
    assert_allclose(pair.scaled_multipliers, -ending.evaluation.log_margins, atol=1e-6 / slack)


@pytest.mark.parametrize("inequality", [False, True])
@pytest.mark.parametrize("slack", [0.0, 1e-12, 1e-6])
def test_the_optimality_conditions_hold_at_any_slack(slack, inequality):
    sweep, box, D = problem((60, 5), slack=slack, inequality=inequality, separable=True)
    lengths = []
    pair = solve_pair(
        sweep, box, tol=1e-12, goal_norm=1e-9, watch=lambda _, length: lengths.append(length)
    )
    assert len(lengths) <= 40
    weights, coef = sweep.target.weights, box.coef(pair.state)
    assert_allclose(box.slope(pair.state), D.T @ (weights * pair.scaled_multipliers), atol=1e-7)
    left = D @ coef - np.exp(-pair.scaled_multipliers) + slack * pair.scaled_multipliers
    if inequality:
        assert np.all(left >= -1e-9) and np.all(pair.scaled_multipliers >= 0)
        assert np.max(pair.scaled_multipliers * left) <= 1e-8
    else:
        assert np.max(np.abs(left)) <= 1e-9
    problem_ = certificate.Problem.of(
        D, weights=weights, slack=slack, constraint="inequality" if inequality else "equality"
    )
    multipliers = weights * pair.scaled_multipliers
    if slack == 0:
        found = certificate.exact_distance(
            problem_, coef, np.exp(-pair.scaled_multipliers), multipliers
        )
    else:
        found = certificate.gap(problem_, coef, multipliers)
    assert abs(found) <= 1e-10 * weights.sum()


def test_a_watcher_stops_it():
    sweep, box, _ = problem((60, 5), slack=1e-6)
    seen = []
    solve_pair(
        sweep, box, tol=1e-12, watch=lambda pair, length: seen.append(pair) or len(seen) == 3
    )
    assert len(seen) == 3
    assert len({id(pair) for pair in seen}) == 3  # each a value of its own


@pytest.mark.parametrize("separable", [True, False])
def test_the_margin_path_ends_at_the_linear_programs_optimum(separable):
    sweep, box, D = problem((70, 6), separable=separable)
    sweep = sweep.with_target(weights=np.ones(1))
    m, n = D.shape
    program = linprog(
        np.r_[np.zeros(n), -1.0],
        A_ub=np.c_[-D, np.ones(m)],
        b_ub=np.zeros(m),
        bounds=[(-1, 1)] * n + [(None, None)],
    )
    coef, multipliers = list(margin_path(sweep, box, 5.0, 1e-8, 1e-9))[-1]
    assert np.min(D @ coef) >= -program.fun - 1e-7
    assert np.sum(np.abs(D.T @ multipliers)) <= -program.fun + 1e-7
    assert_allclose(multipliers.sum(), 1.0)
