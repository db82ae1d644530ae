"""Monomials against scikit-learn's PolynomialFeatures, and the sizes it must refuse."""

from math import comb

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import parametrize_with_checks

from entropic import Monomials


@parametrize_with_checks([Monomials(2), Monomials(3, interaction_only=True)])
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("include_bias", [False, True])
@pytest.mark.parametrize("interaction_only", [False, True])
@pytest.mark.parametrize("degree", [1, 2, 3, 5])
@pytest.mark.parametrize("n_features", [1, 2, 5])
def test_columns_and_names_are_those_of_polynomial_features(
    n_features, degree, interaction_only, include_bias
):
    X = np.random.default_rng(0).normal(size=(7, n_features))
    theirs = PolynomialFeatures(
        degree, interaction_only=interaction_only, include_bias=include_bias
    ).fit(X)
    ours = Monomials(degree, interaction_only=interaction_only, include_bias=include_bias).fit(X)
    expected = theirs.transform(X)
    assert ours.n_output_features_ == theirs.n_output_features_ == expected.shape[1]
    assert_array_equal(ours.get_feature_names_out(), theirs.get_feature_names_out())
    assert_allclose(ours.transform(X), expected, rtol=1e-14)
    assert_allclose(np.vstack(list(ours.blocks(X, rows=3))), expected, rtol=1e-14)


def _sparse(kind, rng, n_samples=40, n_features=6):
    dense = rng.normal(size=(n_samples, n_features)) * (rng.random((n_samples, n_features)) < 0.4)
    dense[3] = 0
    return kind(dense), dense


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize("interaction_only", [False, True])
@pytest.mark.parametrize("degree", [1, 2, 4])
def test_sparse_rows_give_sparse_monomials(degree, interaction_only, kind):
    given, dense = _sparse(kind, np.random.default_rng(1))
    ours = Monomials(degree, interaction_only=interaction_only, include_bias=True)
    expected = PolynomialFeatures(degree, interaction_only=interaction_only).fit_transform(dense)
    out = ours.fit_transform(given)
    assert sp.issparse(out) and out.format == "csr" and out.has_sorted_indices
    assert isinstance(out, sp.sparray) == isinstance(given, sp.sparray)
    assert_allclose(out.toarray(), expected, rtol=1e-13)
    blocks = list(ours.blocks(given, rows=7))
    assert [block.shape[0] for block in blocks] == [7] * 5 + [5]
    assert_allclose(sp.vstack(blocks).toarray(), expected, rtol=1e-13)


def test_unsorted_and_repeated_indices_mean_what_they_add_up_to():
    given = sp.csr_array(
        (np.array([2.0, 1.0, 3.0, 0.0, 5.0]), np.array([2, 0, 2, 1, 1]), np.array([0, 4, 5])),
        shape=(2, 3),
    )
    before = [part.copy() for part in (given.data, given.indices, given.indptr)]
    out = Monomials(3).fit_transform(given)
    expected = Monomials(3).fit_transform(np.array([[1.0, 0, 5], [0, 5, 0]]))
    assert_allclose(out.toarray(), expected)
    for part, old in zip((given.data, given.indices, given.indptr), before, strict=True):
        assert_array_equal(part, old)


def test_float32_stays_and_everything_else_becomes_float64():
    X = np.arange(12).reshape(4, 3)
    assert Monomials(2).fit_transform(X.astype(np.float32)).dtype == np.float32
    assert Monomials(2).fit_transform(sp.csr_array(X.astype(np.float32))).dtype == np.float32
    for dtype in (np.int64, np.float64, ">f8", bool):
        assert Monomials(2).fit_transform(X.astype(dtype)).dtype == np.float64
    assert next(iter(Monomials(2).fit(X).blocks(X.astype(np.float32)))).dtype == np.float32


def test_names_of_a_frame_are_kept_and_given_names_checked():
    X = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    fitted = Monomials(2).set_output(transform="pandas").fit(X)
    assert list(fitted.transform(X).columns) == ["a", "b", "a^2", "a b", "b^2"]
    with pytest.raises(ValueError, match="feature_names_in_"):
        fitted.get_feature_names_out(["b", "a"])
    plain = Monomials(2).fit(X.to_numpy())
    assert list(plain.get_feature_names_out(["u", "v"])) == ["u", "v", "u^2", "u v", "v^2"]
    with pytest.raises(ValueError, match="length"):
        plain.get_feature_names_out(["u"])


@pytest.mark.parametrize("interaction_only", [False, True])
@pytest.mark.parametrize(("n_features", "degree"), [(120_006, 2), (2_000, 9), (500, 40)])
def test_counts_are_exact_whatever_their_size(n_features, degree, interaction_only):
    fitted = Monomials(degree, interaction_only=interaction_only)
    fitted.fit(sp.csr_array((1, n_features)))
    if interaction_only:
        expected = sum(comb(n_features, d) for d in range(1, degree + 1))
    else:
        expected = comb(n_features + degree, degree) - 1
    assert fitted.n_output_features_ == expected
    assert type(fitted.n_output_features_) is int


def test_more_columns_than_32_bits_can_number():
    given = sp.csr_array((np.array([2.0, 3.0]), ([0, 1], [7, 120_005])), shape=(2, 120_006))
    out = Monomials(2).fit_transform(given)
    assert out.shape == (2, comb(120_008, 2) - 1)
    assert out.nnz == 4 and out.indices.min() >= 0
    assert out.indices[-1] == out.shape[1] - 1 and out.data[-1] == 9


def test_what_does_not_fit_is_refused_with_its_true_size():
    wide = np.ones((2, 5000))
    fitted = Monomials(4).fit(wide)
    size = str(comb(5004, 4) - 1)
    for attempt in (
        lambda: fitted.transform(wide),
        lambda: fitted.blocks(wide),
        fitted.get_feature_names_out,
    ):
        with pytest.raises(ValueError, match=f"{size} monomials.*[TP]B.*lower degree"):
            attempt()
    many = Monomials(9).fit(sp.csr_array((1, 120_006)))
    with pytest.raises(ValueError, match=f"{comb(120_015, 9) - 1} monomials, more than can be"):
        many.transform(sp.csr_array((1, 120_006)))


def test_powers_that_overflow_are_refused_by_column():
    X = np.array([[1.0, 1e60], [2.0, 3.0]])
    Monomials(2).fit_transform(X)
    with pytest.raises(ValueError, match=r"Column 1 of X reaches 1e[+]60.*degree=3"):
        Monomials(3).fit_transform(X)
    small = np.array([[1.0, 1e15], [2.0, 3.0]], dtype=np.float32)
    with pytest.raises(ValueError, match="Column 1"):
        Monomials(3).fit_transform(small)


@pytest.mark.parametrize("degree", [0, -1, 2.0, True, "2"])
def test_degrees_that_are_none(degree):
    with pytest.raises(ValueError, match="degree must be an integer of at least 1"):
        Monomials(degree).fit([[1.0]])


def test_unfitted_and_cloned():
    with pytest.raises(NotFittedError):
        Monomials(2).transform([[1.0]])
    with pytest.raises(NotFittedError):
        Monomials(2).blocks([[1.0]])
    assert clone(Monomials(3, interaction_only=True)).get_params()["interaction_only"]
