"""What all displays share: axes, the classifier inside a pipeline, and labels that are known."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from entropic import checks
from entropic.uncertainty.mixin import UncertaintyMixin

COLOURS = ("tab:blue", "tab:orange")


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
    return plt.subplots()[1]


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
    """The classifier, what its method says of X, and which rows are of ``classes_[1]``."""
    last = fitted(estimator)
    said = getattr(estimator, method)(X)
    return last, said, checks.check_known_labels(y, last.classes_, len(said)) == 1


def two_classes(y_true, predictions, name):
    """The two labels in sorted order, the predictions, and which rows are of the second."""
    classes, codes = np.unique(y_true, return_inverse=True)
    if len(classes) != 2:
        raise ValueError(f"y_true has {len(classes)} different labels; give rows of two classes.")
    predictions = np.asarray(predictions, dtype=np.float64)
    if predictions.shape != (len(codes),):
        raise ValueError(
            f"y_true has {len(codes)} rows and {name} the shape {predictions.shape}; "
            "give one number a row."
        )
    if not np.all(np.isfinite(predictions)):
        row = int(np.argmin(np.isfinite(predictions)))
        raise ValueError(f"{name} holds {predictions[row]} in row {row}; give finite numbers.")
    return classes, predictions, codes == 1


class Display:
    """Remembers the axes and the figure of its last plot."""

    def _remember(self, ax):
        self.ax_, self.figure_ = ax, ax.figure
        return self
