"""The experiments: every classifier fitted to a training part and counted on a test part.

Nothing here sees a test row before its classifier is fitted.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import confusion_matrix

from .classifiers import DEGREES, METHODS
from .data_sets import SETS, split

SEEDS = tuple(range(10))


@dataclass(frozen=True)
class Run:
    """One classifier on one split.

    Parameters
    ----------
    model : fitted estimator
    chosen : str
        What it chose, in a few words.
    confusion : array of shape (2, 2)
        Test rows by true class and by predicted one.
    seconds : float
        That the fit took, scaling and choosing included.
    certain : tuple of two int, or None
        Test rows outside the classifier's band, and how many of these it gets wrong.
    """

    model: object
    chosen: str
    confusion: np.ndarray
    seconds: float
    certain: tuple | None

    @property
    def accuracy(self):
        return float(np.trace(self.confusion) / np.sum(self.confusion))

    @property
    def precision(self):
        """Of class 1; 0 where no row is predicted so, as the paper prints it."""
        return _share(self.confusion[1, 1], self.confusion[:, 1])

    @property
    def recall(self):
        return _share(self.confusion[1, 1], self.confusion[1])

    @property
    def f1(self):
        both = 2 * self.confusion[1, 1]
        return _share(both, [both, self.confusion[0, 1], self.confusion[1, 0]])


def _share(part, whole):
    return float(part / np.sum(whole)) if np.sum(whole) else 0.0


@dataclass
class Experiment:
    """All classifiers on one set.

    Parameters
    ----------
    parts : tuple of arrays
        ``X, X_test, y, y_test`` of the first run.
    runs : dict of str to list of Run
        By method; more than one where the set has no fixed random state.
    degrees : tuple of int
        Among which the polynomial methods choose.
    """

    parts: tuple
    degrees: tuple
    runs: dict = field(default_factory=dict)

    def middle(self, method):
        """The run of median accuracy, the lower one of two."""
        runs = sorted(self.runs[method], key=lambda run: run.accuracy)
        return runs[(len(runs) - 1) // 2]

    def accuracies(self, method):
        """The accuracy of every run, in ascending order."""
        return sorted(run.accuracy for run in self.runs[method])


def run_experiments(methods=tuple(METHODS), seeds=SEEDS, all_degrees=False, callback=None):
    """Run the five experiments.

    Parameters
    ----------
    methods : sequence of str
        Some of ``METHODS``.
    seeds : sequence of int
        Random states of the spiral, whose own is not known.
    all_degrees : bool
        Try polynomials of degrees 3 and 4 on the set of 30 features as well, as the authors did:
        5,455 and 46,375 columns, with which the paper's iteration takes many minutes.
    callback : callable or None
        Called with the name of each set and of each method before its fit.

    Returns
    -------
    dict of str to Experiment
    """
    callback = callback or (lambda *_: None)
    return {name: _experiment(name, methods, seeds, all_degrees, callback) for name in SETS}


def _experiment(name, methods, seeds, all_degrees, callback):
    load = SETS[name]
    samples = [load(random_state=seed) for seed in seeds] if name == "spiral" else [load()]
    splits = [split(*sample) for sample in samples]
    few = splits[0][0].shape[1] == 2
    experiment = Experiment(splits[0], DEGREES if few or all_degrees else DEGREES[:1])
    for method in methods:
        callback(name, method)
        experiment.runs[method] = [_run(method, experiment.degrees, *parts) for parts in splits]
    return experiment


def _run(method, degrees, X, X_test, y, y_test):
    make, chosen = METHODS[method]
    model = make(degrees)
    began = time.perf_counter()
    with warnings.catch_warnings():
        # the paper's protocol gives a perceptron what it gives it
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    seconds = time.perf_counter() - began
    predicted = model.predict(X_test)
    certain = None
    if hasattr(model, "in_band"):
        sure = ~model.in_band(X_test)
        certain = int(np.sum(sure)), int(np.sum(predicted[sure] != y_test[sure]))
    confusion = confusion_matrix(y_test, predicted, labels=[0, 1])
    return Run(model, chosen(model), confusion, seconds, certain)
