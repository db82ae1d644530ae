"""Whole fits beside linear classifiers, on the same matrix in the same run; and as processes.

``extra_info`` holds the accuracy on rows that no fit has seen; of ours the reads of the data and
the linear algebra that was chosen too.
"""

import warnings

import pytest
from methods import LINEAR, UNSUITED
from problems import FITS, PROCESSES, SLOW_FITS
from sklearn.svm import LinearSVC

from entropic import EntropicClassifier

# Half a point of accuracy is what a fit may lose to LinearSVC.
ALLOWED_LOSS = 0.005
_loaded = {}


def loaded(name):
    if name not in _loaded:
        _loaded.clear()  # one set in memory at a time
        _loaded[name] = FITS[name]()
    return _loaded[name]


def cases(problems, within):
    """Problems and methods; those that need a process of their own only where they get one."""
    for problem in problems:
        marks = [pytest.mark.slow] if problem in SLOW_FITS else []
        for name, method in LINEAR.items():
            if problem in UNSUITED.get(name, ()) or (within and method.environment):
                continue
            skip = pytest.mark.skipif(method.missing, reason=f"{method.needs} is not installed")
            yield pytest.param(problem, name, marks=[*marks, skip], id=f"{problem}-{name}")


@pytest.mark.parametrize(("problem", "name"), list(cases(FITS, within=True)))
def test_fit(measure, problem, name):
    X, y, X_test, y_test = loaded(problem)
    model = LINEAR[name].make()
    if hasattr(model, "prepare"):
        model.prepare(X, y)
    slow = X.shape[0] * X.shape[1] > 1e6
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a peer that has not converged is still the peer
        measure("fit", problem, name, lambda: model.fit(X, y), rounds=5 if slow else 15)
    measure.note({"accuracy": round(float(model.score(X_test, y_test)), 4)})
    if isinstance(model, EntropicClassifier):
        measure.note({"sweeps": model.n_sweeps_, "linear": " ".join(model.history_["linear"])})
        assert model.converged_


@pytest.mark.slow
@pytest.mark.parametrize(("problem", "name"), list(cases(PROCESSES, within=False)))
def test_whole_process(measure_process, problem, name):
    measure_process("whole fit", problem, name)


@pytest.mark.parametrize("name", [name for name in ("a9a", "w8a", "rcv1") if name in FITS])
def test_accuracy_is_that_of_a_support_vector_machine(name):
    X, y, X_test, y_test = loaded(name)
    ours = EntropicClassifier().fit(X, y).score(X_test, y_test)
    theirs = LinearSVC().fit(X, y).score(X_test, y_test)
    assert ours >= theirs - ALLOWED_LOSS
