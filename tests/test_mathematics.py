"""Derivations of docs/mathematics.md: the problem, its rows, and the sections that are named."""

import itertools
import re
from math import comb
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize, minimize_scalar
from scipy.special import rel_entr, xlogy
from written_out import pieces, problem

from entropic import solve
from entropic.features.design import Design
from entropic.kernels.box import Box
from entropic.kernels.loss import Loss
from entropic.rows import rows_of
from entropic.rows.listing import Listing


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
