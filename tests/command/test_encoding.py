"""From columns to a matrix: what is learnt from training rows, and what other files may hold."""

import numpy as np
import pytest
import scipy.sparse as sp

from entropic.command import encoding
from entropic.command.encoding import (
    IndexedEncoder,
    TableEncoder,
    label_cells,
    positional_encoder,
)
from entropic.command.labels import Labels
from entropic.command.tables import IndexedRows, read


@pytest.fixture
def table(tmp_path):
    def table(content, **options):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.csv"
        path.write_text(content)
        return read([path], **options)

    return table


TRAIN = "size,colour,empty,y\n1,red,,a\n?,blue,,b\n4,?,,a\n10,red,,b\n"


def test_numbers_stay_and_words_become_one_hot(table):
    train = table(TRAIN)
    encoder = TableEncoder.learn(train, "y")
    assert encoder.feature_names() == ["size", "colour=", "colour=blue", "colour=red"]
    np.testing.assert_array_equal(
        encoder.matrix(train), [[1, 0, 0, 1], [4, 0, 1, 0], [4, 1, 0, 0], [10, 0, 0, 1]]
    )
    assert encoder.dropped == ["empty"]
    assert encoder.missing(train) == (1, 1)
    assert encoder.n_features == 4


def test_the_median_and_the_words_are_those_of_the_training_rows(table):
    encoder = TableEncoder.learn(table(TRAIN), "y")
    other = table("y,colour,size,empty\na,green,NA,7\nb,,-1,x\n", **encoder.reading)
    np.testing.assert_array_equal(encoder.matrix(other), [[4, 0, 0, 0], [-1, 1, 0, 0]])
    assert encoder.unseen(other) == 1
    assert encoder.missing(other) == (1, 1)


def test_a_missing_word_unknown_to_the_training_rows_is_ignored(table):
    encoder = TableEncoder.learn(table("w,y\nu,1\nv,2\n"), "y")
    other = table("w,y\n?,1\nu,2\n", **encoder.reading)
    np.testing.assert_array_equal(encoder.matrix(other), [[0, 0], [1, 0]])
    assert encoder.unseen(other) == 0


def test_words_that_look_like_numbers_stay_words(table):
    encoder = TableEncoder.learn(table("code,x,y\n01,1,a\n2,1,b\nten,1,a\n"), "y")
    other = table("code,x\n01,5\n2,5\n1,5\n", **encoder.reading)
    np.testing.assert_array_equal(encoder.matrix(other)[:, 1:], [[1, 0, 0], [0, 1, 0], [0, 0, 0]])


def test_dense_and_sparse_hold_the_same(table, monkeypatch):
    train = table(TRAIN)
    encoder = TableEncoder.learn(train, "y")
    dense = encoder.matrix(train)
    monkeypatch.setattr(encoding, "DENSE_CELLS", 3)
    sparse = encoder.matrix(train)
    assert sp.issparse(sparse) and sparse.format == "csr"
    np.testing.assert_array_equal(sparse.toarray(), dense)


def test_columns_without_names_are_known_by_position(table):
    encoder = TableEncoder.learn(table("7,a,1\n8,b,2\n9,b,3\n"), "2")
    whole = table("5,a,1\n6,b,2\n", **encoder.reading)
    bare = table("5,1\n6,2\n", **encoder.reading)
    named = table("p,q\n5,1\n6,2\n", **encoder.reading)
    for other in (whole, bare, named):
        np.testing.assert_array_equal(encoder.matrix(other), [[5, 1], [6, 2]])
    with pytest.raises(ValueError, match=r"there are 4 columns; .* had 3, or 2 without"):
        table("1,2,3,4\n1,2,3,4\n", **encoder.reading)


def test_other_columns_are_refused(table):
    encoder = TableEncoder.learn(table(TRAIN), "y", ["empty"])
    for content, message in [
        ("size,hue\n1,red\n", "column 'colour' of the training rows is missing"),
        ("size,colour,weight\n1,red,2\n", "column 'weight' is none of the training file's"),
        ("1,red\n2,blue\n", "column 'size' of the training rows is missing"),
    ]:
        with pytest.raises(ValueError, match=message):
            table(content, **encoder.reading)
    rows = IndexedRows(sp.csr_matrix((2, 3)), np.zeros(2))
    with pytest.raises(ValueError, match="LIBSVM"):
        encoder.matrix(rows)


