"""Drawn inputs: every legal form gives the plain array's model, every illegal one a clear error."""

import copy

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from entropic import EntropicClassifier

RNG = np.random.default_rng(0)
ROWS = RNG.integers(0, 10, size=(50, 4)).astype(float) * (RNG.random((50, 4)) < 0.7)
CODES = np.digitize(ROWS[:, 0] - ROWS[:, 1] + 3 * RNG.normal(size=50), [-2.0, 2.0])
COUNTS = RNG.integers(0, 4, size=50)
COUNTS[:3] = 1  # every class has weight
CODES[:3] = [0, 1, 2]
NAMES = ["a", "b", "c", "d"]


def frozen(values):
    dense = isinstance(values, np.ndarray)
    for part in [values] if dense else [values.data, values.indices, values.indptr]:
        part.flags.writeable = False
    return values


def wide(values):
    values.indices = values.indices.astype(np.int64)
    values.indptr = values.indptr.astype(np.int64)
    return values


def shuffled(values):
    """CSR with its entries in any order and in two parts, of which some are zero."""
    values = values.tocoo()
    parts = np.tile(values.row, 2), np.tile(values.col, 2), np.r_[values.data - 1, values.data**0]
    order = np.argsort(parts[0] + RNG.random(2 * values.nnz) * 0.9, kind="stable")
    rows, columns, data = (part[order] for part in parts)
    starts = np.searchsorted(rows, np.arange(values.shape[0] + 1))
    mixed = sp.csr_array((data, columns, starts), shape=values.shape)
    assert np.any(data == 0) and not mixed.has_sorted_indices and not mixed.has_canonical_format
    return mixed


DTYPES = ["f2", "f4", ">f4", "f8", ">f8", "i1", "u1", "i2", ">i4", "i8", "u8", "O"]
DENSE = {
    "as it is": lambda X: X,
    "Fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "backwards": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "read-only": lambda X: frozen(X.copy()),
    "list": lambda X: X.tolist(),
    "tuple of rows": lambda X: tuple(map(tuple, X.tolist())),
    "masked, with nothing under the mask": np.ma.array,
    "memory map": lambda X: np.ndarray.view(X, np.memmap) if X.dtype != object else X,
    "frame": lambda X: pd.DataFrame(X, columns=NAMES),
    "frame of nullable columns": lambda X: pd.DataFrame(
        X.astype(float), columns=NAMES
    ).convert_dtypes(),
}
CONTAINERS = {
    name: getattr(sp, name)
    for name in ("csr_array", "csr_matrix", "csc_array", "csc_matrix", "coo_array", "coo_matrix",
                 "lil_array", "dok_array", "bsr_array")
}  # fmt: skip
SPARSE = {
    **CONTAINERS,
    "wide indices": lambda X: wide(sp.csr_array(X)),
    "read-only sparse": lambda X: frozen(sp.csr_array(X)),
    "any order": lambda X: shuffled(sp.csr_array(X)),
}
LABELS = {
    "codes": [0, 1, 2],
    "signs": [-1, 0, 1],
    "numbers": [10, 20, 50],
    "floats": [1.0, 2.0, 7.0],
    "small integers": np.array([3, 7, 250], dtype="u1"),
    "text": ["above", "below", "level"],
    "objects": np.array(["x", "y", "z"], dtype=object),
    "categories": pd.Categorical(["hi", "lo", "mid"]),
    "nullable integers": pd.array([5, 6, 8], dtype="Int64"),
    "nullable text": pd.array(["p", "q", "r"], dtype="string"),
}
WEIGHTS = {
    "none": lambda q: None,
    "integers": lambda q: q,
    "floats": lambda q: q.astype(float),
    "narrow": lambda q: q.astype("f4"),
    "big-endian": lambda q: q.astype(">f8"),
    "list": lambda q: q.tolist(),
    "objects": lambda q: q.astype(object),
    "series": pd.Series,
    "booleans": lambda q: q > 0,
    "strided": lambda q: np.repeat(q, 2)[::2],
}


def taken(labels, codes):
    return labels.take(codes) if hasattr(labels, "take") else np.asarray(labels)[codes]


def same(left, right):
    if sp.issparse(left):
        parts = [
            part for part in ("data", "indices", "indptr", "row", "col") if hasattr(left, part)
        ]
        kept = all(np.array_equal(getattr(left, part), getattr(right, part)) for part in parts)
        return kept and (left != right).nnz == 0 and left.dtype == right.dtype
    return type(left) is type(right) and np.array_equal(np.asarray(left), np.asarray(right))


