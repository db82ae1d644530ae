"""From columns to a matrix: what is learnt from training rows, and what other files may hold."""

import numpy as np
import pytest
import scipy.sparse as sp

from entropic.command import encoding, medians, separated
from entropic.command.dialect import Dialect
from entropic.command.encoding import (
    IndexedEncoder,
    TableEncoder,
    label_cells,
    positional_encoder,
)
from entropic.command.indexed import IndexedRows
from entropic.command.labels import Labels
from entropic.command.source import open_source

pytestmark = pytest.mark.backend_free


@pytest.fixture
def source(tmp_path):
    def source(content, dialect=None, known=()):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.csv"
        path.write_text(content)
        return open_source([path], dialect, known)

    return source


def learn(source, target, dropped=()):
    """An encoder that has learnt from all rows, and those rows."""
    features = [name for name in source.names if name not in (target, *dropped)]
    source.select(features, labels=[target])
    table = source.table()
    return TableEncoder.learn(source, target, dropped, table), table


@pytest.fixture
def alike(source):
    """The rows of a file that is read as an encoder's own."""

    def alike(encoder, content):
        other = source(content, encoder.reading, encoder.known)
        alike.ignored = encoder.select(other)
        return other.table()

    return alike


TRAIN = "size,colour,empty,y\n1,red,,a\n?,blue,,b\n4,?,,a\n10,red,,b\n"


def test_numbers_stay_and_words_become_one_hot(source):
    encoder, train = learn(source(TRAIN), "y")
    assert encoder.feature_names() == ["size", "colour=", "colour=blue", "colour=red"]
    np.testing.assert_array_equal(
        encoder.matrix(train), [[1, 0, 0, 1], [4, 0, 1, 0], [4, 1, 0, 0], [10, 0, 0, 1]]
    )
    assert encoder.dropped == ["empty"]
    assert encoder.missing(train) == (1, 1)
    assert encoder.n_features == 4


@pytest.mark.parametrize("many", [64, 0])
def test_batches_teach_what_the_whole_table_does(source, monkeypatch, many):
    monkeypatch.setattr(separated, "_BLOCK", 1 << 10)
    monkeypatch.setattr(medians, "_MANY", many)
    rng = np.random.default_rng(0)
    rows = [",".join(["a", "b", "c", "w", "e", "y"])]
    for i in range(3000):
        a = "" if rng.random() < 0.1 else repr(float(rng.standard_cauchy()))
        b, c = rng.integers(-3, 3), f"{rng.random() * 10.0 ** rng.integers(-300, 300)}"
        rows.append(f"{a},{b},{c},{'pqr?'[i % 4]},,{'uv'[i % 2]}")
    rows = source("\n".join(rows) + "\n")
    encoder, table = learn(rows, "y")
    again = TableEncoder.learn(rows, "y")
    assert again.dropped == encoder.dropped == ["e"]
    assert [(c.name, c.median) for c in again.numbers] == [
        (c.name, c.median) for c in encoder.numbers
    ]
    assert [c.words.tolist() for c in again.words] == [c.words.tolist() for c in encoder.words]
    labels = Labels.learn(label_cells(table, "y", rows))
    batches = list(rows.batches())
    assert len(batches) > 20
    X = np.vstack([again.matrix(batch) for batch in batches])
    np.testing.assert_array_equal(X, encoder.matrix(table))
    truth, _ = labels.apply(label_cells(table, "y", rows))
    parts = [labels.apply(label_cells(batch, "y", rows))[0] for batch in batches]
    assert np.concatenate(parts).tolist() == truth.tolist()


def test_the_median_and_the_words_are_those_of_the_training_rows(source, alike):
    encoder, _ = learn(source(TRAIN), "y")
    other = alike(encoder, "y,colour,size,empty\na,green,NA,7\nb,,-1,x\n")
    np.testing.assert_array_equal(encoder.matrix(other), [[4, 0, 0, 0], [-1, 1, 0, 0]])
    assert encoder.unseen(other) == 1
    assert encoder.missing(other) == (1, 1)


def test_a_missing_word_unknown_to_the_training_rows_is_ignored(source, alike):
    encoder, _ = learn(source("w,y\nu,1\nv,2\n"), "y")
    other = alike(encoder, "w,y\n?,1\nu,2\n")
    np.testing.assert_array_equal(encoder.matrix(other), [[0, 0], [1, 0]])
    assert encoder.unseen(other) == 0


def test_words_that_look_like_numbers_stay_words(source, alike):
    encoder, _ = learn(source("code,x,y\n01,1,a\n2x,1,b\nten,1,a\n"), "y")
    other = alike(encoder, "code,x\n01,5\n2x,5\n1,5\n")
    np.testing.assert_array_equal(encoder.matrix(other)[:, 1:], [[1, 0, 0], [0, 1, 0], [0, 0, 0]])


