"""Reading files: forms, separators, headers, cells, and what is said of files that are wrong."""

import bz2
import gzip
import lzma

import numpy as np
import pytest
import real_data
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_breast_cancer

from entropic.command import tables
from entropic.command.tables import IndexedRows, Table, read


@pytest.fixture
def write(tmp_path):
    def write(content, name="file.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


ROWS = [[1.5, "red", 0], [2, "green", 1], [-3e2, "blue", 0]]


def assert_holds_rows(table, header=True):
    assert table.header is header
    assert table.names == (["size", "colour", "y"] if header else ["1", "2", "3"])
    np.testing.assert_array_equal(table.columns[0], [1.5, 2, -300])
    assert table.columns[1].tolist() == ["red", "green", "blue"]
    np.testing.assert_array_equal(table.columns[2], [0, 1, 0])


def text_of(separator=",", end="\n", header=True, quote=""):
    rows = [["size", "colour", "y"]] * header + ROWS
    return "".join(separator.join(f"{quote}{cell}{quote}" for cell in row) + end for row in rows)


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("quote", ["", '"', "'"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("separator", [",", ", ", ";", "\t", "|", "   "])
def test_separators_quotes_line_ends_and_headers_are_found_out(
    write, separator, end, quote, header
):
    assert_holds_rows(read([write(text_of(separator, end, header, quote))]), header)


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_files_are_read(write, compress):
    assert_holds_rows(read([write(compress(text_of().encode()), "file.data")]))


def test_a_byte_order_mark_blank_lines_and_padding_are_nothing(write):
    content = "\ufeff\n" + text_of(" , ").replace("\n", "  \n\n") + "  \n"
    assert_holds_rows(read([write(content)]))


def test_arff(write):
    content = """% a comment
@RELATION things
@attribute 'size' real [-300, 2]
@attribute colour {red, green,
@attribute "y" {0, 1}
@inputs size, colour
@DATA
1.5, 'red', 0
% another
2, green, 1
-3e2,blue,0
"""
    assert_holds_rows(read([write(content, "x.arff")]))


def test_parquet(write, tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    size, colour, y = (list(column) for column in zip(*ROWS, strict=True))
    colour = pa.array(colour).dictionary_encode()
    table = pa.table({"size": size, "colour": colour, "y": pa.array([bool(cell) for cell in y])})
    pq.write_table(table, tmp_path / "rows.parquet")
    assert_holds_rows(read([tmp_path / "rows.parquet"]))
    # the same columns in both forms, one below the other
    both = read([tmp_path / "rows.parquet", write(text_of())])
    assert both.n_rows == 6
    assert both.place(5) == f"line 4 of {both.files[1]!r}"


def test_parquet_nulls_are_missing_and_other_types_are_refused(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(
        pa.table({"a": [1, None], "b": ["x", None], "c": pa.nulls(2)}), tmp_path / "a.parquet"
    )
    table = read([tmp_path / "a.parquet"])
    np.testing.assert_array_equal(table.columns[0], [1, np.nan])
    assert table.columns[1].tolist() == ["x", ""]
    assert np.isnan(table.columns[2]).all()
    pq.write_table(pa.table({"a": [[1], [2]]}), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"column 'a' .* holds list"):
        read([tmp_path / "b.parquet"])
    (tmp_path / "c.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:100])
    with pytest.raises(ValueError, match="damaged Parquet file"):
        read([tmp_path / "c.parquet"])


def test_bundled_sets_have_their_names_and_labels():
    table = read(["sklearn:breast_cancer"])
    X, y = load_breast_cancer(return_X_y=True)
    np.testing.assert_array_equal(np.column_stack(table.columns[:-1]), X)
    assert (table.columns[-1] == np.array(["malignant", "benign"], object)[y]).all()
    assert table.names[0] == "mean radius" and table.names[-1] == "target"
    assert read(["sklearn:digits"]).columns[-1].dtype == np.float64


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("packed", [True, False])
def test_libsvm_files_keep_their_indices(tmp_path, write, zero_based, packed):
    X = sp.random(20, 6, 0.4, "csr", rng=np.random.default_rng(0))
    y = np.where(np.arange(20) % 2, 1, -1)
    dump_svmlight_file(X, y, str(tmp_path / "x"), zero_based=zero_based)
    content = (tmp_path / "x").read_bytes()
    rows = read([write(gzip.compress(content) if packed else content, "y")])
    assert isinstance(rows, IndexedRows)
    np.testing.assert_allclose(rows.matrix[:, 0 if zero_based else 1 :].toarray(), X.toarray())
    np.testing.assert_array_equal(rows.labels, y)


def test_libsvm_rows_of_several_files_and_without_labels(write):
    one = write("+1 1:2 # first\n\n-1\n", "one")
    two = write("1 4:0.5\n", "two")
    bare = write("4:0.5 7:1\n1:2\n", "bare")
    rows = read([one, two, bare])
    dense = rows.matrix.toarray()
    assert dense.shape == (5, 8)
    np.testing.assert_array_equal(rows.labels, [1, -1, 1, 0, 0])
    assert dense[0, 1] == 2 and dense[2, 4] == 0.5 and dense[3, 7] == 1 and dense[4, 1] == 2


MISSING = ["", "?", "NA", "nan", " ? ", '""']


@pytest.mark.parametrize("cell", MISSING)
def test_missing_cells(write, cell):
    table = read([write(f"a,b,c\n1,x,1\n{cell},{cell},2\n3,y,3\n")])
    np.testing.assert_array_equal(table.columns[0], [1, np.nan, 3])
    assert table.columns[1].tolist() == ["x", "", "y"]


def test_a_column_is_of_words_if_any_cell_anywhere_is(write, monkeypatch):
    monkeypatch.setattr(tables, "CHUNK_ROWS", 2)
    one = write("code,y\n01,0\n02,1\n?,0\n?,1\n1e3,0\n", "one")
    two = write("code,y\n5,0\nten,1\n", "two")
    table = read([one, two])
    assert table.columns[0].tolist() == ["01", "02", "", "", "1e3", "5", "ten"]
    assert table.columns[1].dtype == np.float64
    assert read([one]).columns[0].dtype == np.float64
    assert read([one], words={"code"}).columns[0].tolist() == ["01", "02", "", "", "1e3"]


def test_identifiers_with_an_underscore_are_no_numbers(write):
    assert read([write("a,y\n1_000,1\n2_000,2\n")]).columns[0].tolist() == ["1_000", "2_000"]


def test_names_are_made_unique(write):
    assert read([write("a,a,,y\n1,2,3,4\n1,2,3,4\n")]).names == ["a", "a.2", "3", "y"]


@pytest.mark.parametrize(
    "content, header",
    [
        ("id,2019,2020,label\n1,5,6,a\n2,5,6,b\n", True),  # years as names
        ("p,x,s,p\ne,x,y,n\np,y,s,n\n", False),  # letters only, one twice
        ("shape,colour,y\nround,red,e\nflat,blue,p\n", True),
        ("round,red,e\nround,blue,p\n", False),  # words that come again
        ("1,2,3\n", False),
        ("a,b,c\n", None),  # a header and no rows
        ("1,red,5\n2,red,6\n", False),
    ],
)
def test_headers_are_told_from_rows(write, content, header):
    if header is None:
        with pytest.raises(ValueError, match="no rows"):
            read([write(content)])
    else:
        assert read([write(content)]).header is header
    rows = content.count("\n")
    assert read([write(content)], header=False).n_rows == rows


def test_columns_are_found_by_name_or_number(write):
    table = read([write(text_of())])
    assert [table.find(wanted, "--target") for wanted in ("colour", "1", "-1")] == [
        "colour",
        "size",
        "y",
    ]
    for wanted in ("0", "4", "-4", "Colour"):
        with pytest.raises(ValueError, match=r"is not a column; the columns are 'size'"):
            table.find(wanted, "--target")


@pytest.mark.parametrize(
    "content, message",
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("a,b\n", "a header and no rows"),
        ("a,b\n1,2\n3\n", r"line 3: 1 cell where 2 are expected"),
        ("a,b\n1,2\n\n3,4,5\n", r"line 4: 3 cells where 2 are expected"),
        ('a,b\n1,2\n3,"4\n', r"line 3: unexpected end"),
        (b"a,b\n1,\xe9\n", r"not UTF-8 text \(line 2\)"),
        (b"\x00\x01\x02", "neither text nor Parquet"),
        (gzip.compress(b"a,b\n1,2\n")[:-9], "compressed content cannot be read"),
        (b"\x1f\x8bnonsense", "compressed content cannot be read"),
        ("1 1:2\n-1 3:x\n", r"line 2: not of the LIBSVM form"),
        ("1 1:2\n-1 3:1 2:1\n", r"line 2: not of the LIBSVM form"),
        ("1 1:2\n1 99999999999999999999:1\n", "not of the LIBSVM form"),
        ("@relation x\n@attribute a real\n1\n", "@data line is missing"),
        ("@relation x\n@attribute a real\n@data\n1,2\n", "line 4: 2 cells where 1"),
        ("@relation x\n@attribute a real\n@data\n", "no rows"),
    ],
)
def test_bad_files_are_named_with_the_line(write, content, message):
    path = write(content, "bad")
    with pytest.raises(ValueError, match=message) as caught:
        read([path])
    assert path in str(caught.value)


def test_files_that_do_not_fit_together(write, tmp_path):
    one, two = write("a,y\n1,2\n1,3\n", "one"), write("b,y\n1,2\n1,3\n", "two")
    with pytest.raises(ValueError, match=r"two' has other columns \('b', 'y'\)"):
        read([one, two])
    with pytest.raises(ValueError, match=r"is a LIBSVM file and .*one' is not"):
        read([one, write("1 1:1\n", "three")])
    with pytest.raises(ValueError, match="there is no file"):
        read([tmp_path / "absent"])
    with pytest.raises(ValueError, match="cannot read"):
        read([tmp_path])
    for name in ("sklearn:diabetes", "sklearn:", "sklearn:../x"):
        with pytest.raises(ValueError, match="not a bundled set with classes"):
            read([name])


cell = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), max_size=8)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.lists(cell, min_size=3, max_size=3), min_size=1, max_size=8))
def test_quoted_cells_come_back_as_they_were(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("rows") / "x.csv"
    lines = (",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows)
    path.write_text("a,b,c\n" + "".join(line + "\n" for line in lines), encoding="utf-8")
    kept = [row for row in rows if len(row) > 1]
    table = read([path], separator=",", header=True, words={"a", "b", "c"})
    for j, column in enumerate(table.columns):
        expected = [tables.clean(row[j]) for row in kept]
        assert column.tolist() == ["" if word in tables.MISSING else word for word in expected]


@pytest.mark.parametrize("content", ['""', '""\n""\n', "''", ",", '"",""\n', '" "'])
@pytest.mark.parametrize("options", [{}, dict(header=True), dict(header=False), dict(known={"a"})])
def test_files_of_nothing_but_quotes(tmp_path, content, options):
    path = tmp_path / "quotes.csv"
    path.write_text(content)
    try:
        assert read([path], **options).n_rows > 0
    except ValueError as error:
        assert str(path) in str(error)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.one_of(st.binary(max_size=200), st.text(alphabet='1a,;:@#"?.\n\t -', max_size=120)))
def test_any_bytes_are_rows_or_one_clear_error(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / "x"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    try:
        rows = read([path])
    except ValueError as error:
        assert str(path) in str(error)
    else:
        assert rows.n_rows > 0
        if isinstance(rows, Table):
            assert len({len(column) for column in rows.columns}) == 1


def test_real_files_have_the_shapes_their_index_gives():
    shapes = {
        "spambase/spambase.data": (4601, 58),
        "mushroom/agaricus-lepiota.data": (8124, 23),
        "german_numeric/german.data-numeric": (1000, 25),
        "wine_quality/winequality-red.csv": (1599, 12),
        "mammography/mammography.csv": (11183, 7),
        "letter/letter.arff": (20000, 17),
        "higgs_sample/binary.test": (500, 29),
    }
    for name, shape in shapes.items():
        table = read([real_data.path(name)])
        assert (table.n_rows, len(table.columns)) == shape, name
    assert read([real_data.path("w8a/w8a")]).matrix.shape == (49749, 301)


def test_a_zero_byte_far_down_is_no_text(tmp_path):
    path = tmp_path / "far.csv"
    path.write_bytes(b"a,b,t\n" + b"1,2,yes\n3,4,no\n" * 1000 + b"1,\0,yes\n")
    with pytest.raises(ValueError, match="neither text nor Parquet"):
        read([str(path)])