@pytest.mark.parametrize("name", DENSE | SPARSE)
@settings(max_examples=8, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    dtype=st.sampled_from(DTYPES),
    labels=st.sampled_from(sorted(LABELS)),
    weights=st.sampled_from(sorted(WEIGHTS)),
    n_classes=st.sampled_from([2, 3]),
    degree=st.sampled_from([1, 2]),
    as_list=st.booleans(),
)
def test_every_legal_input_gives_the_plain_arrays_model(
    name, dtype, labels, weights, n_classes, degree, as_list
):
    if name in SPARSE and dtype[0] in ">Of" and dtype != "f4":
        dtype = "f8"  # SciPy has no others
    codes = np.minimum(CODES, n_classes - 1)
    given_X = (DENSE | SPARSE)[name](ROWS.astype(dtype))
    given_y = taken(LABELS[labels], codes)
    given_y = list(given_y) if as_list and labels != "nullable text" else given_y
    given_q = WEIGHTS[weights](COUNTS)
    before = copy.deepcopy((given_X, given_y, given_q))
    plain_q = None if given_q is None else np.asarray(given_q, dtype=float)
    parameters = dict(degree=degree, standardize=True, tol=1e-13)
    plain = EntropicClassifier(**parameters).fit(ROWS, codes, plain_q)
    model = EntropicClassifier(**parameters).fit(given_X, given_y, given_q)
    assert_allclose(model.coef_, plain.coef_, rtol=1e-7, atol=1e-8)
    expected = np.unique(np.asarray(taken(LABELS[labels], np.arange(n_classes))))
    assert_array_equal(model.classes_, expected)
    scores = model.decision_function(given_X)
    assert_allclose(scores, plain.decision_function(ROWS), rtol=1e-6, atol=1e-7)
    clear = np.min(np.abs(np.reshape(scores, (50, -1))), axis=1) > 1e-6
    said, wanted = model.predict(given_X), expected[plain.predict(ROWS)]
    assert_array_equal(said[clear], wanted[clear])
    names = getattr(model, "feature_names_in_", None)
    assert (names is None) == (not name.startswith("frame"))
    for one, other in zip((given_X, given_y, given_q), before, strict=True):
        assert same(one, other)


