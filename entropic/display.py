"""matplotlib displays: the surface and its band, scores, risk against coverage, reliability, steps.

They follow scikit-learn's manner: ``from_estimator`` and ``from_predictions`` compute what is
shown, take ``ax=`` and return the display, whose ``plot`` draws it again elsewhere. matplotlib
(the ``plot`` extra) is imported only when something is drawn.
"""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .data import checks
from .uncertainty.probability import confidence
from .uncertainty.report import reliability, risk_coverage

COLOURS = ("tab:blue", "tab:orange")


def _axes(ax):
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Displays need matplotlib; install it with pip install 'entropic-classifier[plot]'."
        ) from error
    return plt.subplots()[1]


def _fitted(estimator):
    """The classifier that carries the band: the estimator, or the last step of its pipeline."""
    check_is_fitted(estimator)
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    if not hasattr(last, "band_"):
        raise ValueError(
            f"estimator is a {type(last).__name__} without a band; "
            "give a fitted EntropicClassifier or a pipeline that ends in one."
        )
    return last


class _Display:
    """What all displays share: they remember the axes and the figure of their last plot."""

    def _remember(self, ax):
        self.ax_, self.figure_ = ax, ax.figure
        return self


class BoundaryDisplay(_Display):
    """The separating surface and its band over a plane of two features.

    Parameters
    ----------
    first, second : arrays of shape (n, n)
        Grid values of the two free features.
    scores : array of shape (n, n)
        Decision function on the grid.
    band : tuple of two floats
    labels : tuple of two str
        Names of the free features.
    points : array of shape (m, 2) or None
        Samples to draw over the surface.
    positive : bool array of shape (m,) or None
        Class of each of them.
    classes : pair of labels or None
    """

    def __init__(
        self, first, second, scores, band, labels, points=None, positive=None, classes=None
    ):
        self.first, self.second, self.scores = first, second, scores
        self.band, self.labels = band, labels
        self.points, self.positive, self.classes = points, positive, classes

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        y=None,
        *,
        features=None,
        fixed=None,
        grid_resolution=200,
        ax=None,
        **kwargs,
    ):
        """Draw the surface of a fitted classifier around the samples X.

        Parameters
        ----------
        estimator : fitted EntropicClassifier, or a pipeline that ends in one
        X : array or frame of shape (n_samples, n_features)
        y : array of shape (n_samples,) or None
            Labels; without them the samples are drawn in grey.
        features : pair of column names or numbers, or None
            The two free features. May be left out only where X has exactly two.
        fixed : dict or None
            Values of the other features by name or number; those not named are held at the
            median of X.
        grid_resolution : int
            Points along each axis.
        ax : matplotlib axes or None

        Returns
        -------
        BoundaryDisplay

        Raises
        ------
        ValueError
            If the two features are not named where there are more, or one does not exist.
        """
        last = _fitted(estimator)
        checks.check_count(grid_resolution, "grid_resolution", 2)
        names = list(X.columns) if hasattr(X, "columns") else list(range(np.shape(X)[1]))
        pair = _two_features(features, names)
        values = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
        held = _held_values(fixed or {}, names, pair, values)
        axes = []
        for column in pair:
            low, high = float(np.min(values[:, column])), float(np.max(values[:, column]))
            pad = 0.05 * (high - low) or 0.5
            axes.append(np.linspace(low - pad, high + pad, grid_resolution))
        first, second = np.meshgrid(*axes)
        grid = np.tile(held, (first.size, 1))
        grid[:, pair[0]], grid[:, pair[1]] = first.ravel(), second.ravel()
        if hasattr(X, "columns"):
            grid = type(X)(dict(zip(names, grid.T, strict=True)))
        scores = np.asarray(estimator.decision_function(grid)).reshape(first.shape)
        display = cls(
            first,
            second,
            scores,
            last.band_,
            tuple(
                str(names[column]) if hasattr(X, "columns") else f"feature {column}"
                for column in pair
            ),
            values[:, pair].astype(float),
            None if y is None else np.asarray(y) == last.classes_[1],
            last.classes_,
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax=None, *, alpha=0.25, **kwargs):
        """Draw; keyword arguments go to the scatter of the samples.

        Returns
        -------
        BoundaryDisplay
        """
        ax = _axes(ax)
        lower, upper = self.band
        top = max(float(np.max(np.abs(self.scores))), abs(lower), abs(upper)) * 2 + 1
        ax.contourf(
            self.first, self.second, self.scores, [-top, 0.0, top], colors=COLOURS, alpha=alpha
        )
        ax.contour(self.first, self.second, self.scores, [0.0], colors="black", linewidths=1.5)
        levels = sorted({lower, upper})
        if np.all(np.isfinite(levels)):
            ax.contour(
                self.first,
                self.second,
                self.scores,
                levels,
                colors="black",
                linewidths=1.0,
                linestyles="dashed",
            )
        if self.points is not None:
            kwargs = {"s": 15, "edgecolors": "white", "linewidths": 0.4, **kwargs}
            if self.positive is None:
                ax.scatter(*self.points.T, color="0.4", **kwargs)
            else:
                for code, members in enumerate((~self.positive, self.positive)):
                    ax.scatter(
                        *self.points[members].T,
                        color=COLOURS[code],
                        label=str(self.classes[code]),
                        **kwargs,
                    )
                ax.legend()
        ax.set(xlabel=self.labels[0], ylabel=self.labels[1])
        return self._remember(ax)


