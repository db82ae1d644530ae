"""A call that fails leaves the estimator as it was: unfitted, or with all that it had learned."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from entropic import EntropicClassifier, EntropicClassifierCV, Monomials

X = np.random.default_rng(0).normal(size=(60, 3))
Y = X[:, 0] + 0.5 * X[:, 1] > 0
NAMED = pd.DataFrame(X, columns=["a", "b", "c"])


def searching(**parameters):
    return EntropicClassifierCV((1,), (1.0,), slacks=(0.1,), **parameters)


def bad_callback(figures):
    raise RuntimeError("the callback's own")


def interrupted(figures):
    raise KeyboardInterrupt


FAILURES = {
    "weights of the wrong length": lambda m: m.fit(NAMED, ["x", "y"] * 30, np.ones(5)),
    "NaN in X": lambda m: m.fit(NAMED.assign(c=np.nan), Y),
    "other columns and one class": lambda m: m.fit(X[:, :2], np.ones(60)),
    "too many monomials": lambda m: m.set_params(**_degree(m, 10**6)).fit(NAMED, Y),
    "a parameter": lambda m: m.set_params(margin="wide").fit(NAMED, Y),
    "the callback": lambda m: m.set_params(callback=bad_callback).fit(NAMED, Y),
    "Ctrl-C": lambda m: m.set_params(callback=interrupted).fit(NAMED, Y),
    "a warning that is an error": lambda m: m.set_params(max_iter=1).fit(NAMED, Y),
    "batches of which the last is bad": lambda m: m.fit_batches(
        [(X, Y), (X, np.where(Y, np.nan, 0.0))]
    ),
}


def _degree(model, degree):
    return {"degrees": [degree]} if hasattr(model, "degrees") else {"degree": degree}


def state(model):
    parameters = model.get_params()
    return {name: value for name, value in vars(model).items() if name not in parameters}


@pytest.mark.parametrize("kind", [EntropicClassifier, searching], ids=["plain", "search"])
@pytest.mark.parametrize("failure", FAILURES)
def test_a_failed_fit_leaves_everything_as_it_was(kind, failure):
    fresh, fitted = kind(), kind().fit(X, Y)
    before, said = state(fitted), fitted.decision_function(X)
    for model in (fresh, fitted):
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            with pytest.raises((ValueError, RuntimeError, KeyboardInterrupt, ConvergenceWarning)):
                FAILURES[failure](model)
    assert not state(fresh)
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    after = state(fitted)
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)
    np.testing.assert_array_equal(fitted.decision_function(X), said)


def test_monomials_of_rows_that_cannot_be_used_are_those_before():
    monomials = Monomials(2).fit(X)
    with pytest.raises(ValueError, match="NaN"):
        monomials.fit(NAMED.assign(c=np.nan)[["b", "c"]])
    assert monomials.n_features_in_ == 3 and not hasattr(monomials, "feature_names_in_")
