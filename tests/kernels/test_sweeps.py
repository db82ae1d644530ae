"""Every sweep, over every way rows can be stored, against its twin and against its formula."""

import importlib

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from entropic.kernels import numpy_sweeps
from entropic.kernels.backend import name as backend
from entropic.kernels.backend import sweeps as chosen
from entropic.kernels.loss import Loss
from entropic.rows import DenseRows, SparseRows
from entropic.rows.target import Target

if backend == "compiled":
    kernels = importlib.import_module("entropic.kernels.compiled_sweeps")
    THREADS = (1, 2, 3)
else:
    kernels, THREADS = numpy_sweeps, (1,)

pytestmark = pytest.mark.usefixtures("every_level")

DTYPES = (np.float64, np.float32)
INDICES = (np.int32, np.int64)
# one number, narrow, wide, a matrix too wide for a sum a chunk, several chunks of each
SIZES = [(1, 1), (5, 3), (131, 10), (37, 45), (300, 130), (70, 301), (4500, 8), (1100, 61)]


def frozen(array):
    array.flags.writeable = False
    return array


def dense_cases(X, dtype):
    """The same numbers in every layout, read-only; with a centre, shifted by it."""
    X = X.astype(dtype)
    n_samples, n_columns = X.shape
    wide = np.full((n_samples, 2 * n_columns), np.nan, dtype)
    wide[:, ::2] = X
    tall = np.full((2 * n_samples, n_columns), np.nan, dtype)
    tall[::2] = X
    raw = np.zeros(n_samples, np.dtype([("tag", "u1"), ("x", dtype, (n_columns,))]))
    raw["x"] = X
    centre = np.arange(n_columns) % 7 - 3.0
    shifted = (X + centre).astype(dtype)
    yield "C", DenseRows(frozen(X.copy())), X
    yield "Fortran", DenseRows(frozen(np.asfortranarray(X))), X
    yield "column stride", DenseRows(frozen(wide)[:, ::2]), X
    yield "row stride", DenseRows(frozen(tall)[::2]), X
    yield "backwards", DenseRows(frozen(X.copy())[::-1, ::-1]), X[::-1, ::-1]
    yield "Fortran backwards", DenseRows(np.asfortranarray(X)[::-1, ::-1]), X[::-1, ::-1]
    yield "unaligned", DenseRows(frozen(raw)["x"]), X
    whole = shifted.astype(np.float64) - centre
    yield "centre", DenseRows(frozen(shifted), centre), whole
    yield "Fortran centre", DenseRows(frozen(np.asfortranarray(shifted)), centre), whole