def _two_features(features, names):
    """Positions of the two free features."""
    if features is None:
        if len(names) != 2:
            raise ValueError(
                f"X has {len(names)} columns; name the two to draw with features=(..., ...), "
                "the others are then held fixed."
            )
        return [0, 1]
    if isinstance(features, str) or len(features) != 2:
        raise ValueError(f"features must name two columns, not {features!r}.")
    pair = [_position(feature, names, "features") for feature in features]
    if pair[0] == pair[1]:
        raise ValueError(f"features names the column {features[0]!r} twice; name two columns.")
    return pair


def _position(feature, names, argument):
    if feature in names:
        return names.index(feature)
    if isinstance(feature, (int, np.integer)) and 0 <= feature < len(names):
        return int(feature)
    raise ValueError(f"{argument} names {feature!r}, which is not a column of X.")


def _held_values(fixed, names, pair, values):
    """One row with every feature at its fixed value or its median."""
    held = np.median(values.astype(float), axis=0)
    for feature, value in fixed.items():
        column = _position(feature, names, "fixed")
        if column in pair:
            raise ValueError(f"fixed holds {feature!r}, which is one of the two free features.")
        checks.check_number(value, f"fixed[{feature!r}]")
        held[column] = value
    return held


class ScoreHistogramDisplay(_Display):
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
        last = _fitted(estimator)
        scores = estimator.decision_function(X)
        positive = np.asarray(y) == last.classes_[1]
        return cls(scores, positive, last.band_, last.classes_).plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(cls, y_true, scores, *, band=None, ax=None, **kwargs):
        """Scores already known; positive scores mean the second label in sorted order."""
        classes, codes = _two_classes(y_true, scores)
        return cls(scores, codes == 1, band, classes).plot(ax=ax, **kwargs)

    def plot(self, ax=None, *, bins=40, **kwargs):
        """Draw; keyword arguments go to ``ax.hist``."""
        ax = _axes(ax)
        edges = np.histogram_bin_edges(self.scores, bins)
        for code, members in enumerate((~self.positive, self.positive)):
            style = {"alpha": 0.6, "color": COLOURS[code], **kwargs}
            ax.hist(self.scores[members], edges, label=str(self.classes[code]), **style)
        if self.band is not None:
            ax.axvspan(*self.band, color="0.5", alpha=0.2, label="uncertain band")
        ax.axvline(0.0, color="black", linewidth=1.0)
        ax.set(xlabel="score", ylabel="rows")
        ax.legend()
        return self._remember(ax)


class RiskCoverageDisplay(_Display):
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
        last = _fitted(estimator)
        positive = np.asarray(y) == last.classes_[1]
        scores = estimator.decision_function(X)
        sure = confidence(scores, last.calibration_)
        return cls(*risk_coverage((scores > 0) != positive, sure)).plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(cls, y_true, scores, *, ax=None, **kwargs):
        """Curve of scores already known; positive ones mean the second label in sorted order.

        The farther from 0, the surer.
        """
        _, codes = _two_classes(y_true, scores)
        scores = np.asarray(scores)
        return cls(*risk_coverage((scores > 0) != (codes == 1), abs(scores))).plot(ax=ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Draw; keyword arguments go to ``ax.plot``."""
        ax = _axes(ax)
        kwargs = {"label": f"area {self.area:.4f}", **kwargs}
        ax.plot(self.coverage, self.risk, **kwargs)
        ax.set(xlabel="coverage", ylabel="error among the rows kept", xlim=(0, 1))
        ax.set_ylim(bottom=0)
        ax.legend()
        return self._remember(ax)


class ReliabilityDisplay(_Display):
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
        """Reliability of a fitted classifier on labelled rows."""
        last = _fitted(estimator)
        positive = np.asarray(y) == last.classes_[1]
        table = reliability(estimator.predict_proba(X)[:, 1], positive, n_bins=n_bins)
        return cls(*table).plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(cls, y_true, probability, *, n_bins=10, ax=None, **kwargs):
        """Reliability of probabilities already known, of the second label in sorted order."""
        _, codes = _two_classes(y_true, probability)
        table = reliability(np.asarray(probability), codes == 1, n_bins=n_bins)
        return cls(*table).plot(ax=ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Draw; keyword arguments go to ``ax.plot``."""
        ax = _axes(ax)
        ax.plot([0, 1], [0, 1], color="0.6", linestyle="dotted")
        kwargs = {"marker": "o", "label": f"calibration error {self.error:.3f}", **kwargs}
        ax.plot(self.predicted, self.observed, **kwargs)
        ax.set(
            xlabel="predicted probability", ylabel="observed frequency", xlim=(0, 1), ylim=(0, 1)
        )
        ax.legend()
        return self._remember(ax)


class ConvergenceDisplay(_Display):
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
        return cls(_fitted(estimator).history_["gap"], goal).plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(cls, history, *, goal=None, ax=None, **kwargs):
        """The gaps of any history with an entry "gap", such as ``Outcome.history``."""
        return cls(history["gap"], goal).plot(ax=ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Draw; keyword arguments go to ``ax.plot``."""
        ax = _axes(ax)
        shown = np.where(self.gap > 0, self.gap, np.nan)  # a gap of exactly 0 has no logarithm
        ax.plot(np.arange(len(shown)), shown, **{"marker": "o", "label": "gap", **kwargs})
        if self.goal:
            ax.axhline(self.goal, color="0.5", linestyle="dashed", label="goal")
        ax.set(xlabel="step", ylabel="duality gap", yscale="log")
        ax.legend()
        return self._remember(ax)


def _two_classes(y_true, scores):
    classes, codes = np.unique(y_true, return_inverse=True)
    if len(classes) != 2:
        raise ValueError(f"y_true has {len(classes)} different labels; give rows of two classes.")
    if len(codes) != len(np.ravel(scores)):
        raise ValueError(
            f"y_true has {len(codes)} rows and the predictions {len(np.ravel(scores))}; "
            "give as many of each."
        )
    return classes, codes
