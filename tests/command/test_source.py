"""Reading files: forms, separators, headers, cells, and what is said of files that are wrong."""

import bz2
import gzip
import io
import lzma
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_breast_cancer
from whole_tables import Whole, read

from entropic.command import arff_file, separated
from entropic.command.cells import MISSING_WORDS, clean
from entropic.command.indexed import IndexedRows
from entropic.command.source import open_source

pytestmark = pytest.mark.backend_free

ROWS = [[1.5, "red", 0], [2, "green", 1], [-3e2, "blue", 0]]


def assert_holds_rows(table, header=True):
    assert table.source.header is header
    assert table.names == (["size", "colour", "y"] if header else ["1", "2", "3"])
    np.testing.assert_array_equal(table.columns[0], [1.5, 2, -300])
    assert table.columns[1].tolist() == ["red", "green", "blue"]
    np.testing.assert_array_equal(table.columns[2], [0, 1, 0])


def text_of(separator=",", end="\n", header=True, quote=""):
    rows = [["size", "colour", "y"]] * header + ROWS
    return "".join(separator.join(f"{quote}{cell}{quote}" for cell in row) + end for row in rows)


# ------------------------------------------------------------------------ text


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("quote", ["", '"', "'"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("separator", [",", ", ", ";", "\t", "|", "   "])
def test_separators_quotes_line_ends_and_headers_are_found_out(
    write, separator, end, quote, header
):
    assert_holds_rows(read([write(text_of(separator, end, header, quote))]), header)


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, "zstd"])
def test_compressed_files_are_read(write, compress):
    content = text_of().encode()
    packed = pa.compress(content, "zstd", asbytes=True) if compress == "zstd" else compress(content)
    assert_holds_rows(read([write(packed, "file.data")]))


def test_a_byte_order_mark_blank_lines_and_padding_are_nothing(write):
    content = "\ufeff\n" + text_of(" , ").replace("\n", "  \n\n") + "  \n"
    assert_holds_rows(read([write(content)]))


def test_quoted_separators_quotes_and_line_ends_belong_to_the_cell(write):
    content = 'a,b,y\n1,"x, ""one""",u\n2, "y, two",v\n3,"two\nlines",u\n'
    table = read([write(content)], header=True)
    assert table.column("b").tolist() == ['x, "one"', "y, two", "two\nlines"]
    np.testing.assert_array_equal(table.column("a"), [1, 2, 3])


def test_a_row_longer_than_a_block_is_read(write, monkeypatch):
    monkeypatch.setattr(separated, "_BLOCK", 1 << 10)
    long = "x" * (1 << 17)
    head = "a,y\n" + "1,u\n" * 200_000
    table = read([write(head + f"1,{long}\n")])
    assert table.n_rows == 200_001 and table.column("y")[-1] == long


MISSING = ["", "?", "NA", "nan", " ? ", '""', "n/a", "-", ".", "None", "#N/A", "<NA>", "NULL"]


@pytest.mark.parametrize("cell", MISSING)
def test_missing_cells(write, cell):
    table = read([write(f"a,b,c\n1,x,1\n{cell},{cell},2\n3,y,3\n")])
    np.testing.assert_array_equal(table.columns[0], [1, np.nan, 3])
    # a dash, a dot and None may be words
    word = "" if clean(cell) in MISSING_WORDS else cell
    assert table.columns[1].tolist() == ["x", word, "y"]


def test_one_strange_cell_among_numbers_is_refused_by_name(write):
    path = write("a,y\n" + "1.5,u\n" * 100 + "big,v\n")
    with pytest.raises(ValueError, match=r"column 'a' holds 'big' in line 102 of .*--missing") as e:
        read([path])
    assert "--words 'a'" in str(e.value) and "--drop 'a'" in str(e.value)
    assert np.isnan(read([path], missing=["big"]).columns[0][-1])
    assert read([path], select={"words": ["a"]}).columns[0][-1] == "big"


def test_a_column_of_few_numbers_is_of_words(write):
    table = read([write("code,y\nA1,0\n2,0\nB3,1\nC,1\n")])
    assert table.columns[0].tolist() == ["A1", "2", "B3", "C"]
    # in one file numbers, in another words: words in both, as they are written
    one, two = write("code,y\n01,0\n5,1\n", "one"), write("code,y\nten,0\nsix,1\nsix,0\n", "two")
    assert read([one, two]).columns[0].tolist() == ["01", "5", "ten", "six", "six"]


