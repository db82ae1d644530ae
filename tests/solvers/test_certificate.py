"""Every solver, storage, type and thread count ends with a certificate that holds."""

import certificate
import numpy as np
import pytest
import scipy.sparse as sp

from entropic import solve
from entropic.features.design import Design
from entropic.kernels.box import Box
from entropic.kernels.loss import Loss
from entropic.rows import rows_of
from entropic.rows.sweep import Sweep
from entropic.rows.target import Target
from entropic.solvers.outcome import Status
from entropic.solvers.problem import minimise

SOLVERS = ["auto", "newton", "spectral"]


def strided(D):
    wide = np.zeros((2 * D.shape[0], 3 * D.shape[1]), dtype=D.dtype)
    view = wide[::2, ::3]
    view[:] = D
    return view


def csr(D, index=np.int32):
    matrix = sp.csr_array(D)
    matrix.indptr, matrix.indices = matrix.indptr.astype(index), matrix.indices.astype(index)
    return matrix


STORAGES = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": strided,
    "csr-int32": csr,
    "csr-int64": lambda D: csr(D, np.int64),
}


def overlapping(n_samples=60, n_features=5, seed=0, sparse=False):
    """A signed design that no hyperplane separates, with a constant column."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features))
    if sparse:
        X *= rng.random(X.shape) < 0.4
    sign = np.where(X[:, 0] + 1.5 * rng.standard_normal(n_samples) > 0, 1.0, -1.0)
    return sign[:, None] * np.c_[X, np.ones(n_samples)]


def separated(n_samples=60, n_features=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features))
    score = X @ np.linspace(1, 2, n_features)
    X += 0.1 * np.sign(score)[:, None]
    return np.sign(score)[:, None] * np.c_[X, np.ones(n_samples)]


@pytest.mark.parametrize("constraint", ["equality", "inequality"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_and_storage(solver, storage, dtype, constraint):
    D = overlapping(sparse=storage.startswith("csr")).astype(dtype)
    tol = 1e-10 if dtype == np.float64 else 1e-5
    stored = STORAGES[storage](D)
    outcome = solve(stored, solver=solver, constraint=constraint, slack=0.1, tol=tol)
    certificate.check(certificate.Problem.of(D, constraint=constraint, slack=0.1), outcome, tol)


def test_the_paper_rule_too():
    D = overlapping()
    outcome = solve(D, solver="spectral-paper", slack=0.1, tol=1e-8)
    certificate.check(certificate.Problem.of(D, slack=0.1), outcome, 1e-8)


@pytest.mark.parametrize("constraint", ["equality", "inequality"])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("sparse", [False, True])
def test_the_same_bits_from_every_thread_count(sparse, solver, constraint):
    D = overlapping(3000, 8, sparse=sparse)
    matrix = sp.csr_array(D) if sparse else D
    outcomes = []
    for n_threads in (1, 2, 3):
        target = Target.of(Loss(0.1, constraint == "inequality"), 1, 1.0, 0.0)
        sweep = Sweep(Design(rows_of(matrix)), target, n_threads)
        box = Box(np.full(9, -1.0), np.full(9, 1.0))
        outcomes.append(minimise(sweep, box, solver=solver, tol=1e-10))
        assert outcomes[-1].converged
    for other in outcomes[1:]:
        np.testing.assert_array_equal(other.coef, outcomes[0].coef)
        np.testing.assert_array_equal(other.multipliers, outcomes[0].multipliers)
    problem = certificate.Problem.of(D, constraint=constraint, slack=0.1)
    certificate.check(problem, outcomes[0], 1e-10)


@pytest.mark.parametrize("constraint", ["equality", "inequality"])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", [(60, 5), (20, 40)])
def test_general_boxes_offsets_and_weights(shape, solver, constraint):
    rng = np.random.default_rng(3)
    D = overlapping(*shape, seed=1)
    m, n = D.shape
    settings = dict(
        weights=rng.integers(0, 4, m) * rng.random(m),
        offset=0.3 * rng.standard_normal(m),
        lower=-rng.random(n) * 2 - 0.1,
        upper=rng.random(n) + 0.05,
        entropy_weight=0.3,
        constraint=constraint,
        slack=0.05,
    )
    settings["lower"][0], settings["upper"][1] = 0.02, -0.01  # boxes without zero
    outcome = solve(D, solver=solver, tol=1e-10, **settings)
    certificate.check(certificate.Problem.of(D, **settings), outcome, 1e-10)


@pytest.mark.parametrize("constraint", ["equality", "inequality"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_exact_constraint(solver, constraint):
    D = separated()
    outcome = solve(D, solver=solver, constraint=constraint, slack=0, tol=1e-8)
    certificate.check(certificate.Problem.of(D, constraint=constraint, slack=0), outcome, 1e-8)


@pytest.mark.parametrize("solver", ["newton", "spectral"])
@pytest.mark.parametrize("slack", [0.0, 0.1])
def test_tol_is_what_is_reached(slack, solver):
    D = separated(40, 3, seed=2)
    gaps = []
    for tol in (1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12):
        outcome = solve(D, slack=slack, solver=solver, tol=tol)
        certificate.check(certificate.Problem.of(D, slack=slack), outcome, tol)
        gaps.append(outcome.dual_gap)
    assert gaps[-1] < gaps[0]


def test_what_cannot_be_reached_is_said():
    D = overlapping()
    outcome = solve(D, slack=1e-12, tol=1e-200)
    assert outcome.status is Status.PRECISION
    assert f"{outcome.dual_gap:.1e}" in outcome.message and "raise tol" in outcome.message
    outcome = solve(D, slack=0.1, tol=1e-10, max_iter=1)
    assert outcome.status is Status.MAX_ITER
    assert outcome.n_iter == 1 and "max_iter" in outcome.message


def test_weights_and_entropy_share_a_unit():
    D = overlapping()
    one = solve(D, weights=np.full(60, 0.7), entropy_weight=0.5, slack=0.1, tol=1e-12)
    for unit in (1e-200, 1e-6, 1e6, 1e200):
        other = solve(D, weights=np.full(60, 0.7 * unit), entropy_weight=0.5 * unit, slack=0.1)
        assert other.converged
        np.testing.assert_allclose(other.coef, one.coef, atol=1e-5)
