"""Scores of new rows beside scikit-learn's, by models that are fitted beforehand."""

import numpy as np
import pytest
from methods import LINEAR, pipeline
from problems import FITS, SMOKE, polynomial

from entropic import EntropicClassifier
from entropic.kernels import numpy_sweeps

METHODS = ("entropic", "entropic, one thread", "LinearSVC", "LogisticRegression, lbfgs")
PROBLEMS = [name for name in ("a9a", "100,000 × 50", "2,000 × 10") if name in FITS]
DEGREE = 3


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", METHODS)
def test_linear(measure, problem, name):
    X, y, _, _ = FITS[problem]()
    few = slice(0, 2_000)
    model = LINEAR[name].make().fit(X[few], y[few])
    measure("predict", problem, name, lambda: model.decision_function(X), rounds=15)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_numpy(measure, problem):
    X, y, _, _ = FITS[problem]()
    few = slice(0, 2_000)
    model = EntropicClassifier().fit(X[few], y[few])
    coef = np.append(model.coef_[0], model.intercept_)
    rows = model.monomials_.rows(X)
    run = numpy_sweeps.scores
    measure("predict", problem, "entropic, NumPy", lambda: run(rows, coef, 1), rounds=15)


@pytest.mark.parametrize("name", ["entropic", "logistic regression on monomials"])
def test_polynomial(measure, name):
    n_rows = 1_000 if SMOKE else 20_000
    X, y, _, _ = polynomial(n_rows, 20)
    model = EntropicClassifier(DEGREE) if name == "entropic" else pipeline(DEGREE)()
    model.fit(X[:1_000], y[:1_000])
    measure(
        "predict", f"degree {DEGREE}, {n_rows:,} × 20", name, lambda: model.decision_function(X)
    )
