"""The figures of the experiments: every surface with its band, and where ours is certain."""

from __future__ import annotations

import io
from functools import partial

import numpy as np
from sklearn.neighbors import NearestNeighbors

from entropic.display import BoundaryDisplay
from entropic.display.axes import COLOURS
from entropic.uncertainty.band import in_band

GRID = 250
PAD = 0.08  # of the width of the samples, around them
FORMATS = {"png": {"dpi": 120}, "svg": {"metadata": {"Date": None}}}
SHOWN = ("EntropicClassifier()", "EntropicClassifierCV()")  # in the figure of certain regions
CAPTION = """Line: the boundary. Dashed: the band between the lowest score of class 1 and the
highest of class 0 among the training rows, for the last three as if each had been left out. The
paper's own rule (Entropic-Linear and -Polynomial) may put its boundary outside of that band.
Faint dots: training rows. Dots: test rows. Crosses: test rows that are wrong."""
CERTAIN_CAPTION = """Coloured: certain; no training row of the other class, left out, has such a
score. White: uncertain. Dots: test rows. Crosses: certain and wrong. Far from all
training rows a colour is the surface's and no observation."""


def figures(experiments):
    """Every figure as the name of a file without its ending, and a matplotlib figure.

    Raises
    ------
    ModuleNotFoundError
        If matplotlib is missing.
    """
    planar = {
        name: experiment
        for name, experiment in experiments.items()
        if experiment.parts[0].shape[1] == 2
    }
    for name, experiment in planar.items():
        yield name, _boundaries(name, experiment)
    yield "certain", _certain_regions(planar)


def rendered(figure, format):
    """The bytes of a figure as ``"png"`` or ``"svg"``."""
    import matplotlib

    file = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "entropic"}):  # ids that stay the same
        figure.savefig(file, format=format, **FORMATS[format])
    return file.getvalue()


def _new_figure(n_rows, n_columns, size, title, caption, share):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(size * n_columns, size * n_rows + 0.9), layout="constrained")
    figure.suptitle(title, fontsize=14)
    figure.supxlabel(caption, fontsize=9)
    axes = figure.subplots(n_rows, n_columns, sharex=share, sharey=share, squeeze=False)
    return figure, axes


def _boundaries(name, experiment):
    X, X_test, y, y_test = experiment.parts
    title = f"{name.capitalize()}: boundaries with uncertainty bands"
    if any(len(runs) > 1 for runs in experiment.runs.values()):
        title += ", first random state"
    n_rows = -(-len(experiment.runs) // 3)
    figure, axes = _new_figure(n_rows, 3, 3.6, title, CAPTION, "all")
    first, second = _grid(X)
    for ax, (method, runs) in zip(axes.flat, experiment.runs.items(), strict=False):
        run = runs[0]
        score = _score(run.model, X, y)
        surface = score(np.column_stack([first.ravel(), second.ravel()])).reshape(first.shape)
        band = _band(run.model, score(X), y)
        display = BoundaryDisplay(first, second, surface, band, ("", ""), classes=(0, 1))
        display.plot(ax=ax, legend=False)
        ax.scatter(*X.T, c=np.take(COLOURS, y), s=5, alpha=0.35, linewidths=0)
        _scatter_test(ax, X_test, y_test, run.model.predict(X_test) != y_test)
        shape = [part for part in run.chosen.split(", ") if "degree" in part or "knots" in part]
        ax.set_title(f"{', '.join([method, *shape])}\naccuracy {run.accuracy:.3f}", fontsize=9)
        if np.all(in_band(surface, band)):
            ax.text(0.5, 0.02, "all of it lies in the band", transform=ax.transAxes, ha="center")
    _legend(figure)
    return figure


def _certain_regions(planar):
    title = "Where EntropicClassifier is certain"
    figure, axes = _new_figure(len(SHOWN), len(planar), 3.4, title, CERTAIN_CAPTION, "col")
    for column, (name, experiment) in enumerate(planar.items()):
        X, X_test, _, y_test = experiment.parts
        first, second = _grid(X)
        points = np.column_stack([first.ravel(), second.ravel()])
        for row, method in enumerate(SHOWN):
            ax, run = axes[row, column], experiment.runs[method][0]
            surface = run.model.decision_function(points).reshape(first.shape)
            lower, upper = run.model.band_
            sides = (surface.min() - 1, lower), (upper, surface.max() + 1)
            for colour, levels in zip(COLOURS, sides, strict=True):
                if levels[0] < levels[1]:
                    ax.contourf(first, second, surface, levels, colors=[colour], alpha=0.35)
            sure = ~run.model.in_band(X_test)
            wrong = sure & (run.model.predict(X_test) != y_test)
            _scatter_test(ax, X_test, y_test, wrong)
            ax.set_title(
                f"{name}, {method}\n{np.sum(sure)} of {len(sure)} certain, {np.sum(wrong)} wrong",
                fontsize=9,
            )
    _legend(figure)
    return figure


def _grid(X):
    low, high = X.min(axis=0), X.max(axis=0)
    pad = PAD * (high - low)
    return np.meshgrid(*np.linspace(low - pad, high + pad, GRID).T)


def _scatter_test(ax, X, y, marked):
    ax.scatter(*X.T, c=np.take(COLOURS, y), s=14, edgecolors="white", linewidths=0.4)
    ax.scatter(*X[marked].T, marker="x", c="black", s=20, linewidths=1.0)


def _legend(figure):
    from matplotlib.lines import Line2D

    style = dict(marker="o", linestyle="", markeredgecolor="white")
    handles = [
        Line2D([], [], color=colour, label=f"class {code}", **style)
        for code, colour in enumerate(COLOURS)
    ]
    figure.legend(handles=handles, loc="upper right", ncols=2, fontsize=9)


def _band(model, scores, y):
    """The classifier's own band, or that of its training scores."""
    if hasattr(model, "band_"):
        return model.band_
    ends = np.min(scores[y == 1]), np.max(scores[y == 0])
    return min(ends), max(ends)


def _score(model, X, y):
    """A function of rows that is positive where they are of class 1.

    That of the nearest neighbour, which has none of its own, is by how much the nearest training
    row of class 1 is nearer than that of class 0, among rows scaled as the classifier scales them.
    """
    if hasattr(model, "decision_function"):
        return model.decision_function
    scaled = model[:-1].transform
    nearest = [NearestNeighbors(n_neighbors=1).fit(scaled(X[y == code])) for code in (0, 1)]
    return partial(_nearer, nearest, scaled)


def _nearer(nearest, scaled, X):
    to_0, to_1 = (one.kneighbors(scaled(X))[0][:, 0] for one in nearest)
    return to_0 - to_1
