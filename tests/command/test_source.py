"""Sources of rows: row numbers are left out, and files that are wrong are named with the line."""

import gzip
import io
import sys

import numpy as np
import pyarrow.csv as pacsv
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from whole_tables import Whole, assert_holds_rows, read, text_of

from entropic.command.cells import MISSING_WORDS, clean

pytestmark = pytest.mark.backend_free


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
