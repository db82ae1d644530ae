"""The regions of the classes and the uncertain region, drawn over a plane of two features."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp
from scipy.ndimage import distance_transform_edt, zoom

from entropic import checks
from entropic.labels import check_known_labels
from entropic.uncertainty.band import in_band
from entropic.uncertainty.mixin import certain
from entropic.uncertainty.several import class_scores

from .axes import MOST_TOLD_APART, Display, axes_or_new, fitted, legend_beside, styles

# Points a side of the grid on which several classes are certain or not: the scores between those of
# the display's grid are interpolated, as matplotlib does for a line at one score.
FINE = 600


class BoundaryDisplay(Display):
    """The separating surface and its band over a plane of two features.

    Of several classes the regions of each, the lines between them, and in paler colours the
    region in which not exactly one class is possible. More than ten have their names in them.
    The legend lies beside the axes in figures of ``layout="constrained"``.

    Parameters
    ----------
    first, second : arrays of shape (n, n)
        Grid values of the two free features.
    scores : array of shape (n, n) or (n, n, n_classes)
        Decision function on the grid.
    band : tuple of two floats, or None
        Scores of two classes between which a point is uncertain.
    labels : tuple of two str
        Names of the free features.
    points : array of shape (m, 2) or None
        Samples to draw over the surface.
    codes : int array of shape (m,) or None
        The place of each one's class in ``classes``.
    classes : sequence of labels or None
        None for the numbers of the columns.
    uncertain : bool array of shape (m, m) or None
        Of several classes, which points are uncertain, on a grid of the same ends; a finer one
        gives a smoother edge.
    """

    def __init__(
        self,
        first,
        second,
        scores,
        band,
        labels,
        points=None,
        codes=None,
        classes=None,
        uncertain=None,
    ):
        self.first, self.second, self.scores = first, second, scores
        self.band, self.labels, self.uncertain = band, labels, uncertain
        self.points, self.codes, self.classes = points, codes, classes

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
            median of X, those of a frame that are no numbers at their most frequent value.
        grid_resolution : int
            Points along each axis.
        ax : matplotlib axes or None

        Returns
        -------
        BoundaryDisplay

        Raises
        ------
        ValueError
            If the two features are not named where there are more, or one does not exist or holds
            no numbers; if X is sparse, or y does not fit it.
        """
        last = fitted(estimator)
        checks.check_count(grid_resolution, "grid_resolution", 2)
        framed = hasattr(X, "columns")
        names, columns = _columns(X)
        pair = _two_features(features, names)
        samples = [_numeric(columns[column], names[column]) for column in pair]
        codes = None
        if y is not None:
            codes = check_known_labels(y, last.classes_, len(columns[0]))
        first, second = np.meshgrid(*(_axis(values, grid_resolution) for values in samples))
        values = _held_values(fixed or {}, names, pair, columns)
        values[pair[0]], values[pair[1]] = first.ravel(), second.ravel()
        grid = [np.broadcast_to(value, first.size) for value in values]
        grid = type(X)(dict(zip(names, grid, strict=True))) if framed else np.column_stack(grid)
        scores = np.asarray(estimator.decision_function(grid))
        band = uncertain = None
        if scores.ndim == 1:
            band = getattr(last, "band_", None)
        elif hasattr(last, "in_band"):
            uncertain = ~certain(last._possible(_refined(scores, grid_resolution)))
            uncertain = uncertain.reshape(2 * [math.isqrt(uncertain.size)])
        display = cls(
            first,
            second,
            scores.reshape(*first.shape, *scores.shape[1:]),
            band,
            tuple(str(names[column]) if framed else f"feature {column}" for column in pair),
            np.column_stack(samples),
            codes,
            last.classes_,
            uncertain,
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax=None, *, alpha=None, legend=True, **kwargs):
        """Draw; keyword arguments go to the scatter of the samples.

        Parameters
        ----------
        ax : matplotlib axes or None
        alpha : float or None
            Opacity of the regions; None for 0.25 where there are two, 0.35 where more.
        legend : bool

        Returns
        -------
        BoundaryDisplay
        """
        ax = axes_or_new(ax)
        flat = self.scores.reshape(self.first.size, *self.scores.shape[2:])
        leads = _leads(class_scores(flat)).T.reshape(-1, *self.first.shape)
        names = range(len(leads)) if self.classes is None else self.classes
        looks = list(zip(map(str, names), styles(len(leads)), strict=True))
        if alpha is None:
            alpha = 0.25 if len(looks) == 2 else 0.35
        for lead, (name, style) in zip(leads, looks, strict=True):
            self._fill(ax, lead, 0.0, style["color"], alpha)
            self._line(ax, lead, [0.0], linewidths=1.5)
            if len(looks) > MOST_TOLD_APART:
                self._name(ax, lead > 0, name)
        edge = {"linewidths": 1.0, "linestyles": "dashed"}
        if self.band is not None:
            self._line(ax, self.scores, self.band, **edge)
        if self.uncertain is not None:
            self._fill(ax, self.uncertain, 0.5, "white", 0.5)
            self._line(ax, self.uncertain, [0.5], **edge)
        if self.points is not None:
            kwargs = {"s": 15, "edgecolors": "white", "linewidths": 0.4, **kwargs}
            if self.codes is None:
                ax.scatter(*self.points.T, color="0.4", **kwargs)
            else:
                for code, (name, style) in enumerate(looks):
                    own = {**style, "label": name, **kwargs}
                    ax.scatter(*self.points[self.codes == code].T, **own)
        if legend:
            self._legend(ax, looks, alpha)
        ax.set(xlabel=self.labels[0], ylabel=self.labels[1])
        return self._remember(ax)

    def _grid(self, values):
        """Values with their coordinates: those of the grid, or of a finer one of the same ends."""
        if values.shape == self.first.shape:
            return self.first, self.second, values.astype(float)
        ends = self.first[0, [0, -1]], self.second[[0, -1], 0]
        axes = (np.linspace(*end, n) for end, n in zip(ends, values.shape[::-1], strict=True))
        return *axes, values.astype(float)

    def _fill(self, ax, values, level, colour, alpha):
        """Colour the part where values are above a level."""
        if np.any(values > level):
            top = 2 * abs(float(values.max())) + 1
            ax.contourf(*self._grid(values), [level, top], colors=[colour], alpha=alpha)

    def _line(self, ax, values, levels, **style):
        """The lines where values are at those of the levels that they cross."""
        crossed = sorted({level for level in levels if values.min() < level < values.max()})
        if crossed:
            ax.contour(*self._grid(values), crossed, colors="black", **style)

    def _name(self, ax, region, name):
        """Write the name of a class where its region is widest, unless it is too narrow."""
        depth = distance_transform_edt(np.pad(region, 1))[1:-1, 1:-1]
        middle = np.unravel_index(np.argmax(depth), depth.shape)
        if depth[middle] > 0.03 * len(depth):
            box = dict(facecolor="white", alpha=0.6, linewidth=0, pad=1.0)
            place = self.first[middle], self.second[middle]
            ax.text(*place, name, ha="center", va="center", fontsize="small", bbox=box)

    def _legend(self, ax, looks, alpha):
        """Names of the classes, and what the dashed lines are."""
        if self.points is None or self.codes is None:
            for name, style in looks:
                ax.fill([], [], color=style["color"], alpha=alpha, label=name)
        uncertain = self.uncertain if self.band is None else in_band(self.scores, self.band)
        if uncertain is not None and np.all(uncertain):
            ax.fill([], [], color="white", label="uncertain everywhere")
        elif self.band is not None or np.any(uncertain):
            ax.plot([], [], "k--", linewidth=1.0, label="edge of the\nuncertain region")
        legend_beside(ax)