@pytest.mark.parametrize(
    "separator, cells, options, expected",
    [
        (";", ["1,5", "2,25", "0,125"], {}, [1.5, 2.25, 0.125]),
        ("\t", ["1.234,5", "2,5", "-,5"], {}, [1234.5, 2.5, -0.5]),
        (",", ['"1,5"', '"2,75"', "3"], {}, [1.5, 2.75, 3]),
        (",", ['"1,234"', '"12,345,678.5"', "5"], {}, [1234, 12345678.5, 5]),
        (";", ["1,234", "12,345.5", "5"], {}, [1234, 12345.5, 5]),
        (";", ["1 234", "12 345,5", "5,5"], {}, [1234, 12345.5, 5.5]),
        (";", ["1'234", "12'345.5", "5"], {}, [1234, 12345.5, 5]),
        (";", ["1,234", "5,678", "5"], {"decimal": ","}, [1.234, 5.678, 5]),
        (";", ["1,234", "5,678", "5"], {"decimal": "."}, [1234, 5678, 5]),
    ],
)
def test_decimal_commas_and_groups_of_thousands(write, separator, cells, options, expected):
    rows = "".join(f"{cell}{separator}{label}\n" for cell, label in zip(cells, "uvu", strict=True))
    table = read([write(f"a{separator}y\n" + rows)], **options)
    np.testing.assert_array_equal(table.columns[0], expected)


def test_commas_that_may_be_either_are_refused(write):
    path = write("a;y\n1,234;u\n5,678;v\n")
    with pytest.raises(ValueError, match=r"'1,234' in line 2 .*--decimal , or --decimal \."):
        read([path])


def test_a_decimal_comma_far_down_is_named(write):
    path = write("a;y\n" + "1;u\n" * 100_000 + "2,5;v\n")
    with pytest.raises(ValueError, match=r"'2,5' in line 100002 .*give --decimal ,"):
        read([path])
    assert read([path], decimal=",").columns[0][-1] == 2.5


def test_a_column_is_judged_by_all_of_its_cells(write, monkeypatch):
    """Also where a batch of it holds nothing but numbers, before or after words."""
    monkeypatch.setattr(separated, "_BLOCK", 1 << 10)
    words, few = ["x,u\n"] * 1500, [f"{i * 7 % 90},v\n" for i in range(1000)]
    for rows in (words + few, few + words):
        column = read([write("code,y\n" + "".join(rows))]).columns[0]
        assert set(column[:1000]) | set(column[-1000:]) == {"x", *(str(i) for i in range(90))}
    most = [f"{i * 7 % 90},v\n" for i in range(2000)]
    for rows in (words + most, most + words):
        with pytest.raises(ValueError, match=r"'code' holds 'x' in line (2|2002) "):
            read([write("code,y\n" + "".join(rows))])


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
        ("1,red,5\n2,red,6\n", False),
        ('"","x","y"\n"1","a","b"\n"2","c","d"\n', True),
    ],
)
def test_headers_are_told_from_rows(write, content, header):
    assert read([write(content)]).source.header is header
    rows = content.count("\n")
    whole = {"words": ["1", "2", "3"]}
    assert read([write(content)], header=False, select=whole).n_rows == rows


def test_a_header_that_lacks_the_name_of_the_row_labels(write):
    table = read([write("x y\nr1 1 2\nr2 3 4\n")], select={"kept": []})
    assert table.names == ["x", "y"] and table.source.left_out == ["1"]
    assert len(table.source.notes) == 2


def test_columns_are_found_by_name_or_number(write):
    source = read([write(text_of())]).source
    assert [source.find(wanted, "--target") for wanted in ("colour", "1", "-1")] == [
        "colour",
        "size",
        "y",
    ]
    for wanted in ("0", "4", "-4", "Colour"):
        with pytest.raises(ValueError, match=r"is not a column; the columns are 'size'"):
            source.find(wanted, "--target")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
