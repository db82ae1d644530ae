"""``entropic plot``: displays of a saved model on the rows of files, as a picture."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from matplotlib.figure import Figure

from entropic.display import (
    BoundaryDisplay,
    ConvergenceDisplay,
    ReliabilityDisplay,
    RiskCoverageDisplay,
    ScoreHistogramDisplay,
)
from entropic.files import check_writable, whole_file

from .cells import listed
from .options import DISPLAYS
from .saved import SavedModel

FORMATS = ("png", "svg", "pdf")
# More rows make no other picture, and a scatter of them no better one.
MOST_ROWS, MOST_POINTS = 200_000, 5_000
WIDTH, HEIGHT = 5.6, 4.2  # inches of one display
BESIDE = 1.4  # more for the names of several classes


class Displays:
    """What can be drawn of a model and some rows, by name.

    Parameters
    ----------
    model : SavedModel
    X : array or CSR matrix of shape (n_rows, n_features)
    y : array of shape (n_rows,) or None
    pair : list of two int, or None
        The features of the surface's axes.
    label : label or None
        The class whose scores and reliability are drawn.
    """

    def __init__(self, model, X, y, pair, label=None):
        self.model, self.X, self.y, self.pair, self.label = model, X, y, pair, label

    def surface(self, ax):
        shown = slice(None, None, max(1, self.X.shape[0] // MOST_POINTS))
        X = self.X[shown].toarray() if sp.issparse(self.X) else self.X[shown]
        y = None if self.y is None else self.y[shown]
        BoundaryDisplay.from_estimator(self.model.classifier, X, y, features=self.pair, ax=ax)
        names = self.model.feature_names
        ax.set(xlabel=names[self.pair[0]], ylabel=names[self.pair[1]])

    def scores(self, ax):
        self._of_class(ScoreHistogramDisplay, ax)

    def risk(self, ax):
        RiskCoverageDisplay.from_estimator(self.model.classifier, self.X, self.y, ax=ax)

    def reliability(self, ax):
        self._of_class(ReliabilityDisplay, ax)

    def _of_class(self, display, ax):
        rows = self.model.classifier, self.X, self.y
        display.from_estimator(*rows, class_label=self.label, ax=ax)

    def convergence(self, ax):
        ConvergenceDisplay.from_estimator(self.model.classifier, ax=ax)

    def missing(self, name):
        """What a display lacks, or None."""
        if name == "surface" and self.pair is None:
            return "name the two features of its axes with --features"
        if name in ("scores", "risk", "reliability") and self.y is None:
            return "it needs the column of labels, which the file does not have"
        if name == "reliability" and not hasattr(self.model.classifier, "calibration_"):
            return "the model gives no probabilities"
        return None


def plot(options):
    """Draw the displays of a model on the rows of files."""
    output = options.output or f"{Path(options.files[0]).name.partition('.')[0] or 'rows'}.png"
    ending = Path(output).suffix[1:].lower()
    if ending not in FORMATS:
        raise ValueError(f"--output {output!r} must end in one of {', '.join(FORMATS)}.")
    check_writable(output)
    model = SavedModel(options.model)
    source, _ = model.open(options)
    X, y = _rows(model, source)
    label = _class(options.class_label, model.classifier.classes_)
    displays = Displays(model, X, y, _pair(options.features, model), label)
    names = []
    for name in options.display or DISPLAYS:
        lack = displays.missing(name)
        if lack and options.display:
            raise ValueError(f"--display {name} cannot be drawn: {lack}.")
        if lack:
            print(f"entropic: note: no {name}: {lack}.", file=sys.stderr)
        else:
            names.append(name)
    if label is not None and not {"scores", "reliability"}.intersection(names):
        raise ValueError("--class is for the displays scores and reliability; name one of them.")
    n_columns = min(len(names), 3 if len(names) > 4 else 2)
    n_lines = math.ceil(len(names) / n_columns)
    width = WIDTH + (BESIDE if len(model.classifier.classes_) > 2 else 0.0)
    figure = Figure(figsize=(width * n_columns, HEIGHT * n_lines), layout="constrained")
    axes = figure.subplots(n_lines, n_columns, squeeze=False).ravel()
    for ax, name in zip(axes, names, strict=False):
        getattr(displays, name)(ax)
        others = len(model.feature_names) > 2
        held = ", other features at their medians" if name == "surface" and others else ""
        ax.set_title(name + held)
    for ax in axes[len(names) :]:
        ax.remove()
    with whole_file(output) as file:
        figure.savefig(file, format=ending, dpi=150)
    print(f"{', '.join(names)} of {X.shape[0]:,} rows: saved in {output}")


def _rows(model, source):
    """The first rows of a source as a matrix, and their labels or None."""
    parts, n_rows = [], 0
    for rows in source.batches():
        if n_rows >= MOST_ROWS:
            print(f"entropic: note: only the first {n_rows:,} rows are drawn.", file=sys.stderr)
            break
        if rows.num_rows:
            parts.append((model.encoder.matrix(rows), model.labels_of(rows, source, n_rows)))
        n_rows += rows.num_rows
    matrices = [X for X, _ in parts]
    X = sp.vstack(matrices, format="csr") if sp.issparse(matrices[0]) else np.vstack(matrices)
    labels = [y for _, y in parts]
    return X, None if any(y is None for y in labels) else np.concatenate(labels)


def _pair(wanted, model):
    """The places of the two columns that were named, or of the only two; else None."""
    names = model.feature_names
    if wanted is None:
        return [0, 1] if len(names) == 2 else None
    pair = [_place(name, names) for name in wanted]
    if pair[0] == pair[1]:
        raise ValueError(f"--features names the column {wanted[0]!r} twice; name two.")
    return pair


def _class(wanted, classes):
    """The class whose label is written so; None for None."""
    known = {str(label): label for label in classes.tolist()}
    if wanted is not None and wanted not in known:
        raise ValueError(f"--class {wanted!r} is none of the classes; they are {listed(known)}.")
    return known.get(wanted)


def _place(name, names):
    if name in names:
        return names.index(name)
    if name.isascii() and name.isdigit() and 1 <= int(name) <= len(names):
        return int(name) - 1
    raise ValueError(f"--features {name!r} is no column of numbers; they are {listed(names)}.")
