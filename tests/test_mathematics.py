"""The derivations of docs/mathematics.md, each against plain numerical minimisation or a refit."""

import itertools
import re
from fractions import Fraction
from math import comb, log
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog, minimize, minimize_scalar
from scipy.special import rel_entr, xlogy

from entropic import solve
from entropic.features.design import Design
from entropic.kernels.box import Box
from entropic.kernels.loss import Loss
from entropic.rows import rows_of
from entropic.rows.listing import Listing
from entropic.rows.monomial_rows import MonomialRows
from entropic.rows.sweep import Sweep
from entropic.rows.target import Target
from entropic.solvers.certificate import proven_bound, proven_margin
from entropic.solvers.ending import Goal, RoundingSums, _Point
from entropic.solvers.primal_dual.margin import _Bordered
from entropic.uncertainty import conformal
from entropic.uncertainty.probability import frequencies
from entropic.uncertainty.ranking import Ranking
from entropic.uncertainty.rescaling import rescaling


@pytest.mark.parametrize("low, high, alpha", [(-1.0, 1.0, 1.0), (-0.5, 3.0, 0.2), (0.0, 2.0, 7.0)])
def test_conjugate_of_the_coefficients_entropy(low, high, alpha):
    """Section 2.1: max over w of tau w - alpha h(w), and where it is reached."""
    box = Box([low], [high], alpha)
    for tau in np.array([-3.0, -0.1, 0.0, 0.7, 2.0]) * alpha / box.half_width[0]:

        def value(w, tau=tau):
            p = (w - low) / (high - low)
            return alpha * (xlogy(p, p) + xlogy(1 - p, 1 - p)) - tau * w

        found = minimize_scalar(value, bounds=(low, high), options=dict(xatol=1e-12))
        state = box.state_of_tau(np.array([tau]))
        assert_allclose(box.conjugate(np.array([tau])), -found.fun, rtol=1e-10)
        assert_allclose(box.coef(state), found.x, atol=1e-6)


@pytest.mark.parametrize("slack", [0.01, 0.1, 3.0])
@pytest.mark.parametrize("inequality", [False, True])
def test_loss_is_what_margin_and_violation_cost_at_best(slack, inequality):
    """Sections 3.1 and 3.2: the minimum over b, and for the inequality over t' <= t as well."""
    loss = Loss(slack, inequality)
    for t in (-2.0, -0.1, 0.05, 0.9, 1.5, 6.0):
        at = min(t, 1.0) if inequality else t

        def cost(b, at=at):
            return xlogy(b, b) - b + (at - b) ** 2 / (2 * slack)

        found = minimize_scalar(cost, bounds=(0, 10), method="bounded", options=dict(xatol=1e-12))
        assert_allclose(loss.value(loss.log_margin(t)), found.fun, atol=1e-9)
        h = 1e-5
        slope = loss.value(loss.log_margin(np.array([t - h, t + h])))
        assert_allclose(loss.log_margin(t), (slope[1] - slope[0]) / (2 * h), atol=1e-6)
        slopes = loss.log_margin(np.array([t - h, t + h]))
        assert_allclose(
            loss.second_derivative(loss.log_margin(t)),
            (slopes[1] - slopes[0]) / (2 * h),
            rtol=1e-5,
            atol=1e-9,
        )


def problem(rng, n_samples=30, n_features=4):
    D = rng.normal(size=(n_samples, n_features)) + 0.4
    q, y = rng.uniform(0.2, 2, n_samples), rng.normal(scale=0.2, size=n_samples)
    low, high = -rng.uniform(0.3, 2, n_features), rng.uniform(0.3, 2, n_features)
    return D, q, y, low, high


def primal(D, q, y, low, high, alpha, loss, w):
    """F(w) by the formula of section 3.1."""
    p = (w - low) / (high - low)
    entropy = alpha * np.sum(xlogy(p, p) + xlogy(1 - p, 1 - p))
    return entropy + np.sum(q * loss.value(loss.log_margin(D @ w - y)))


