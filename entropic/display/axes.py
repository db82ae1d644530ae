"""What all displays share: axes, colours, the classifier in a pipeline, labels that are known."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from entropic.labels import check_known_labels
from entropic.uncertainty.mixin import UncertaintyMixin

COLOURS = ("tab:blue", "tab:orange")
# Told apart with deficient colour vision too: M. A. Petroff, "Accessible color sequences for data
# visualization", arXiv:2107.02270.
SEVERAL = ("#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6",
           "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd")  # fmt: skip
MOST_TOLD_APART = len(SEVERAL)
MARKERS = "os^DvPX"


def styles(n_classes):
    """Colour and marker of each class.

    Beyond ten classes the colours are those of a colour map, and the markers tell its neighbours
    apart.
    """
    if n_classes <= MOST_TOLD_APART:
        colours = (COLOURS if n_classes <= 2 else SEVERAL)[:n_classes]
        return [{"color": colour, "marker": "o"} for colour in colours]
    from matplotlib import colormaps

    colours = colormaps["turbo"](np.linspace(0, 1, n_classes))
    return [
        {"color": tuple(colour), "marker": MARKERS[code % len(MARKERS)]}
        for code, colour in enumerate(colours.tolist())
    ]


def axes_or_new(ax):
    """The axes given, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Displays need matplotlib; install it with pip install 'entropic-classifier[plot]'."
        ) from error
    return plt.subplots(layout="constrained")[1]


def legend_beside(ax):
    """A legend right of the axes where the layout of their figure makes room, else in them."""
    options = {}
    n_entries = len(ax.get_legend_handles_labels()[1])
    if n_entries > 12:
        options = dict(fontsize="small", labelspacing=0.2, columnspacing=1.0, handletextpad=0.3)
        options["ncols"] = -(-n_entries // 24)
    if ax.figure.get_layout_engine() is not None:
        options |= dict(loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)
    ax.legend(**options)


def fitted(estimator):
    """The classifier itself: the estimator, or the last step of its pipeline."""
    check_is_fitted(estimator)
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    if not isinstance(last, UncertaintyMixin):
        raise ValueError(
            f"estimator is a {type(last).__name__}; "
            "give a fitted EntropicClassifier or a pipeline that ends in one."
        )
    return last


def scored(estimator, X, y, method="decision_function"):
    """The classifier, what its method says of X, and the place of each row's class."""
    last = fitted(estimator)
    said = getattr(estimator, method)(X)
    return last, said, check_known_labels(y, last.classes_, len(said))


def named_class(class_label, classes):
    """The place of a class that an argument names."""
    known = np.asarray(classes).tolist()
    if class_label not in known:
        raise ValueError(
            f"class_label is {class_label!r}, which is not among the classes {known}; "
            "name one of them."
        )
    return known.index(class_label)


def predicted(y_true, predictions, name, labels=None):
    """The classes, the predictions as numbers, and the place of each row's class.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
    predictions : array of shape (n_samples,) or (n_samples, n_classes)
        One number a row where there are two classes: of the second.
    name : str
        What messages call them.
    labels : array of shape (n_classes,) or None
        The classes in the order of the columns; None for the sorted labels of ``y_true``.
    """
    predictions = np.asarray(predictions, dtype=np.float64)
    n_rows = len(y_true)
    if (
        predictions.ndim not in (1, 2)
        or len(predictions) != n_rows
        or predictions.shape[1:] == (1,)
    ):
        raise ValueError(
            f"y_true has {n_rows} rows and {name} the shape {predictions.shape}; "
            "give one number a row, or one a row and class."
        )
    n_classes = 2 if predictions.ndim == 1 else predictions.shape[1]
    classes = np.unique(y_true) if labels is None else np.asarray(labels)
    n_different = len(np.unique(classes))
    if not n_different == len(classes) == n_classes:
        raise ValueError(
            f"{'y_true' if labels is None else 'labels'} has {n_different} different labels and "
            f"{name} is of {n_classes} classes; name each class once, in the order of the columns, "
            "with labels=."
        )
    bad = ~np.isfinite(predictions).reshape(n_rows, -1)
    if np.any(bad):
        row = int(np.argmax(bad.any(axis=1)))
        value = predictions.reshape(n_rows, -1)[row][bad[row]][0]
        raise ValueError(f"{name} holds {value} in row {row}; give finite numbers.")
    return classes, predictions, check_known_labels(y_true, classes, n_rows)


class Display:
    """Remembers the axes and the figure of its last plot."""

    def _remember(self, ax):
        self.ax_, self.figure_ = ax, ax.figure
        return self
