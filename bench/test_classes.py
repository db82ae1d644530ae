"""Fits of several classes, one against the rest, beside scikit-learn's."""

import warnings

import numpy as np
import pytest
from methods import CLASSES as METHODS
from problems import CLASSES


@pytest.mark.parametrize("problem", CLASSES)
@pytest.mark.parametrize("name", [name for name, m in METHODS.items() if not m.environment])
def test_fit(measure, problem, name):
    if METHODS[name].missing:
        pytest.skip(f"{METHODS[name].needs} is not installed")
    X, y, X_test, y_test = CLASSES[problem]()
    codes = np.unique(y, return_inverse=True)[1]  # XGBoost knows no other labels
    test_codes = np.searchsorted(np.unique(y), y_test)
    model = METHODS[name].make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a peer that has not converged is still the peer
        measure("several classes", problem, name, lambda: model.fit(X, codes), rounds=3)
    measure.note({"accuracy": round(float(model.score(X_test, test_codes)), 4)})
