"""The classifiers that are timed, by name: ours, and their peers where these are installed.

Libraries are loaded where a classifier is made, so that a process holds those of its own only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from types import MappingProxyType
from typing import NamedTuple

import numpy as np


class Method(NamedTuple):
    """A classifier.

    Parameters
    ----------
    make : callable
        Returns an unfitted estimator.
    needs : str
        The module without which it is skipped.
    environment : mapping
        Variables of a process that it needs to itself; such methods are not timed within one.
    """

    make: Callable
    needs: str = "entropic"
    environment: Mapping = MappingProxyType({})

    @property
    def missing(self):
        return find_spec(self.needs) is None


def entropic(**options):
    def make():
        from entropic import EntropicClassifier

        return EntropicClassifier(**options)

    return make


def logistic(solver):
    def make():
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(solver=solver, max_iter=1000)

    return make


def linear_svc():
    from sklearn.svm import LinearSVC

    return LinearSVC()


def sgd():
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(random_state=0)


class Liblinear:
    """LIBLINEAR by its own binding, with its default solver; rows are converted beforehand."""

    def prepare(self, X, y):
        import scipy.sparse as sp
        from liblinear.liblinear import problem

        self.classes_, code = np.unique(y, return_inverse=True)
        self.problem = problem(2.0 * code - 1, sp.csr_matrix(X), bias=1)

    def fit(self, X, y):
        from liblinear.liblinearutil import train

        self.model = train(self.problem, "-q")
        return self

    def decision_function(self, X):
        coef, intercept = self.model.get_decfun()
        towards = 1.0 if self.model.get_labels()[0] > 0 else -1.0
        return towards * (X @ np.array(coef) + intercept)

    def score(self, X, y):
        said = self.classes_[(self.decision_function(X) > 0).astype(int)]
        return float(np.mean(said == y))


def skglm():
    from skglm import SparseLogisticRegression

    return SparseLogisticRegression(alpha=1e-4)


def xgboost_linear():
    from xgboost import XGBClassifier

    return XGBClassifier(booster="gblinear", random_state=0)


def one_against_the_rest():
    from sklearn.multiclass import OneVsRestClassifier

    return OneVsRestClassifier(entropic()())


LINEAR = {
    "entropic": Method(entropic()),
    "entropic, one thread": Method(entropic(n_jobs=1)),
    "entropic, scores only": Method(entropic(leave_one_out=False)),
    "entropic, NumPy": Method(entropic(), environment={"ENTROPIC_BACKEND": "numpy"}),
    "LinearSVC": Method(linear_svc),
    "SGDClassifier": Method(sgd),
    "LogisticRegression, lbfgs": Method(logistic("lbfgs")),
    "LogisticRegression, newton-cholesky": Method(logistic("newton-cholesky")),
    "LogisticRegression, liblinear": Method(logistic("liblinear")),
    "LIBLINEAR": Method(Liblinear, "liblinear"),
    "skglm, sparse logistic": Method(skglm, "skglm"),
    "XGBoost, linear": Method(xgboost_linear, "xgboost"),
}
# Which know several classes.
CLASSES = {
    **{name: method for name, method in LINEAR.items() if name.startswith("entropic")},
    "OneVsRestClassifier(entropic)": Method(one_against_the_rest),
    **{
        name: LINEAR[name]
        for name in ("LinearSVC", "SGDClassifier", "LogisticRegression, lbfgs", "XGBoost, linear")
    },
}
# Which take minutes or the whole memory on a problem.
UNSUITED = {
    "LogisticRegression, newton-cholesky": ("rcv1", "2,000 × 5,000"),
    "LogisticRegression, liblinear": ("1,000,000 × 20",),
    "LIBLINEAR": ("1,000,000 × 20",),
    "XGBoost, linear": ("1,000,000 × 20",),
}


def pipeline(degree):
    def make():
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import PolynomialFeatures, StandardScaler

        expansion = PolynomialFeatures(degree, include_bias=False)
        last = LogisticRegression(max_iter=1000)
        return make_pipeline(StandardScaler(), expansion, StandardScaler(), last)

    return make


def kernel_machine(degree):
    def make():
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        from sklearn.svm import SVC

        return make_pipeline(StandardScaler(), SVC(kernel="poly", degree=degree, coef0=1))

    return make


def polynomial(degree):
    """Classifiers by polynomial surfaces of a degree."""
    numpy = {"ENTROPIC_BACKEND": "numpy"}
    return {
        "entropic": Method(entropic(degree=degree)),
        "entropic, NumPy": Method(entropic(degree=degree), environment=numpy),
        "logistic regression on monomials": Method(pipeline(degree)),
        "SVC, polynomial kernel": Method(kernel_machine(degree)),
    }
