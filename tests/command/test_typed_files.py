"""ARFF, Parquet and Feather, LIBSVM and bundled sets: columns are what the files declare."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_breast_cancer
from whole_tables import ROWS, assert_holds_rows, read, text_of

from entropic.command import arff_file
from entropic.command.indexed import IndexedRows
from entropic.command.source import open_source

pytestmark = pytest.mark.backend_free


def test_arff(write):
    content = """% a comment
@RELATION things
@attribute 'size' real [-300, 2]
@attribute colour {red, green,blue}
@attribute "y" {0, 1}
@inputs size, colour
@DATA
1.5, 'red', 0
% another
2, green, 1
-3e2,blue,0
"""
    table = read([write(content, "x.arff")])
    np.testing.assert_array_equal(table.columns[0], [1.5, 2, -300])
    assert table.columns[1].tolist() == ["red", "green", "blue"]
    assert table.columns[2].tolist() == ["0", "1", "0"]  # declared as categories
    assert table.source.place(2).startswith("line 11 ")


def test_arff_comments_quotes_tabs_and_escapes(write):
    content = (
        "@relation r\n@attribute\ta\tnumeric % of people\n@attribute 'b c' string\n"
        "@attribute class {'x, one', 'it\\'s', p}\n@data\n% first\n   % indented\n"
        "1,'p q','x, one' % at the end\n2,\"50% off\",'it\\'s'\n3\tr\tp\n?,?,\"x, one\"\n4 s p\n"
    )
    table = read([write(content)])
    np.testing.assert_array_equal(table.column("a"), [1, 2, 3, np.nan, 4])
    assert table.column("b c").tolist() == ["p q", "50% off", "r", "", "s"]
    assert table.column("class").tolist() == ["x, one", "it's", "p", "x, one", "p"]


def test_sparse_arff(write):
    content = (
        "@relation r\n@attribute a real\n@attribute b real\n@attribute c {n, p}\n@data\n"
        "{0 1.5, 2 p}\n{ }\n{1 -2,2 n}\n{1 ?}\n"
    )
    table = read([write(content)])
    np.testing.assert_array_equal(table.columns[0], [1.5, 0, 0, 0])
    np.testing.assert_array_equal(table.columns[1], [0, 0, -2, np.nan])
    assert table.columns[2].tolist() == ["p", "n", "n", "n"]


def test_arff_dates_are_days(write, monkeypatch):
    monkeypatch.setattr(arff_file, "_CHUNK_ROWS", 2)
    content = (
        '@relation r\n@attribute d date "dd.MM.yyyy HH:mm"\n@attribute y {u,v}\n@data\n'
        '"02.01.1970 12:00",u\n?,v\n"01.01.1970 00:00",v\n'
    )
    np.testing.assert_array_equal(read([write(content)]).columns[0], [1.5, np.nan, 0])
    with pytest.raises(ValueError, match=r"column 'd' holds 'soon' in line 7"):
        read([write(content.replace('"01.01.1970 00:00"', "soon"))])


def test_arff_numbers_stay_labels_as_they_are_written(write):
    content = "@relation r\n@attribute a real\n@attribute y integer\n@data\n1,9007199254740993\n"
    table = read([write(content)], select={"features": ["a"], "labels": ["y"]})
    assert table.column("y").tolist() == ["9007199254740993"]


def test_parquet(write, tmp_path):
    size, colour, y = (list(column) for column in zip(*ROWS, strict=True))
    colour = pa.array(colour).dictionary_encode()
    table = pa.table({"size": size, "colour": colour, "y": pa.array([bool(cell) for cell in y])})
    pq.write_table(table, tmp_path / "rows.parquet")
    assert_holds_rows(read([tmp_path / "rows.parquet"]))
    pa.feather.write_feather(table, tmp_path / "rows.feather")
    assert_holds_rows(read([tmp_path / "rows.feather"]))
    packed = gzip.compress((tmp_path / "rows.parquet").read_bytes())
    assert_holds_rows(read([write(packed, "rows.gz")]))
    # the same columns in both forms, one below the other
    both = read([tmp_path / "rows.parquet", write(text_of())])
    assert both.n_rows == 6
    assert both.source.place(5).startswith("line 4 of") and "row 2 of" in both.source.place(1)


def test_parquet_columns_of_all_kinds(tmp_path):
    import datetime
    import decimal

    day = datetime.date(1970, 1, 3)
    table = pa.table(
        {
            "view": pa.array(["a", None], pa.string_view()),
            "large": pa.array(["a", "b"], pa.large_string()),
            "codes": pa.array(["7", "8"]),
            "decimal": pa.array([decimal.Decimal("1.25"), None]),
            "integers": pa.array([1, None], pa.int16()),
            "unsigned": pa.array([2**63, 1], pa.uint64()),
            "half": pa.array(np.array([0.5, np.nan], np.float16)),
            "bool": pa.array([True, None]),
            "null": pa.nulls(2),
            "date": pa.array([day, None]),
            "moment": pa.array([datetime.datetime(1970, 1, 2, 12), None]),
            "zoned": pa.array([datetime.datetime(1970, 1, 2), None], pa.timestamp("ns", "UTC")),
            "time": pa.array([datetime.time(0, 1), None]),
            "span": pa.array([datetime.timedelta(seconds=90), None]),
            "dictionary": pa.array([3.5, None]).dictionary_encode(),
        }
    )
    pq.write_table(table, tmp_path / "t")
    whole = read([tmp_path / "t"])
    words = {"view": ["a", ""], "large": ["a", "b"], "codes": ["7", "8"]}
    for name, expected in words.items():
        assert whole.column(name).tolist() == expected
    numbers = dict(decimal=1.25, integers=1, half=0.5, bool=1, date=2, moment=1.5, zoned=1)
    for name, expected in dict(numbers, time=60, span=90, dictionary=3.5).items():
        np.testing.assert_array_equal(whole.column(name), [expected, np.nan])
    np.testing.assert_array_equal(whole.column("unsigned"), [2.0**63, 1])
    assert np.isnan(whole.column("null")).all()
    (note,) = whole.source.notes
    assert "days since 1970" in note and "date, moment, zoned, time, span" in note


def test_parquet_columns_that_cannot_be_used_can_be_dropped(tmp_path):
    table = pa.table({"a": [[1], [2]], "b": [b"x", b"y"], "c": [1, 2], "s": [{"u": 1}, {"u": 2}]})
    pq.write_table(table, tmp_path / "b.parquet")
    for name, kind in (("a", "list"), ("b", "binary"), ("s", "struct")):
        with pytest.raises(ValueError, match=rf"column '{name}' .* holds {kind}.*--drop '{name}'"):
            read([tmp_path / "b.parquet"], select={"features": ["c", name]})
    assert read([tmp_path / "b.parquet"], select={"features": ["c"]}).n_rows == 2


def test_parquet_names_that_repeat(tmp_path):
    columns = [pa.array([1, 2]), pa.array([3, 4]), pa.array(["u", "v"])]
    pq.write_table(pa.Table.from_arrays(columns, names=["a", "a", "y"]), tmp_path / "d")
    table = read([tmp_path / "d"])
    assert table.names == ["a", "a.2", "y"]
    np.testing.assert_array_equal(table.column("a.2"), [3, 4])


def test_damaged_parquet(tmp_path):
    pq.write_table(pa.table({"a": np.arange(1000.0)}), tmp_path / "a")
    content = (tmp_path / "a").read_bytes()
    for damaged in (content[:100], content[:40] + b"\xff" * 40 + content[80:], content[:-9]):
        (tmp_path / "c").write_bytes(damaged)
        with pytest.raises(ValueError, match="damaged Parquet"):
            read([tmp_path / "c"])


def test_bundled_sets_have_their_names_and_labels():
    table = read(["sklearn:breast_cancer"])
    X, y = load_breast_cancer(return_X_y=True)
    np.testing.assert_array_equal(np.column_stack(table.columns[:-1]), X)
    assert (table.columns[-1] == np.array(["malignant", "benign"], object)[y]).all()
    assert table.names[0] == "mean radius" and table.names[-1] == "target"


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("packed", [True, False])
def test_libsvm_files_keep_their_indices(tmp_path, write, zero_based, packed):
    X = sp.random(20, 6, 0.4, "csr", random_state=0)
    y = np.where(np.arange(20) % 2, 1, -1)
    dump_svmlight_file(X, y, str(tmp_path / "x"), zero_based=zero_based)
    content = (tmp_path / "x").read_bytes()
    rows = read([write(gzip.compress(content) if packed else content, "y")])
    assert isinstance(rows, IndexedRows)
    np.testing.assert_allclose(rows.matrix[:, 0 if zero_based else 1 :].toarray(), X.toarray())
    assert rows.labels.tolist() == [str(label) for label in y]


def test_libsvm_rows_of_several_files_and_without_labels(write):
    one = write("+1 1:2 # first\n\n-1\n", "one")
    two = write("9007199254740993\t4:0.5\n", "two")
    bare = write("4:0.5 7:1\n1:2\n", "bare")
    rows = read([one, two, bare])
    dense = rows.matrix.toarray()
    assert dense.shape == (5, 8)
    assert rows.labels.tolist() == ["+1", "-1", "9007199254740993", "", ""]
    assert dense[0, 1] == 2 and dense[2, 4] == 0.5 and dense[3, 7] == 1 and dense[4, 1] == 2
    source = open_source([one, two, bare])
    assert [source.place(row)[:6] for row in (1, 2, 4)] == ["line 3", "line 1", "line 2"]
