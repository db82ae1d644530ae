"""Derivations of docs/mathematics.md: leave-one-out and probabilities, against refits."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from written_out import problem

from entropic import solve
from entropic.features.design import Design
from entropic.kernels.box import Box
from entropic.kernels.loss import Loss
from entropic.rows import rows_of
from entropic.rows.listing import Listing
from entropic.rows.monomial_rows import MonomialRows
from entropic.rows.sweep import Sweep
from entropic.rows.target import Target
from entropic.uncertainty import conformal
from entropic.uncertainty.probability import frequencies
from entropic.uncertainty.ranking import Ranking
from entropic.uncertainty.rescaling import rescaling


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