def dual(D, q, y, low, high, alpha, slack, multipliers):
    """G of multipliers by the formula of section 2.1."""
    tau, middle, half = D.T @ multipliers, (low + high) / 2, (high - low) / 2
    return (
        np.sum(middle * tau + alpha * np.log(2 * np.cosh(half * tau / alpha)))
        + np.sum(q * np.exp(-multipliers / q))
        + slack / 2 * np.sum(multipliers**2 / q)
        - multipliers @ y
    )


def pieces(D, q, y, low, high, alpha, loss, w):
    """F(w), G of the multipliers that w implies, and their tau."""
    multipliers = -q * loss.log_margin(D @ w - y)
    F = primal(D, q, y, low, high, alpha, loss, w)
    return F, dual(D, q, y, low, high, alpha, loss.slack, multipliers), D.T @ multipliers


def jacobian(function, at, h=1e-6):
    """By central differences, a column a coordinate."""
    steps = h * np.eye(len(at))
    return np.array([(function(at + step) - function(at - step)) / (2 * h) for step in steps]).T


@pytest.mark.parametrize("inequality", [False, True])
def test_the_gap_is_a_relative_entropy(inequality):
    """Section 4.1: F + G at any w, by its definition, as coins, and as Box.gap computes it."""
    rng = np.random.default_rng(0)
    loss, alpha = Loss(0.3, inequality), 0.7
    for _ in range(20):
        D, q, y, low, high = problem(rng)
        w = rng.uniform(low, high)
        F, G, tau = pieces(D, q, y, low, high, alpha, loss, w)
        box = Box(low, high, alpha)
        p = (w - low) / (high - low)
        asked = (1 + np.tanh(box.half_width * tau / alpha)) / 2
        coins = alpha * np.sum(rel_entr(p, asked) + rel_entr(1 - p, 1 - asked))
        gap = box.gap(box.state(w), tau)
        assert_allclose(gap, F + G, rtol=1e-8)
        if np.all(np.minimum(asked, 1 - asked) > 1e-9):
            assert_allclose(gap, coins, rtol=1e-6)


def test_near_the_optimum_the_gap_is_half_the_scaled_gradient_squared():
    rng = np.random.default_rng(1)
    D, q, y, low, high = problem(rng)
    found = solve(
        D, weights=q, offset=y, lower=low, upper=high, entropy_weight=0.7, slack=0.3, tol=1e-15
    )
    box, loss = Box(low, high, 0.7), Loss(0.3)
    state = box.state(found.coef) + 1e-4 * rng.normal(size=4)
    *_, tau = pieces(D, q, y, low, high, 0.7, loss, box.coef(state))
    gradient = box.slope(state) - tau
    half = 0.5 * np.sum((box.inverse_hessian_root(state) * gradient) ** 2)
    assert_allclose(box.gap(state, tau), half, rtol=1e-2)


def test_the_optimum_is_that_of_a_plain_minimiser_and_the_gap_bounds_the_error():
    """Sections 3.1 and 4.1: F minimised by BFGS, and the bound on the coefficients' error."""
    rng = np.random.default_rng(2)
    loss, alpha = Loss(0.3), 0.7
    D, q, y, low, high = problem(rng)
    box = Box(low, high, alpha)
    plain = minimize(
        lambda u: pieces(D, q, y, low, high, alpha, loss, box.coef(u))[0],
        np.zeros(4),
        options=dict(gtol=1e-7),
    )
    exact = solve(
        D,
        weights=q,
        offset=y,
        lower=low,
        upper=high,
        entropy_weight=alpha,
        slack=0.3,
        tol=1e-15,
    )
    assert_allclose(exact.objective, plain.fun, rtol=1e-10)
    assert_allclose(exact.coef, box.coef(plain.x), atol=1e-5)
    for _ in range(20):
        w = np.clip(exact.coef + 0.3 * rng.normal(size=4), low * 0.999, high * 0.999)
        F, G, _ = pieces(D, q, y, low, high, alpha, loss, w)
        assert F - exact.objective <= F + G + 1e-12
        distance = np.sum(((w - exact.coef) / box.half_width) ** 2)
        assert distance <= 2 * (F + G) / alpha


