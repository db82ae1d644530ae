"""Equalities that hold whatever the data: docs/mathematics.md, section 7.

Every one compares two fits that the mathematics says are one and the same.
"""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from paper_sets import PAPER

from entropic import EntropicClassifier
from entropic.kernels.backend import name as backend_name

SETTINGS = [
    dict(),
    PAPER,
    dict(PAPER, constraint="inequality"),
    dict(constraint="equality", slack=0.01, bound=5.0, C=10.0),
    dict(PAPER, margin=0.5, fit_intercept=False),
]


@pytest.fixture(params=SETTINGS, ids=str)
def settings(request):
    # near the last bit, so that two fits may differ by rounding alone
    return dict(request.param, tol=1e-14)


@pytest.fixture
def problem():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(120, 5)) @ rng.normal(size=(5, 5)) + [0, 3, -2, 50, 0.1]
    y = X @ [1, -0.5, 0.3, 0.2, 0] + rng.normal(size=120) > 8
    assert 30 < y.sum() < 90
    return X, np.where(y, "good", "defective")


def scores(X, y, weight=None, at=None, **settings):
    fitted = EntropicClassifier(**settings).fit(X, y, weight)
    assert fitted.converged_
    return fitted.decision_function(X if at is None else at)


def test_integer_weights_are_repetition(problem, settings):
    X, y = problem
    weight = np.random.default_rng(1).integers(0, 5, len(y))
    repeated = scores(np.repeat(X, weight, axis=0), np.repeat(y, weight), at=X, **settings)
    assert_allclose(scores(X, y, weight, **settings), repeated, rtol=1e-7, atol=1e-9)


def test_integer_weights_are_repetition_when_balanced(problem, settings):
    X, y = problem
    weight = np.random.default_rng(2).integers(0, 10, len(y))
    settings = dict(settings, class_weight="balanced")
    repeated = scores(np.repeat(X, weight, axis=0), np.repeat(y, weight), at=X, **settings)
    assert_allclose(scores(X, y, weight, **settings), repeated, rtol=1e-7, atol=1e-9)


def test_weight_zero_is_removal(problem, settings):
    X, y = problem
    kept = np.arange(len(y)) % 3 > 0
    removed = scores(X[kept], y[kept], at=X, **settings)
    assert_allclose(scores(X, y, kept.astype(float), **settings), removed, rtol=1e-7, atol=1e-9)


def test_rows_of_weight_zero_are_outside_band_and_separation(problem):
    X, y = problem
    kept = np.arange(len(y)) % 3 > 0
    weighted = EntropicClassifier(tol=1e-14).fit(X, y, kept)
    removed = EntropicClassifier(tol=1e-14).fit(X[kept], y[kept])
    assert_allclose(weighted.band_, removed.band_, rtol=1e-9, atol=1e-12)
    assert_allclose(weighted.separation_, removed.separation_, rtol=1e-9, atol=1e-12)


def test_swapped_classes_negate_scores(problem, settings):
    X, y = problem
    swapped = np.where(y == "good", "a", "b")
    assert_allclose(scores(X, swapped, **settings), -scores(X, y, **settings), rtol=0, atol=1e-9)


def test_all_weights_and_the_entropy_weight_scaled_together(problem, settings):
    X, y = problem
    weight = np.random.default_rng(3).uniform(0.1, 2, len(y))
    C = settings.pop("C", 1.0)
    for factor in (1e-3, 40.0):
        scaled = scores(X, y, weight * factor, C=C / factor, **settings)
        assert_allclose(scaled, scores(X, y, weight, C=C, **settings), rtol=0, atol=1e-9)


def test_shift_and_scale_of_raw_columns_change_nothing(problem, settings):
    X, y = problem
    raw = X * [1, 1e4, -250, 1e-3, 1] + [0, 0, 1e4, 0, 2000]
    assert_allclose(scores(raw, y, **settings), scores(X, y, **settings), rtol=0, atol=1e-9)
    usual = EntropicClassifier(**dict(settings, tol=1e-8))
    assert usual.fit(raw, y).n_iter_ == usual.fit(X, y).n_iter_


def test_inequality_is_equality_where_no_margin_passes_one(problem):
    X, y = problem
    settings = dict(tol=1e-14, slack=0.1, bound=0.01, fit_intercept=False)
    equality = EntropicClassifier(constraint="equality", **settings).fit(X, y)
    inequality = EntropicClassifier(constraint="inequality", **settings).fit(X, y)
    assert equality.multipliers_.min() > 0  # ln b < 0: every margin is below one
    assert_allclose(inequality.coef_, equality.coef_, rtol=1e-9)
    assert_allclose(inequality.multipliers_, equality.multipliers_, rtol=1e-9)


@pytest.mark.parametrize("standardize", [True, False])
def test_dense_and_sparse_rows_give_one_model(standardize, settings):
    rng = np.random.default_rng(5)
    counts = rng.poisson(0.05, size=(200, 1000)).astype(float)
    y = counts[:, :40].sum(1) + rng.normal(size=200) > 2
    # the two storages may be solved by different steps: compare optima, not stopping points
    settings = dict(settings, standardize=standardize, tol=1e-20)
    dense = scores(counts, y, **settings)
    sparse = scores(sp.csr_array(counts), y, **settings)
    assert_allclose(sparse, dense, rtol=0, atol=3e-8)  # scores reach 1e3 roundings of their sums


def test_row_and_column_order_change_nothing(problem, settings):
    X, y = problem
    rng = np.random.default_rng(9)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    shuffled = scores(X[rows][:, columns], y[rows], at=X[:, columns], **settings)
    assert_allclose(shuffled, scores(X, y, **settings), rtol=0, atol=1e-9)


FIT = """
import sys
import numpy as np, scipy.sparse as sp
from entropic import EntropicClassifier
from entropic.kernels.backend import name
assert name == sys.argv[1], name
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 12)); X[rng.random(X.shape) < 0.5] = 0
y = X[:, 0] - X[:, 1] + rng.normal(size=300) > 0
out = []
for values in (X, X.astype(np.float32), np.asfortranarray(X), sp.csr_array(X)):
    for constraint in ("equality", "inequality"):
        fitted = EntropicClassifier(constraint=constraint, tol=1e-14).fit(values, y)
        out += [*fitted.coef_[0], *fitted.intercept_, *fitted.band_, *fitted.decision_function(X)]
np.save(sys.argv[2], out)
"""


@pytest.mark.skipif(backend_name != "compiled", reason="this installation has one backend only")
def test_backends_agree(tmp_path):
    found = {}
    for backend in ("compiled", "numpy"):
        place = tmp_path / f"{backend}.npy"
        subprocess.run(
            [sys.executable, "-c", FIT, backend, str(place)],
            env=dict(os.environ, ENTROPIC_BACKEND=backend),
            check=True,
        )
        found[backend] = np.load(place)
    assert_allclose(found["compiled"], found["numpy"], rtol=0, atol=1e-9)