def test_text_of_wider_characters_is_read(write, encoding):
    content = "größe,y\n1.5,straße\n2,weg\n".encode(encoding)
    table = read([write(content)])
    assert table.names == ["größe", "y"] and table.columns[1].tolist() == ["straße", "weg"]


@pytest.mark.parametrize("content", ["a,b\n", "a,b\n1,2\n", "a b\n1 2\n"])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_text_that_ends_within_a_character_is_named(write, content, encoding):
    path = write(content.encode(encoding) + b"\0")
    with pytest.raises(ValueError, match=f"is not {encoding} text") as caught:
        read([path])
    assert path in str(caught.value)


def test_text_that_is_not_utf_8_is_guessed_and_may_be_told(write):
    western = "réponse,y\n1,oui é\n2,non à côté\n".encode("cp1252")
    table = read([write(western)])
    assert table.names == ["réponse", "y"] and table.source.dialect.encoding == "cp1252"
    russian = "имя,возраст\nИван,3\nМария,5\n".encode("cp1251")
    assert read([write(russian)]).columns[0].tolist() == ["Иван", "Мария"]
    assert read([write(russian)], encoding="koi8-r").columns[0].tolist() != ["Иван", "Мария"]
    late = b"a,y\n" + b"1,u\n" * 200_000 + "2,é\n".encode("cp1252")
    assert read([write(late)]).columns[1][-1] == "é"


# ------------------------------------------------------------ row numbers


def row_numbered(n, header=",x,y", first=0):
    rows = (f"{first + i},{(i * 7) % n},{'uv'[i > n / 2]}\n" for i in range(n))
    return header + "\n" * bool(header) + "".join(rows)


@pytest.mark.parametrize("header", [",x,y", "Unnamed: 0,x,y", "id,x,y", ""])
@pytest.mark.parametrize("first", [0, 1])
def test_row_numbers_are_left_out(write, header, first):
    table = read([write(row_numbered(40, header, first))], select={"kept": []})
    assert len(table.names) == 2 and len(table.source.left_out) == 1
    (note,) = table.source.notes
    assert "left out" in note and "--keep" in note
    kept = read([write(row_numbered(40, header, first))], select={"kept": table.source.left_out})
    assert len(kept.names) == 3 and kept.source.notes == []


def test_numbers_that_do_not_count_rows_stay(write):
    shuffled = "".join(f"{(i * 7) % 40},{i % 3}\n" for i in range(40))
    assert len(read([write("n,y\n" + shuffled)], select={"kept": []}).names) == 2
    assert len(read([write("n,y\n1,5\n2,5\n3,6\n")], select={"kept": []}).names) == 2
    alone = "".join(f"{i}\n" for i in range(40))  # nothing else would be left
    assert read([write("n\n" + alone)], select={"kept": []}).names == ["n"]


def test_the_stored_index_of_a_frame_is_left_out(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": [3.0, 1, 2], "y": list("uvu")}, index=[7, 3, 5])
    frame.to_parquet(tmp_path / "f")
    assert read([tmp_path / "f"], select={"kept": []}).names == ["x", "y"]
    frame.rename_axis("key").to_feather(tmp_path / "g")
    table = read([tmp_path / "g"], select={"kept": []})
    assert table.names == ["x", "y"] and "'key' holds the stored index" in table.source.notes[0]


# ------------------------------------------------------------ trailing rows


def test_empty_rows_at_the_end_are_passed_over_with_a_note(write, monkeypatch):
    content = "a,b,y\n1,x,u\n,,\n2,y,v\n" + ",,\n" * 3 + '"", ,\n\n'
    table = read([write(content)])
    np.testing.assert_array_equal(table.columns[0], [1, np.nan, 2])
    assert ["4 rows of empty cells at the end" in note for note in table.source.notes] == [True]
    # cells that are not read show that a row is there
    content = "a,y,id\n1,u,5\n,,6\n,,\n"
    table = read([write(content)], select={"features": ["a", "y"]})
    assert table.n_rows == 2 and "1 row of empty cells" in table.source.notes[0]
    monkeypatch.setattr(separated, "_BLOCK", 1 << 10)  # ends of many blocks
    assert read([write("a,b\n1,2\n" + ",\n" * 5000)]).n_rows == 1


def test_blank_lines_among_single_cells_are_noted(write):
    table = read([write("a\n1\n\n3\n")])
    assert table.n_rows == 2
    assert table.source.notes[0].startswith("1 blank line")


# ------------------------------------------------------------ standard input


def test_standard_input_and_patterns(write, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text_of().encode())))
    assert_holds_rows(read(["-"]))
    for name in ("b.csv", "a.csv"):
        write(text_of(), f"part/{name}" if (tmp_path / "part").mkdir(exist_ok=True) else name)
    one = read([str(tmp_path / "*.csv")])
    assert (
        one.n_rows == 6
        and one.source.place(5).startswith("line 4 of")
        and "b.csv" in (one.source.place(5))
    )
    with pytest.raises(ValueError, match="names no file"):
        read([tmp_path / "part"])
    with pytest.raises(ValueError, match="names no file"):
        read([str(tmp_path / "*.tsv")])


