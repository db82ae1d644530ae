"""Sweeps for several problems on the same rows, against as many sweeps for one."""

import numpy as np
import pytest
import scipy.sparse as sp

from entropic.kernels import numpy_sweeps
from entropic.kernels.backend import name as backend
from entropic.kernels.backend import sweeps
from entropic.kernels.loss import Loss
from entropic.rows import DenseRows, SparseRows
from entropic.rows.listing import Listing
from entropic.rows.monomial_rows import MonomialRows
from entropic.rows.target import Target

pytestmark = pytest.mark.usefixtures("every_level")

THREADS = (2, 3, 8) if backend == "compiled" else ()
# one number, more problems than rows, narrow, several chunks, rows of no weight left out,
# matrices by the BLAS, and too wide for one a chunk
SIZES = [(1, 1), (5, 3), (131, 10), (270, 23), (4500, 8), (1100, 70), (600, 130), (90, 300)]


def rows_of_every_kind(n_samples, n_columns):
    rng = np.random.default_rng(n_samples)
    X = rng.normal(size=(n_samples, n_columns))
    wide = np.zeros((n_samples, 2 * n_columns))
    wide[:, ::2] = X
    yield "C", DenseRows(X)
    yield "Fortran", DenseRows(np.asfortranarray(X))
    yield "float32", DenseRows(X.astype(np.float32))
    yield "centred", DenseRows(X + 3, np.full(n_columns, 3.0))
    yield "strided", DenseRows(wide[:, ::2])
    yield "0 or 1", DenseRows((X > 0).astype(np.float32))
    yield "CSR", SparseRows.of(sp.csr_array(np.where(X > 0.5, X, 0)))
    features = min(n_columns, 10)
    yield "monomials", MonomialRows(DenseRows(X[:, :features]), Listing(features, 2))


@pytest.fixture(params=SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def cases(request):
    """Rows of a size, and problems on them that differ in all that may differ."""

    def problems_on(rows, n_problems=7):
        rng, n = np.random.default_rng(1), rows.n_samples
        for k in range(n_problems):
            coef = rng.normal(size=rows.n_columns + 1) / np.sqrt(rows.n_columns)
            sign = rng.choice([-1, 1], n) if k % 2 else 1
            weights = rng.random(n) * (rng.random(n) < 0.6) if k % 3 else 0.4
            offset = 0.0 if k == 1 else rng.normal(size=n)
            target = Target.of(Loss(0.1 if k % 2 else 0.3, k % 4 == 3), sign, weights, offset)
            yield coef, target, k % 3 != 1, [k % 2 == 0, k % 4 < 2, k % 5 == 0]

    return [(*case, list(problems_on(case[1]))) for case in rows_of_every_kind(*request.param)]


def arrays_of(kept, n_samples):
    return [np.full(n_samples, np.nan) if wanted else None for wanted in kept]


def parts_of(found):
    """All numbers of an answer, and of the arrays that it filled, one array a part."""
    if isinstance(found, (list, tuple)):
        return [part for each in found for part in parts_of(each)]
    return [] if found is None else [np.asarray(found)]


def assert_close(found, wanted, what):
    """The same numbers but for rounding, and matrices that are symmetric to the last bit."""
    for a, b in zip(found, wanted, strict=True):
        scale = np.max(np.abs(b), initial=0.0)
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * scale + 1e-300, err_msg=what)
        if what.partition(",")[0] != "scores_each" and a.ndim == 2:
            assert np.array_equal(a, a.T), what


def assert_each(name, rows, argument, singly, what):
    """Each answer is that of a sweep for one problem, and has the same bits at all threads."""
    found = parts_of(getattr(sweeps, name)(rows, argument))
    wanted = parts_of(singly)
    assert_close(found, wanted, what)
    for n_threads in THREADS:
        again = parts_of(getattr(sweeps, name)(rows, argument, n_threads=n_threads))
        assert all(map(np.array_equal, found, again)), f"{what}, {n_threads} threads"


