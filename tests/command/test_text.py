"""CSV and its kin: separators, quotes, headers, encodings, and what the cells of a column are."""

import bz2
import gzip
import lzma

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest
from whole_tables import assert_holds_rows, read, text_of

from entropic.command import separated
from entropic.command.cells import MISSING_WORDS, clean

pytestmark = pytest.mark.backend_free


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
