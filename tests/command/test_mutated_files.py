"""Damaged copies of small files end in the right table, or in one clear line, or with a note.

Each copy is damaged in one of the ways in which files are: cut, quoted, encoded otherwise, with
separators changed, lines doubled, or a byte flipped. What it should hold is worked out by Python's
own reader from the damaged text.
"""

import csv
import io
import random

import numpy as np
import pytest
from whole_tables import Whole, read

from entropic.command.cells import clean

pytestmark = pytest.mark.backend_free


def table_text(rng):
    """A small table of numbers, words and labels, some cells missing."""
    separator = rng.choice([",", ";", "\t", "|"])
    n_rows, rows = rng.randint(12, 40), [["size", "height", "colour", "y"]]
    for _ in range(n_rows):
        size, height = f"{rng.gauss(0, 1):.3f}", str(rng.randint(-500, 500))
        rows.append([size, height, rng.choice(["red", "blue", "größer"]), rng.choice("uv")])
    for _ in range(rng.randint(0, 3)):
        rows[rng.randint(1, n_rows)][rng.randint(0, 1)] = rng.choice(["", "NA", "?", "-"])
    end = rng.choice(["\n", "\r\n"])
    return "".join(separator.join(row) + end for row in rows), separator


def cut(text, separator, rng):
    return text[: rng.randint(1, len(text))].encode()


def quoted(text, separator, rng):
    quote = rng.choice("\"'")
    end = "\r\n" if "\r\n" in text else "\n"
    rows = [line.split(separator) for line in text.split(end)]
    return end.join(
        separator.join(f"{quote}{cell}{quote}" if cell else cell for cell in row) for row in rows
    ).encode()


def unclosed(text, separator, rng):
    place = rng.choice([i for i, letter in enumerate(text) if letter == separator]) + 1
    return (text[:place] + '"' + text[place:]).encode()


def encoded(text, separator, rng):
    return text.encode(rng.choice(["utf-16", "utf-16-le", "utf-16-be", "cp1252", "utf-8-sig"]))


def separators_changed(text, separator, rng):
    places = [i for i, letter in enumerate(text) if letter == separator]
    changed = list(text)
    for place in rng.sample(places, rng.choice([1, 2, len(places) // 2])):
        changed[place] = rng.choice([",", ";", "\t", "|", " ", ""])
    return "".join(changed).encode()


def lines_changed(text, separator, rng):
    lines = text.splitlines(keepends=True)
    place = rng.randrange(len(lines))
    lines[place] = rng.choice(["", "\n", lines[place] * 2, separator * 3 + "\n", "# remark\n"])
    return "".join(lines).encode()


def byte_changed(text, separator, rng):
    content = bytearray(text.encode())
    content[rng.randrange(len(content))] = rng.randrange(256)
    return bytes(content)


def padded(text, separator, rng):
    end = "\r\n" if "\r\n" in text else "\n"
    return (text.replace(separator, f" {separator} ") + separator * 3 + end * 2).encode()


DAMAGES = [cut, quoted, unclosed, encoded, separators_changed, lines_changed, byte_changed, padded]


def expected(content, dialect):
    """The rows by Python's own reader, without blank lines and the empty rows at the end."""
    text = content.decode(dialect.encoding).removeprefix("\ufeff")
    lines = io.StringIO(text, newline="")
    if dialect.separator == " ":
        lines = (line.rstrip().replace("\t", " ") + "\n" for line in lines)
    rows = csv.reader(
        lines, delimiter=dialect.separator, quotechar=dialect.quote, skipinitialspace=True
    )
    rows = [[clean(cell) for cell in row] for row in rows if any(row) or len(row) > 1]
    header = rows.pop(0) if dialect.header else None
    while rows and not any(rows[-1]):
        rows.pop()
    return header, rows


@pytest.mark.parametrize("damage", DAMAGES, ids=[damage.__name__ for damage in DAMAGES])
def test_damaged_files_are_read_rightly_or_refused(tmp_path, damage):
    outcomes = {"read": 0, "refused": 0}
    for seed in range(64):
        rng = random.Random(seed)
        text, separator = table_text(rng)
        content = damage(text, separator, rng)
        path = tmp_path / "rows"
        path.write_bytes(content)
        try:
            table = read([path])
        except ValueError as error:
            assert str(path) in str(error) and "\n" not in str(error).strip(), seed
            outcomes["refused"] += 1
            continue
        outcomes["read"] += 1
        if not isinstance(table, Whole):
            continue
        header, rows = expected(content, table.source.dialect)
        assert {len(row) for row in rows} == {len(table.names)}, (seed, table.source.notes)
        assert table.n_rows == len(rows), seed
        if header is not None and len(header) + 1 == len(table.names):
            assert "lacks the name" in table.source.notes[0], seed
        elif header is not None:
            assert [name.partition(".")[0] for name in table.names] == header, seed
        for j, column in enumerate(table.columns):
            for cell, row in zip(column.tolist(), rows, strict=True):
                if isinstance(cell, str):
                    assert cell in ("", row[j]), seed
                elif not np.isnan(cell):
                    assert cell == float(row[j]), seed
    assert outcomes["read"] or damage is unclosed
    if damage in (quoted, encoded):  # nothing is lost in these
        assert outcomes["refused"] == 0
