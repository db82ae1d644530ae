"""The classifiers of the experiments: scikit-learn's four, the paper's own rule, and ours.

Each is an estimator for raw columns, so that all are fitted and timed alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted, validate_data

from entropic.classifier import EntropicClassifier
from entropic.features.design import Design
from entropic.kernels import backend
from entropic.kernels.backend import Box
from entropic.kernels.loss import Loss
from entropic.kernels.numpy_spectral import FIGURES
from entropic.model_selection import EntropicClassifierCV
from entropic.rows import rows_of
from entropic.rows.target import Target
from entropic.solvers.spectral import RULES

from .data_sets import RANDOM_STATE

DEGREES = (2, 3, 4)
FOLDS = 3
MOST_STEPS, GOAL_NORM = 5_000, 1e-6


class PaperRule(ClassifierMixin, BaseEstimator):
    """The paper's classifier: exact constraint, its iteration and stop, its threshold.

    The two classes are held to margins without slack (its Problem 4, or 6 for polynomials, in the
    box [-1, 1] and without a constant), by at most 5,000 steps of ``solver="spectral-paper"`` from
    multipliers zero. Where the classes cannot be separated the problem has no solution, and what
    is left is wherever the steps have led; ``solve`` looks for a proof of that and says so, which
    is why the iteration is called here without it. A score beyond ``(b_plus + b_minus)/2`` (section
    4) means ``classes_[0]``, the paper's good class.

    Attributes
    ----------
    classes_ : array of shape (2,)
    coef_ : array of shape (n_features,)
    threshold_ : float
    n_iter_ : int
    residual_norm_ : float
    """

    def fit(self, X, y):
        """Iterate on the rows of X, which are taken as they are."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_, code = np.unique(y, return_inverse=True)
        sign = np.where(code == 0, 1, -1)
        design, n_samples = Design(rows_of(X)), len(X)
        multipliers, residual = np.zeros(n_samples), np.zeros(n_samples)
        tau = np.zeros(design.n_features)
        box = Box(-np.ones(design.n_features), np.ones(design.n_features))
        report = backend.spectral.iterate(
            design,
            Target.of(Loss(0.0), sign),
            box,
            multipliers,
            tau,
            residual,
            RULES["spectral-paper"],
            goal_gap=np.inf,
            goal_norm=GOAL_NORM,
            max_iter=MOST_STEPS,
            record=np.empty((2, len(FIGURES))),
        )
        self.coef_ = box.coef(box.state_of_tau(tau))
        scores = X @ self.coef_
        self.threshold_ = 0.5 * (np.min(scores[code == 0]) + np.min(-scores[code == 1]))
        self.n_iter_, self.residual_norm_ = report["n_iter"], report["gradient_norm"]
        return self

    def decision_function(self, X):
        """By how much each score stays below the threshold: positive for ``classes_[1]``."""
        check_is_fitted(self)
        return self.threshold_ - validate_data(self, X, reset=False) @ self.coef_

    def predict(self, X):
        return self.classes_[(self.decision_function(X) >= 0).astype(int)]


def _scaled(model):
    return make_pipeline(StandardScaler(), model)


def _svm():
    model = SVC(kernel="linear", random_state=RANDOM_STATE)
    return _scaled(GridSearchCV(model, {"C": [0.1, 1]}, cv=FOLDS))


def _polynomial_rule(degrees):
    steps = [PolynomialFeatures(include_bias=False), StandardScaler(), PaperRule()]
    model = make_pipeline(*steps)
    return _scaled(GridSearchCV(model, {"polynomialfeatures__degree": list(degrees)}, cv=FOLDS))


def _defaults_of_a_degree(degrees):
    """The classifier's defaults but for the degree, which left-out scores choose."""
    usual = EntropicClassifier().get_params()
    lists = {f"{name}s": (usual[name],) for name in ("bound", "slack", "constraint")}
    return EntropicClassifierCV(degrees, knots=(usual["n_knots"],), **lists)


class Method(NamedTuple):
    """A row of the tables.

    Parameters
    ----------
    make : callable
        Takes the degrees that a polynomial may have, and returns an unfitted estimator.
    chosen : callable or None
        Takes the fitted estimator, and says in a few words what it chose.
    """

    make: Callable
    chosen: Callable = lambda _: ""


def _searched(model):
    """What a search took; knots only where there are some."""
    knots = ", {n_knots} knots" if model.best_params_["n_knots"] else ""
    chosen = "degree {degree}" + knots + ", {constraint}, slack {slack:g}, bound {bound:g}"
    return chosen.format(**model.best_params_)


METHODS = {
    "SVM": Method(lambda _: _svm(), lambda model: f"C = {model[-1].best_params_['C']:g}"),
    "KNN": Method(lambda _: _scaled(KNeighborsClassifier(1)), lambda _: "1 neighbour"),
    "Logistic Regression": Method(
        lambda _: _scaled(LogisticRegression(max_iter=1000, random_state=RANDOM_STATE))
    ),
    "Perceptron": Method(lambda _: _scaled(Perceptron(random_state=RANDOM_STATE))),
    "Entropic-Linear": Method(
        lambda _: _scaled(PaperRule()), lambda model: f"{model[-1].n_iter_:,} steps"
    ),
    "Entropic-Polynomial": Method(
        _polynomial_rule,
        lambda model: f"degree {model[-1].best_params_['polynomialfeatures__degree']}",
    ),
    "EntropicClassifier()": Method(lambda _: EntropicClassifier()),
    "EntropicClassifier(degree)": Method(
        _defaults_of_a_degree, lambda model: f"degree {model.best_params_['degree']}"
    ),
    "EntropicClassifierCV()": Method(
        lambda _: EntropicClassifierCV(),
        _searched,
    ),
}
