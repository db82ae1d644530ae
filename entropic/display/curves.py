"""Curves of what scores and probabilities are worth, and of how the solver got there."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv

from entropic import checks
from entropic.uncertainty.report import reliability, risk_coverage
from entropic.uncertainty.several import class_scores, confidence

from .axes import (
    Display,
    axes_or_new,
    fitted,
    legend_beside,
    named_class,
    predicted,
    scored,
    styles,
)

PROBABILITY = ("predicted probability", "observed frequency")


class RiskCoverageDisplay(Display):
    """Error among the rows kept, against the share of rows kept, surest first.

    Parameters
    ----------
    coverage, risk : arrays of shape (n_samples,)
    area : float
        Area under the curve: the lower, the better the order of certainty.
    """

    def __init__(self, coverage, risk, area):
        self.coverage, self.risk, self.area = coverage, risk, area

    @classmethod
    def from_estimator(cls, estimator, X, y, *, ax=None, **kwargs):
        """Curve of a fitted classifier on labelled rows.

        Parameters
        ----------
        estimator : fitted EntropicClassifier, or a pipeline that ends in one
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        ax : matplotlib axes or None

        Returns
        -------
        RiskCoverageDisplay

        Raises
        ------
        NotFittedError
            If the estimator has not been fitted.
        ValueError
            If the estimator is another, or y holds a label that is not among its classes.
        ImportError
            If matplotlib is not installed.
        """
        last, scores, codes = scored(estimator, X, y)
        wrong = np.argmax(class_scores(scores), axis=1) != codes
        return cls(*risk_coverage(wrong, last._confidence(scores))).plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(cls, y_true, scores, *, probability=None, labels=None, ax=None, **kwargs):
        """Curve of scores already known.

        Parameters
        ----------
        y_true : array of shape (n_samples,)
        scores : array of shape (n_samples,) or (n_samples, n_classes)
            One number a row: positive ones mean the second class. Else the class of a row is that
            of its highest score.
        probability : array of the shape of ``scores``, or None
            Rows count as sure by the probability of their class; without it, and among rows of
            one probability, by the lead of its score: of two classes by the distance from 0.
        labels : array of shape (n_classes,) or None
            The classes in the order of the columns; None for the sorted labels of ``y_true``.
        ax : matplotlib axes or None

        Returns
        -------
        RiskCoverageDisplay

        Raises
        ------
        ValueError
            If shapes or labels do not agree, a score is not finite, or a probability lies outside
            [0, 1].
        ImportError
            If matplotlib is not installed.
        """
        _, scores, codes = predicted(y_true, scores, "scores", labels)
        scores, chances = class_scores(scores), None
        if probability is not None:
            chances = _chances(predicted(y_true, probability, "probability", labels)[1])
        wrong = np.argmax(scores, axis=1) != codes
        return cls(*risk_coverage(wrong, confidence(scores, chances))).plot(ax=ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Draw; keyword arguments go to ``ax.plot``."""
        ax = axes_or_new(ax)
        kwargs = {"label": f"area {self.area:.4f}", **kwargs}
        ax.plot(self.coverage, self.risk, **kwargs)
        ax.set(xlabel="coverage", ylabel="error among the rows kept", xlim=(0, 1))
        ax.set_ylim(bottom=0)
        ax.legend()
        return self._remember(ax)


class ReliabilityDisplay(Display):
    """Observed frequency against predicted probability, with what chance may have done.

    Of two classes, or with ``class_label``, the frequency of one class against its probability. Of
    several without ``class_label``, how often the predicted class is right against its
    probability.

    Parameters
    ----------
    predicted, observed, counts : arrays of shape (n_bins,)
        Mean probability, frequency and number of rows of each bin that is not empty.
    error : float
        Expected calibration error.
    labels : tuple of two str
        What the axes show.
    """

    def __init__(self, predicted, observed, counts, error, labels=PROBABILITY):
        self.predicted, self.observed, self.counts = predicted, observed, counts
        self.error, self.labels = error, labels

    @classmethod
    def from_estimator(cls, estimator, X, y, *, class_label=None, n_bins=10, ax=None, **kwargs):
        """Reliability of a fitted classifier with probabilities on labelled rows.

        Parameters
        ----------
        estimator : fitted EntropicClassifier, or a pipeline that ends in one
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        class_label : label or None
            The class whose probability is judged; None for ``classes_[1]`` of two, and for the
            predicted class of several.
        n_bins : int
        ax : matplotlib axes or None

        Returns
        -------
        ReliabilityDisplay

        Raises
        ------
        NotFittedError
            If the estimator has not been fitted.
        ValueError
            If the estimator is another, y or ``class_label`` is not among its classes, or
            ``n_bins`` is below 1.
        ImportError
            If matplotlib is not installed.
        """
        last, chances, codes = scored(estimator, X, y, "predict_proba")
        return cls._of(last.classes_, chances, codes, class_label, n_bins).plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls, y_true, probability, *, labels=None, class_label=None, n_bins=10, ax=None, **kwargs
    ):
        """Reliability of probabilities already known.

        Parameters
        ----------
        y_true : array of shape (n_samples,)
        probability : array of shape (n_samples,) or (n_samples, n_classes)
            One number a row: of the second class.
        labels : array of shape (n_classes,) or None
            The classes in the order of the columns; None for the sorted labels of ``y_true``.
        class_label, n_bins, ax
            As in :meth:`from_estimator`.

        Returns
        -------
        ReliabilityDisplay

        Raises
        ------
        ValueError
            If shapes or labels do not agree, a probability lies outside [0, 1], ``class_label`` is
            not among the labels, or ``n_bins`` is below 1.
        ImportError
            If matplotlib is not installed.
        """
        classes, probability, codes = predicted(y_true, probability, "probability", labels)
        chances = _chances(probability)
        return cls._of(classes, chances, codes, class_label, n_bins).plot(ax=ax, **kwargs)

    @classmethod
    def _of(cls, classes, chances, codes, class_label, n_bins):
        checks.check_count(n_bins, "n_bins")
        if class_label is None and len(classes) > 2:
            judged = chances.max(axis=1), np.argmax(chances, axis=1) == codes
            labels = "probability of the predicted class", "observed frequency of that class"
        else:
            code = 1 if class_label is None else named_class(class_label, classes)
            judged = chances[:, code], codes == code
            of = "" if class_label is None else f" of {class_label}"
            labels = tuple(label + of for label in PROBABILITY)
        return cls(*reliability(*judged, n_bins=n_bins), labels)

    def plot(self, ax=None, **kwargs):
        """Draw; keyword arguments go to ``ax.plot``."""
        ax = axes_or_new(ax)
        ax.plot([0, 1], [0, 1], color="0.6", linestyle="dotted")
        kwargs = {
            "marker": "o",
            "clip_on": False,
            "label": f"calibration error {self.error:.3f}",
            **kwargs,
        }
        (line,) = ax.plot(self.predicted, self.observed, **kwargs)
        low, high = _intervals(np.rint(self.observed * self.counts), self.counts)
        bars = {"colors": line.get_color(), "alpha": 0.5, "label": "95 % interval"}
        ax.vlines(self.predicted, low, high, **bars)
        ax.set(xlabel=self.labels[0], ylabel=self.labels[1], xlim=(0, 1), ylim=(0, 1))
        ax.legend()
        return self._remember(ax)


