"""Derivations of docs/mathematics.md: steps and certificates, against plain numerical work."""

from fractions import Fraction
from math import log

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog, minimize_scalar
from scipy.special import rel_entr, xlogy
from written_out import dual, jacobian, primal, problem

from entropic.features.design import Design
from entropic.kernels.box import Box
from entropic.kernels.loss import Loss
from entropic.rows import rows_of
from entropic.rows.sweep import Sweep
from entropic.rows.target import Target
from entropic.solvers.certificate import proven_bound, proven_margin
from entropic.solvers.ending import Goal, RoundingSums, _Point
from entropic.solvers.primal_dual.margin import _Bordered


def test_the_gradient_of_the_dual_and_the_model_along_it():
    """Section 2.2: in scaled multipliers, with the inner product weighted by q."""
    rng = np.random.default_rng(6)
    D, q, y, low, high = problem(rng)
    alpha, slack, box = 0.7, 0.3, Box(low, high, 0.7)
    x = rng.normal(size=len(D))
    r = D @ box.coef(box.state_of_tau(D.T @ (q * x))) - np.exp(-x) + slack * x - y
    v = D.T @ (q * r)

    def G(x):
        return dual(D, q, y, low, high, alpha, slack, q * x)

    assert_allclose(jacobian(G, x), q * r, atol=1e-6)
    root, h = box.inverse_hessian_root(box.state_of_tau(D.T @ (q * x))), 1e-4
    along = np.array([G(x - a * r) for a in (-h, 0.0, h)])
    assert_allclose((along[2] - along[0]) / (2 * h), -np.sum(q * r**2), rtol=1e-5)
    bent = np.sum((root * v) ** 2) + np.sum(q * (np.exp(-x) + slack) * r**2)
    assert_allclose((along[2] - 2 * along[1] + along[0]) / h**2, bent, rtol=1e-4)


@pytest.mark.parametrize("n_samples, n_features", [(30, 4), (5, 12)])
def test_a_newton_step_in_the_state(n_samples, n_features):
    """Sections 3.3 and 3.5: against differences of F, and by both matrices."""
    rng = np.random.default_rng(7)
    D, q, y, low, high = problem(rng, n_samples, n_features)
    alpha, loss = 0.7, Loss(0.3)
    box, w = Box(low, high, alpha), rng.uniform(0.9 * low, 0.9 * high)
    state, log_margins = box.state(w), loss.log_margin(D @ w - y)
    gamma, c = box.slope(state) + D.T @ (q * log_margins), q * loss.second_derivative(log_margins)
    assert_allclose(
        jacobian(lambda w: primal(D, q, y, low, high, alpha, loss, w), w), gamma, atol=1e-6
    )

    def gradient(w):
        return box.slope(box.state(w)) + D.T @ (q * loss.log_margin(D @ w - y))

    root = box.inverse_hessian_root(state)
    A = np.sqrt(c)[:, None] * D * root
    hessian = np.diag(root**-2) + (D.T * c) @ D
    assert_allclose(jacobian(gradient, w), hessian, rtol=1e-6, atol=1e-6)
    p = np.linalg.solve(np.eye(n_features) + A.T @ A, -root * gamma)
    move = np.linalg.solve(hessian, -gamma)
    assert_allclose(root * p, move, rtol=1e-9)
    right = -root * gamma
    inner = np.linalg.solve(np.eye(n_samples) + A @ A.T, A @ right)
    assert_allclose(right - A.T @ inner, p, rtol=1e-9)
    in_state, h = p * box.half_width / (alpha * root), 1e-6
    moved = (box.coef(state + h * in_state) - box.coef(state - h * in_state)) / (2 * h)
    assert_allclose(moved, move, rtol=1e-6)
    assert_allclose(box.coef(box.moved(state, 1e-3 * in_state)), w + 1e-3 * move, rtol=1e-12)
    # an inexact solution leaves half of its residual's square as the next gap, near the optimum
    for _ in range(40):
        state = np.clip(state + in_state, -3, 3)
        log_margins = loss.log_margin(D @ box.coef(state) - y)
        gamma = box.slope(state) + D.T @ (q * log_margins)
        root, c = box.inverse_hessian_root(state), q * loss.second_derivative(log_margins)
        K = np.eye(n_features) + root[:, None] * ((D.T * c) @ D) * root
        in_state = np.linalg.solve(K, -root * gamma) * box.half_width / (alpha * root)
    p = 1e-4 * rng.normal(size=n_features)
    state = state + p * box.half_width / (alpha * root)
    tau = -D.T @ (q * loss.log_margin(D @ box.coef(state) - y))
    left = -root * gamma - K @ p
    assert_allclose(box.gap(state, tau), 0.5 * left @ left, rtol=1e-2)


