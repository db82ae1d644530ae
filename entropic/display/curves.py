"""Displays of what scores and probabilities are worth, and of how the solver got there."""

from __future__ import annotations

import numpy as np

from entropic import checks
from entropic.uncertainty.report import reliability, risk_coverage

from .axes import COLOURS, Display, axes_or_new, fitted, scored, two_classes


class ScoreHistogramDisplay(Display):
    """Histogram of the scores, class by class, with the band.

    Parameters
    ----------
    scores : array of shape (n_samples,)
    positive : bool array of shape (n_samples,)
    band : tuple of two floats or None
    classes : pair of labels
    """

    def __init__(self, scores, positive, band=None, classes=(0, 1)):
        self.scores, self.positive = np.asarray(scores), np.asarray(positive, dtype=bool)
        self.band, self.classes = band, classes

    @classmethod
    def from_estimator(cls, estimator, X, y, *, ax=None, **kwargs):
        """Scores of a fitted classifier on labelled rows."""
        last, scores, positive = scored(estimator, X, y)
        band = getattr(last, "band_", None)
        return cls(scores, positive, band, last.classes_).plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(cls, y_true, scores, *, band=None, ax=None, **kwargs):
        """Scores already known; positive scores mean the second label in sorted order."""
        classes, scores, positive = two_classes(y_true, scores, "scores")
        return cls(scores, positive, band, classes).plot(ax=ax, **kwargs)

    def plot(self, ax=None, *, bins=40, **kwargs):
        """Draw; keyword arguments go to ``ax.hist``."""
        ax = axes_or_new(ax)
        edges = np.histogram_bin_edges(self.scores, bins)
        for code, members in enumerate((~self.positive, self.positive)):
            style = {"alpha": 0.6, "color": COLOURS[code], **kwargs}
            ax.hist(self.scores[members], edges, label=str(self.classes[code]), **style)
        if self.band is not None:
            # an open end reaches to the edge of the picture
            edges = np.where(np.isfinite(self.band), self.band, ax.get_xlim())
            ax.axvspan(*edges, color="0.5", alpha=0.2, label="uncertain band")
        ax.axvline(0.0, color="black", linewidth=1.0)
        ax.set(xlabel="score", ylabel="rows")
        ax.legend()
        return self._remember(ax)


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
        """Curve of a fitted classifier on labelled rows."""
        last, scores, positive = scored(estimator, X, y)
        sure = last._confidence(scores)
        return cls(*risk_coverage((scores > 0) != positive, sure)).plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(cls, y_true, scores, *, ax=None, **kwargs):
        """Curve of scores already known; positive ones mean the second label in sorted order.

        The farther from 0, the surer.
        """
        _, scores, positive = two_classes(y_true, scores, "scores")
        return cls(*risk_coverage((scores > 0) != positive, abs(scores))).plot(ax=ax, **kwargs)

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
    """Observed frequency of ``classes_[1]`` against its predicted probability.

    Parameters
    ----------
    predicted, observed, counts : arrays of shape (n_bins,)
        Mean probability, frequency and number of rows of each bin that is not empty.
    error : float
        Expected calibration error.
    """

    def __init__(self, predicted, observed, counts, error):
        self.predicted, self.observed, self.counts = predicted, observed, counts
        self.error = error

    @classmethod
    def from_estimator(cls, estimator, X, y, *, n_bins=10, ax=None, **kwargs):
        """Reliability of a fitted classifier with probabilities on labelled rows."""
        _, said, positive = scored(estimator, X, y, "predict_proba")
        table = reliability(said[:, 1], positive, n_bins=_bins(n_bins))
        return cls(*table).plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(cls, y_true, probability, *, n_bins=10, ax=None, **kwargs):
        """Reliability of probabilities already known, of the second label in sorted order."""
        _, probability, positive = two_classes(y_true, probability, "probability")
        outside = (probability < 0) | (probability > 1)
        if np.any(outside):
            row = int(np.argmax(outside))
            raise ValueError(
                f"probability holds {probability[row]} in row {row}; give numbers from 0 to 1."
            )
        table = reliability(probability, positive, n_bins=_bins(n_bins))
        return cls(*table).plot(ax=ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Draw; keyword arguments go to ``ax.plot``."""
        ax = axes_or_new(ax)
        ax.plot([0, 1], [0, 1], color="0.6", linestyle="dotted")
        kwargs = {"marker": "o", "label": f"calibration error {self.error:.3f}", **kwargs}
        ax.plot(self.predicted, self.observed, **kwargs)
        ax.set(
            xlabel="predicted probability", ylabel="observed frequency", xlim=(0, 1), ylim=(0, 1)
        )
        ax.legend()
        return self._remember(ax)


class ConvergenceDisplay(Display):
    """Duality gap step by step, with the goal.

    Parameters
    ----------
    gap : array of shape (n_steps,)
    goal : float or None
    """

    def __init__(self, gap, goal=None):
        self.gap, self.goal = np.asarray(gap, dtype=float), goal

    @classmethod
    def from_estimator(cls, estimator, *, goal=None, ax=None, **kwargs):
        """The gaps in ``history_`` of a fitted classifier; a goal is tol times all weight."""
        return cls(fitted(estimator).history_["gap"], goal).plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(cls, history, *, goal=None, ax=None, **kwargs):
        """The gaps of any history with an entry "gap", such as ``Outcome.history``."""
        return cls(history["gap"], goal).plot(ax=ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Draw; keyword arguments go to ``ax.plot``."""
        ax = axes_or_new(ax)
        shown = np.where(self.gap > 0, self.gap, np.nan)  # a gap of exactly 0 has no logarithm
        ax.plot(np.arange(len(shown)), shown, **{"marker": "o", "label": "gap", **kwargs})
        if self.goal:
            ax.axhline(self.goal, color="0.5", linestyle="dashed", label="goal")
        ax.set(xlabel="step", ylabel="duality gap", yscale="log")
        ax.legend()
        return self._remember(ax)


def _bins(n_bins):
    checks.check_count(n_bins, "n_bins")
    return n_bins