class ConvergenceDisplay(Display):
    """Duality gap step by step, with the goal; of several classes a line for each.

    Parameters
    ----------
    gap : array of shape (n_steps,), or list of them
    goal : float or None
    classes : sequence of labels or None
        Of the lines, where there are several; None for their numbers.
    """

    def __init__(self, gap, goal=None, classes=None):
        self.gap, self.goal, self.classes = gap, goal, classes

    @classmethod
    def from_estimator(cls, estimator, *, goal=None, ax=None, **kwargs):
        """The gaps in ``history_`` of a fitted classifier.

        Parameters
        ----------
        estimator : fitted EntropicClassifier, or a pipeline that ends in one
        goal : float or None
            Drawn as a line: ``tol`` times all weight is where a fit stops.
        ax : matplotlib axes or None

        Returns
        -------
        ConvergenceDisplay

        Raises
        ------
        NotFittedError
            If the estimator has not been fitted.
        ValueError
            If the estimator is another.
        ImportError
            If matplotlib is not installed.
        """
        last = fitted(estimator)
        labels = last.classes_ if len(last.classes_) > 2 else None
        return cls.from_predictions(last.history_, labels=labels, goal=goal, ax=ax, **kwargs)

    @classmethod
    def from_predictions(cls, history, *, labels=None, goal=None, ax=None, **kwargs):
        """The gaps of any history with an entry "gap", such as ``Outcome.history``.

        Parameters
        ----------
        history : dict, or list of them
        labels : sequence of labels or None
            What the histories of a list are of.
        goal : float or None
        ax : matplotlib axes or None

        Returns
        -------
        ConvergenceDisplay

        Raises
        ------
        ValueError
            If a history has no entry "gap".
        ImportError
            If matplotlib is not installed.
        """
        gap = _gaps(history) if hasattr(history, "keys") else [_gaps(one) for one in history]
        return cls(gap, goal, labels).plot(ax=ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Draw; keyword arguments go to ``ax.plot``."""
        ax = axes_or_new(ax)
        several = len(self.gap) > 0 and np.ndim(self.gap[0]) == 1
        gaps = self.gap if several else [self.gap]
        names = ["gap"]
        if several:
            names = range(len(gaps)) if self.classes is None else self.classes
        for gap, name, style in zip(gaps, names, styles(len(gaps)), strict=True):
            gap = np.asarray(gap, dtype=float)
            shown = np.where(gap > 0, gap, np.nan)  # a gap of exactly 0 has no logarithm
            ax.plot(np.arange(len(shown)), shown, **{**style, "label": str(name), **kwargs})
        if self.goal:
            ax.axhline(self.goal, color="0.5", linestyle="dashed", label="goal")
        ax.set(xlabel="step", ylabel="duality gap", yscale="log")
        if several:
            legend_beside(ax)
        else:
            ax.legend()
        return self._remember(ax)


def _gaps(history):
    if not hasattr(history, "keys") or "gap" not in history:
        raise ValueError(
            'history has no entry "gap"; give the history_ of a fitted classifier or that of an '
            "Outcome."
        )
    return history["gap"]


def _intervals(hits, counts):
    """Frequencies that as many hits leave possible: C. Clopper, E. Pearson (1934), at 95 %."""
    misses = counts - hits
    low = betaincinv(np.maximum(hits, 1), misses + 1, 0.025)
    high = betaincinv(hits + 1, np.maximum(misses, 1), 0.975)
    return np.where(hits > 0, low, 0.0), np.where(misses > 0, high, 1.0)


def _chances(probability):
    """Probabilities of every class; one number a row is of the second."""
    outside = ((probability < 0) | (probability > 1)).reshape(len(probability), -1)
    if np.any(outside):
        row = int(np.argmax(outside.any(axis=1)))
        value = probability.reshape(len(probability), -1)[row][outside[row]][0]
        raise ValueError(f"probability holds {value} in row {row}; give numbers from 0 to 1.")
    if probability.ndim == 1:
        return np.column_stack([1 - probability, probability])
    return probability