@pytest.mark.parametrize("slack", [0.01, 1.0])
def test_the_kink(slack):
    """Section 3.4: slope continuous, curvature not, and the two forms equal below."""
    smooth, kinked = Loss(slack), Loss(slack, inequality=True)
    below, above = 1 - 1e-9, 1 + 1e-9
    assert kinked.log_margin(above) == 0 and abs(kinked.log_margin(below)) < 1e-8
    assert kinked.second_derivative(kinked.log_margin(above)) == 0
    assert_allclose(kinked.second_derivative(kinked.log_margin(below)), 1 / (1 + slack), rtol=1e-8)
    t = np.linspace(-3, 0.999, 9)
    assert_allclose(kinked.value(kinked.log_margin(t)), smooth.value(smooth.log_margin(t)))


@pytest.mark.parametrize("n_samples, n_features", [(9, 4), (4, 9)])
def test_newtons_system_for_coefficients_and_multipliers(n_samples, n_features):
    """Section 3.7: against differences of the conditions, eliminated both ways."""
    rng = np.random.default_rng(8)
    D, q, y, low, high = problem(rng, n_samples, n_features)
    box, slack = Box(low, high, 0.7), 0.3
    slope, x = rng.normal(size=n_features), rng.uniform(0.1, 2, n_samples)
    surplus, target = rng.uniform(0.1, 2, n_samples), rng.uniform(0.1, 1, n_samples)
    parts = np.cumsum([n_features, n_samples])

    def conditions(point):
        slope, x, surplus = np.split(point, parts)
        w = box.coef(box.half_width / box.entropy_weight * slope)
        r_p = D @ w - np.exp(-x) + slack * x - y - surplus
        return np.concatenate([slope - D.T @ (q * x), r_p, x * surplus])

    point = np.concatenate([slope, x, surplus])
    r_d, r_p, _ = np.split(conditions(point), parts)
    right = -np.concatenate([r_d, r_p, target])
    slope_move, x_move, surplus_move = np.split(
        np.linalg.solve(jacobian(conditions, point), right), parts
    )
    root = box.inverse_hessian_root(box.half_width / box.entropy_weight * slope)
    k = np.exp(-x) + slack + surplus / x
    primal_residual = r_p + target / x
    move = np.linalg.solve(
        np.diag(root**-2) + (D.T * (q / k)) @ D, -r_d - D.T @ (q / k * primal_residual)
    )
    assert_allclose(move, root**2 * slope_move, rtol=1e-5, atol=1e-6)
    assert_allclose(-(primal_residual + D @ move) / k, x_move, rtol=1e-5, atol=1e-6)
    assert_allclose(-(target + surplus * x_move) / x, surplus_move, rtol=1e-5, atol=1e-6)
    A = np.sqrt(q / k)[:, None] * D * root
    left = np.sqrt(q / k) * (primal_residual - D @ (root**2 * r_d))
    v = np.linalg.solve(np.eye(n_samples) + A @ A.T, -left)
    assert_allclose(np.sqrt(q / k) * v, q * x_move, rtol=1e-5, atol=1e-6)
    for length in (0.3, 1.0):
        ahead = slope + length * slope_move - D.T @ (q * (x + length * x_move))
        assert_allclose(ahead, (1 - length) * r_d, atol=1e-6)


