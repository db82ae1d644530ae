"""Linear splines against scikit-learn's, and what a classifier makes of them."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.preprocessing import SplineTransformer

from entropic import EntropicClassifier, load_model
from entropic.features.splines import LinearSplines

ONE = np.ones(1)


def test_columns_are_those_of_splines_of_degree_1():
    X = np.random.default_rng(0).normal(size=(200, 3))
    ours = LinearSplines.of(X, ONE, 5)
    knots = ours.knots.reshape(3, 5)
    assert_array_equal(knots[:, [0, -1]], np.transpose([X.min(axis=0), X.max(axis=0)]))
    theirs = SplineTransformer(degree=1, knots=knots.T, extrapolation="constant").fit(X)
    new = 3 * np.random.default_rng(1).normal(size=(100, 3))  # also beyond the knots
    assert_allclose(ours.transform(new), theirs.transform(new), atol=1e-14)


def test_values_shared_by_many_rows_take_one_step():
    column = np.r_[np.zeros(90), np.arange(1.0, 10)]
    assert LinearSplines.of(column[:, None], ONE, 4).knots.tolist() == [0, 3, 6, 9]


def test_features_of_two_values_stay_as_they_are():
    X = np.array([[0, 3.0, 1], [1, 3, 2], [1, 3, 2], [0, 3, 4]])
    splines = LinearSplines.of(X, ONE, 3)
    assert splines.counts.tolist() == [0, 0, 3] and splines.n_columns == 5
    out = splines.transform(X)
    assert_array_equal(out[:, :2], X[:, :2])
    assert_array_equal(out[:, 2:].sum(axis=1), 1)
    assert splines.names().tolist() == ["x0", "x1", "x2[1]", "x2[2]", "x2[4]"]
    assert splines.names(["a", "b", "c"])[2] == "c[1]"


def test_rows_without_weight_set_no_knots():
    X = np.random.default_rng(0).normal(size=(50, 2))
    weights = (np.arange(50) < 30).astype(float)
    assert_array_equal(
        LinearSplines.of(X, weights, 4).knots, LinearSplines.of(X[:30], ONE, 4).knots
    )


@pytest.mark.parametrize("unit", [1e-300, 1e-130, 1e306])
def test_columns_are_finite_in_every_unit(unit):
    X = unit * np.random.default_rng(0).uniform(-100, 100, (40, 2))
    out = LinearSplines.of(X, ONE, 5).transform(np.vstack([X, np.full((1, 2), 1.7e308)]))
    assert np.isfinite(out).all()


def test_a_hyperplane_of_splines_is_a_sum_of_curves():
    """Its score is linear between the knots of a feature and adds up over the features."""
    X, y = make_moons(200, noise=0.2, random_state=0)
    model = EntropicClassifier(n_knots=6, tol=1e-12).fit(X, y)
    assert model.score(X, y) > EntropicClassifier().fit(X, y).score(X, y) + 0.04
    knots = model.splines_.knots[:6]
    at = np.sort(np.r_[knots, (knots[1:] + knots[:-1]) / 2])
    column = model.decision_function(np.c_[at, np.zeros(11)])
    assert_allclose(column[1::2], (column[:-1:2] + column[2::2]) / 2, rtol=1e-9, atol=1e-9)
    other = model.decision_function(np.c_[at, np.ones(11)])
    assert_allclose(other - column, (other - column)[0], rtol=1e-9)


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_coefficients_are_of_the_splines_monomials(degree, tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :4]
    model = EntropicClassifier(degree, n_knots=4).fit(X, y)
    columns = model.monomials_.transform(model.splines_.transform(X))
    scores = columns @ model.coef_[0] + model.intercept_
    assert_allclose(scores, model.decision_function(X), rtol=1e-9, atol=1e-9)
    assert_allclose(model.decision_function(sp.csr_array(X)), scores, rtol=1e-9, atol=1e-9)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    loaded.splines_.knots[1] = np.inf
    loaded.save(tmp_path / "damaged")
    with pytest.raises(ValueError, match="its splines are damaged"):
        load_model(tmp_path / "damaged")


def test_leave_one_out_scores_are_those_of_refits():
    X, y = make_moons(60, noise=0.3, random_state=0)
    model = EntropicClassifier(n_knots=4, tol=1e-12).fit(X, y)
    refits = []
    for row in range(len(y)):
        others = np.arange(len(y)) != row
        refit = EntropicClassifier(n_knots=4, tol=1e-12).fit(X[others], y[others])
        refits.append(refit.decision_function(X[[row]])[0])
    shift = np.abs(model.loo_decision_ - refits)
    assert np.corrcoef(model.loo_decision_, refits)[0, 1] > 0.99
    assert np.median(shift) < 0.02 * np.std(refits)


def test_batches_find_the_same_surface():
    X, y = make_moons(200, noise=0.2, random_state=0)
    whole = EntropicClassifier(2, n_knots=4, tol=1e-12).fit(X, y)
    parts = [(X[start : start + 30], y[start : start + 30]) for start in range(0, 200, 30)]
    model = EntropicClassifier(2, n_knots=4, tol=1e-12).fit_batches(parts)
    assert_array_equal(model.splines_.knots, whole.splines_.knots)
    assert model.n_features_in_ == 2
    assert_allclose(model.decision_function(X), whole.decision_function(X), rtol=1e-6, atol=1e-8)
    assert model.monomials_.get_feature_names_out()[0] == whole.splines_.names()[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_knots": 2}, "n_knots must be an integer of at least 3"),
        ({"n_knots": True}, "n_knots must be an integer"),
        ({"n_knots": 5, "monotonic_cst": [1, 0]}, "monotonic_cst needs n_knots=0"),
    ],
)
def test_bad_knots_are_named(options, message):
    X, y = make_moons(30, random_state=0)
    with pytest.raises(ValueError, match=message):
        EntropicClassifier(**options).fit(X, y)


def test_sparse_rows_have_no_splines():
    X, y = make_moons(30, random_state=0)
    with pytest.raises(ValueError, match="n_knots needs dense rows"):
        EntropicClassifier(n_knots=5).fit(sp.csr_array(X), y)


def test_importances_and_terms_are_those_of_the_features():
    X, y = make_moons(100, noise=0.2, random_state=0)
    model = EntropicClassifier(2, n_knots=4).fit(X, y)
    sizes = np.abs(model.scaled_coef_[0])
    factors = model.monomials_.factors()
    own = np.zeros(2)
    for size, columns in zip(sizes, factors, strict=True):
        for column in columns:
            own[column // 4] += size / len(columns)
    assert_allclose(model.feature_importances_, own / own.sum(), rtol=1e-12)
    assert "degree 2 of splines in 8 columns, 44 monomials" in str(model.summary())
    assert model.summary().to_frame()["term"].str.startswith("x0[").any()


def test_several_classes_share_the_knots():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (300, 2))
    y = np.digitize(np.abs(X[:, 0]), [1.0, 2.0])
    model = EntropicClassifier(n_knots=7).fit(X, y)
    assert model.score(X, y) > 0.9 > EntropicClassifier().fit(X, y).score(X, y) + 0.2
    assert model.coef_.shape == (3, 14)
