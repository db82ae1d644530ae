"""Newton's full steps in compiled code: the same ending as without them."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from entropic import EntropicClassifier, Monomials, solve
from entropic.features.design import Design
from entropic.kernels import backend
from entropic.kernels.backend import Box, sweeps
from entropic.kernels.loss import Loss
from entropic.rows import rows_of
from entropic.rows.sweep import Sweep
from entropic.rows.target import Target
from entropic.solvers import continuation
from entropic.solvers.problem import minimise

if backend.name != "compiled":
    pytest.skip("NumPy's sweeps make no steps", allow_module_level=True)
from entropic.kernels import _compiled

SETTINGS = {
    "equality": {},
    "inequality": {"inequality": True},
    "large slack, wide box": {"slack": 10.0, "width": 20.0, "inequality": True},
    "weights": {"weights": "drawn"},
    "weights of wild size": {"weights": "wild", "inequality": True},
    "offset": {"offset": 0.3},
    "offsets": {"offset": "drawn", "inequality": True},
    "unscaled": {"scaled": False},
    "no constant": {"constant": False},
    "neither": {"scaled": False, "constant": False, "inequality": True, "slack": 1.0},
    "little entropy": {"alpha": 1e-6, "inequality": True},
    "small slack": {"slack": 1e-2},
}


def problem(
    X,
    y,
    slack=0.1,
    inequality=False,
    weights=1.0,
    offset=0.0,
    scaled=True,
    constant=True,
    width=1.0,
    alpha=1.0,
):
    """A sweep and a box of an array, or of rows."""
    rng = np.random.default_rng(5)
    rows = X if hasattr(X, "n_columns") else rows_of(X)
    m, n = rows.n_samples, rows.n_columns
    mean = scale = None
    if scaled:
        values = rows.block(0, m)
        values = values.toarray() if sp.issparse(values) else np.asarray(values)
        mean, scale = values.mean(axis=0), values.std(axis=0) + 0.1
    if isinstance(weights, str):
        weights = {"drawn": rng.integers(0, 4, m), "wild": 10.0 ** rng.integers(-3, 4, m)}[weights]
    offset = rng.normal(size=m) / 3 if isinstance(offset, str) else offset
    target = Target.of(Loss(slack, inequality), np.where(y, 1, -1), weights, offset)
    bound = np.full(n + constant, width)
    return Sweep(Design(rows, mean, scale, constant), target), Box(-bound, bound, alpha)


def drawn(storage, m=300, n=6):
    rng = np.random.default_rng(3)
    X = rng.normal(1.0, size=(m, n)) * (rng.random((m, n)) < 0.6)
    y = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=m) > 0
    if storage == "sparse":
        return sp.csr_array(X), y
    if storage == "monomials":
        return Monomials(3).fit(X[:, :3]).rows(X[:, :3]), y
    return (np.asfortranarray(X, dtype=np.float32) if storage == "float32" else X), y


def endings(monkeypatch, solved):
    """What is solved with the compiled steps, which must have been made, and without."""
    made, steps = [], sweeps.newton_steps

    def counted(*arguments):
        made.append(steps(*arguments))
        return made[-1]

    with monkeypatch.context() as patch:
        patch.setattr(sweeps, "newton_steps", counted)
        with_them = solved()
        assert any(found is not None for found in made)
        patch.setattr(sweeps, "newton_steps", lambda *_: None)
        return with_them, solved()


def assert_same(monkeypatch, solved):
    """The same status and steps at a usual goal, the same numbers at one near rounding."""
    one, other = endings(monkeypatch, lambda: solved(1e-8))
    assert one.status == other.status == "converged"
    assert abs(one.n_iter - other.n_iter) <= 1
    assert_allclose(one.coef, other.coef, rtol=0, atol=1e-9)
    one, other = endings(monkeypatch, lambda: solved(1e-14))
    assert_allclose(one.coef, other.coef, rtol=0, atol=1e-10)
    assert_allclose(one.multipliers, other.multipliers, atol=1e-8 * np.abs(other.multipliers).max())
    assert_allclose(one.objective, other.objective, rtol=1e-12)
    for outcome in (one, other):
        assert len({len(values) for values in outcome.history.values()}) == 1
        if "pair" not in outcome.history["linear"]:
            assert len(outcome.history["gap"]) == outcome.n_iter + 1
        assert outcome.history["step"][0] == 0 and outcome.history["linear"][0] == ""


@pytest.mark.parametrize("level", _compiled.simd_levels())
@pytest.mark.parametrize("storage", ["dense", "float32", "sparse", "monomials"])
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_endings_are_the_same(monkeypatch, settings, storage, level):
    before = _compiled.simd_level()
    _compiled.set_simd_level(level)
    try:
        X, y = drawn(storage)
        assert_same(monkeypatch, lambda tol: minimise(*problem(X, y, **settings), tol=tol))
    finally:
        _compiled.set_simd_level(before)


@pytest.mark.parametrize(
    ("shape", "size", "shift"),
    [((30, 2), 1e-200, 0.0), ((100, 5), 1.0, 1e6), ((60, 4), 1e3, 0.0), ((1, 1), 1.0, 0.0)],
)
def test_extreme_entries(monkeypatch, shape, size, shift):
    rng = np.random.default_rng(0)
    D = shift + size * rng.normal(size=shape)
    options = dict(constraint="inequality", slack=1.0)
    assert_same(monkeypatch, lambda tol: solve(D, tol=tol, **options))


def test_reads_and_steps_are_counted(monkeypatch):
    X, y = drawn("dense")
    one, other = endings(monkeypatch, lambda: minimise(*problem(X, y)))
    assert one.n_sweeps == one.n_iter + 1
    assert other.n_sweeps >= one.n_sweeps


def test_a_step_limit_and_a_callback_end_them(monkeypatch):
    X, y = drawn("dense")
    for limit in (1, 2, 3):
        short = minimise(*problem(X, y), max_iter=limit)
        assert (short.status, short.n_iter) == ("max_iter", limit)
    seen = []
    stopped = minimise(*problem(X, y), callback=lambda each: seen.append(each) or len(seen) == 3)
    assert (stopped.status, stopped.n_iter) == ("interrupted", 2)
    assert [each["iteration"] for each in seen] == [0, 1, 2]
    assert [each["gap"] for each in seen[:2]] == stopped.history["gap"][:2]
    assert_allclose(stopped.coef, minimise(*problem(X, y), max_iter=2).coef)


def test_what_a_callback_raises_comes_through():
    X, y = drawn("dense")

    def broken(figures):
        raise KeyError("of the callback")

    with pytest.raises(KeyError, match="of the callback"):
        minimise(*problem(X, y), callback=broken)


def test_the_start_of_a_sample_is_the_same(monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 8))
    y = X[:, 0] + rng.normal(size=4000) > 0
    sweep, box = problem(X, y, slack=10.0, inequality=True)
    (state, objective), (state_without, objective_without) = endings(
        monkeypatch, lambda: continuation.start_of_sample(sweep, box, 400)
    )
    assert_allclose(state, state_without, atol=1e-10)
    assert_allclose(objective, objective_without)


def test_many_fits_in_threads_have_the_same_bits():
    X, y = drawn("dense")
    with ThreadPoolExecutor(8) as pool:
        coefs = list(pool.map(lambda _: EntropicClassifier().fit(X, y).coef_.tobytes(), range(40)))
    assert set(coefs) == {EntropicClassifier(n_jobs=1).fit(X, y).coef_.tobytes()}