BAD_X = {
    "NaN": (lambda X, i: at(X, i, np.nan), "X contains NaN in row"),
    "infinity": (lambda X, i: at(X, i, -np.inf), "X contains infinity in row"),
    "text": (lambda X, i: at(X.astype(object), i, "tall"), "could not convert string"),
    "None": (lambda X, i: at(X.astype(object), i, None), "X contains NaN in row"),
    "complex": (lambda X, i: X + 1j, "Complex data not supported"),
    "dates": (lambda X, i: X.astype("M8[s]"), "X holds datetime64"),
    "a mask": (lambda X, i: np.ma.array(X, mask=at(np.zeros(X.shape, bool), i, True)), "masked"),
    "one dimension": (lambda X, i: X[:, 0], "Expected 2D array"),
    "three dimensions": (lambda X, i: X[None], "dim 3"),
    "no columns": (lambda X, i: X[:, :0], "0 feature"),
    "fewer rows": (lambda X, i: X[:-1], "inconsistent numbers of samples"),
    "sparse NaN": (lambda X, i: sp.csr_array(at(X, i, np.nan)), "X contains NaN in row"),
    "a frame with a gap": (lambda X, i: pd.DataFrame(at(X, i, np.nan), columns=NAMES),
                           r"X contains NaN in row \d+, column 1 \('b'\)"),
    "ragged rows": (lambda X, i: [[1.0, 2.0], [3.0]] * 25, "inhomogeneous"),
    "words": (lambda X, i: np.full(X.shape, "x"), "[Cc]onvert"),
}  # fmt: skip
BAD_Y = {
    "NaN": (lambda y, i: at(y.astype(float), i, np.nan), "NaN"),
    "None": (lambda y, i: at(y.astype(object), i, None), "y has no label in row"),
    "NA": (lambda y, i: at(y.astype(object), i, pd.NA), "y has no label in row"),
    "NaT": (lambda y, i: at(y.astype("M8[D]"), i, "NaT"), "y has no label in row"),
    "a gap in nullable integers": (lambda y, i: pd.array(at(y.astype(object), i, None), "Int64"),
                                   "y has no label in row"),
    "a mask": (lambda y, i: np.ma.array(y, mask=at(np.zeros(len(y), bool), i, True)), "masked"),
    "one class": (lambda y, i: np.zeros(len(y)), "class"),
    "quantities": (lambda y, i: y + 0.37, "Unknown label type"),
    "text and numbers": (lambda y, i: at(y.astype(object), i, "one"), "labels of one type"),
    "two columns": (lambda y, i: np.column_stack([y, y]), "1d array"),
    "fewer": (lambda y, i: y[:-1], "inconsistent numbers of samples"),
    "bytes": (lambda y, i: y.astype("S"), "bytes"),
    "nothing": (lambda y, i: None, "y"),
}  # fmt: skip
BAD_WEIGHTS = {
    "negative": (lambda q, i: at(q.astype(float), i, -1.0), "negative at position"),
    "NaN": (lambda q, i: at(q.astype(float), i, np.nan), "not finite at position"),
    "infinite": (lambda q, i: at(q.astype(float), i, np.inf), "not finite at position"),
    "None among objects": (lambda q, i: at(q.astype(object), i, None), "one number a row"),
    "text": (lambda q, i: q.astype(str), "one number a row"),
    "all zero": (lambda q, i: q * 0, "zero for every row"),
    "fewer": (lambda q, i: q[:-1], "entries for 50 rows"),
    "two columns": (lambda q, i: np.column_stack([q, q]), "one number a row"),
    "a class without": (lambda q, i: (CODES > 0).astype(float), "label 0"),
    "a mask": (lambda q, i: np.ma.array(q, mask=at(np.zeros(50, bool), i, True)), "masked"),
    "complex": (lambda q, i: q + 1j, "one number a row"),
}
BAD_PARAMETERS = {
    "degree": st.sampled_from([0, -1, 1.5, "2", None, True]),
    "bound": st.sampled_from([0, -1.0, np.nan, np.inf, "1", None, True]),
    "C": st.sampled_from([0, -1.0, np.nan, np.inf, "1", None]),
    "constraint": st.sampled_from(["both", None, 1]),
    "slack": st.sampled_from([-1.0, 1e-31, np.nan, "0", None]),
    "margin": st.sampled_from([np.nan, np.inf, "0", None]),
    "fit_intercept": st.sampled_from([1, "yes", None]),
    "standardize": st.sampled_from([1, "yes", None]),
    "class_weight": st.sampled_from(["even", 3, {9: 1.0}, {0: -1.0}]),
    "certainty": st.sampled_from([0, 1.5, np.nan, "1", None]),
    "solver": st.sampled_from(["sag", None]),
    "tol": st.sampled_from([-1e-9, np.nan, "0", None]),
    "max_iter": st.sampled_from([0, 1.5, "9"]),
    "n_jobs": st.sampled_from([0, 1.5, "all", True]),
    "verbose": st.sampled_from([-1, "yes", None, np.nan]),
    "callback": st.sampled_from([1, "print"]),
}


def at(values, place, value):
    values = np.array(values)
    values[place if values.ndim == 1 else (place, 1)] = value
    return values


@st.composite
def illegal(draw):
    """What is wrong, the arguments of fit, parameters, and the error's words."""
    kind = draw(st.sampled_from(["X", "y", "weights", "parameter"]))
    X, y, q, parameters, place = ROWS, CODES, COUNTS, {}, draw(st.integers(3, 49))
    if kind == "parameter":
        name = draw(st.sampled_from(sorted(BAD_PARAMETERS)))
        return f"{name}", (X, y, q), {name: draw(BAD_PARAMETERS[name])}, name
    cases = {"X": BAD_X, "y": BAD_Y, "weights": BAD_WEIGHTS}[kind]
    name = draw(st.sampled_from(sorted(cases)))
    spoil, message = cases[name]
    if kind == "X":
        X = spoil(X, place)
    elif kind == "y":
        y = spoil(y, place)
    else:
        q = spoil(q, place)
    return f"{kind}: {name}", (X, y, q), parameters, message


FITTED = EntropicClassifier().fit(ROWS[:40], CODES[:40] > 0)


@settings(max_examples=100, derandomize=True, suppress_health_check=list(HealthCheck))
@given(illegal())
def test_every_illegal_input_is_a_clear_error_and_leaves_the_estimator_untouched(case):
    _, arguments, parameters, message = case
    model = copy.copy(FITTED).set_params(**parameters)
    before = dict(vars(model))
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        model.fit(*arguments)
    assert not str(caught.value).startswith("Traceback") and len(str(caught.value)) < 2000
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    assert_array_equal(model.classes_, [False, True])
