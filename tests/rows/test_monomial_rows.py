"""Sweeps over monomials that are never stored, against the same sweeps over stored ones."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import PolynomialFeatures

from entropic.kernels import numpy_sweeps
from entropic.kernels.backend import sweeps
from entropic.kernels.loss import Loss
from entropic.rows import DenseRows, SparseRows
from entropic.rows.listing import Listing
from entropic.rows.monomial_rows import MonomialRows
from entropic.rows.target import Target

# features, degree, interaction_only, rows: around the kernels' tiles, pairs and blocks
SHAPES = [
    (1, 2, False, 5),
    (1, 6, False, 40),
    (2, 2, False, 37),
    (3, 5, True, 31),
    (5, 4, False, 77),
    (20, 3, False, 151),
    (20, 3, True, 150),
    (60, 2, False, 129),
    (14, 3, True, 33),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("form", ["rows", "columns", "strided", "float32", "sparse"])
@pytest.mark.parametrize(
    "backend",
    [
        pytest.param(numpy_sweeps, id="numpy", marks=pytest.mark.backend_free),
        pytest.param(sweeps, id="chosen"),
    ],
)
def test_every_sweep_is_that_of_the_stored_monomials(backend, form, shape):
    n_features, degree, interaction_only, n_samples = shape
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, n_features))
    factor, centre = rng.uniform(0.5, 1, n_features), rng.normal(size=n_features)
    if form == "sparse":
        X *= rng.random(X.shape) < 0.3
        base, Z = SparseRows.of(sp.csr_array(X)), X * factor
    else:
        given = {
            "rows": X,
            "columns": np.asfortranarray(X),
            "strided": X[:, ::-1],
            "float32": X.astype(np.float32),
        }[form]
        base, Z = DenseRows(given, centre), (given - centre) * factor
    rows = MonomialRows(base, Listing(n_features, degree, interaction_only), factor)
    expansion = PolynomialFeatures(degree, interaction_only=interaction_only, include_bias=False)
    stored = DenseRows(expansion.fit_transform(Z.astype(np.float64)))
    assert rows.n_columns == stored.n_columns
    size = rows.n_columns + 1
    coef, pointwise_gradient = rng.normal(size=size) / np.sqrt(size), rng.normal(size=n_samples)
    hessian_weights, scale = rng.uniform(0, 1, n_samples), rng.uniform(0, 1, size)
    target = Target.of(Loss(0.1), rng.choice([-1, 1], n_samples), hessian_weights, 0.1)
    calls = {
        "scores": (coef,),
        "rmatvec": (pointwise_gradient,),
        "hessp": (hessian_weights, coef),
        "evaluate": (coef, target, True),
        "curvature": (hessian_weights,),
        "gram": (scale,),
        "quadratic_forms": (rng.normal(size=(size, 3)),),
        "moments": (hessian_weights,),
    }
    for name, arguments in calls.items():
        found = getattr(backend, name)(rows, *arguments)
        expected = getattr(numpy_sweeps, name)(stored, *arguments)
        if not isinstance(found, tuple):
            found, expected = (found,), (expected,)
        for one, other in zip(found, expected, strict=True):
            assert_allclose(one, other, rtol=1e-10, atol=1e-12 * np.max(np.abs(other)))


@pytest.mark.parametrize("n_threads", [2, 3])
def test_the_same_bits_from_every_number_of_threads(n_threads):
    rng = np.random.default_rng(1)
    rows = MonomialRows(DenseRows(rng.normal(size=(2000, 8))), Listing(8, 3))
    target = Target.of(Loss(0.1), rng.choice([-1, 1], 2000))
    coef = rng.normal(size=rows.n_columns + 1)
    one, more = (sweeps.evaluate(rows, coef, target, True, n) for n in (1, n_threads))
    for left, right in zip(one, more, strict=True):
        assert_array_equal(left, right)


def test_features_of_a_column_are_its_place_in_the_listing():
    for interaction_only in (False, True):
        listing = Listing(5, 4, interaction_only)
        powers = PolynomialFeatures(4, interaction_only=interaction_only, include_bias=False)
        powers = powers.fit(np.ones((1, 5))).powers_
        for column, exponents in enumerate(powers):
            assert listing.features_of(column) == tuple(np.repeat(np.arange(5), exponents))


def test_kept_columns_are_those_that_rows_fill():
    rng = np.random.default_rng(2)
    X = sp.csr_array(rng.normal(size=(30, 8)) * (rng.random((30, 8)) < 0.15))
    whole = MonomialRows(SparseRows.of(X), Listing(8, 3))
    kept = whole.occupied()
    dense = whole.block(0, 30).toarray()
    assert_array_equal(kept, np.flatnonzero(np.any(dense != 0, axis=0)))
    part = MonomialRows(SparseRows.of(X), Listing(8, 3), None, kept)
    assert_array_equal(part.block(0, 30).toarray(), dense[:, kept])
    assert_array_equal(part.entries_per_column(), np.sum(dense[:, kept] != 0, axis=0))
