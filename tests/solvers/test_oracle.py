"""Another solver as witness: cvxpy with Clarabel, exponential cones, at up to 200 samples."""

import warnings

import certificate
import numpy as np
import pytest

from entropic import solve

cp = pytest.importorskip("cvxpy")
pytest.importorskip("clarabel")


def oracle(D, weights, offset, lower, upper, entropy_weight=1.0, constraint="equality", slack=0.0):
    """Coefficients and value by Clarabel, of the problem as docs/mathematics.md states it.

    The margins are the variable of the cones, never a logarithm of ``D w``: on separable data
    they come down to exp(-112).
    """
    m, n = D.shape
    w, b = cp.Variable(n), cp.Variable(m)
    p = cp.multiply(1 / (upper - lower), w - lower)
    counted = np.flatnonzero(weights > 0)
    q = weights[counted]
    value = -entropy_weight * (cp.sum(cp.entr(p)) + cp.sum(cp.entr(1 - p)))
    value += -cp.sum(cp.multiply(q, cp.entr(b[counted]) + b[counted]))
    xi = (D[counted] @ w - offset[counted]) - b[counted]
    constraints = [b >= 0]
    if slack == 0:
        constraints.append(xi >= 0 if constraint == "inequality" else xi == 0)
    else:
        lack = cp.pos(-xi) if constraint == "inequality" else xi
        value += cp.sum(cp.multiply(q / (2 * slack), cp.square(lack)))
    problem = cp.Problem(cp.Minimize(value), constraints)
    found = []
    for tol in (1e-12, 1e-11, 1e-10):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            problem.solve(
                solver=cp.CLARABEL, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol, max_iter=500
            )
        found.append((w.value, problem.solution.opt_val))
        if problem.status == cp.OPTIMAL:
            break
    if slack == 0:
        return found[-1]
    # not every tolerance is reached: the coefficients that are best in the primal alone
    stated = certificate.Problem.of(
        D, weights, offset, lower, upper, entropy_weight=entropy_weight,
        constraint=constraint, slack=slack,
    )  # fmt: skip
    return min(found, key=lambda pair: certificate.primal(stated, np.clip(pair[0], lower, upper)))


def classes(m, n, seed, gap):
    """A signed design; ``gap`` > 0 separates the classes, below it they overlap."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    normal = np.linspace(1, 2, n) / np.linalg.norm(np.linspace(1, 2, n))
    side = np.where(X @ normal > 0, 1.0, -1.0)
    X += gap * side[:, None] * normal
    return side[:, None] * np.c_[X, np.ones(m)]


SETTINGS = {
    "unit box": {},
    "narrow box": dict(lower=-0.2, upper=0.2),
    "wide box": dict(lower=-30.0, upper=30.0),
    "half boxes": dict(lower=np.array([0.0, 0.0, -1, 0.1, -4]), upper=np.array([1.0, 2, 1, 3, 0])),
    "entropy": dict(entropy_weight=20.0),
    "weights": dict(weights=np.random.default_rng(5).integers(0, 4, 200).astype(float)),
    "offset": dict(offset=np.random.default_rng(6).normal(0, 0.05, 200)),
}


@pytest.mark.parametrize("m", [25, 200])
@pytest.mark.parametrize("slack", [0.0, 0.01, 1.0])
@pytest.mark.parametrize("constraint", ["equality", "inequality"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_clarabel_agrees(setting, constraint, slack, m):
    options = dict(SETTINGS[setting])
    for name in ("weights", "offset"):
        if name in options:
            options[name] = options[name][:m]
    # far enough apart for the exact constraint to have solutions in every setting
    D = classes(m, 4, seed=m, gap=0.6 if slack == 0 else -0.3)
    outcome = solve(D, constraint=constraint, slack=slack, tol=1e-14, **options)
    full = dict(weights=np.ones(m), offset=np.zeros(m), lower=-1.0, upper=1.0) | options
    full |= {name: np.broadcast_to(full[name], 5) * 1.0 for name in ("lower", "upper")}
    coef, value = oracle(D, constraint=constraint, slack=slack, **full)
    np.testing.assert_allclose(outcome.coef, coef, atol=1e-6 * max(1, np.max(np.abs(coef))))
    assert abs(outcome.objective - value) <= 1e-7 * (1 + abs(value))


@pytest.mark.parametrize("constraint", ["equality", "inequality"])
def test_clarabel_agrees_with_gradient_steps(constraint):
    D = np.abs(classes(40, 3, seed=2, gap=0.0)) + 0.05
    full = dict(lower=np.full(4, -1.0), upper=np.array([1.0, 2.0, 1.0, 0.5]))
    full |= dict(weights=np.linspace(0.5, 2, 40), offset=np.zeros(40), constraint=constraint)
    outcome = solve(D, solver="spectral", tol=1e-15, **full)
    coef, value = oracle(D, **full)
    assert outcome.converged and outcome.separation > 0
    np.testing.assert_allclose(outcome.coef, coef, atol=1e-6)
    assert outcome.objective == pytest.approx(value, abs=1e-5)
    expected = -full["weights"] * np.log(outcome.margins)
    np.testing.assert_allclose(outcome.multipliers, expected, atol=1e-12)
