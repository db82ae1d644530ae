"""The derivations of docs/mathematics.md, each against plain numerical minimisation or a refit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize, minimize_scalar
from scipy.special import rel_entr, xlogy

from entropic import solve
from entropic.kernels.box import Box
from entropic.kernels.loss import Loss


@pytest.mark.parametrize("low, high, alpha", [(-1.0, 1.0, 1.0), (-0.5, 3.0, 0.2), (0.0, 2.0, 7.0)])
def test_conjugate_of_the_coefficients_entropy(low, high, alpha):
    """Section 2: max over w of tau w - alpha h(w), and where it is reached."""
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
    """Section 3: the minimum over b, and for the inequality over every t' <= t as well."""
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
        bends = loss.log_margin(np.array([t - h, t + h]))
        assert_allclose(
            loss.second_derivative(loss.log_margin(t)),
            (bends[1] - bends[0]) / (2 * h),
            rtol=1e-5,
            atol=1e-9,
        )


def problem(rng, n_samples=30, n_features=4):
    D = rng.normal(size=(n_samples, n_features)) + 0.4
    q, y = rng.uniform(0.2, 2, n_samples), rng.normal(scale=0.2, size=n_samples)
    low, high = -rng.uniform(0.3, 2, n_features), rng.uniform(0.3, 2, n_features)
    return D, q, y, low, high


def pieces(D, q, y, low, high, alpha, loss, w):
    """F(w), G of the multipliers that w implies, and their tau, by the formulas of the page."""
    p, t = (w - low) / (high - low), D @ w - y
    slope = loss.log_margin(t)
    primal = alpha * np.sum(xlogy(p, p) + xlogy(1 - p, 1 - p)) + np.sum(q * loss.value(slope))
    multipliers = -q * slope
    tau = D.T @ multipliers
    middle, half = (low + high) / 2, (high - low) / 2
    dual = (
        np.sum(middle * tau + alpha * np.log(2 * np.cosh(half * tau / alpha)))
        + np.sum(q * np.exp(-multipliers / q))
        + loss.slack / 2 * np.sum(multipliers**2 / q)
        - multipliers @ y
    )
    return primal, dual, tau


@pytest.mark.parametrize("inequality", [False, True])
def test_the_gap_is_a_relative_entropy(inequality):
    """Section 4: F + G at any w, by its definition, as coins, and as Box.gap computes it."""
    rng = np.random.default_rng(0)
    loss, alpha = Loss(0.3, inequality), 0.7
    for _ in range(20):
        D, q, y, low, high = problem(rng)
        w = rng.uniform(low, high)
        primal, dual, tau = pieces(D, q, y, low, high, alpha, loss, w)
        box = Box(low, high, alpha)
        p = (w - low) / (high - low)
        asked = (1 + np.tanh(box.half_width * tau / alpha)) / 2
        coins = alpha * np.sum(rel_entr(p, asked) + rel_entr(1 - p, 1 - asked))
        gap = box.gap(box.state(w), tau)
        assert_allclose(gap, primal + dual, rtol=1e-8)
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
    """Sections 3 and 4: F minimised by BFGS, and the bound on the coefficients' error."""
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
        primal, dual, _ = pieces(D, q, y, low, high, alpha, loss, w)
        assert primal - exact.objective <= primal + dual + 1e-12
        distance = np.sum(((w - exact.coef) / box.half_width) ** 2)
        assert distance <= 2 * (primal + dual) / alpha


def test_multipliers_bound_the_margin_of_every_coefficient_in_the_box():
    """Section 4, "Not separable"."""
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
    """Section 5, against fits that really leave the row out."""
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
    """Section 6, for scores, adjoint and curvature of a design."""
    from entropic.features.design import Design
    from entropic.rows import rows_of

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
