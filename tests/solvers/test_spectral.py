"""The spectral gradient method: its optimum, its endings, and that all storages share them."""

import _thread
import threading
import time
from types import SimpleNamespace

import certificate
import numpy as np
import pytest
import scipy.sparse as sp
from paper_sets import PAPER
from sklearn.preprocessing import StandardScaler

from entropic import EntropicClassifier, Monomials, solve
from entropic.kernels.box import Box
from entropic.solvers import Status
from entropic.solvers.spectral import RULES, spectral


def overlapping(n_samples=120, n_features=5, seed=0):
    D = np.random.default_rng(seed).standard_normal((n_samples, n_features))
    D[:, 0] += 0.8
    return D


rng = np.random.default_rng(7)
CASES = {
    "plain": dict(slack=0.1),
    "weights": dict(slack=0.1, weights=rng.integers(0, 4, 120).astype(float)),
    "offset": dict(slack=0.3, offset=rng.standard_normal(120)),
    "boxes": dict(slack=0.2, lower=-np.arange(1.0, 6), upper=np.linspace(0.1, 3, 5)),
    "entropy": dict(slack=0.5, entropy_weight=7.0),
    "inequality": dict(slack=0.2, constraint="inequality"),
    "all at once": dict(
        slack=0.1,
        constraint="inequality",
        weights=rng.random(120),
        offset=0.2,
        lower=-0.5,
        upper=2.0,
        entropy_weight=0.5,
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("solver", RULES)
def test_gap_is_proved_and_the_optimum_is_newtons(solver, case):
    D, options, tol = overlapping(), CASES[case], 1e-9
    outcome = solve(D, solver=solver, tol=tol, **options)
    newton = solve(D, solver="newton", tol=1e-13, **options)
    assert outcome.solver == solver
    stated = certificate.Problem.of(D, **options)
    certificate.check(stated, outcome, tol)
    gap = certificate.gap(stated, outcome.coef, outcome.multipliers)
    assert outcome.dual_gap == pytest.approx(gap, abs=1e-11)
    goal = tol * float(stated.weights.sum())
    assert abs(outcome.objective - newton.objective) <= goal + 1e-10
    # the entropy bends at least by 4 alpha / (u - l)^2, so the gap bounds the distance
    distance = (outcome.coef - newton.coef) / (stated.upper - stated.lower)
    assert 2 * stated.entropy_weight * np.sum(distance**2) <= goal + 1e-10


@pytest.mark.parametrize("factor", [1e-300, 3.0, 1e300])
def test_scaling_weights_and_entropy_changes_no_step(factor):
    D, weights = overlapping(), np.linspace(0.5, 1.5, 120)
    one = solve(D, slack=0.1, weights=weights, solver="spectral")
    scaled = solve(D, slack=0.1, weights=factor * weights, entropy_weight=factor, solver="spectral")
    np.testing.assert_allclose(scaled.history["step"][:30], one.history["step"][:30], rtol=1e-6)
    np.testing.assert_allclose(scaled.coef, one.coef, atol=1e-5)
    np.testing.assert_allclose(scaled.multipliers / factor, one.multipliers, atol=1e-3)


def test_weight_two_is_the_sample_twice():
    D = overlapping(60)
    weights = np.random.default_rng(1).integers(0, 4, 60)
    whole = solve(D, slack=0.1, weights=weights, solver="spectral")
    repeated = solve(np.repeat(D, weights, axis=0), slack=0.1, solver="spectral")
    np.testing.assert_allclose(whole.history["step"][:20], repeated.history["step"][:20], rtol=1e-6)
    np.testing.assert_allclose(whole.coef, repeated.coef, atol=1e-4)
    assert np.all(whole.multipliers[weights == 0] == 0)


def test_monomials_take_the_steps_of_their_expansion():
    X = np.random.default_rng(2).standard_normal((150, 3))
    y = X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0.2
    expanded = Monomials(3).fit(X).transform(StandardScaler().fit_transform(X))
    settings = dict(PAPER, solver="spectral", tol=1e-12)
    plain = EntropicClassifier(**settings).fit(expanded, y)
    cubic = EntropicClassifier(degree=3, **settings).fit(X, y)
    assert cubic.converged_
    np.testing.assert_allclose(cubic.history_["step"][:15], plain.history_["step"][:15], rtol=1e-6)
    np.testing.assert_allclose(
        cubic.decision_function(X), plain.decision_function(expanded), atol=1e-4
    )


def test_rows_in_batches_are_refused():
    sweep = SimpleNamespace(work=SimpleNamespace(random_access=False))
    with pytest.raises(ValueError, match="solver='newton'"):
        spectral(sweep, Box(-np.ones(2), np.ones(2)), solver="spectral", goal=None, tol=1e-8)


def storages():
    D = overlapping(300, 7, seed=5).astype(np.float32).astype(np.float64)
    D[np.abs(D) < 0.5] = 0
    wide = np.zeros((600, 14))
    wide[::2, ::2] = D
    csr = sp.csr_array(D)
    wide_csr = csr.copy()
    wide_csr.indices, wide_csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    read_only = D.astype(np.float32)
    read_only.flags.writeable = False
    order = np.concatenate(
        [np.arange(b - 1, a - 1, -1) for a, b in zip(csr.indptr, csr.indptr[1:], strict=False)]
    )
    unsorted = sp.csr_array((csr.data[order], csr.indices[order], csr.indptr), shape=csr.shape)
    forms = {
        "fortran": np.asfortranarray(D),
        "strided": wide[::2, ::2],
        "reversed": D[::-1][::-1],
        "float32": read_only,
        "csr": csr,
        "csr int64": wide_csr,
        "csr unsorted": unsorted,
        "csr float32": csr.astype(np.float32),
    }
    return D, forms


STORED, FORMS = storages()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("constraint", ["equality", "inequality"])
def test_every_storage_reaches_the_same_optimum(form, constraint):
    problem = dict(slack=0.1, constraint=constraint)
    options = problem | dict(solver="spectral", tol=1e-12)
    plain, other = solve(STORED, **options), solve(FORMS[form], **options)
    np.testing.assert_allclose(other.history["step"][:15], plain.history["step"][:15], rtol=1e-6)
    np.testing.assert_allclose(other.coef, plain.coef, atol=1e-5)
    certificate.check(certificate.Problem.of(STORED, **problem), other, 1e-12)


@pytest.mark.parametrize("constraint", ["equality", "inequality"])
@pytest.mark.parametrize("slack", [0.1, 0.0])
def test_the_classifier_takes_both_rules(slack, constraint):
    X = np.random.default_rng(0).standard_normal((150, 4)) * [1, 1e3, 1e-3, 1] + 50
    score = X[:, 0] + X[:, 3] - 100
    X = X[np.abs(score) > 0.5]  # room enough between the classes for the exact constraint
    y = np.where(score[np.abs(score) > 0.5] > 0, "yes", "no")
    settings = dict(slack=slack, constraint=constraint, bound=1.0)
    newton = EntropicClassifier(**settings, tol=1e-12).fit(X, y)
    for solver in RULES:
        model = EntropicClassifier(**settings, solver=solver, tol=1e-10).fit(X, y)
        assert model.converged_ and model.n_sweeps_ >= model.n_iter_ > 0
        np.testing.assert_allclose(
            model.decision_function(X), newton.decision_function(X), atol=1e-3
        )
        np.testing.assert_allclose(model.loo_decision_, newton.loo_decision_, atol=1e-2)


# ------------------------------------------------------------------------------ endings


def test_lower_tol_gives_a_lower_gap():
    D, gaps = overlapping(), []
    for tol in (1e-2, 1e-5, 1e-8, 1e-11):
        outcome = solve(D, slack=0.1, solver="spectral", tol=tol)
        certificate.check(certificate.Problem.of(D, slack=0.1), outcome, tol)
        gaps.append(outcome.dual_gap)
    assert gaps == sorted(gaps, reverse=True) and gaps[-1] < 1e-8


def test_max_iter_and_rounding_are_reported():
    D = overlapping()
    short = solve(D, slack=0.1, solver="spectral", max_iter=3)
    assert short.status is Status.MAX_ITER and short.n_iter == 3
    assert f"{short.dual_gap:.1e}" in short.message and short.dual_gap > 1e-8 * len(D)
    fine = solve(D, slack=0.1, solver="spectral", tol=0.0)
    assert fine.status in (Status.PRECISION, Status.CONVERGED)
    assert fine.dual_gap < 1e-18 and fine.n_iter < 5000


def test_callback_hears_every_step_and_can_stop():
    heard = []

    def callback(figures):
        heard.append(figures)
        return len(heard) == 5

    model = EntropicClassifier(**PAPER, solver="spectral", callback=callback)
    X = overlapping(80, 3)
    model.fit(X, X[:, 0] > 0.8)
    assert model.status_ == "interrupted" and not model.converged_
    assert [figures["iteration"] for figures in heard] == [0, 1, 2, 3, 4]
    assert set(heard[0]) == {"iteration", "gap", "objective", "gradient_norm"}
    assert heard[-1]["gap"] == model.history_["gap"][-1]


def test_warm_start_needs_fewer_steps():
    X, y = overlapping(200, 4), np.arange(200) % 2
    X[:, 1] += y
    model = EntropicClassifier(**PAPER, solver="spectral", warm_start=True, tol=1e-10).fit(X, y)
    first = model.n_iter_
    coef = model.coef_
    model.fit(X, y)
    assert model.n_iter_ < first / 2
    np.testing.assert_allclose(model.coef_, coef, atol=1e-4)


# ------------------------------------------------------------------------- exact constraint


@pytest.mark.parametrize("constraint", ["equality", "inequality"])
@pytest.mark.parametrize("width", [1e-3, 1e-6, 1e-9])
def test_margins_that_nearly_vanish_are_met(width, constraint):
    # the two rows leave a wedge in which w_1 < width: margins of half that at most
    D = np.array([[1.0, 0.0], [-1.0, width]])
    outcome = solve(D, solver="spectral", constraint=constraint, tol=1e-16)
    assert outcome.residual_norm <= np.sqrt(1e-16 * 2)
    assert np.all(outcome.margins > 0) and np.max(outcome.margins) < width / 2
    np.testing.assert_allclose(outcome.multipliers, -np.log(outcome.margins), rtol=1e-12)


def test_rows_in_conflict_end_in_a_proof():
    D = overlapping()
    for solver in RULES:
        outcome = solve(D, solver=solver)
        assert outcome.status is Status.NOT_SEPARABLE and not outcome.converged
        assert outcome.margin_bound <= 1e-6 and "slack" in outcome.message
        assert np.all(np.isfinite(outcome.coef)) and np.all(outcome.margins > 0)


def test_weight_zero_takes_a_row_out_of_the_conflict():
    D = np.vstack([np.abs(overlapping(40, 3)) + 0.1, [[-1.0, -1.0, -1.0]]])
    weights = np.ones(41)
    weights[-1] = 0
    outcome = solve(D, weights=weights, solver="spectral", tol=1e-12)
    alone = solve(D[:-1], solver="spectral", tol=1e-12)
    assert outcome.converged and outcome.multipliers[-1] == 0
    np.testing.assert_allclose(outcome.coef, alone.coef, atol=1e-6)


def test_ctrl_c_is_answered_at_once():
    D = overlapping(20_000, 60)
    timer = threading.Timer(1.0, _thread.interrupt_main)
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        solve(D, slack=1e-9, solver="spectral", tol=0.0, max_iter=100_000_000)
    assert time.monotonic() - begin < 2.0
    timer.join()
