"""Factors of Newton's matrix against exact arithmetic, and at sizes that rounding cannot bear."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from entropic.solvers.factor import Factor, LastingFactor

pytestmark = pytest.mark.backend_free


def exact_inverse(matrix):
    """By Gauss and Jordan on fractions, which round nothing."""
    n = len(matrix)
    work = [[*row, *(Fraction(i == j) for j in range(n))] for i, row in enumerate(matrix)]
    for i in range(n):
        pivot = work[i][i]
        work[i] = [value / pivot for value in work[i]]
        for k in range(n):
            if k != i and work[k][i]:
                times = work[k][i]
                work[k] = [a - times * b for a, b in zip(work[k], work[i], strict=True)]
    return [row[n:] for row in work]


def drawn(spread, n=18, rank=6):
    """An integer matrix of low rank, which doubles hold exactly, and scales over many sizes."""
    rng = np.random.default_rng(3)
    Z = rng.integers(-9, 10, size=(n, rank)).astype(np.float64)
    return Z @ Z.T, np.exp(spread * rng.normal(size=n))


def fractions(matrix):
    return [[Fraction(float(value)) for value in row] for row in matrix]


@pytest.mark.parametrize("spread", [0.3, 2.0, 8.0])
def test_shares_of_rows_keep_their_digits_at_every_size(spread):
    H, scale = drawn(spread)
    n = len(H)
    r, exact = fractions([scale])[0], fractions(H)
    P = [[r[i] * exact[i][j] * r[j] for j in range(n)] for i in range(n)]
    inverse = exact_inverse([[P[i][j] + (i == j) for j in range(n)] for i in range(n)])
    wanted_left = [float(inverse[i][i]) for i in range(n)]
    # the diagonal of P (I + P)^-1, which is P - P (I + P)^-1 P and I - (I + P)^-1
    wanted = np.array([float(sum(P[i][k] * inverse[k][i] for k in range(n))) for i in range(n)])
    own = np.array([float(P[i][i]) for i in range(n)])
    kept = H.copy()
    used, left = Factor(H, scale).used_and_left()
    assert_array_equal(H, kept)
    # what a rounding of P's largest entry makes of a matrix of low rank
    rtol = 1e-13 * max(1.0, own.max() ** 0.5)
    assert_allclose(left, wanted_left, rtol=rtol)
    assert_allclose(np.where(own < 1, own - used, 1 - left), wanted, rtol=rtol)
    again = Factor(H, scale, overwrite=True).used_and_left()
    assert_array_equal(again, (used, left))


def test_the_blocks_of_a_large_factor():
    rng = np.random.default_rng(0)
    H, scale = rng.normal(size=(300, 300)), rng.uniform(0.1, 2, 300)
    H = H @ H.T / 300
    P = scale[:, None] * H * scale
    inverse = np.linalg.inv(np.eye(300) + P)
    used, left = Factor(H, scale).used_and_left()
    assert_allclose(left, inverse.diagonal(), rtol=1e-11)
    assert_allclose(used, (P @ inverse @ P).diagonal(), rtol=1e-10)
    root = Factor(H, scale).inverse_root()
    assert_allclose(root @ root.T, inverse, atol=1e-12)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_factor_survives_rounding_and_size(overwrite):
    """Two equal columns of 1e12: the sum with the identity is singular to the last bit."""
    H = np.full((2, 2), 1e24)
    x = Factor(H.copy(), np.ones(2), overwrite).solve(np.array([1.0, 1.0]))
    assert_allclose(H @ x, 1.0, rtol=1e-6)
    huge = np.diag([1e300, 1.0]), np.array([1e100, 1.0])
    assert_allclose(Factor(*huge).solve(np.array([1.0, 1.0])), [0.0, 0.5], atol=1e-15)
    used, left = Factor(*huge, overwrite).used_and_left()
    assert_allclose(left, [0.0, 0.5])
    assert_allclose(used[1], 0.5)


def test_an_indefinite_matrix_is_shifted_as_it_was():
    """Rounding that a first attempt meets half way must not lose the rest of the matrix."""
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(60, 2)) * 1e9
    H = Z @ Z.T
    b = rng.normal(size=60)
    for overwrite in (False, True):
        x = Factor(H.copy(), np.ones(60), overwrite).solve(H @ b)
        assert_allclose(H @ x, H @ b, rtol=1e-5)


def test_the_worst_rounding_is_shifted_away():
    matrix = np.full((3, 3), -1e20)  # far from positive definite, as only rounding could make it
    np.fill_diagonal(matrix, 1e20)
    factor = Factor(matrix, np.ones(3))
    right = np.arange(3.0)
    assert right @ factor.solve(right) > 0


def test_no_rows_at_all():
    factor = Factor(np.zeros((0, 0)), np.zeros(0))
    assert factor.solve(np.zeros(0)).shape == (0,)


def test_a_lasting_factor_serves_for_roots_near_its_own():
    """At its own root it is the factor; near by, a preconditioner; far away it says no."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(60, 20))
    H, own, right = Z.T @ Z, np.exp(rng.normal(size=20)), rng.normal(size=20)
    factor = LastingFactor(H, own)
    assert factor.serves(own) and factor.at(own) is factor
    assert_array_equal(factor.solve(own, right), Factor(H, own).solve(right))
    assert_allclose(factor.solve_in_w(right), np.linalg.solve(np.diag(own**-2.0) + H, right))
    root = own * rng.uniform(0.6, 1.8, size=20)
    assert factor.serves(root)
    K = np.eye(20) + root[:, None] * H * root
    nearly = np.column_stack([factor.solve(root, column) for column in np.eye(20)])
    assert_allclose(nearly, nearly.T, atol=1e-12)
    spread = np.linalg.eigvals(nearly @ K).real
    # those of (r0^-2 + H)^-1 (r^-2 + H)
    assert spread.min() >= 1.8**-2 and spread.max() <= 0.6**-2 < np.linalg.cond(K)
    for beyond in (2.1, 0.4, 0.0):
        assert not factor.serves(np.where(np.arange(20) == 3, beyond * own, own))
    assert_allclose(factor.at(root).solve(root, right), np.linalg.solve(K, right))
