"""Rows of text files: separated values of any common form, and ARFF."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections import Counter

MISSING = frozenset(["", "?", "NA", "N/A", "NaN", "nan", "NULL", "null"])
WHITESPACE = " "
SEPARATORS = (",", "\t", ";", "|")
SAMPLE_LINES = 50

_ATTRIBUTE = re.compile(r"""@attribute\s+('[^']*'|"[^"]*"|\S+)\s""", re.IGNORECASE)
_PAIR = r"(?:qid|\d+):[^\s:]+"
_INDEXED_LINE = re.compile(rf"(?:[^\s:#]+|{_PAIR})(?:\s+{_PAIR})*\s*(?:#.*)?$")


def sample(text):
    """The first lines that are not blank."""
    lines = (line.strip("\r\n") for line in io.StringIO(text, newline=None))
    return list(itertools.islice((line for line in lines if line.strip()), SAMPLE_LINES))


def is_arff(lines):
    """Whether a file opens with the @-lines of ARFF or KEEL."""
    first = next((line for line in lines if not line.startswith("%")), "")
    return first.lstrip().lower().startswith(("@relation", "@attribute"))


def is_indexed(lines):
    """Whether lines are of the LIBSVM form ``label index:value ...``."""
    lines = [line.strip() for line in lines if not line.lstrip().startswith("#")]
    return all(_INDEXED_LINE.match(line) for line in lines) and any(
        re.search(r"(?:^|\s)\d+:[^\s:]", line) for line in lines
    )


def first_bad_indexed_line(text):
    """Number of the first line that is not ``label index:value ...`` with rising indices."""
    for number, line in enumerate(io.StringIO(text, newline=None), 1):
        label, *pairs = line.partition("#")[0].split() or ["0"]
        last = -1
        try:
            float(label)
            for index, value in (pair.split(":") for pair in pairs if not pair.startswith("qid:")):
                if int(index) <= last or not is_number(value):
                    return number
                last = int(index)
        except ValueError:
            return number
    return None


def find_separator(lines):
    """The character that cuts most of the sample's lines into equally many cells."""
    best, best_score = ",", (0.0, 1)
    for separator in SEPARATORS:
        score = _evenness(row for _, row in cells(lines, separator))
        if score > best_score:
            best, best_score = separator, score
    if best_score[0] < 0.5 and _evenness(line.split() for line in lines) > best_score:
        return WHITESPACE
    return best


def _evenness(rows):
    """(share of rows of the commonest width, that width); nothing for a single column."""
    try:
        widths = Counter(len(row) for row in rows)
    except ValueError:
        return 0.0, 1
    width, count = widths.most_common(1)[0] if widths else (1, 0)
    return (count / widths.total(), width) if width > 1 else (0.0, 1)


def cells(lines, separator, *, quote='"', skipped=0):
    """Pairs of line number and list of cells; blank lines are left out.

    Parameters
    ----------
    lines : iterable of str
    separator : str
        One character; a blank stands for any run of white space.
    quote : str
    skipped : int
        Lines of the file before the first of ``lines``.

    Raises
    ------
    ValueError
        If a quotation is not closed; the message says in which line.
    """
    if separator == WHITESPACE:
        for number, line in enumerate(lines, 1 + skipped):
            if row := line.split():
                yield number, row
        return
    reader = csv.reader(
        lines, delimiter=separator, quotechar=quote, skipinitialspace=True, strict=True
    )
    number = 0
    try:
        for row in reader:
            number = reader.line_num
            if len(row) > 1 or (row and row[0].strip()):
                yield number + skipped, row
    except csv.Error as error:
        raise ValueError(f"line {number + 1 + skipped}: {error}.") from None


def arff_rows(text):
    """Attribute names, and the rows after ``@data``, of an ARFF or KEEL file."""
    names, lines = [], io.StringIO(text, newline=None)
    for number, line in enumerate(lines, 1):
        line = line.strip()
        if match := _ATTRIBUTE.match(line + " "):
            names.append(clean(match[1]))
        elif line.lower() == "@data":
            kept = (line if not line.startswith("%") else "\n" for line in lines)
            return names, cells(kept, ",", quote="'", skipped=number)
    raise ValueError("the @data line is missing.")


def clean(cell):
    """A cell without the blanks and the pair of quotes around it."""
    cell = cell.strip()
    if len(cell) > 1 and cell[0] == cell[-1] and cell[0] in "'\"":
        cell = cell[1:-1].strip()
    return cell


def is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def has_header(rows):
    """Whether the first of some rows names the columns.

    It does where a column of numbers starts with a word. Where every column is of words, it
    does unless names repeat, are missing, or turn up again further down.
    """
    first, *rest = [[clean(cell) for cell in row] for row in rows]
    if not rest or any(len(row) != len(first) for row in rest):
        rest = [row for row in rest if len(row) == len(first)]
    if not rest:
        return not any(cell in MISSING or is_number(cell) for cell in first)
    numeric = False
    for name, *column in zip(first, *rest, strict=True):
        known = [cell for cell in column if cell not in MISSING]
        if known and all(is_number(cell) for cell in known):
            numeric = True
            if name not in MISSING and not is_number(name):
                return True
    if numeric or len(set(first)) < len(first) or MISSING.intersection(first):
        return False
    return not any(name in column for name, *column in zip(first, *rest, strict=True))