def test_the_merit_is_twice_the_gap():
    """Section 3.7: to second order in both residuals, from any point."""
    rng = np.random.default_rng(9)
    box, slack = Box([-1.0, -0.5, 0.0], [1.0, 3.0, 2.0], 0.7), 0.3
    q, x, state = rng.uniform(0.2, 2, 5), rng.normal(size=5), rng.normal(size=3)
    r_d, r_p = 1e-4 * rng.normal(size=3), 1e-4 * rng.normal(size=5)
    t = r_p + np.exp(-x) - slack * x
    gap = box.gap(state, box.slope(state) - r_d) + np.sum(q * Loss(slack).gaps(x, t))
    merit = np.sum((box.inverse_hessian_root(state) * r_d) ** 2)
    merit += np.sum(q / (np.exp(-x) + slack) * r_p**2)
    assert_allclose(2 * gap, merit, rtol=1e-3)


def test_a_proximal_step_is_slack_with_another_offset():
    """Section 3.8: the two duals differ by a number that does not depend on the multipliers."""
    rng = np.random.default_rng(10)
    D, q, y, low, high = problem(rng)
    last, rho = rng.normal(size=len(D)), 0.3
    apart = []
    for x in rng.normal(size=(6, len(D))):
        near = dual(D, q, y + rho * last, low, high, 0.7, rho, q * x)
        exact = dual(D, q, y, low, high, 0.7, 0.0, q * x)
        apart.append(near - exact - rho / 2 * np.sum(q * (x - last) ** 2))
    assert np.ptp(apart) < 1e-11


def test_a_raised_entropy_weight_and_an_empty_column():
    """Section 3.9: how far they move the objective and the gap."""
    rng = np.random.default_rng(11)
    D, q, y, low, high = problem(rng)
    loss, less, more = Loss(0.3), 0.4, 0.5
    for w in rng.uniform(low, high, (20, 4)):
        moved = primal(D, q, y, low, high, less, loss, w)
        moved -= primal(D, q, y, low, high, more, loss, w)
        assert 0 <= moved <= 4 * (more - less) * log(2)
        tau, state = rng.normal(size=4), Box(low, high).state(w)
        gaps = [Box(low, high, alpha).gap(state, tau) for alpha in (less, more)]
        assert abs(gaps[1] - gaps[0]) <= 4 * (more - less) * log(2)
    D[:, 2] = 0
    resting = Box(low, high).centre[2]
    best = minimize_scalar(
        lambda v: primal(D, q, y, low, high, less, loss, np.array([0.1, 0.1, v, 0.1])),
        bounds=(low[2], high[2]),
        options=dict(xatol=1e-12),
    )
    assert_allclose(best.x, resting, atol=1e-6)
    rest = [0, 1, 3]
    without = primal(D[:, rest], q, y, low[rest], high[rest], less, loss, np.full(3, 0.1))
    assert_allclose(best.fun, without - less * log(2), rtol=1e-12)


@pytest.mark.parametrize("inequality", [False, True])
def test_the_gap_of_any_coefficients_and_multipliers(inequality):
    """Section 4.1: F + G by its definition is the box's part and the samples' part."""
    rng = np.random.default_rng(12)
    loss = Loss(0.3, inequality)
    for _ in range(20):
        D, q, y, low, high = problem(rng)
        w, x = rng.uniform(low, high), rng.normal(size=len(D))
        x = np.abs(x) if inequality else x
        F = primal(D, q, y, low, high, 0.7, loss, w)
        G = dual(D, q, y, low, high, 0.7, 0.3, q * x)
        box = Box(low, high, 0.7)
        parts = np.sum(q * loss.gaps(x, D @ w - y))
        assert_allclose(box.gap(box.state(w), D.T @ (q * x)) + parts, F + G, rtol=1e-9)


