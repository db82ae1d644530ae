"""The spectral iteration: its optimum, its steps, its endings, and that all storages share them."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from paper_sets import PAPER, SETS, signed_design
from scipy.special import wrightomega
from sklearn.preprocessing import StandardScaler

from entropic import EntropicClassifier, Monomials, solve
from entropic.features.design import Design
from entropic.kernels import backend, numpy_spectral
from entropic.kernels.box import Box
from entropic.kernels.loss import Loss
from entropic.rows import rows_of
from entropic.rows.target import Target
from entropic.solvers import Status
from entropic.solvers.spectral import RULES, spectral

STEPS = {"blobs": 213, "circles": 636, "spiral": 183, "moons": 746, "breast cancer": 2297}
SOLVERS = list(RULES)


def iterate(design, *, loss=None, weights=1.0, sign=1, module=None, rule="spectral", **options):
    """The iteration in a box of ±1 from zero; returns its report, history and multipliers."""
    n_samples, n_features = design.n_samples, design.n_features
    record, ratio = np.zeros((options.pop("capacity", 8192), 5)), np.zeros(n_samples)
    given = dict(goal_gap=np.inf, goal_norm=-1.0, max_iter=50_000) | options
    report = (module or backend.spectral).iterate(
        design,
        Target.of(loss or Loss(0.1), sign, weights),
        Box(-np.ones(n_features), np.ones(n_features), given.pop("entropy_weight", 1.0)),
        ratio,
        np.zeros(n_features),
        np.zeros(n_samples),
        RULES[rule],
        record=record,
        **given,
    )
    return report, record[: report["n_recorded"]], ratio


def certified_gap(
    D,
    outcome,
    *,
    weights=1.0,
    offset=0.0,
    lower=-1.0,
    upper=1.0,
    alpha=1.0,
    slack,
    inequality=False,
):
    """F(coef) + G(multipliers) from the raw arrays, by the formulas as they stand on paper."""
    coef, multipliers = outcome.coef, outcome.multipliers
    lower, upper = np.broadcast_to(lower, coef.shape), np.broadcast_to(upper, coef.shape)
    weights = np.broadcast_to(weights, multipliers.shape)
    assert np.all((coef >= lower) & (coef <= upper))
    p = (coef - lower) / (upper - lower)
    entropy = alpha * np.sum(sp_xlogx(p) + sp_xlogx(1 - p))
    t = D @ coef - offset
    b = slack * wrightomega(t / slack - np.log(slack))
    log_b = np.where(b > 1e-3 * slack, np.log(np.maximum(b, 1e-300)), (t - b) / slack)
    if inequality:
        log_b = np.minimum(log_b, 0)
        assert np.all(multipliers >= 0)
    losses = np.exp(log_b) * (log_b - 1) + slack / 2 * log_b**2
    primal = entropy + np.sum(weights * losses)
    tau = D.T @ multipliers
    half, centre = (upper - lower) / 2, (upper + lower) / 2
    ratio = np.where(weights > 0, multipliers / np.where(weights > 0, weights, 1), 0)
    dual = (
        np.sum(centre * tau + alpha * np.logaddexp(half * tau / alpha, -half * tau / alpha))
        + np.sum(weights * (np.exp(-ratio) + slack / 2 * ratio**2))
        - np.sum(multipliers * offset)
    )
    assert outcome.objective == pytest.approx(primal, rel=1e-9, abs=1e-9)
    return primal + dual


def sp_xlogx(p):
    return np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0)


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
@pytest.mark.parametrize("solver", SOLVERS)
def test_gap_is_proved_and_the_optimum_is_newtons(solver, case):
    D, options, tol = overlapping(), CASES[case], 1e-9
    outcome = solve(D, solver=solver, tol=tol, **options)
    newton = solve(D, solver="newton", tol=1e-13, **options)
    assert outcome.status is Status.CONVERGED and outcome.solver == solver
    named = dict(options)
    inequality = named.pop("constraint", "") == "inequality"
    named["alpha"] = named.pop("entropy_weight", 1.0)
    gap = certified_gap(D, outcome, inequality=inequality, **named)
    goal = tol * np.sum(np.broadcast_to(options.get("weights", 1.0), 120))
    assert gap <= goal + 1e-12 * abs(outcome.objective)
    assert outcome.dual_gap == pytest.approx(gap, abs=1e-11)
    assert abs(outcome.objective - newton.objective) <= goal + 1e-10
    # the entropy bends at least by 4 alpha / (u - l)^2, so the gap bounds the distance
    width = np.broadcast_to(options.get("upper", 1.0) - options.get("lower", -1.0), 5)
    distance = (outcome.coef - newton.coef) / width
    assert 2 * named["alpha"] * np.sum(distance**2) <= goal + 1e-10


@pytest.mark.parametrize("name", SETS)
def test_steps_are_as_few_as_published(name):
    design = Design(rows_of(signed_design(name)))
    goal = 1e-6 * np.sqrt(design.n_samples)
    report, _, _ = iterate(design, goal_norm=goal)
    assert report["status"] == Status.CONVERGED and report["gradient_norm"] <= goal
    # the count of such an iteration moves by a third when a last bit does
    assert 0.5 * STEPS[name] < report["n_iter"] < 1.5 * STEPS[name]
    assert report["n_reads"] == report["n_iter"] + 1


def test_the_papers_rule_takes_more_steps():
    design = Design(rows_of(signed_design("spiral")))
    goal = 1e-4 * np.sqrt(design.n_samples)
    adaptive, _, _ = iterate(design, goal_norm=goal)
    papers, history, _ = iterate(design, goal_norm=goal, rule="spectral-paper", max_iter=5000)
    assert history[1, 4] in 0.5 ** np.arange(30)  # first step 1, halved
    assert papers["n_iter"] > 1.5 * adaptive["n_iter"]
    entropy = Box(-np.ones(design.n_features), np.ones(design.n_features))
    assert entropy.entropy_weight == 1.0
    value = history[:, 1] - history[:, 2]  # gap less the best primal: the dual
    assert np.all(np.diff(value) <= 1e-9 * np.abs(value[1:]))  # monotone


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


@pytest.mark.parametrize("inequality", [False, True])
@pytest.mark.parametrize("rule", SOLVERS)
def test_compiled_and_numpy_take_the_same_steps(rule, inequality):
    if backend.name != "compiled":
        pytest.skip("the compiled kernels are not built here")
    design = Design(rows_of(signed_design("moons")), constant=False)
    options = dict(loss=Loss(0.1, inequality), rule=rule, max_iter=25)
    _, compiled, _ = iterate(design, **options)
    _, reference, _ = iterate(design, module=numpy_spectral, **options)
    np.testing.assert_allclose(compiled[:, 2:], reference[:, 2:], rtol=1e-7)


def test_scaled_and_signed_designs_take_the_same_steps():
    D = overlapping(200, 6, seed=3) * 10.0 ** np.arange(6) + 100
    sign = np.where(np.arange(200) % 3, 1, -1)
    mean, scale = D.mean(axis=0), D.std(axis=0)
    plain = sign[:, None] * np.column_stack([(D - mean) / scale, np.ones(200)])
    designs = [
        (Design(rows_of(plain)), 1),
        (Design(rows_of(D), mean, scale, constant=True), sign),
        (Design(rows_of(sp.csr_array(D)), mean, scale, constant=True), sign),
        (Design(rows_of(D).centred(mean), None, scale, constant=True), sign),
    ]
    histories = [iterate(d, sign=s, max_iter=15)[1][:, 2:] for d, s in designs]
    for history in histories[1:]:
        np.testing.assert_allclose(history, histories[0], rtol=1e-6)


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
    options = dict(slack=0.1, constraint=constraint, solver="spectral", tol=1e-12)
    plain, other = solve(STORED, **options), solve(FORMS[form], **options)
    np.testing.assert_allclose(other.history["step"][:15], plain.history["step"][:15], rtol=1e-6)
    np.testing.assert_allclose(other.coef, plain.coef, atol=1e-5)
    assert certified_gap(STORED, other, slack=0.1, inequality=constraint == "inequality") <= 4e-10


@pytest.mark.parametrize("inequality", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_same_bits_from_every_number_of_threads(sparse, inequality):
    D = np.random.default_rng(0).standard_normal((30_000, 9))
    D[:, 0] += 0.5
    rows = rows_of(sp.csr_array(np.where(np.abs(D) < 0.8, 0, D))) if sparse else rows_of(D)
    options = dict(loss=Loss(0.1, inequality), max_iter=12)
    _, history, ratio = iterate(Design(rows), n_threads=1, **options)
    for n_threads in (2, 3):
        _, again, multipliers = iterate(Design(rows), n_threads=n_threads, **options)
        np.testing.assert_array_equal(again, history)
        np.testing.assert_array_equal(multipliers, ratio)


@pytest.mark.parametrize("constraint", ["equality", "inequality"])
@pytest.mark.parametrize("slack", [0.1, 0.0])
def test_the_classifier_takes_both_rules(slack, constraint):
    X = np.random.default_rng(0).standard_normal((150, 4)) * [1, 1e3, 1e-3, 1] + 50
    score = X[:, 0] + X[:, 3] - 100
    X = X[np.abs(score) > 0.5]  # room enough between the classes for the exact constraint
    y = np.where(score[np.abs(score) > 0.5] > 0, "yes", "no")
    settings = dict(slack=slack, constraint=constraint, bound=1.0)
    newton = EntropicClassifier(**settings, tol=1e-12).fit(X, y)
    for solver in SOLVERS:
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
        assert outcome.converged and outcome.dual_gap <= tol * len(D)
        assert certified_gap(D, outcome, slack=0.1) <= tol * len(D) + 1e-12
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


def test_an_exception_in_the_callback_comes_through():
    def callback(*figures):
        raise LookupError("from the callback")

    with pytest.raises(LookupError, match="from the callback"):
        iterate(Design(rows_of(overlapping())), callback=callback, max_iter=5)


@pytest.mark.parametrize("module", dict.fromkeys([numpy_spectral, backend.spectral]))
def test_history_is_thinned_when_full(module):
    design = Design(rows_of(signed_design("blobs")))
    report, history, _ = iterate(design, module=module, max_iter=100, capacity=16)
    assert report["n_iter"] == 100
    np.testing.assert_array_equal(history[:, 0], np.arange(0, 101, 8))


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
def test_exact_constraint_agrees_with_a_cone_solver(constraint):
    cp = pytest.importorskip("cvxpy")
    D = np.abs(overlapping(40, 4, seed=2)) + 0.05
    weights = np.linspace(0.5, 2, 40)
    w, b = cp.Variable(4), cp.Variable(40)
    lower, upper = -1.0, np.array([1.0, 2.0, 1.0, 0.5])
    p = cp.multiply(w - lower, 1 / (upper - lower))
    entropy = -cp.sum(cp.entr(p) + cp.entr(1 - p))
    objective = entropy - weights @ cp.entr(b) - weights @ b
    held = D @ w == b if constraint == "equality" else D @ w >= b
    problem = cp.Problem(cp.Minimize(objective), [held])
    problem.solve(
        solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12, max_iter=500
    )
    outcome = solve(
        D,
        weights=weights,
        lower=lower,
        upper=upper,
        constraint=constraint,
        solver="spectral",
        tol=1e-15,
    )
    assert outcome.converged and outcome.separation > 0
    np.testing.assert_allclose(outcome.coef, w.value, atol=1e-6)
    assert outcome.objective == pytest.approx(problem.solution.opt_val, abs=1e-5)
    np.testing.assert_allclose(outcome.multipliers, -weights * np.log(outcome.margins), atol=1e-12)


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
    for solver in SOLVERS:
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


# ------------------------------------------------------------------------------ extremes

B = overlapping(60, 4, seed=9)
EXTREMES = {
    "one number": (np.array([[1.0]]), {}),
    "one sample": (np.array([[1.0, -2.0, 0.0]]), {}),
    "zeros but one": (np.where(np.arange(60).reshape(30, 2) == 7, 3.7e-208, 0.0), {}),
    "large entries": (B * 1e9, {}),
    "small entries": (B * 1e-150, {}),
    "subnormal entries": (B * 1e-310, {}),
    "columns far apart": (B * [1e9, 1e-150, 1.0, 1e-310], {}),
    "large weights": (B, dict(weights=np.full(60, 1e300))),
    "small weights": (B, dict(weights=np.full(60, 1e-300))),
    "weights far apart": (B, dict(weights=np.logspace(-3, 3, 60))),
    "wide box": (B, dict(lower=-1e6, upper=1e6)),
    "narrow box": (B, dict(lower=-1e-6, upper=1e-6)),
    "slack small": (B, dict(slack=1e-12)),
    "slack large": (B, dict(slack=1e12)),
    "collinear": (np.hstack([B, B, np.zeros((60, 1))]), {}),
    "entries of a thousand": (B * 1000, {}),
    "entropy small": (B, dict(entropy_weight=1e-300)),
    "both labels": (np.vstack([B, -B[:1]]), {}),
}


@pytest.mark.parametrize("case", EXTREMES)
@pytest.mark.parametrize("constraint", ["equality", "inequality"])
def test_extremes_end_finite_and_certified(case, constraint):
    D, options = EXTREMES[case]
    given = dict(slack=0.1, constraint=constraint, solver="spectral", max_iter=400) | options
    outcome = solve(D, **given)
    for values in (outcome.coef, outcome.margins, outcome.multipliers):
        assert np.all(np.isfinite(values))
    assert np.isfinite(outcome.objective) and 0 <= outcome.dual_gap < np.inf
    goal = 1e-8 * np.sum(np.broadcast_to(options.get("weights", 1.0), len(D)))
    assert outcome.converged == (outcome.dual_gap <= goal)
    if case not in (
        "large entries",
        "columns far apart",
        "large weights",
        "entropy small",
        "wide box",
        "slack small",
        "entries of a thousand",
    ):
        assert outcome.converged


# --------------------------------------------------------------------------- interruption


def test_ctrl_c_is_answered_at_once(tmp_path):
    script = tmp_path / "endless.py"
    script.write_text(
        textwrap.dedent(
            """
            import numpy as np
            from entropic import solve

            D = np.random.default_rng(0).standard_normal((20_000, 60))
            D[:, 0] += 0.1
            print("ready", flush=True)
            try:
                solve(D, slack=1e-9, solver="spectral", tol=0.0, max_iter=100_000_000)
            except KeyboardInterrupt:
                print("stopped", flush=True)
            """
        )
    )
    process = subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"ENTROPIC_BACKEND": backend.name},
    )
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        assert process.stdout.readline() == "stopped\n"
        assert time.monotonic() - begin < 1.0
        assert process.wait(timeout=20) == 0
    finally:
        process.kill()
        process.stdout.close()