def test_multipliers_bound_the_margin_of_every_coefficient_in_the_box():
    """Section 4.4, "Not separable"."""
    rng = np.random.default_rng(3)
    D, _, _, low, high = problem(rng)
    for _ in range(20):
        multipliers = rng.exponential(size=len(D))
        tau = D.T @ multipliers
        bound = np.sum(np.maximum(low * tau, high * tau)) / multipliers.sum()
        for w in rng.uniform(low, high, size=(50, 4)):
            assert np.min(D @ w) <= bound


@pytest.mark.parametrize("constraint", ["equality", "inequality"])
def test_leave_one_out_to_first_order(constraint):
    """Section 5.2, against fits that really leave the row out."""
    rng = np.random.default_rng(4)
    D, q, y, low, high = problem(rng, n_samples=60)
    alpha = 0.7
    settings = dict(
        lower=low,
        upper=high,
        entropy_weight=alpha,
        constraint=constraint,
        slack=0.3,
        tol=1e-14,
    )
    loss, box = Loss(0.3, constraint == "inequality"), Box(low, high, alpha)
    whole = solve(D, weights=q, offset=y, **settings)
    t = D @ whole.coef - y
    slope = loss.log_margin(t)
    hessian_weights = q * loss.second_derivative(slope)
    hessian = (
        np.diag(1 / box.inverse_hessian_root(box.state(whole.coef)) ** 2)
        + (D.T * hessian_weights) @ D
    )
    influence = np.einsum("ij,ji->i", D, np.linalg.solve(hessian, D.T))
    assert np.all(hessian_weights * influence < 1)
    closed = t + q * slope * influence / (1 - hessian_weights * influence)
    refit = []
    for i in range(len(D)):
        without = solve(D, weights=np.where(np.arange(len(D)) == i, 0, q), offset=y, **settings)
        refit.append(D[i] @ without.coef - y[i])
    shift = np.abs(refit - t)
    assert np.max(shift) > 0.05
    assert np.max(np.abs(closed - refit)) < 0.15 * np.max(shift)
    assert np.corrcoef(closed, refit)[0, 1] > 0.9999


def test_scaling_by_algebra_is_scaling():
    """Section 6.2, for scores, their transpose, curvature and Gram matrix of a design."""
    rng = np.random.default_rng(5)
    X, g, w = rng.normal(size=(20, 3)), rng.normal(size=20), rng.normal(size=4)
    mean, scale = X.mean(0), X.std(0)
    scaled = np.column_stack([(X - mean) / scale, np.ones(20)])
    raw = np.column_stack([X, np.ones(20)])
    design = Design(rows_of(X), mean, scale, constant=True)
    assert_allclose(raw @ design.to_rows(w), scaled @ w, atol=1e-12)
    assert_allclose(design.from_rows(raw.T @ g), scaled.T @ g, atol=1e-12)
    curvature = design.curvature_from_rows((raw.T * g**2) @ raw)
    assert_allclose(curvature, (scaled.T * g**2) @ scaled, atol=1e-12)
    diagonal, between = w**2, raw @ design.gram_to_rows(w**2)[1]
    gram = (raw * design.gram_to_rows(diagonal)[0]) @ raw.T + between + between[:, None]
    assert_allclose(gram, (scaled * diagonal) @ scaled.T, atol=1e-12)


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


