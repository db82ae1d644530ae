"""Products of rows that are kept for other Hessian weights and for roots that are near."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from entropic.features.design import Design
from entropic.kernels.loss import Loss
from entropic.rows import rows_of
from entropic.rows.sweep import Sweep
from entropic.rows.target import Target
from entropic.solvers.newton_steps import DualStep
from entropic.solvers.primal_dual.system import NewtonSystem
from entropic.solvers.row_products import NEAR, RowProducts
from entropic.solvers.step import Model

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 80))
SIGN = np.where(RNG.random(30) < 0.5, 1, -1)
ROOT = RNG.uniform(0.2, 1.0, 80)
SOME = np.array([1, 4, 5, 17, 29])


@pytest.fixture(params=["dense", "csr"])
def sweep(request):
    rows = rows_of(sp.csr_array(X) if request.param == "csr" else X)
    return Sweep(Design(rows, constant=False), Target.of(Loss(0.1, True), SIGN))


def gram(root, active):
    part = X[active] * root
    return part @ part.T


def test_products_serve_any_of_their_rows(sweep):
    products, many, made = RowProducts(), np.arange(2, 28), []
    for active in (SOME, SOME[1:3], many, np.arange(30), SOME):
        found, exact, seconds = products.of(sweep, ROOT, active)
        assert_allclose(found, gram(ROOT, active), rtol=1e-12, atol=1e-12)
        assert exact
        made.append(seconds > 0)
        found[:] = np.nan  # it is the caller's own
    assert made == [True, False, True, False, False]  # those of many rows are those of all
    assert_allclose(products.of(sweep, ROOT)[0], gram(ROOT, np.arange(30)), rtol=1e-12, atol=1e-12)


def test_a_root_far_away_makes_them_anew(sweep):
    products = RowProducts()
    first, _, _ = products.of(sweep, ROOT)
    near, exact, seconds = products.of(sweep, ROOT * (1 + 0.9 * NEAR))
    assert_array_equal(near, first)
    assert not exact and seconds == 0
    far, exact, seconds = products.of(sweep, ROOT * (1 + 1.1 * NEAR))
    assert_allclose(far, gram(ROOT * (1 + 1.1 * NEAR), np.arange(30)), rtol=1e-12, atol=1e-12)
    assert exact and seconds > 0


@pytest.mark.parametrize("near", [False, True])
def test_directions_are_those_of_the_true_root(sweep, near):
    """With products of a root that is off by nearly a hundredth, against the whole matrix."""
    step = DualStep()
    weights, gamma = RNG.uniform(0.1, 10, 30), RNG.normal(size=80)
    weights[::7] = 0
    if near:
        other = ROOT * (1 + NEAR * RNG.uniform(-0.99, 0.99, 80))
        step.direction(sweep, Model(other, gamma, weights[::-1].copy(), None, np.zeros(80)), 1, 1)
    p, bent = step.direction(sweep, Model(ROOT, gamma, weights, None, np.zeros(80)), 1.0, 1.0)
    hessian = X.T @ (weights[:, None] * X)
    whole = np.linalg.solve(np.eye(80) + ROOT[:, None] * hessian * ROOT, -ROOT * gamma)
    assert_allclose(p, whole, atol=1e-7 if near else 1e-12)
    assert_allclose(bent, hessian @ (ROOT * p), atol=1e-6 if near else 1e-9)


def test_systems_share_them(sweep, monkeypatch):
    monkeypatch.setattr("entropic.solvers.primal_dual.system.choose", lambda work: ("", "dual"))
    products, D = RowProducts(), SIGN[:, None] * X
    for factor in (1.0, 1 + 0.9 * NEAR):
        root, stiffness = ROOT * factor, RNG.uniform(0.1, 3, 30)
        dual, primal = RNG.normal(size=80), RNG.normal(size=30)
        _, move, x = NewtonSystem(sweep, root, stiffness, products).solve(dual, primal)
        assert_allclose(move / root**2 - D.T @ x, -dual, atol=1e-9)
        assert_allclose(D @ move + stiffness * x, -primal, atol=1e-7)
