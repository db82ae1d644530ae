"""Classes from the labels of a file, which stay as they are written."""

import numpy as np
import pytest

from entropic.command.labels import Labels

pytestmark = pytest.mark.backend_free


def words(*labels):
    return np.array(labels, dtype=object)


def test_two_labels_are_the_classes_and_the_greater_is_positive():
    numbers = Labels.learn(words("10", "9", "10.0"))
    assert (numbers.negative, numbers.positive) == (9, 10)
    assert numbers.apply(words("9", "+10"))[0].tolist() == [9, 10]
    fractions = Labels.learn(words("0.5", "1"))
    assert (fractions.negative, fractions.positive) == ("0.5", "1")
    assert fractions.apply(words("1"))[0].tolist() == ["1"]
    assert Labels.learn(words("b", "a")).positive == "b"
    assert Labels.learn(words("b", "a"), ["a"]).positive == "a"
    assert Labels.learn(words("-1.0", "1.0"), ["-1.0"]).positive == -1


def test_labels_against_all_others():
    raw = words(*"345678")
    assert Labels.learn(raw).names == [3, 4, 5, 6, 7, 8]
    labels = Labels.learn(raw, ["6", "7", "8"])
    name = labels.positive
    assert name == "6 or 7 or 8"
    assert labels.apply(raw)[0].tolist() == [f"not {name}"] * 3 + [name] * 3
    other = Labels.learn(words("other", "x", "y"), ["other"])
    assert other.apply(words("x", "other"))[0].tolist() == ["not other", "other"]


@pytest.mark.parametrize(
    "raw, wanted, message",
    [
        (words("a", "a"), [], "all rows have the label a"),
        (words("a", "b"), ["c"], "'c' is not a label; the labels are a, b"),
        (words("a", "b"), ["a", "b"], "names both"),
        (words("a", "b", "c"), ["a", "b", "c"], "names every label"),
        (words(*map(str, range(30))), [], "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 20 more"),
    ],
)
def test_labels_that_make_no_two_classes(raw, wanted, message):
    with pytest.raises(ValueError, match=message):
        Labels.learn(raw, wanted)


def test_trailing_dots_are_taken_off_only_if_all_labels_then_match():
    labels = Labels.learn(words("<=50K", ">50K"))
    seen, dotted = labels.apply(words("<=50K.", ">50K."))
    assert seen.tolist() == ["<=50K", ">50K"] and dotted
    assert labels.apply(words("<=50K"))[1] is False
    for raw in (words("<=50K.", "50K."), words(">50K.."), words("1")):
        with pytest.raises(ValueError, match="is not one of the training rows'"):
            labels.apply(raw)


def test_labels_never_pass_through_floating_point():
    large = ["9007199254740992", "9007199254740993"]
    labels = Labels.learn(words(*large))
    assert (labels.negative, labels.positive) == (2**53, 2**53 + 1)
    assert labels.apply(words(*large))[0].tolist() == [2**53, 2**53 + 1]
    codes = Labels.learn(words("01", "1", "01"))  # a leading zero makes a word of it
    assert (codes.negative, codes.positive) == ("01", "1")
    huge = Labels.learn(words("1" * 30, "2" * 30))
    assert huge.positive == "2" * 30


def test_more_than_two_labels_are_a_class_each():
    labels = Labels.learn(words("b", "a", "c", "a"))
    assert labels.names == ["a", "b", "c"] and labels.positive is None
    assert labels.apply(words("c", "a"))[0].tolist() == ["c", "a"]
    assert labels.apply(words("c.", "a."))[0].tolist() == ["c", "a"]
    with pytest.raises(ValueError, match=r"label d is not one of the training rows' \(a, b, c\)"):
        labels.apply(words("a", "d"))
    assert Labels.learn(words("3", "10", "7.0")).names == [3, 7, 10]


def test_a_quantity_is_no_column_of_classes():
    raw = words(*map(str, range(100)))
    with pytest.raises(
        ValueError, match=r"100 labels \(0, .* and 90 more\) in 100 rows, as of a q"
    ):
        Labels.learn(raw)
    assert len(Labels.learn(raw, n_rows=1000).names) == 100
