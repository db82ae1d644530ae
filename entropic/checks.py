"""Errors of arguments: one sentence that names the argument, the place and the remedy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn import get_config

SOLVERS = ("auto", "newton", "spectral", "spectral-paper")
CONSTRAINTS = ("equality", "inequality")
LEAST_SLACK = 1e-30
NARROWEST_BOX = 1e-8  # of a box's distance from zero, for coefficients with digits left inside
# How arrays of other libraries than NumPy are known.
EXCHANGES = ("__array_namespace__", "__dlpack__")


def check_choice(value, name, choices):
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name}={value!r} is not known; choose one of {listed}.")


def check_number(value, name, low=-math.inf, *, above=False):
    """A finite real number, at least ``low`` (greater than it when ``above``)."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise ValueError(f"{name} must be a number, not {value!r}.")
    try:
        number = float(value)  # what the solvers will see of a wider type
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or number < low or (above and number == low):
        bound = "" if low == -math.inf else f" {'above' if above else 'of at least'} {low:g}"
        shown = repr(value) if len(repr(value)) < 40 else f"{repr(value)[:30]}..."
        raise ValueError(f"{name}={shown} is out of range; give a finite number{bound}.")


def check_count(value, name, low=1):
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral) or value < low:
        raise ValueError(f"{name} must be an integer of at least {low}, not {value!r}.")


def check_n_knots(n_knots, monotonic_cst):
    if n_knots == 0 and not isinstance(n_knots, (bool, np.bool_)):
        return
    check_count(n_knots, "n_knots", 3)  # 0 aside
    if monotonic_cst is not None:
        raise ValueError(
            f"monotonic_cst needs n_knots=0, not {n_knots}: it is the sign of one coefficient a "
            "feature."
        )


def check_list(values, name):
    """A sequence with at least one entry, as a list of plain Python values."""
    if isinstance(values, str) or not isinstance(values, (list, tuple, np.ndarray, range)):
        raise ValueError(f"{name} must be a list of values to try, not {values!r}.")
    if not len(values):
        raise ValueError(f"{name} is empty; give at least one value to try.")
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def check_solver_options(constraint, slack, solver, tol, max_iter, entropy_weight):
    check_choice(constraint, "constraint", CONSTRAINTS)
    check_choice(solver, "solver", SOLVERS)
    check_number(slack, "slack", 0.0)
    if 0 < slack < LEAST_SLACK:
        raise ValueError(
            f"slack={slack!r} is so small that quotients by it leave double precision; give at "
            f"least {LEAST_SLACK:g}, or 0 for the exact constraint."
        )
    check_number(tol, "tol", 0.0)
    check_number(entropy_weight, "entropy_weight", 0.0, above=True)
    if max_iter is not None:
        check_count(max_iter, "max_iter")


def check_flag(value, name, *others):
    """True or False, or one of the other values allowed."""
    if isinstance(value, (bool, np.bool_)):
        return
    if not isinstance(value, str) or value not in others:
        allowed = ", ".join(["True", "False", *map(repr, others)])
        raise ValueError(f"{name}={value!r} is not known; choose one of {allowed}.")


def check_share(value, name):
    """A number above 0 and at most 1."""
    check_number(value, name)
    if not 0 < value <= 1:
        raise ValueError(f"{name}={value!r} is out of range; give a number above 0, at most 1.")


def check_level(value, name):
    """A float above 0 and below 1."""
    check_number(value, name)
    if not 0 < value < 1:
        raise ValueError(f"{name}={value!r} is out of range; give a number above 0 and below 1.")
    return float(value)


def check_workers(n_jobs):
    """None, or an integer other than 0 (-1 means every core)."""
    if n_jobs is None:
        return
    if isinstance(n_jobs, (bool, np.bool_)) or not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(
            f"n_jobs must be a positive integer, -1 for every core, or None, not {n_jobs!r}."
        )


def check_callback(callback):
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be a function or None, not {callback!r}.")


def check_directions(monotonic_cst, n_features, degree, n_classes=2):
    """-1, 0 or +1 a feature as an int8 array, or None."""
    if monotonic_cst is None:
        return None
    if n_classes > 2:
        raise ValueError(
            f"monotonic_cst directs the score of two classes, and y has {n_classes}: no feature "
            "can raise the scores of all; leave it None."
        )
    if degree != 1:
        raise ValueError(
            f"monotonic_cst needs degree=1, not {degree}: a coefficient's sign settles the "
            "direction of a hyperplane only."
        )
    directions = np.asarray(monotonic_cst)
    if directions.ndim != 1 or directions.dtype.kind not in "iuf":
        raise ValueError("monotonic_cst must be one number a feature: -1, 0 or 1.")
    if len(directions) != n_features:
        raise ValueError(
            f"monotonic_cst has {len(directions)} entries for {n_features} features; "
            "give one a feature."
        )
    wrong = np.flatnonzero(~np.isin(directions, (-1, 0, 1)))
    if len(wrong):
        raise ValueError(
            f"monotonic_cst is {directions[wrong[0]]} at position {wrong[0]}; use -1, 0 or 1."
        )
    return directions.astype(np.int8)