def test_the_gap_of_the_exact_constraint():
    """Section 4.2: with b = exp(-x), Psi + G is what the multipliers charge for the residual."""
    rng = np.random.default_rng(13)
    D, q, y, low, high = problem(rng)
    box, w, x = Box(low, high, 0.7), rng.uniform(low, high), rng.normal(size=len(D))
    p, b, t = (w - low) / (high - low), np.exp(-x), D @ w - y
    psi = 0.7 * np.sum(xlogy(p, p) + xlogy(1 - p, 1 - p)) + np.sum(q * (xlogy(b, b) - b))
    charged = np.sum(q * x * (t - b))
    gap = psi + dual(D, q, y, low, high, 0.7, 0.0, q * x)
    assert_allclose(box.gap(box.state(w), D.T @ (q * x)) + charged, gap, rtol=1e-10)


def test_what_rounding_hides():
    """Section 4.3: each bound against what it bounds."""
    rng = np.random.default_rng(14)
    box, state = Box(np.full(50, -2.0), np.full(50, 2.0), 0.7), 3 * rng.normal(size=50)
    slope, root = box.slope(state), box.inverse_hessian_root(state)
    moved = 0.1 * box.entropy_weight / box.half_width * rng.uniform(0, 1, 50)
    hidden = 0.6 * np.sum((root * moved) ** 2)
    assert box.gap(state, slope + moved) <= hidden and box.gap(state, slope - moved) <= hidden
    off = 1e-3 * rng.normal(size=50)
    joined = (np.sqrt(box.gap(state, slope + off)) + np.sqrt(hidden)) ** 2
    for side in rng.choice([-1.0, 1.0], (20, 50)):
        assert box.gap(state, slope + off + side * moved) <= joined
    p, width = rng.uniform(1e-9, 1, 200), rng.uniform(0, 1e-3, 200)
    width *= np.minimum(p, 1 - p)
    lost = rel_entr(p, p + width) + rel_entr(1 - p, 1 - p - width)
    assert np.all(lost <= 1.001 * width**2 / np.minimum(p, 1 - p) + 1e-16)


@pytest.mark.parametrize("by_algebra", [False, True])
def test_bounds_on_rounding_without_a_read(by_algebra):
    """Section 4.3: they are never below the sums over the rows."""
    rng = np.random.default_rng(15)
    Z = rng.standard_t(3, (40, 3)) + [0.0, 5.0, -50.0]
    q, x, y = rng.uniform(0.2, 2, 40), rng.normal(size=40), rng.normal(size=40)
    mean = q @ Z / q.sum()
    scale = np.sqrt(q @ (Z - mean) ** 2 / q.sum())
    rows = rows_of(Z) if by_algebra else rows_of(Z - mean)
    design = Design(rows, mean if by_algebra else None, scale, constant=True)
    sweep = Sweep(design, Target.of(Loss(0.3), 1, q, y))
    box = Box(np.full(4, -1.0), np.full(4, 1.0))
    at = sweep.evaluate(rng.uniform(-1, 1, 4), samples=True)
    point = _Point(box.state(at.coef), at, x, np.sum(q * x**2), np.sum(np.abs(q * x)))
    bounds = Goal(sweep, box, 1e-8)._bounds(point)
    for bound, summed in zip(bounds, RoundingSums(x)(sweep, at), strict=True):
        assert np.all(np.asarray(bound) >= summed)


