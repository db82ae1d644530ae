"""Labels of every type: told apart, and given back as they came."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from entropic import EntropicClassifier
from entropic.labels import encoded

LABELS = {
    "signs": [-1, 1],
    "strings": ["good", "bad"],
    "object strings": np.array(["good", "bad"], dtype=object),
    "booleans": [False, True],
    "numbers": [20, 10],
    "floats": [0.0, 1.0],
    "categorical": pd.Categorical(["x", "y"]),
    "nullable integers": pd.array([3, 5], dtype="Int64"),
    "nullable integers beyond doubles": pd.array([2**53, 2**53 + 1], dtype="UInt64"),
    "nullable booleans": pd.array([False, True], dtype="boolean"),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_come_back_as_given(two_clouds, kind):
    X, y = two_clouds
    labels = LABELS[kind]
    given = labels.take(y) if hasattr(labels, "take") else np.asarray(labels)[y]
    fitted = EntropicClassifier().fit(X, given)
    expected = np.unique(np.asarray(labels))
    assert_array_equal(fitted.classes_, expected)
    assert fitted.classes_.dtype == expected.dtype
    predicted = fitted.predict(X)
    assert set(predicted.tolist()) <= set(expected.tolist())
    scores = fitted.decision_function(X)
    assert_array_equal(predicted == expected[1], scores > 0)
    assert fitted.score(X, given) > 0.9


@pytest.mark.parametrize(
    "classes, reject",
    [
        (np.array([0, 1]), -1),
        (np.array([0, 1]), np.nan),
        (np.array([False, True]), 2),
        (np.array(["a", "b"]), "unsure"),
        (np.array(["a", "b"], dtype=object), "unsure"),
    ],
)
def test_reject_labels_beside_the_classes(two_clouds, classes, reject):
    X, y = two_clouds
    fitted = EntropicClassifier().fit(X, classes[y])
    assert fitted.in_band(X).any()
    predicted = fitted.predict_with_reject(X, reject)
    for one, certain, plain in zip(predicted, ~fitted.in_band(X), fitted.predict(X), strict=True):
        assert one == plain if certain else one == reject or (one != one and reject != reject)


@pytest.mark.parametrize(
    "y",
    [
        np.array([3, 1, 1, 3, 1]),
        np.array([True, False, True, True]),
        np.array([1.0, -1.0, -1.0]),
        np.array(["b", "a", "ab", "b"])[[0, 1, 3]],
        np.array([2**62, -(2**62)]),
        np.array([3, 1, 7, 3, 1, 7, 1]),
        np.array([-100, 27, -100, 27, 3] * 26, dtype=np.int8),
        np.array([2**64 - 1, 2**64 - 3, 2**64 - 4] * 3, dtype=np.uint64),
        np.array([-(2**63), -(2**63) + 2, -(2**63) + 1] * 3),
    ],
    ids=str,
)
def test_plain_labels_are_told_without_sorting_them(y):
    classes, codes = encoded(y)
    expected = np.unique(y, return_inverse=True)
    assert_array_equal(classes, expected[0])
    assert_array_equal(codes, expected[1])
    assert classes.dtype == y.dtype


@pytest.mark.parametrize(
    "y",
    [
        np.array([1, 1]),
        np.array([1, 2, 3]),  # more classes than scikit-learn takes without a warning
        np.array([1, 2, 2**62] * 3),
        np.array([1.0, 2.0, 3.0] * 3),
        np.array([0.5, 1.0]),
        np.array(["a", "b"], dtype=object),
        np.array([[1, 2]]),
        np.array([]),
    ],
    ids=str,
)
def test_other_labels_are_left_to_scikit_learn(y):
    assert encoded(y) is None
