"""Polynomial surfaces: the same as the linear classifier on stored, scaled monomials."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from entropic import EntropicClassifier, load_model


def _stored(X, degree, interaction_only=False, with_mean=True):
    expansion = PolynomialFeatures(degree, interaction_only=interaction_only, include_bias=False)
    return make_pipeline(StandardScaler(with_mean=with_mean), expansion, StandardScaler()).fit(X)


def _rings(rng, n_samples, n_features):
    X = rng.normal(size=(n_samples, n_features))
    y = np.sum(X[:, :3] ** 2, axis=1) + rng.normal(size=n_samples) > min(n_features, 3)
    return X, y


@pytest.mark.parametrize("interaction_only", [False, True])
@pytest.mark.parametrize(
    ("n_features", "degree"), [(1, 1), (1, 6), (2, 6), (4, 4), (3, 5), (12, 3), (60, 2)]
)
def test_equals_the_linear_classifier_on_stored_monomials(n_features, degree, interaction_only):
    rng = np.random.default_rng(degree)
    X, y = _rings(rng, 150, n_features)
    X = X * rng.uniform(0.1, 100, n_features) + rng.normal(size=n_features) * 50
    pipe = _stored(X, degree, interaction_only)
    Z = pipe.transform(X)
    ours = EntropicClassifier(degree, interaction_only=interaction_only, tol=1e-13).fit(X, y)
    linear = EntropicClassifier(standardize=False, tol=1e-13).fit(Z, y)
    new = X[::3] + 0.1
    scores = linear.decision_function(pipe.transform(new))
    assert_allclose(ours.decision_function(new), scores, rtol=1e-8, atol=1e-9)
    assert_allclose(ours.objective_, linear.objective_, rtol=1e-10)
    assert ours.status_ == linear.status_ == "converged"
    if degree > 1:
        assert_allclose(ours.coef_ * pipe[-1].scale_, linear.coef_, atol=1e-8)
    through = ours.monomials_.transform(new) @ ours.coef_.T + ours.intercept_
    assert_allclose(through[:, 0], ours.decision_function(new), rtol=1e-9, atol=1e-9)


def test_float32_to_its_precision():
    X, y = _rings(np.random.default_rng(0), 200, 5)
    narrow = X.astype(np.float32)
    one, two = (EntropicClassifier(3).fit(given, y) for given in (X, narrow))
    assert_allclose(two.decision_function(narrow), one.decision_function(X), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("degree", [2, 3])
def test_sparse_rows_give_the_model_of_dense_ones(degree, standardize):
    rng = np.random.default_rng(3)
    X, y = _rings(rng, 120, 8)
    X *= rng.random(X.shape) < 0.4
    if standardize:
        Z = _stored(X, degree).transform(X)
    else:
        Z = PolynomialFeatures(degree, include_bias=False).fit_transform(X)
    ours = EntropicClassifier(degree, standardize=standardize, tol=1e-16).fit(sp.csr_array(X), y)
    linear = EntropicClassifier(standardize=False, tol=1e-16).fit(Z, y)
    expected = linear.decision_function(Z)
    assert_allclose(ours.decision_function(sp.csr_array(X)), expected, rtol=1e-8, atol=1e-9)
    assert_allclose(ours.decision_function(X), expected, rtol=1e-8, atol=1e-9)


def test_a_fit_on_dense_rows_scores_sparse_ones():
    rng = np.random.default_rng(4)
    X, y = _rings(rng, 80, 4)
    X *= rng.random(X.shape) < 0.5
    fitted = EntropicClassifier(3).fit(X, y)
    assert_allclose(
        fitted.decision_function(sp.csr_array(X)), fitted.decision_function(X), atol=1e-12
    )


def test_years_at_degree_four():
    rng = np.random.default_rng(5)
    X = np.column_stack([2000 + rng.integers(-10, 11, 300), rng.normal(size=300)]).astype(float)
    y = np.abs(X[:, 0] - 2000) + rng.normal(size=300) > 5
    pipe = _stored(X, 4)
    ours = EntropicClassifier(4, tol=1e-13).fit(X, y)
    linear = EntropicClassifier(standardize=False, tol=1e-13).fit(pipe.transform(X), y)
    assert_allclose(
        ours.decision_function(X), linear.decision_function(pipe.transform(X)), atol=1e-9
    )


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_columns_that_are_constant_or_that_a_power_makes_so(degree):
    rng = np.random.default_rng(6)
    X, y = _rings(rng, 100, 2)
    signs = np.repeat([2000.0, 2001.0], 50)
    full = np.column_stack([X, np.full(100, 0.1), signs])
    fitted = EntropicClassifier(degree).fit(full, y)
    assert np.isfinite(fitted.coef_).all() and np.isfinite(fitted.decision_function(full)).all()
    assert np.max(np.abs(fitted.coef_)) < 100
    without = EntropicClassifier(degree).fit(full[:, [0, 1, 3]], y)
    assert_allclose(
        fitted.decision_function(full), without.decision_function(full[:, [0, 1, 3]]), atol=1e-6
    )


def test_more_monomials_than_memory_where_rows_fill_few(tmp_path):
    rng = np.random.default_rng(7)
    places = rng.integers(0, 10_000, 4800), rng.integers(0, 120_006, 4800)
    X = sp.csr_matrix((rng.normal(size=4800), places), shape=(10_000, 120_006))
    y = rng.integers(0, 2, 10_000)
    fitted = EntropicClassifier(2).fit(X, y)
    assert fitted.converged_
    names = fitted.monomials_.get_feature_names_out()
    assert len(names) == fitted.coef_.shape[1] < 20_000
    fitted.save(tmp_path / "model")
    again = load_model(tmp_path / "model").decision_function(X)
    assert np.array_equal(again, fitted.decision_function(X))


def test_what_cannot_fit_is_refused_with_its_true_size():
    X = np.random.default_rng(8).normal(size=(4, 3000))
    with pytest.raises(ValueError, match=r"3386263131250 monomials.*TB.*lower degree"):
        EntropicClassifier(4).fit(X, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="lower degree"):
        EntropicClassifier(9).fit(sp.csr_array((4, 120_006)), [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("degree", "n_features", "only", "said"),
    [
        (10**9, 3, False, "degree=1000000000 of 3 features makes 166666667"),
        (400, 400, False, "makes over 10**"),
        (3000, 3000, True, "makes more than 2**2000 monomials"),
    ],
)
def test_absurd_degrees_are_refused_at_once(degree, n_features, only, said):
    X = np.random.default_rng(0).normal(size=(20, n_features))
    model = EntropicClassifier(degree, interaction_only=only)
    with pytest.raises(ValueError, match=re.escape(said)):
        model.fit(X, np.arange(20) % 2)


def test_monomials_are_named_after_the_columns_of_a_frame(tmp_path):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["age", "dose"])
    model = EntropicClassifier(2).fit(X, np.arange(40) % 2)
    names = ["age", "dose", "age^2", "age dose", "dose^2"]
    assert model.monomials_.get_feature_names_out().tolist() == names
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.monomials_.get_feature_names_out().tolist() == names
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