def check_design(D):
    """A dense float array or a CSR matrix, finite, with at least one row and column.

    float32 and float64 in native byte order pass as they are, in any memory order.
    """
    if not sp.issparse(D):
        D = as_array(D, "D", "a matrix of real numbers")
    if D.ndim != 2:
        raise ValueError(f"D must have two dimensions, not {D.ndim}.")
    if sp.issparse(D):
        D = D.tocsr()
    if 0 in D.shape:
        raise ValueError(f"D has shape {D.shape}; give at least one row and one column.")
    D = as_float(D, "D")
    check_finite(D, "D")
    return D


def check_rows(values, name):
    """As check_container, and nothing that NumPy takes for one thing, as a generator or a dict."""
    kinds = ("__array__", "__array_interface__", "__array_struct__", "shape", *EXCHANGES)
    readable = any(hasattr(values, kind) for kind in kinds)
    if not readable and not isinstance(values, Mapping):
        readable = hasattr(values, "__getitem__") and hasattr(values, "__len__")
    if not readable and not np.isscalar(values) and values is not None:
        raise ValueError(
            f"{name} is a {type(values).__name__}, which holds no rows in order; collect it into "
            "an array or a frame first."
        )
    check_container(values, name)


def check_container(values, name):
    """No entry of a masked array under its mask, which NumPy and scikit-learn do not look at.

    Nor an array of another library where scikit-learn dispatches by these, which would be answered
    by one of the same, or where NumPy cannot read it.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{name} has masked entries; fill them or drop their rows.")
    if isinstance(values, np.ndarray) or not any(hasattr(values, kind) for kind in EXCHANGES):
        return
    if get_config()["array_api_dispatch"]:
        raise ValueError(
            f"{name} is an array of {type(values).__module__.split('.')[0]}, and scikit-learn's "
            "array API dispatch is on, which entropic does not follow; give a NumPy array, or set "
            "array_api_dispatch=False."
        )
    try:
        np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name} cannot be read as a NumPy array: {error}") from error


def as_array(values, name, wanted):
    """``np.asarray``, which would drop a mask without a word and not name what is ragged."""
    check_container(values, name)
    try:
        return np.asarray(values)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name} must be {wanted}: {error}") from error


def as_float(matrix, name):
    """The same values as native float32 or float64, copied only if they are something else.

    Types that float32 holds to the last bit become float32, so that bytes and flags grow no
    more than they must.
    """
    kind = matrix.dtype
    if kind in (np.float32, np.float64) and kind.isnative:
        return matrix
    if kind.kind not in "buif":
        raise ValueError(f"{name} holds {kind} values; give real numbers.")
    fits = np.can_cast(kind, np.float32, casting="safe")
    with np.errstate(over="ignore"):  # infinite in double precision: named by what comes next
        return matrix.astype(np.float32 if fits else np.float64)


def check_finite(matrix, name, names=None):
    """No NaN, no infinity; the message says in which row and column the first one is."""
    values = matrix.data if sp.issparse(matrix) else matrix
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(values, dtype=np.float64)):
            return
    place = first_bad_place(matrix)
    if place is None:
        return
    row, column, value = place
    what = "NaN" if np.isnan(value) else "infinity"
    called = "" if names is None else f" ({names[column]!r})"
    raise ValueError(
        f"{name} contains {what} in row {row}, column {column}{called}; "
        "fill or drop such cells first."
    )


def first_bad_place(matrix):
    """(row, column, value) of the first entry that is not finite, or None."""
    if sp.issparse(matrix):
        bad = np.flatnonzero(~np.isfinite(matrix.data))
        if not len(bad):
            return None
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
        return row, int(matrix.indices[bad[0]]), matrix.data[bad[0]]
    step = max(1, (1 << 20) // max(1, matrix.shape[1]))
    for start in range(0, matrix.shape[0], step):
        bad = np.argwhere(~np.isfinite(matrix[start : start + step]))
        if len(bad):
            row, column = int(bad[0, 0]) + start, int(bad[0, 1])
            return row, column, matrix[row, column]
    return None


# Beyond these the square of a deviation leaves the double's range: the curvature holds it, times
# weights of up to 1/LEAST_SLACK.
LARGEST_DEVIATION, SMALLEST_DEVIATION = 1e120, 1e-140


def check_deviations(deviations, names=None):
    """No column that spreads beyond what curvature in double precision can hold."""
    wide = np.flatnonzero(~(deviations <= LARGEST_DEVIATION))
    if len(wide):
        called = "" if names is None else f" ({names[wide[0]]!r})"
        raise ValueError(
            f"Column {wide[0]}{called} of X spreads over more than {LARGEST_DEVIATION:g}; "
            "divide it by a constant."
        )


def check_per_sample(values, n_samples, name, *, default, sign=False):
    """A number a sample, or one for all, as a float64 array of length n_samples or 1."""
    values = default if values is None else values
    if type(values) is float and abs(values) < 1e150 and (values > 0 or not sign):
        return np.array([values])
    values = np.atleast_1d(as_array(values, name, "a number or one number a row"))
    if values.dtype.kind == "O" and all(isinstance(value, Real) for value in values.flat):
        values = values.astype(np.float64)
    if values.dtype.kind not in "buif" or values.ndim != 1:
        raise ValueError(f"{name} must be a number or one number a row.")
    with np.errstate(over="ignore"):
        values = values.astype(np.float64, copy=False)
    if len(values) not in (1, n_samples):
        raise ValueError(
            f"{name} has {len(values)} entries for {n_samples} rows; give one number a row."
        )
    if not np.all(np.isfinite(values)):
        place = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(f"{name} is not finite at position {place}; give finite numbers.")
    if sign:
        check_weights(values, name, n_samples)
    return values


def check_weights(values, name, n_samples):
    """Not negative, and with a finite positive sum."""
    if np.any(values < 0):
        place = int(np.flatnonzero(values < 0)[0])
        raise ValueError(
            f"{name} is negative at position {place} ({values[place]:g}); use 0 to leave a row out."
        )
    with np.errstate(over="ignore"):
        total = float(np.sum(np.broadcast_to(values, n_samples)))
    if total == 0:
        raise ValueError(f"{name} is zero for every row; give some rows weight.")
    if total == math.inf:
        raise ValueError(f"{name} has an infinite sum; divide all weights by the same number.")


def check_box(lower, upper, n_features):
    """``lower`` and ``upper`` as arrays of length n_features."""
    plain = type(lower) is float and type(upper) is float and -1e150 < lower < upper < 1e150
    if plain and upper - lower >= NARROWEST_BOX * max(abs(lower), abs(upper)):
        return np.full(n_features, lower), np.full(n_features, upper)
    bounds = []
    for values, name in ((lower, "lower"), (upper, "upper")):
        values = as_array(values, name, "a number or one number a column")
        if values.ndim > 1 or values.size not in (1, n_features):
            raise ValueError(
                f"{name} has shape {values.shape}; give a number or {n_features} of them."
            )
        if values.dtype.kind not in "buif":
            raise ValueError(f"{name} must be a number or one number a column.")
        with np.errstate(over="ignore"):
            values = values.astype(np.float64)
        if not np.all(np.isfinite(values)):
            raise ValueError(f"{name} must be finite.")
        bounds.append(np.array(np.broadcast_to(values, (n_features,))))
    lower, upper = bounds
    if not np.all(lower < upper):
        place = int(np.flatnonzero(~(lower < upper))[0])
        raise ValueError(
            f"lower must be below upper; at position {place} they are "
            f"{lower[place]:g} and {upper[place]:g}."
        )
    with np.errstate(over="ignore"):
        narrow = upper - lower < NARROWEST_BOX * np.maximum(np.abs(lower), np.abs(upper))
    if np.any(narrow):
        place = int(np.argmax(narrow))
        raise ValueError(
            f"lower and upper are {lower[place]:.17g} and {upper[place]:.17g} at position {place}, "
            "too close for their size; widen the box, or take its centre into the offset."
        )
    return lower, upper


def is_array(value, kind, *shape):
    """Whether a value is an array of a kind of type ("f", "i", "U", ...) and a shape.

    ``None`` in the shape is any length. For attributes that come from a file.
    """
    return (
        isinstance(value, np.ndarray)
        and value.dtype.kind in kind
        and value.ndim == len(shape)
        and all(n is None or n == length for n, length in zip(shape, value.shape, strict=True))
    )