@pytest.mark.parametrize("with_curvature", [True, False])
def test_evaluation(cases, with_curvature):
    for what, rows, problems in cases:
        n = rows.n_samples
        if not with_curvature:  # of more problems than write at a time, most keep something
            more = [(coef, target, False, kept) for coef, target, _, kept in problems]
            problems = [*more, *more]

        def calls(evaluate, rows=rows, n=n, problems=problems):
            kept = [arrays_of(wanted, n) for *_, wanted in problems]
            arguments = [
                (*problem[:3], *arrays) for problem, arrays in zip(problems, kept, strict=True)
            ]
            return evaluate(rows, arguments), kept

        def singly(rows, arguments):
            for coef, target, curvature, *kept in arguments:
                yield numpy_sweeps.evaluate(rows, coef, target, curvature, 1, *kept)

        wanted = calls(lambda rows, arguments: list(singly(rows, arguments)))
        found = calls(sweeps.evaluate_each)
        assert_close(parts_of(found), parts_of(wanted), what)
        for n_threads in THREADS:
            again = calls(lambda *call, n=n_threads: sweeps.evaluate_each(*call, n))
            assert all(map(np.array_equal, parts_of(found), parts_of(again))), what


def test_linear_sweeps(cases):
    rng = np.random.default_rng(2)
    for what, rows, problems in cases:
        coefs = np.array([coef for coef, *_ in problems])
        weights = rng.random((len(coefs), rows.n_samples))
        weights[:, ::3] = 0
        weights[2] = 0
        pairs = list(zip(weights, coefs, strict=True))
        roots = [rng.normal(size=(coefs.shape[1], k)) for k in (1, 5, 3, coefs.shape[1])]
        forms = [*zip(roots[:2], weights, strict=False), *((root, None) for root in roots[2:])]
        one = numpy_sweeps
        for name, argument, singly in (
            ("scores_each", coefs, [one.scores(rows, coef) for coef in coefs]),
            ("hessp_each", pairs, [one.hessp(rows, *pair) for pair in pairs]),
            ("curvature_each", list(weights), [one.curvature(rows, w) for w in weights]),
            ("quadratic_forms_each", forms, [one.quadratic_forms(rows, *form) for form in forms]),
        ):
            if name == "scores_each":
                singly = np.array(singly)
            assert_each(name, rows, argument, singly, f"{name}, {what}")


def test_one_problem_is_that_problem(cases):
    for what, rows, problems in cases:
        coef, target, *_ = problems[0]
        alone = sweeps.evaluate(rows, coef, target, True)
        (of_one,) = sweeps.evaluate_each(rows, [(coef, target, True, None, None, None)])
        assert all(map(np.array_equal, alone, of_one)), what
        assert np.array_equal(sweeps.scores_each(rows, coef[None])[0], sweeps.scores(rows, coef))


def test_no_problems_and_no_rows():
    rows = DenseRows(np.ones((4, 3)))
    assert sweeps.scores_each(rows, np.zeros((0, 4))).shape == (0, 4)
    for name in ("evaluate_each", "hessp_each", "curvature_each", "quadratic_forms_each"):
        assert getattr(sweeps, name)(rows, []) == []
    none = DenseRows(np.ones((0, 3)))
    assert sweeps.scores_each(none, np.zeros((2, 4))).shape == (2, 0)
    target = Target.of(Loss(0.1))
    for value, gradient, matrix in sweeps.evaluate_each(
        none, [(np.ones(4), target, True, None, None, None)] * 2
    ):
        assert value == 0 and not gradient.any() and not matrix.any()
    for matrix in sweeps.curvature_each(none, [np.zeros(0)] * 2):
        assert matrix.shape == (4, 4) and not matrix.any()
    assert [
        len(out) for out in sweeps.quadratic_forms_each(none, [(np.ones((4, 2)), None)] * 2)
    ] == [0, 0]