def test_both_forms_of_the_leverages():
    """Section 5.2: from the inverse of Newton's matrix itself."""
    rng = np.random.default_rng(18)
    D, c, root = rng.normal(size=(7, 5)), rng.uniform(0.1, 3, 7), rng.uniform(0.2, 2, 5)
    hessian = np.diag(root**-2) + (D.T * c) @ D
    a = np.einsum("ij,ij->i", D @ np.linalg.inv(hessian), D)
    K = np.eye(5) + root[:, None] * ((D.T * c) @ D) * root
    B = root[:, None] * np.linalg.inv(np.linalg.cholesky(K)).T
    assert_allclose(np.sum((D @ B) ** 2, axis=1), a, rtol=1e-10)
    assert_allclose(c @ a, 5 - np.trace(np.linalg.inv(K)), rtol=1e-10)
    assert np.all(1 - c * a >= 1 / (1 + c * np.sum((D * root) ** 2, axis=1)))
    P = np.sqrt(c)[:, None] * ((D * root**2) @ D.T) * np.sqrt(c)
    L = np.linalg.cholesky(np.eye(7) + P)
    X, v = np.linalg.inv(L), np.diag(L) ** 2 - 1
    assert_allclose(X @ P, L.T - X, atol=1e-12)
    assert_allclose(np.diag(np.linalg.inv(np.eye(7) + P)), 1 - c * a, rtol=1e-10)
    used = (
        np.sum(np.tril(L, -1) ** 2, axis=1) + v**2 / (1 + v) + np.sum(np.tril(X, -1) ** 2, axis=0)
    )
    assert_allclose(np.diag(P) - used, c * a, rtol=1e-10)
    # a share of a row taken away, by an inverse of its own
    share, without = 0.3, np.linalg.inv(hessian - 0.3 * c[2] * np.outer(D[2], D[2]))
    assert_allclose(D[2] @ without @ D[2], a[2] / (1 - share * c[2] * a[2]), rtol=1e-10)


@pytest.mark.parametrize("degree", [1, 2])
def test_scaling_without_the_row_moves_the_entropys_gradient(degree):
    """Section 5.3: against columns that really are scaled by the moments without a little of it."""
    rng = np.random.default_rng(19)
    X, q = rng.gamma(2.0, size=(15, 2)), rng.uniform(0.5, 2, 15)

    def scaled(weights):
        """The whole design in the scaling that these weights give."""
        share = weights / weights.sum()
        Z = (X - share @ X) / np.sqrt(share @ (X - share @ X) ** 2)
        if degree == 2:
            Z = np.column_stack([Z, Z[:, 0] ** 2, Z[:, 0] * Z[:, 1], Z[:, 1] ** 2])
            Z = (Z - share @ Z) / np.sqrt(share @ (Z - share @ Z) ** 2)
        return np.column_stack([Z, np.ones(15)])

    share = q / q.sum()
    mean, scale = share @ X, np.sqrt(share @ (X - share @ X) ** 2)
    if degree == 1:
        rows = rows_of(X)
        design = Design(rows, mean, scale, constant=True)
    else:
        rows = MonomialRows(rows_of(X).centred(mean), Listing(2, 2), 1 / scale)
        values = rows.block(0, 15)
        centre = share @ values
        design = Design(rows, centre, np.sqrt(share @ (values - centre) ** 2), constant=True)
    Phi, n = scaled(q), design.n_features
    w = rng.uniform(-0.8, 0.8, n)
    box = Box(np.full(n, -1.0), np.full(n, 1.0), 0.7)
    state, root = box.state(w), box.inverse_hessian_root(box.state(w))
    hessian = np.diag(root**-2) + (Phi.T * q) @ Phi
    B = np.linalg.cholesky(np.linalg.inv(hessian))
    sweep = Sweep(design, Target.of(Loss(0.3), 1, q))
    effect = rescaling(sweep, box, state, root, B, 1e-9).of(sweep)
    part, by_hand = 1e-5, []
    for i in range(15):
        left = q.copy()
        left[i] *= 1 - part
        # w' = T w are the coefficients of the same function in the new columns
        T = np.linalg.lstsq(scaled(left), Phi, rcond=None)[0]
        slope = T.T @ box.slope(box.state(T @ w)) - box.slope(state)
        per_unit = slope / (part * q[i] / (q.sum() - part * q[i]))
        by_hand.append(-Phi[i] @ np.linalg.solve(hessian, per_unit))
    assert_allclose(effect, by_hand, rtol=1e-3, atol=1e-3 * np.max(np.abs(by_hand)))


