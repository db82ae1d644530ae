"""The separating surface and its band, drawn over a plane of two features."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from entropic import checks

from .axes import COLOURS, Display, axes_or_new, fitted


class BoundaryDisplay(Display):
    """The separating surface and its band over a plane of two features.

    Parameters
    ----------
    first, second : arrays of shape (n, n)
        Grid values of the two free features.
    scores : array of shape (n, n)
        Decision function on the grid.
    band : tuple of two floats or None
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
        positive = None
        if y is not None:
            positive = checks.check_known_labels(y, last.classes_, len(columns[0])) == 1
        first, second = np.meshgrid(*(_axis(values, grid_resolution) for values in samples))
        values = _held_values(fixed or {}, names, pair, columns)
        values[pair[0]], values[pair[1]] = first.ravel(), second.ravel()
        grid = [np.broadcast_to(value, first.size) for value in values]
        grid = type(X)(dict(zip(names, grid, strict=True))) if framed else np.column_stack(grid)
        scores = np.asarray(estimator.decision_function(grid)).reshape(first.shape)
        display = cls(
            first,
            second,
            scores,
            getattr(last, "band_", None),
            tuple(str(names[column]) if framed else f"feature {column}" for column in pair),
            np.column_stack(samples),
            positive,
            last.classes_,
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax=None, *, alpha=0.25, **kwargs):
        """Draw; keyword arguments go to the scatter of the samples.

        Returns
        -------
        BoundaryDisplay
        """
        ax = axes_or_new(ax)
        levels = [] if self.band is None else sorted(set(filter(np.isfinite, self.band)))
        top = float(np.max(np.abs([*levels, np.min(self.scores), np.max(self.scores)]))) * 2 + 1
        ax.contourf(
            self.first, self.second, self.scores, [-top, 0.0, top], colors=COLOURS, alpha=alpha
        )
        ax.contour(self.first, self.second, self.scores, [0.0], colors="black", linewidths=1.5)
        if levels:
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
