"""What the estimator refuses: each argument is named, with the place and the remedy."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from entropic import EntropicClassifier

PARAMETERS = [
    (dict(degree=0), "degree must be an integer of at least 1"),
    (dict(degree=1.0), "degree must be an integer"),
    (dict(interaction_only=1), "interaction_only=1 is not known"),
    (dict(bound=0), "bound=0 is out of range"),
    (dict(bound=1e308), "bound"),
    (dict(C=-1), "C=-1 is out of range"),
    (dict(C="1"), "C must be a number"),
    (dict(C=1e-320), "1/C"),
    (dict(constraint="both"), "constraint='both' is not known; choose one of 'equality'"),
    (dict(slack=-0.1), "slack=-0.1 is out of range"),
    (dict(margin=np.inf), "margin=inf is out of range"),
    (dict(fit_intercept="yes"), "fit_intercept='yes' is not known"),
    (dict(standardize=None), "standardize=None is not known; choose one of True, False, 'auto'"),
    (dict(monotonic_cst=[1, 0]), "monotonic_cst has 2 entries for 4 features"),
    (dict(monotonic_cst=[1, 0, 2, 0]), "monotonic_cst is 2 at position 2"),
    (dict(monotonic_cst="up"), "monotonic_cst must be one number a feature"),
    (dict(class_weight="even"), "class_weight='even' is not known"),
    (dict(class_weight={5: 1.0}), "class_weight names the class 5"),
    (dict(class_weight={1: -1.0}), r"class_weight\[1\]=-1.0 is out of range"),
    (dict(class_weight={1: 0.0}), "Only rows of weight 0 have the label 1"),
    (dict(class_weight={1: 1e308}), "weights, class weights included, have an infinite sum"),
    (dict(certainty=0.0), "certainty=0.0 is out of range"),
    (dict(certainty=1.01), "certainty=1.01 is out of range"),
    (dict(solver="lbfgs"), "solver='lbfgs' is not known"),
    (dict(tol=-1e-8), "tol=-1e-08 is out of range"),
    (dict(max_iter=0), "max_iter must be an integer of at least 1"),
    (dict(n_jobs=0), "n_jobs must be"),
    (dict(verbose=-1), "verbose=-1 is out of range"),
    (dict(callback="print"), "callback must be a function"),
]


@pytest.mark.parametrize("parameters, message", PARAMETERS, ids=lambda case: str(case)[:40])
def test_parameters_out_of_range_are_named(two_clouds, parameters, message):
    with pytest.raises(ValueError, match=message):
        EntropicClassifier(**parameters).fit(*two_clouds)


def _with(X, value):
    X = X.copy()
    X[5, 2] = value
    return X


DATA = [
    (lambda X, y: (_with(X, np.nan), y), "X contains NaN in row 5, column 2;"),
    (lambda X, y: (_with(X, -np.inf), y), "X contains infinity in row 5, column 2;"),
    (
        lambda X, y: (pd.DataFrame(_with(X, np.nan), columns=list("abcd")), y),
        r"X contains NaN in row 5, column 2 \('c'\)",
    ),
    (lambda X, y: (sp.csr_array(_with(X, np.nan)), y), "X contains NaN in row 5, column 2;"),
    (lambda X, y: (X.astype("M8[s]"), y), "X holds datetime64.* give real numbers"),
    (lambda X, y: (X * 1e200, y), "Column 0 of X spreads over more than 1e"),
    (lambda X, y: (X, np.ones(len(y))), "y has 1 class, .*; give rows of at least two"),
    (lambda X, y: (X, np.full(len(y), "only")), "y has 1 class, .*; give rows of at least two"),
    (lambda X, y: (X, [None, *y[1:]]), "y has no label in row 0"),
    (lambda X, y: (X, [*y[:-1], float("nan")]), f"y has no label in row {149}"),
    (lambda X, y: (X, pd.Series(y).map({0: "a"}).astype("string")), "y has no label in row"),
]


@pytest.mark.parametrize("spoil, message", DATA, ids=[message for _, message in DATA])
def test_unusable_data_are_named(two_clouds, spoil, message):
    X, y = spoil(*two_clouds)
    with pytest.raises(ValueError, match=message) as caught:
        EntropicClassifier().fit(X, y)
    assert "\n" not in str(caught.value)


WEIGHTS = [
    (lambda y: np.where(np.arange(len(y)) == 4, -1.0, 1.0), "negative at position 4"),
    (lambda y: np.where(np.arange(len(y)) == 4, np.nan, 1.0), "not finite at position 4"),
    (lambda y: np.zeros(len(y)), "zero for every row"),
    (lambda y: (y == 1).astype(float), "Only rows of weight 0 have the label 0"),
    (lambda y: np.ones(3), "3 entries for 150 rows"),
    (lambda y: np.full(len(y), 1e308), "infinite sum"),
    (lambda y: ["heavy"] * len(y), "one number a row"),
]


@pytest.mark.parametrize("weight, message", WEIGHTS, ids=[message for _, message in WEIGHTS])
def test_unusable_weights_are_named(two_clouds, weight, message):
    X, y = two_clouds
    with pytest.raises(ValueError, match=f"sample_weight.*{message}|{message}"):
        EntropicClassifier().fit(X, y, weight(y))


def test_prediction_checks_what_it_is_given(two_clouds):
    X, y = two_clouds
    with pytest.raises(NotFittedError):
        EntropicClassifier().predict(X)
    fitted = EntropicClassifier().fit(X, y)
    with pytest.raises(ValueError, match=r"3 features.*expecting 4"):
        fitted.predict(X[:, :3])
    with pytest.raises(ValueError, match="X contains NaN in row 5, column 2"):
        fitted.decision_function(_with(X, np.nan))
    for label in (1, True, "unsure", None, [2]):
        with pytest.raises(ValueError, match="reject_label"):
            fitted.predict_with_reject(X, label)