def _leads(scores):
    """What the score of each class leads the best of the others by."""
    order = np.partition(scores, -2, axis=1)
    best, second = order[:, -1:], order[:, -2:-1]
    return scores - np.where(scores == best, second, best)


def _refined(scores, n_points):
    """Scores on a square grid, interpolated to one of about ``FINE`` points a side."""
    n_fine = (n_points - 1) * max(1, FINE // n_points) + 1
    ratio = n_fine / n_points
    square = scores.reshape(n_points, n_points, -1)
    return zoom(square, (ratio, ratio, 1), order=1).reshape(n_fine**2, -1)


def _columns(X):
    """Names, and each column as an array."""
    if hasattr(X, "columns"):
        return list(X.columns), [np.asarray(X[name]) for name in X.columns]
    if sp.issparse(X):
        raise ValueError("X is sparse; give the rows to draw as a dense array or a frame.")
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, not {X.ndim}.")
    return list(range(X.shape[1])), list(X.T)


def _numeric(values, name):
    """The values of a free feature as floats."""
    if values.dtype.kind not in "buif":
        raise ValueError(f"features names {name!r}, which holds no numbers; name another column.")
    values = values.astype(float)
    if not np.any(np.isfinite(values)):
        raise ValueError(f"features names {name!r}, which holds no finite value.")
    return values


def _axis(values, n_points):
    """Points from a little below the lowest value to a little above the highest."""
    values = values[np.isfinite(values)]
    low, high = float(values.min()), float(values.max())
    pad = 0.05 * (high - low) or 0.5
    return np.linspace(low - pad, high + pad, n_points)


def _two_features(features, names):
    """Positions of the two free features."""
    if features is None:
        if len(names) < 2:
            raise ValueError("X has a single column; a surface needs two to be drawn over.")
        if len(names) > 2:
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


def _held_values(fixed, names, pair, columns):
    """One value a feature: the fixed one or the typical one."""
    held = [_typical(values) for values in columns]
    for feature, value in fixed.items():
        column = _position(feature, names, "fixed")
        if column in pair:
            raise ValueError(f"fixed holds {feature!r}, which is one of the two free features.")
        if columns[column].dtype.kind in "buif":
            checks.check_number(value, f"fixed[{feature!r}]")
        held[column] = value
    return held


def _typical(values):
    """The median of numbers, or the most frequent of other values; missing ones do not count."""
    if values.dtype.kind in "buif":
        return np.nanmedian(values.astype(float)) if np.any(values == values) else np.nan
    known, counts = np.unique(values[values == values].astype(str), return_counts=True)
    if not len(known):
        return None
    return values[values.astype(str) == known[np.argmax(counts)]][0]