def sparse_cases(X, dtype, rng):
    """The same numbers as CSR: sorted, shuffled, with repeated entries, with empty rows."""
    X = np.where(rng.random(X.shape) < 0.4, X, 0).astype(dtype)
    X[:: max(2, len(X) // 3)] = 0
    matrix = sp.coo_array(X)
    for index in INDICES:
        csr = matrix.tocsr()
        parts = csr.data, csr.indices.astype(index), csr.indptr.astype(index)
        yield f"CSR {index.__name__}", SparseRows(*map(frozen, parts), X.shape[1]), X
        shuffle = rng.permutation(2 * matrix.nnz)
        row, column = (np.tile(part, 2)[shuffle] for part in (matrix.row, matrix.col))
        order = np.argsort(row, kind="stable")
        values = np.tile(matrix.data / 2, 2)[shuffle][order]
        starts = np.searchsorted(row[order], np.arange(len(X) + 1)).astype(index)
        parts = values, column[order].astype(index), starts
        yield f"repeated {index.__name__}", SparseRows(*map(frozen, parts), X.shape[1]), X


def cases(n_samples, n_columns, dtype, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_columns))
    yield from dense_cases(X, dtype)
    yield from sparse_cases(X, dtype, rng)


def with_constant(Z):
    return np.column_stack([Z.astype(np.float64), np.ones(len(Z))])


def assert_close(found, expected, what, rtol=1e-12):
    scale = np.max(np.abs(expected), initial=0.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=rtol * scale + 1e-300, err_msg=what)


@pytest.fixture(params=SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def size(request):
    return request.param


@pytest.mark.parametrize("dtype", DTYPES)
def test_linear_sweeps_match_their_formulas(size, dtype):
    rng = np.random.default_rng(1)
    n_samples, n_columns = size
    coef, hessian_weights = rng.normal(size=n_columns + 1), rng.random(n_samples)
    hessian_weights[::3] = 0
    scale = rng.random(n_columns + 1)
    factor = rng.normal(size=(n_columns + 1, 5))
    mean, spread, squares = rng.random((3, n_columns)) + 0.5
    some = min(2, n_columns)
    images = rng.normal(size=(n_columns + 1, n_columns + 3 + some))
    for what, rows, Z in cases(*size, dtype):
        Z = with_constant(Z)
        phi = (Z[:, :-1] - mean) / spread
        responses, left, right, linear, through = np.split(
            with_constant(phi) @ images, n_columns + np.arange(4), axis=1
        )
        cubic = np.sum(phi * responses * (squares * phi + 0.7), axis=1) + (left * right)[:, 0]
        cubic += np.sum(phi[:, :some] * through, axis=1) - linear[:, 0]
        expected = {
            "scores": ((coef,), Z @ coef),
            "hessp": ((hessian_weights, coef), Z.T @ (hessian_weights * (Z @ coef))),
            "rmatvec": ((hessian_weights,), Z.T @ hessian_weights),
            "curvature": ((hessian_weights,), (Z.T * hessian_weights) @ Z),
            "quadratic_forms": (
                (factor, hessian_weights),
                np.sum((Z @ factor) ** 2, axis=1) * (hessian_weights > 0),
            ),
            "cubic_forms": ((mean, spread, images, squares, 0.7), cubic),
        }
        if n_samples <= 300:
            expected["gram"] = (scale,), (Z * scale) @ Z.T
        for name, (arguments, answer) in expected.items():
            found = getattr(kernels, name)(rows, *arguments)
            assert_close(found, answer, f"{name}, {what}")
            twin = getattr(numpy_sweeps, name)(rows, *arguments)
            assert_close(found, twin, f"{name}, {what}, twin")
            for n_threads in THREADS[1:]:
                again = getattr(kernels, name)(rows, *arguments, n_threads=n_threads)
                assert np.array_equal(found, again), f"{name}, {what}, {n_threads} threads"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("inequality", [False, True])
@pytest.mark.parametrize("shared", [True, False], ids=["one target", "targets"])
@pytest.mark.skipif(backend != "compiled", reason="NumPy's is the twin")
def test_evaluation_matches_its_twin(size, dtype, inequality, shared):
    rng = np.random.default_rng(2)
    n_samples, n_columns = size
    coef = rng.normal(size=n_columns + 1) / np.sqrt(n_columns)
    loss = Loss(0.1, inequality)
    if shared:
        target = Target.of(loss, -1, 0.7, 0.2)
    else:
        sign = rng.choice([-1, 1], n_samples)
        weights = rng.random(n_samples) * (rng.random(n_samples) < 0.8)
        target = Target.of(loss, sign, weights, rng.normal(size=n_samples) * 0.3)
    for what, rows, _ in cases(*size, dtype):
        for curvature in (False, True):
            kept, expected_kept = np.empty((2, 3, n_samples))
            found = kernels.evaluate(rows, coef, target, curvature, 1, *kept)
            expected = numpy_sweeps.evaluate(rows, coef, target, curvature, 1, *expected_kept)
            names = ("value", "gradient", "curvature")
            for part, a, b in zip(names, found, expected, strict=True):
                if part == "curvature" and not curvature:
                    assert a is None
                else:
                    assert_close(a, b, f"{part}, {what}")
            for part, a, b in zip(("reach", "slope", "bend"), kept, expected_kept, strict=True):
                assert_close(a, b, f"{part}, {what}")
            for n_threads in THREADS:
                again = kernels.evaluate(rows, coef, target, curvature, n_threads)
                assert again[0] == found[0] and np.array_equal(again[1], found[1])
                assert not curvature or np.array_equal(again[2], found[2])
            if curvature:
                assert np.array_equal(found[2], found[2].T)
                # no eigenvalue below zero, but for rounding
                floor = 1e-12 * np.abs(found[2]).max() + 1e-300
                np.linalg.cholesky(found[2] + floor * np.eye(len(coef)))


@pytest.mark.parametrize("inequality", [False, True])
def test_derivatives_match_finite_differences(inequality):
    rng = np.random.default_rng(3)
    rows = DenseRows(rng.normal(size=(40, 4)))
    target = Target.of(Loss(0.3, inequality), rng.choice([-1, 1], 40), rng.random(40))
    coef, step = rng.normal(size=5), 1e-6
    _, gradient, curvature = kernels.evaluate(rows, coef, target, True)
    for j in range(5):
        move = step * np.eye(5)[j]
        above = kernels.evaluate(rows, coef + move, target)
        below = kernels.evaluate(rows, coef - move, target)
        assert (above[0] - below[0]) / (2 * step) == pytest.approx(gradient[j], rel=1e-7)
        slope = (above[1] - below[1]) / (2 * step)
        np.testing.assert_allclose(slope, curvature[j], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("dtype", DTYPES)
def test_moments_match_numpy(size, dtype):
    rng = np.random.default_rng(4)
    weights = rng.random(size[0])
    for what, rows, Z in cases(*size, dtype):
        Z = Z.astype(np.float64)
        for given_weights in (weights, np.array([2.0])):
            full = np.broadcast_to(given_weights, size[0])
            mean = np.average(Z, axis=0, weights=full)
            variance = np.average((Z - mean) ** 2, axis=0, weights=full)
            found = kernels.moments(rows, given_weights)
            # repeated halves of a float32 are exact, sums over rows are not
            assert_close(found[0], mean, f"mean, {what}")
            assert_close(found[1], variance, f"variance, {what}", rtol=1e-11)
            for n_threads in THREADS[1:]:
                again = kernels.moments(rows, given_weights, n_threads)
                assert np.array_equal(found[0], again[0]) and np.array_equal(found[1], again[1])


@pytest.mark.parametrize("weighted", [False, True])
def test_a_column_that_never_changes_has_no_deviation(weighted):
    rng = np.random.default_rng(6)
    n = 5686
    weights = rng.integers(0, 3, n) / 7.0 if weighted else np.array([1.0])
    Z = np.column_stack([np.ones(n), np.arange(n) % 2, np.full(n, 3.3), np.full(n, -0.1)])
    fortran, sparse = DenseRows(np.asfortranarray(Z)), SparseRows.of(sp.csr_array(Z))
    for rows in (DenseRows(Z), fortran, sparse):
        mean, variance = kernels.moments(rows, weights)
        np.testing.assert_allclose(mean[[0, 2, 3]], [1, 3.3, -0.1], rtol=3e-16)
        rounding = np.finfo(float).eps * np.abs(mean)
        assert np.all(np.sqrt(variance)[[0, 2, 3]] <= rounding[[0, 2, 3]])
        assert variance[1] == pytest.approx(0.25, rel=1e-2)


def test_columns_far_from_zero_lose_nothing():
    rng = np.random.default_rng(5)
    Z = rng.integers(-8, 8, size=(300, 40)) / 16.0
    rows = DenseRows(Z + 1e9, np.full(40, 1e9))
    coef = rng.normal(size=41)
    near = kernels.scores(DenseRows(Z), coef)
    np.testing.assert_allclose(kernels.scores(rows, coef), near, rtol=1e-13, atol=1e-13)


@given(
    n_samples=st.integers(0, 40),
    n_columns=st.integers(1, 40),
    density=st.sampled_from([0.0, 0.05, 1.0]),
    exponent=st.sampled_from([-150, 0, 150]),
    inequality=st.booleans(),
    seed=st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None)
def test_edges_agree(n_samples, n_columns, density, exponent, inequality, seed):
    """No rows, empty rows, one column, no weight, huge and tiny numbers."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n_samples, n_columns)) * (rng.random((n_samples, n_columns)) < density)
    Z = Z * 10.0**exponent
    coef = rng.normal(size=n_columns + 1)
    weights = rng.random(n_samples) * (rng.random(n_samples) < 0.5)
    target = Target.of(Loss(0.1, inequality), 1, weights if n_samples > 1 else 1.0)
    for rows in (DenseRows(Z), DenseRows(np.asfortranarray(Z)), SparseRows.of(sp.csr_array(Z))):
        found = kernels.evaluate(rows, coef, target)
        expected = numpy_sweeps.evaluate(rows, coef, target)
        assert np.isfinite(found[0])
        assert found[0] == pytest.approx(expected[0], rel=1e-10, abs=1e-300)
        assert_close(found[1], expected[1], "gradient", 1e-10)
        assert kernels.scores(rows, coef).shape == (n_samples,)


def test_flat_part_has_no_pull():
    rows = DenseRows(np.array([[0.5], [1.0], [3.0]]))
    kept = np.empty((3, 3))
    target = Target.of(Loss(0.1, True))
    coef = np.array([1.0, 0.0])
    value, gradient, _ = kernels.evaluate(rows, coef, target, False, 1, *kept)
    functional_margins, slope, hessian_weights = kept
    assert functional_margins.tolist() == [0.5, 1.0, 3.0]
    assert slope[0] < 0 and slope[1:].tolist() == [0, 0]
    assert hessian_weights[0] > 0 and hessian_weights[1:].tolist() == [0, 0]
    np.testing.assert_allclose(gradient, slope[0] * np.array([0.5, 1]), rtol=1e-15)
    assert value < -2


def test_rows_without_a_kernel_run_on_numpy():
    class Squares:
        """Rows that only say what a block of them is."""

        n_samples, n_columns, columns = 20, 2, None

        def ranges(self):
            yield 0, 20

        def block(self, start, stop):
            x = np.arange(start, stop, dtype=np.float64)
            return np.column_stack([x, x * x])

    found = kernels.scores(Squares(), np.array([1.0, 2.0, 3.0]), 2)
    x = np.arange(20)
    np.testing.assert_allclose(found, x + 2 * x * x + 3)


@pytest.mark.parametrize(
    "columns, starts, words",
    [
        ([0, 5], [0, 2], "column 5 at entry 1"),
        ([-1, 0], [0, 2], "column -1 at entry 0"),
        ([0, 1], [0, 3], "indptr"),
        ([0, 1], [0, 2, 1], "indptr"),
        ([0, 1], [-1, 2], "indptr"),
    ],
)
def test_indices_that_point_outside_are_refused(columns, starts, words):
    with pytest.raises(ValueError, match=words):
        SparseRows(np.ones(2), np.array(columns), np.array(starts), 3)


def test_sparse_rows_may_start_late():
    parts = np.array([9.0, 9.0, 1.0, 2.0]), np.array([0, 1, 1, 0]), np.array([2, 3, 4])
    rows = SparseRows(*parts, 2)
    assert kernels.scores(rows, np.array([1.0, 10.0, 0.0])).tolist() == [10, 2]
    assert kernels.gram(rows, np.ones(3)).tolist() == [[2, 1], [1, 5]]
    assert kernels.curvature(rows, np.ones(2)).tolist() == [[4, 0, 2], [0, 1, 1], [2, 1, 2]]


def test_sparse_columns_of_very_uneven_use():
    """Whatever columns the threads share out among them, each pair of entries counts once."""
    rng = np.random.default_rng(0)
    for filled in ([0], [299], [0, 299], [3, 4, 5, *range(290, 300)], []):
        X = np.zeros((50, 300))
        X[:, filled] = rng.normal(size=(50, len(filled)))
        rows, hessian_weights = SparseRows.of(sp.csr_array(X)), rng.uniform(size=50)
        whole = np.column_stack([X, np.ones(50)])
        first = kernels.curvature(rows, hessian_weights)
        np.testing.assert_allclose(first, whole.T @ (hessian_weights[:, None] * whole), atol=1e-12)
        for n_threads in (2, 3, 7):
            assert np.array_equal(kernels.curvature(rows, hessian_weights, n_threads), first)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_quadratic_forms_of_rows_with_few_entries(dtype):
    """Few entries a row and a wide factor: pairs of entries serve instead of the factor."""
    rng = np.random.default_rng(0)
    dense = (rng.normal(size=(200, 90)) * (rng.random((200, 90)) < 0.03)).astype(dtype)
    matrix = sp.csr_array(dense)
    # a repeated entry, and columns out of order
    values = np.append(matrix.data, np.array([2.0, -3.0, 2.0], dtype))
    columns = np.append(matrix.indices, np.array([7, 3, 7], matrix.indices.dtype))
    starts = np.append(matrix.indptr, len(values)).astype(matrix.indptr.dtype)
    last = np.zeros(90)
    last[[3, 7]] = -3.0, 4.0
    rows = SparseRows(values, columns, starts, 90)
    factor = rng.normal(size=(91, 91))
    design = np.column_stack([np.vstack([dense.astype(float), last]), np.ones(201)])
    expected = np.square(design @ factor).sum(axis=1)
    np.testing.assert_allclose(chosen.quadratic_forms(rows, factor), expected, rtol=1e-12)
    wanted = np.arange(rows.n_samples) % 3 > 0
    found = chosen.quadratic_forms(rows, factor, wanted)
    np.testing.assert_allclose(found, expected * wanted, rtol=1e-12)


def test_what_is_infinite_stays_in_its_row():
    # one entry, then three: fours are read from the first on
    columns, starts = np.arange(4, dtype=np.int32), np.array([0, 1, 4], dtype=np.int32)
    rows = SparseRows(np.ones(4), columns, starts, 4)
    coef = np.array([1, np.inf, 1, 1, 0])
    np.testing.assert_array_equal(chosen.scores(rows, coef), [1, np.inf])
    pointwise_gradient = np.array([np.inf, 0])
    np.testing.assert_array_equal(
        chosen.rmatvec(rows, pointwise_gradient), [np.inf, 0, 0, 0, np.inf]
    )


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_second_order_sweeps_of_no_rows(storage):
    rows = DenseRows(np.zeros((0, 32)))
    if storage == "sparse":
        rows = SparseRows(np.zeros(0), np.zeros(0, np.int32), np.zeros(1, np.int32), 32)
    np.testing.assert_array_equal(chosen.curvature(rows, np.zeros(0)), np.zeros((33, 33)))
    assert chosen.quadratic_forms(rows, np.ones((33, 2))).shape == (0,)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [(2300, 300), (1100, 1040)], ids=["parts", "bands"])
def test_matrices_of_wide_rows(size, dtype):
    """Sums in parts and in bands; most rows of no weight; a factor with a triangle of zeros."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=size).astype(dtype)
    Z, weights = with_constant(X), rng.random(size[0]) * (rng.random(size[0]) < 0.4)
    scale, factor = rng.random(size[1] + 1), np.triu(rng.normal(size=(size[1] + 1,) * 2))
    factor[-1] = rng.normal(size=len(factor))
    for rows in (DenseRows(X), DenseRows(np.asfortranarray(X))):
        for name, argument, expected in (
            ("curvature", weights, (Z.T * weights) @ Z),
            ("gram", scale, (Z * scale) @ Z.T),
            ("quadratic_forms", factor, np.sum((Z @ factor) ** 2, axis=1)),
        ):
            found = getattr(kernels, name)(rows, argument)
            assert_close(found, expected, name)
            assert found.ndim == 1 or np.array_equal(found, found.T)
            for n_threads in THREADS[1:]:
                again = getattr(kernels, name)(rows, argument, n_threads=n_threads)
                assert np.array_equal(found, again)


@pytest.mark.parametrize("n_samples", [0, 1, 1000])
def test_changed_numbers_are_found_unless_they_are_many(n_samples):
    rng = np.random.default_rng(0)
    before = rng.random(n_samples)
    after = before * rng.choice([1.0, 1 + 1e-5, 1.01, 0.0], n_samples)
    places = np.flatnonzero(abs(after - before) > 1e-4 * after)
    for changed in (kernels.changed, numpy_sweeps.changed):
        np.testing.assert_array_equal(changed(before, after, 1e-4, len(places)), places)
        if len(places):
            assert changed(before, after, 1e-4, len(places) - 1) is None