@pytest.mark.parametrize("spread", [0.0, 5.0, 20.0])
def test_proofs_hold_in_exact_arithmetic(spread):
    """Section 4.4: the proved margin and bound, against fractions, which round nothing."""
    rng = np.random.default_rng(16)
    D = rng.normal(size=(30, 6)) * np.exp(spread * rng.normal(size=6))
    y, coef = rng.normal(size=30), rng.uniform(-1, 1, 6)
    box = Box(np.full(6, -1.0), np.linspace(0.5, 2, 6))
    sweep = Sweep(Design(rows_of(D)), Target.of(Loss(0.1), 1, 1.0, y))
    multipliers = rng.exponential(size=30)
    exact = [[Fraction(value) for value in row] for row in D.tolist()]
    asked, w = [Fraction(v) for v in y.tolist()], [Fraction(v) for v in coef.tolist()]
    margins = [sum(map(Fraction.__mul__, row, w)) - v for row, v in zip(exact, asked, strict=True)]
    proved, size = proven_margin(sweep, coef), np.max(np.abs(D) @ np.abs(coef)) + 1
    assert 0 <= min(margins) - Fraction(proved) <= Fraction(1e-13 * size)
    lam = [Fraction(v) for v in multipliers.tolist()]
    tau = [sum(map(Fraction.__mul__, column, lam)) for column in zip(*exact, strict=True)]
    ends = zip(box.lower.tolist(), box.upper.tolist(), tau, strict=True)
    most = sum(max(Fraction(low) * t, Fraction(high) * t) for low, high, t in ends)
    bound = (most - sum(map(Fraction.__mul__, lam, asked))) / sum(lam)
    proved, size = proven_bound(sweep, box, multipliers)
    assert 0 <= Fraction(proved) - bound <= Fraction(1e-13 * (size + 1))


def test_the_linear_program_of_the_largest_margin():
    """Section 4.5: its two sides meet, and the bordered system is Newton's for its conditions."""
    rng = np.random.default_rng(17)
    D, _, y, low, high = problem(rng, 12, 3)
    bounds = [(-np.inf, np.inf), *zip(low, high, strict=True)]
    rows = np.column_stack([np.ones(12), -D])
    found = linprog(np.eye(4)[0] * -1, A_ub=rows, b_ub=-y, bounds=bounds)
    multipliers = -found.ineqlin.marginals
    tau = D.T @ multipliers
    assert_allclose(multipliers.sum(), 1, rtol=1e-9)
    most = np.sum(np.maximum(low * tau, high * tau)) - multipliers @ y
    assert_allclose([np.min(D @ found.x[1:] - y), most], -found.fun, atol=1e-9)

    parts = np.cumsum([1, 3, 12, 12, 3])

    def conditions(point):
        g, w, lam, surplus, below, above = np.split(point, parts)
        return np.concatenate(
            [
                above - below - D.T @ lam,
                D @ w - y - g - surplus,
                [lam.sum() - 1],
                lam * surplus,
                below * (w - low),
                above * (high - w),
            ]
        )

    w, lam, surplus = rng.uniform(low, high), *rng.uniform(0.1, 1, (2, 12))
    below, above = rng.uniform(0.1, 1, (2, 3))
    point = np.concatenate([[0.2], w, lam, surplus, below, above])
    wanted = rng.normal(size=12), rng.normal(size=3), rng.normal(size=3)
    r_d, unmet, excess, *_ = np.split(conditions(point), np.cumsum([3, 12, 1]))
    right = np.concatenate([-r_d, -unmet, -excess, *wanted])
    moves = np.split(np.linalg.solve(jacobian(conditions, point), right), parts)
    sweep = Sweep(Design(rows_of(D)), Target.of(Loss(0.1), 1, 1.0, y))
    root = 1 / np.sqrt(below / (w - low) + above / (high - w))
    system = _Bordered(sweep, root, surplus / lam)
    eliminated = r_d + wanted[2] / (high - w) - wanted[1] / (w - low)
    margin, move, _, lam_move = system.solve(eliminated, unmet - wanted[0] / lam, float(excess[0]))
    assert_allclose(margin, moves[0][0], rtol=1e-5)
    assert_allclose(move, moves[1], rtol=1e-5, atol=1e-7)
    assert_allclose(lam_move, moves[2], rtol=1e-5, atol=1e-7)