def test_words_and_infinity_among_numbers_are_refused_with_their_place(table):
    encoder = TableEncoder.learn(table(TRAIN), "y")
    other = table("size,colour\n1,red\n\nbig,red\n", **encoder.reading)
    with pytest.raises(ValueError, match=r"'size' holds 'big' in line 4 of .*csv'"):
        encoder.matrix(other)
    infinite = table("size,y\n1,a\n-inf,b\n")
    with pytest.raises(ValueError, match=r"'size' holds infinity in line 3"):
        TableEncoder.learn(infinite, "y")
    with pytest.raises(ValueError, match="no column is left"):
        TableEncoder.learn(infinite, "y", ["size"])


def test_missing_labels_are_refused_with_their_place(table):
    for content in ("x,y\n1,a\n2,?\n", "x,y\n1,0\n2,\n"):
        with pytest.raises(ValueError, match="label is missing in line 3"):
            label_cells(table(content), "y")
    with pytest.raises(ValueError, match="'z', is missing"):
        label_cells(table("x,y\n1,a\n"), "z")


def test_the_encoder_of_a_bare_array_takes_numbers_only(table):
    encoder = positional_encoder(2)
    np.testing.assert_array_equal(
        encoder.matrix(table("1,2\n3,?\n", **encoder.reading)), [[1, 2], [3, np.nan]]
    )
    encoder = positional_encoder(2, np.array(["b", "a"], dtype=object))
    np.testing.assert_array_equal(encoder.matrix(table("a,b\n1,2\n", **encoder.reading)), [[2, 1]])


@pytest.mark.parametrize("first", [0, 1])
def test_indices_beyond_the_training_rows_are_cut(first):
    dense = np.zeros((3, 5))
    dense[0, first], dense[1, 4] = 1, 2
    encoder = IndexedEncoder.learn(IndexedRows(sp.csr_matrix(dense), np.arange(3)))
    assert (encoder.first, encoder.n_features) == (first, 5 - first)
    wide, narrow = np.ones((2, 8)), np.ones((2, 2))
    rows = IndexedRows(sp.csr_matrix(wide), np.zeros(2))
    assert encoder.matrix(rows).shape == (2, 5 - first)
    assert encoder.unseen(rows) == 2 * (3 + first)
    assert rows.matrix.shape == (2, 8)
    shown = encoder.matrix(IndexedRows(sp.csr_matrix(narrow), np.zeros(2))).toarray()
    np.testing.assert_array_equal(shown, [[1] * (2 - first) + [0] * 3] * 2)
    with pytest.raises(ValueError, match="LIBSVM"):
        encoder.matrix(None)
    with pytest.raises(ValueError, match="no row has an entry"):
        IndexedEncoder.learn(IndexedRows(sp.csr_matrix((3, 1)), np.arange(3)))


# ----------------------------------------------------------------------- labels


def words(*labels):
    return np.array(labels, dtype=object)


def test_two_labels_are_the_classes_and_the_greater_is_positive():
    numbers = Labels.learn(np.array([10.0, 9.0, 10.0]))
    assert (numbers.negative, numbers.positive) == (9, 10)
    assert numbers.apply(np.array([9.0, 10.0]))[0].tolist() == [9, 10]
    fractions = Labels.learn(np.array([0.5, 1.0]))
    assert (fractions.negative, fractions.positive) == ("0.5", "1")
    assert fractions.apply(np.array([1.0]))[0].tolist() == ["1"]
    assert Labels.learn(words("b", "a")).positive == "b"
    assert Labels.learn(words("b", "a"), ["a"]).positive == "a"
    assert Labels.learn(np.array([-1.0, 1.0]), ["-1.0"]).positive == -1


def test_labels_against_all_others():
    raw = np.array([3.0, 4, 5, 6, 7, 8])
    with pytest.raises(ValueError, match=r"6 labels \(3, 4, 5, 6, 7, 8\) .* --positive LABEL"):
        Labels.learn(raw)
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
        (np.arange(30.0), [], "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 20 more"),
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
    for raw in (words("<=50K.", "50K."), words(">50K.."), np.array([1.0])):
        with pytest.raises(ValueError, match="is not one of the training rows'"):
            labels.apply(raw)