def test_dense_and_sparse_hold_the_same(source, monkeypatch):
    encoder, train = learn(source(TRAIN), "y")
    dense = encoder.matrix(train)
    monkeypatch.setattr(encoding, "DENSE_CELLS", 3)
    sparse = encoder.matrix(train)
    assert sp.issparse(sparse) and sparse.format == "csr"
    np.testing.assert_array_equal(sparse.toarray(), dense)


def test_columns_without_names_are_known_by_position(source, alike):
    encoder, _ = learn(source("7,a,1\n8,b,2\n9,b,3\n"), "2")
    whole = alike(encoder, "5,a,1\n6,b,2\n")
    bare = alike(encoder, "5,1\n6,2\n")
    for other in (whole, bare):
        np.testing.assert_array_equal(encoder.matrix(other), [[5, 1], [6, 2]])
    with pytest.raises(ValueError, match=r"there are 4 columns; .* had 3, or 2 without"):
        alike(encoder, "1,2,3,4\n1,2,3,4\n")


def test_a_model_without_names_takes_no_row_for_a_header(source, alike):
    encoder, _ = learn(source("red,small\nred,large\nblue,small\n", Dialect(header=False)), "2")
    assert alike(encoder, "red,small\nblue,large\n").num_rows == 2
    assert alike(encoder, "blue\n").num_rows == 1
    numbers, _ = learn(source("1,2,u\n3,4,v\n5,6,u\n"), "3")
    with pytest.raises(ValueError, match=r"'2' holds 'x' in line 1 .*training rows have numbers"):
        alike(numbers, "1,x\n3,4\n")
    named = source("p,q\n5,1\n6,2\n", Dialect(header=True, separator=","))
    numbers.select(named)
    np.testing.assert_array_equal(numbers.matrix(named.table()), [[5, 1], [6, 2]])


def test_other_columns(source, alike):
    encoder, _ = learn(source(TRAIN), "y", ["empty"])
    for content, message in [
        ("size,hue\n1,red\n", "column 'colour' of the training rows is missing"),
        ("1,red\n2,blue\n", "column 'size' of the training rows is missing"),
    ]:
        with pytest.raises(ValueError, match=message):
            alike(encoder, content)
    alike(encoder, "size,colour,weight\n1,red,2\n")
    assert alike.ignored == ["weight"]
    with pytest.raises(ValueError, match="LIBSVM"):
        encoder.select(source("1 1:2\n"))


def test_words_and_infinity_among_numbers_are_refused_with_their_place(source, alike):
    encoder, _ = learn(source(TRAIN), "y")
    with pytest.raises(ValueError, match=r"'size' holds 'big' in line 4 of .*csv'"):
        alike(encoder, "size,colour\n1,red\n\nbig,red\n")
    infinite = source("size,y\n1,a\n-inf,b\n")
    with pytest.raises(ValueError, match=r"'size' holds infinity in line 3"):
        learn(infinite, "y")
    with pytest.raises(ValueError, match="no column is left"):
        learn(infinite, "y", ["size"])


def test_missing_labels_are_refused_with_their_place(source):
    for content in ("x,y\n1,a\n2,?\n", "x,y\n1,0\n2,\n"):
        rows = source(content)
        rows.select(["x"], labels=["y"])
        with pytest.raises(ValueError, match="label is missing in line 3"):
            label_cells(rows.table(), "y", rows)
    rows = source("x,y\n1,a\n")
    rows.select(["x"])
    with pytest.raises(ValueError, match="'z', is missing"):
        label_cells(rows.table(), "z", rows)


def test_the_encoder_of_a_bare_array_takes_numbers_only(alike):
    encoder = positional_encoder(2)
    np.testing.assert_array_equal(
        encoder.matrix(alike(encoder, "1,2\n3,?\n")), [[1, 2], [3, np.nan]]
    )
    encoder = positional_encoder(2, np.array(["b", "a"], dtype=object))
    np.testing.assert_array_equal(encoder.matrix(alike(encoder, "a,b\n1,2\n")), [[2, 1]])


def indexed(matrix):
    return IndexedRows(sp.csr_matrix(matrix), np.full(len(matrix), "1", object))


@pytest.mark.parametrize("first", [0, 1])
def test_indices_beyond_the_training_rows_are_cut(first):
    dense = np.zeros((3, 5))
    dense[0, first], dense[1, 4] = 1, 2
    encoder = IndexedEncoder.learn([indexed(dense[:1]), indexed(dense[1:])])
    assert (encoder.first, encoder.n_features) == (first, 5 - first)
    wide, narrow = np.ones((2, 8)), np.ones((2, 2))
    rows = indexed(wide)
    assert encoder.matrix(rows).shape == (2, 5 - first)
    assert encoder.unseen(rows) == 2 * (3 + first)
    assert rows.matrix.shape == (2, 8)
    shown = encoder.matrix(indexed(narrow)).toarray()
    np.testing.assert_array_equal(shown, [[1] * (2 - first) + [0] * 3] * 2)
    with pytest.raises(ValueError, match="LIBSVM"):
        encoder.select(None)
    with pytest.raises(ValueError, match="no row has an entry"):
        IndexedEncoder.learn([indexed(np.zeros((3, 1)))])