def test_ranks_and_pools():
    """Sections 5.4 and 5.5, by counting over which of n + 1 rows is the new one."""
    for n, level in itertools.product((4, 9, 19), (0.5, 0.8, 0.9)):
        k = conformal.rank(n, level)
        assert (k > n) == (n < level / (1 - level) - 1e-9)
        if k <= n:
            others = [np.delete(np.arange(n + 1), new) for new in range(n + 1)]
            no_worse = [new <= np.sort(rest)[k - 1] for new, rest in enumerate(others)]
            assert level - 1e-12 <= np.mean(no_worse) < level + 1 / (n + 1)
    scores = np.arange(-6.0, 6.0) + 0.5
    _, level = frequencies(Ranking.of(scores, scores > 0, np.ones(1)))
    assert_allclose([level[0], level[-1]], [1 - 7 / 8, 7 / 8])


@pytest.mark.parametrize("interaction_only", [False, True])
def test_the_listing_of_monomials(interaction_only):
    """Section 6.1: their number, their order, and the product that makes the highest degree."""
    n, degree = 5, 3
    listing = Listing(n, degree, interaction_only)
    choose = itertools.combinations if interaction_only else itertools.combinations_with_replacement
    wanted = [a for d in range(1, degree + 1) for a in choose(range(n), d)]
    assert [listing.features_of(k) for k in range(listing.n_monomials)] == wanted
    if not interaction_only:
        assert len(wanted) == comb(n + degree, degree) - 1
    rng = np.random.default_rng(20)
    Z, first = rng.normal(size=(4, n)), listing.offsets[2]
    w, v = rng.normal(size=len(wanted) - first), rng.normal(size=4)
    top = np.array([[np.prod(z[list(a)]) for a in wanted[first:]] for z in Z])
    pairs = np.array([[np.prod(z[list(a)]) for a in choose(range(n), 2)] for z in Z])
    f, transposed = np.zeros(4), []
    for j in range(n):
        suffix = pairs[:, listing.starts[1][j + listing.shift] :]
        part = w[listing.starts[2][j] : listing.starts[2][j + 1]]
        f += Z[:, j] * (suffix @ part)
        transposed.append((v * Z[:, j]) @ suffix)
    assert_allclose(f, top @ w, rtol=1e-12)
    assert_allclose(np.concatenate(transposed), top.T @ v, rtol=1e-12, atol=1e-12)


def test_moments_about_any_number():
    """Section 6.3, for dense rows and for rows whose zeros are absent."""
    rng = np.random.default_rng(21)
    z, p = rng.normal(size=20) * (rng.random(20) < 0.5), rng.dirichlet(np.ones(20))
    about = 0.7
    drift, squares = p @ (z - about), p @ (z - about) ** 2
    assert_allclose([about + drift, squares - drift**2], [p @ z, p @ z**2 - (p @ z) ** 2])
    there, absent = z != 0, p[z == 0].sum()
    assert_allclose(p[there] @ (z - about)[there] - absent * about, drift)
    assert_allclose(p[there] @ (z - about)[there] ** 2 + absent * about**2, squares)


ROOT = Path(__file__).parent.parent
NUMBERS = r"sections? (\d+(?:\.\d+)?(?:(?:, | and | to )\d+(?:\.\d+)?)*)"


def test_sections_that_are_named_exist():
    """In docstrings, in comments and on the page itself."""
    page = ROOT / "docs" / "mathematics.md"
    if not page.exists():
        pytest.skip("no source tree beside the tests")
    text = page.read_text(encoding="utf-8")
    sections = set(re.findall(r"^#+ (\d+(?:\.\d+)?)\.? ", text, re.MULTILINE))
    assert {"1", "2.1", "3.7", "7"} <= sections
    named = {
        (page.name, number) for number in re.findall(r"section (\d+\.\d+)", " ".join(text.split()))
    }
    folders = ("entropic", "src", "tests", "bench", "docs")
    for path in sorted(path for folder in folders for path in (ROOT / folder).rglob("*.*")):
        if path.suffix in {".py", ".pyx", ".pxi", ".c", ".h", ".md"}:
            # a reference may run over the end of a line, and of a comment's
            words = re.sub(r"[\s*#]+", " ", path.read_text(encoding="utf-8"))
            for numbers in re.findall(r"docs/mathematics\.md, " + NUMBERS, words):
                named |= {(path.name, number) for number in re.findall(r"\d+(?:\.\d+)?", numbers)}
    assert len(named) > 30
    assert {(name, number) for name, number in named if number not in sections} == set()