# ------------------------------------------------------------------------ ARFF


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


# ---------------------------------------------------------- Parquet and Feather


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


# ------------------------------------------------------------- bundled, LIBSVM


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


# ------------------------------------------------------------------- bad files


@pytest.mark.parametrize(
    "content, message",
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("a,b\n", "a header and no rows"),
        ("a,b\n1,2\n3\n", r"line 3: 1 cell where 2 are expected"),
        ("a,b\n1,2\n\n3,4,5\n", r"line 4: 3 cells where 2 are expected"),
        ('a,b\n1,2\n3,"4\n', r"line 3: unexpected end"),
        ('a,b\n1,"x\n3,y\n4,z\n', r"line 2: unexpected end"),
        ('a,b\n1,"x\n3,"y\n4,z\n', r"line 2: "),
        (b"\x00\x01\x02", "neither text nor Parquet"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9], "compressed content cannot be read"),
        (b"\x1f\x8bnonsense", "compressed content cannot be read"),
        (b"PK\x03\x04....", "zip archive"),
        ("1 1:2\n-1 3:x\n", r"line 2, index 3: 'x' is not a finite number"),
        ("1 1:2\n-1 3:inf\n", r"line 2, index 3: 'inf' is not a finite number"),
        ("1 1:2\n\n-1 3:1 2:1\n", r"line 3, index 2: indices must rise .* 3 comes before"),
        ("1 1:2\n1 99999999999999999999:1\n", "line 2, index 99999999999999999999: beyond"),
        ("@relation x\n@attribute a real\n1\n", "@data line is missing"),
        ("@relation x\n@attribute a real\n@data\n1,2\n", "line 4: a row of 1 attributes"),
        ("@relation x\n@attribute a {u}\n@data\nu\nw\n", "line 5: Data value w not found"),
        ("@relation x\n@attribute a {u,\n@data\nu\n", "line 2: attribute a is declared as"),
        ("@relation x\n@attribute a real\n@data\n1\nw\n", "column 'a' holds 'w' in line 5"),
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
    while rows and not any(clean(cell) for cell in rows[-1]):
        rows.pop()  # empty rows at the end
    if not rows:
        return
    table = read([path], separator=",", quote='"', header=True, select={"words": ["a", "b", "c"]})
    for j, column in enumerate(table.columns):
        expected = [clean(row[j]) for row in rows]
        assert column.tolist() == ["" if word in MISSING_WORDS else word for word in expected]


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
        assert (rows.n_rows if isinstance(rows, Whole) else rows.num_rows) > 0


def test_a_zero_byte_far_down_is_named(tmp_path):
    path = tmp_path / "far.csv"
    path.write_bytes(b"a,b,t\n" + b"1,2,yes\n3,4,no\n" * 100_000 + b"1,\0,yes\n")
    with pytest.raises(ValueError, match=r"column 'b' holds '\\x00' in line 200002"):
        read([str(path)])


def test_arrow_reads_what_it_reads_alone(write):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(5000, 4))
    path = write("a,b,c,d\n" + "".join(",".join(map(str, row)) + "\n" for row in rows.tolist()))
    table = read([path])
    alone = pacsv.read_csv(path)
    for name, column in zip(table.names, table.columns, strict=True):
        np.testing.assert_array_equal(column, alone.column(name).to_numpy())
