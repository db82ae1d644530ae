"""Labels: what they may be, which classes they are, and each row's place among these."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from numbers import Integral, Real

import numpy as np

from .checks import as_array, check_number, check_rows


def check_classes(classes):
    """Different labels, two at least, in rising order."""
    classes = as_array(classes, "classes", "labels")
    if classes.ndim != 1 or not 2 <= len(classes) == len(np.unique(classes)):
        raise ValueError(f"classes must be different labels, two at least, not {classes.tolist()}.")
    return np.unique(classes)


def encoded(y):
    """The classes in rising order and the place of each row's, where a look at y shows them.

    Returns None for all that scikit-learn had better look at: objects, numbers with a fraction, one
    label, and more than two that are not whole numbers near each other.
    """
    if y.ndim != 1 or y.dtype.kind not in "biufUS" or not len(y):
        return None
    first = y == y[0]
    place = int(np.argmin(first))
    second = y == y[place]
    if place == 0:
        return None
    if np.count_nonzero(first) + np.count_nonzero(second) != len(y):
        return _counted(y) if y.dtype.kind in "iu" else None
    classes = np.sort(y[[0, place]])
    if y.dtype.kind == "f" and not np.all(classes == np.rint(classes)):
        return None
    return classes, (second if classes[1] == y[place] else first).view(np.int8)


def _counted(y):
    """The same for whole numbers of a range narrower than rows are many, without sorting them."""
    low, high = int(y.min()), int(y.max())
    if high - low >= len(y):
        return None
    places = np.subtract(y, y.dtype.type(low), dtype=np.intp, casting="unsafe")
    there = np.bincount(places) > 0
    if 2 * np.count_nonzero(there) > len(y):
        return None  # of which scikit-learn warns
    classes = np.array([low + int(place) for place in np.flatnonzero(there)], dtype=y.dtype)
    return classes, (np.cumsum(there) - 1)[places]


def check_class_weight(class_weight, classes, weight):
    """What multiplies the weights of each class: "balanced" gives every class the same total.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
    classes : array of shape (n_classes,)
    weight : array of shape (n_classes,)
        Of each class's rows together.

    Returns
    -------
    array of shape (n_classes,)

    Raises
    ------
    ValueError
        If the parameter is of another kind or names another class, a class is left without
        weight, or the sum of all weights is infinite.
    """
    known, factors = classes.tolist(), np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        # a class without weight is named below
        with np.errstate(over="ignore", invalid="ignore"):
            factors = weight.sum() / (len(known) * np.where(weight > 0, weight, 1.0))
    elif isinstance(class_weight, Mapping):
        for label, factor in class_weight.items():
            if label not in known:
                raise ValueError(f"class_weight names the class {label!r}, but y has only {known}.")
            check_number(factor, f"class_weight[{label!r}]", 0.0)
        factors = np.array([class_weight.get(label, 1.0) for label in known], dtype=np.float64)
    elif class_weight is not None:
        raise ValueError(
            f"class_weight={class_weight!r} is not known; give a dict, 'balanced' or None."
        )
    with np.errstate(over="ignore", invalid="ignore"):
        totals = factors * weight
        finite = np.isfinite(np.sum(totals))
    if not finite:
        raise ValueError(
            "The weights, class weights included, have an infinite sum; divide all by the same "
            "number."
        )
    without = np.flatnonzero(~(totals > 0))
    if len(without):
        raise ValueError(
            f"Only rows of weight 0 have the label {known[without[0]]}; give every class weight."
        )
    return factors


def check_reject_label(label, classes):
    """``label`` as an array scalar, if it can stand beside the classes and is none of them."""
    value = np.asarray(label)
    if classes.tolist().count(label if value.ndim == 0 else None):
        raise ValueError(f"reject_label={label!r} is one of the classes; choose another.")
    text = classes.dtype.kind == "U" or (
        classes.dtype.kind == "O" and all(isinstance(known, str) for known in classes)
    )
    if value.ndim or value.dtype.kind not in ("U" if text else "buif"):
        raise ValueError(
            f"reject_label={label!r} does not fit the labels {classes.tolist()}; "
            f"give {'a string' if text else 'a number'}."
        )
    return value


def check_labels(y):
    """No row without a label (None, NaN, NaT, pandas' NA, a mask), and no text among numbers."""
    check_rows(y, "y")
    if getattr(y, "ndim", 1) != 1:
        return
    if getattr(getattr(y, "dtype", None), "kind", None) in ("m", "M"):
        missing = np.isnat(y)
        if np.any(missing):
            raise ValueError(f"y has no label in row {np.argmax(missing)} (NaT); drop such rows.")
    if hasattr(y, "isna"):  # pandas' own types
        gaps = np.asarray(y.isna())
        if np.any(gaps):
            row = int(np.argmax(gaps))
            label = np.asarray(y, dtype=object)[row]
            raise ValueError(f"y has no label in row {row} ({label}); drop such rows.")
    if not _holds_objects(y):
        return
    # a list is walked as it is: as an array, its NaN beside strings would become a string
    labels = y if isinstance(y, (list, tuple)) else np.asarray(y)
    for row, label in enumerate(labels):
        if _is_missing(label):
            raise ValueError(f"y has no label in row {row} ({label}); drop such rows.")
    text = [isinstance(label, str) for label in labels]
    if any(text) and not all(text):
        one, other = labels[text.index(True)], labels[text.index(False)]
        raise ValueError(
            f"y holds text ({one!r}) and other labels ({other!r}); give labels of one type."
        )


def plain_labels(y):
    """Labels as NumPy has them, for pandas' nullable types, which scikit-learn reads as floats."""
    kind = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    return y if kind is None or kind.kind not in "biuf" else np.asarray(y, dtype=kind)


def _is_missing(label):
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, (Real, np.generic, Decimal)) and bool(label != label)


def check_known_labels(y, classes, n_samples):
    """The place of each label in ``classes``; every label must be there."""
    check_labels(y)
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"y must have one dimension, not {y.ndim}.")
    if len(y) != n_samples:
        raise ValueError(f"y has {len(y)} labels for {n_samples} rows; give one a row.")
    places = {label: place for place, label in enumerate(classes.tolist())}
    if y.dtype.kind == "O":
        codes = np.array([places.get(label, -1) for label in y.tolist()], dtype=np.intp)
    else:
        labels, inverse = encoded(y) or np.unique(y, return_inverse=True)
        codes = np.array([places.get(label, -1) for label in labels.tolist()], np.intp)[inverse]
    if np.any(codes < 0):
        row = int(np.argmax(codes < 0))
        raise ValueError(
            f"y has the label {y[row]!s} in row {row}, which is not among the classes "
            f"{classes.tolist()}; leave such rows out."
        )
    return codes


def _holds_objects(y):
    if isinstance(y, (list, tuple)):
        kinds = {type(label) for label in y}
        return len(kinds) > 1 or not all(issubclass(kind, (str, bool, Integral)) for kind in kinds)
    return getattr(getattr(y, "dtype", None), "kind", None) == "O"
