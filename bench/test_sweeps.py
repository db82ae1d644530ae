"""Sweeps against what bounds them: a pure read of the same bytes, and NumPy's two products.

Run with ``OPENBLAS_NUM_THREADS=1`` in the environment. The pure read is the sum of the numbers'
squares by BLAS, the quickest thing that NumPy does with all of them. The aim for dense rows: a
sweep within 1.15 times the pure read at 20,000 × 1,000 and 1.7 times at the other sizes, and never
slower than NumPy.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from problems import EACH, SWEEPS

from entropic.kernels import numpy_sweeps
from entropic.kernels.backend import name as backend
from entropic.kernels.loss import Loss
from entropic.rows import DenseRows, SparseRows
from entropic.rows.target import Target

if backend == "compiled":
    from entropic.kernels import compiled_sweeps

compiled = pytest.mark.skipif(backend != "compiled", reason="needs the compiled kernels")

STORAGES = ["C", "Fortran", "centred", "CSR"]
DTYPES = ["float64", "float32"]
# Columns up to which the curvature, at n^2 products a row, is quick enough to be measured here.
CURVATURE_COLUMNS = 50


class Problem:
    """Rows with everything a sweep over them needs."""

    def __init__(self, size, storage, dtype):
        rng = np.random.default_rng(0)
        n_samples, n_columns = size
        X = rng.standard_normal(size, dtype=np.float32).astype(dtype)
        if storage == "CSR":
            X[rng.random(size, dtype=np.float32) > 0.1] = 0
            self.X = sp.csr_array(X)
            self.rows = SparseRows.of(self.X)
        else:
            self.X = np.asfortranarray(X) if storage == "Fortran" else X
            centre = np.full(n_columns, 0.1) if storage == "centred" else None
            self.rows = DenseRows(self.X, centre)
        self.coef = rng.normal(size=n_columns + 1) / np.sqrt(n_columns)
        self.typed_coef = self.coef[:-1].astype(dtype)
        self.hessian_weights = rng.random(n_samples)
        self.pointwise_gradient = self.hessian_weights.astype(dtype)
        self.target = Target.of(Loss(0.1), rng.choice([-1, 1], n_samples))


_built = {}


@pytest.fixture
def problem(request, size, storage, dtype):
    key = size, storage, dtype
    if key not in _built:
        _built.clear()  # one at a time: they are large
        _built[key] = Problem(*key)
    return _built[key]


def pytest_generate_tests(metafunc):
    if "size" in metafunc.fixturenames:
        values = [(s, o, d) for s in SWEEPS for o in STORAGES for d in DTYPES]
        ids = [f"{s[0]}x{s[1]}-{o}-{d}" for s, o, d in values]
        metafunc.parametrize("size, storage, dtype", values, ids=ids, scope="module")


def timed(measure, size, storage, dtype, method, function, sweep="gradient"):
    how = "" if storage == "C" else f", {storage}"
    problem = f"{size[0]:,} × {size[1]:,} {dtype}{how}"
    if sweep == "gradient":
        measure("gradient sweep", problem, method, function)
    else:
        measure("other sweeps", f"{sweep}, {problem}", method, function)


def threads_of(n_threads):
    return "1 thread" if n_threads == 1 else f"{n_threads} threads"


@pytest.mark.parametrize("threads", [1, 2])
def test_pure_read(measure, problem, size, storage, dtype, threads):
    values = problem.X.data if storage == "CSR" else problem.X.ravel("K")
    parts = np.array_split(values, threads)
    with ThreadPoolExecutor(threads) as pool:
        run = map if threads == 1 else pool.map
        method = f"pure read, {threads_of(threads)}"
        read = lambda: list(run(lambda x: float(x @ x), parts))  # noqa: E731
        timed(measure, size, storage, dtype, method, read)


def test_two_products(measure, problem, size, storage, dtype):
    X, pointwise_gradient, coef = problem.X, problem.pointwise_gradient, problem.typed_coef
    products = lambda: (X @ coef, X.T @ pointwise_gradient)  # noqa: E731
    timed(measure, size, storage, dtype, "NumPy's two products", products)


@compiled
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("sweep", ["gradient", "curvature", "hessp", "scores"])
def test_compiled(measure, problem, size, storage, dtype, sweep, threads):
    run(measure, problem, size, storage, dtype, compiled_sweeps, sweep, threads)


@pytest.mark.parametrize("sweep", ["gradient", "curvature", "hessp", "scores"])
def test_numpy(measure, problem, size, storage, dtype, sweep):
    run(measure, problem, size, storage, dtype, numpy_sweeps, sweep, 1)


def run(measure, problem, size, storage, dtype, sweeps, sweep, threads):
    if sweep == "curvature" and size[1] > CURVATURE_COLUMNS:
        pytest.skip("takes minutes")
    p = problem
    calls = {
        "gradient": lambda: sweeps.evaluate(p.rows, p.coef, p.target, False, threads),
        "curvature": lambda: sweeps.evaluate(p.rows, p.coef, p.target, True, threads),
        "hessp": lambda: sweeps.hessp(p.rows, p.hessian_weights, p.coef, threads),
        "scores": lambda: sweeps.scores(p.rows, p.coef, threads),
    }
    method = "entropic, NumPy" if sweeps is numpy_sweeps else f"entropic, {threads_of(threads)}"
    timed(measure, size, storage, dtype, method, calls[sweep], sweep)


N_CLASSES = 10


@pytest.fixture(scope="module", params=["C", "Fortran"])
def one_against_the_rest(request):
    """Rows, and for each class the arguments of every sweep."""
    rng = np.random.default_rng(0)
    X, label = rng.standard_normal(EACH), rng.integers(N_CLASSES, size=EACH[0])
    coefs = rng.normal(size=(N_CLASSES, EACH[1] + 1)) / np.sqrt(EACH[1])
    hessian_weights = list(rng.random((N_CLASSES, EACH[0])))
    targets = [Target.of(Loss(0.1), np.where(label == k, 1, -1)) for k in range(N_CLASSES)]

    def evaluations(curvature):
        pairs = zip(coefs, targets, strict=True)
        return [(coef, target, curvature, None, None, None) for coef, target in pairs]

    rows = DenseRows(X if request.param == "C" else np.asfortranarray(X))
    problems = {
        "scores": coefs,
        "gradient": evaluations(False),
        "gradient and curvature": evaluations(True),
        "hessp": list(zip(hessian_weights, coefs, strict=True)),
        "curvature": hessian_weights,
        "quadratic_forms": [(np.triu(rng.normal(size=(EACH[1] + 1,) * 2)), None) for _ in coefs],
    }
    return request.param, rows, problems


SEVERAL = ("scores", "gradient", "gradient and curvature", "hessp", "curvature", "quadratic_forms")


@compiled
@pytest.mark.parametrize("together", [False, True], ids=["ten reads", "one read"])
@pytest.mark.parametrize("sweep", SEVERAL)
def test_each(measure, one_against_the_rest, sweep, together):
    order, rows, problems = one_against_the_rest
    name = "evaluate" if sweep.startswith("gradient") else sweep
    each, single = (getattr(compiled_sweeps, name + end) for end in ("_each", ""))

    def one_by_one():
        for problem in problems[sweep]:
            single(rows, *(problem[:3] if isinstance(problem, tuple) else (problem,)))

    measure(
        "sweeps for several problems",
        f"{sweep}, {EACH[0]:,} × {EACH[1]}, {order}",
        "one read" if together else "ten reads",
        (lambda: each(rows, problems[sweep])) if together else one_by_one,
        rounds=9,
    )
