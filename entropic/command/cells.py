"""What the text of a cell means: a number, a word, or nothing."""

from __future__ import annotations

import math
import re

# In a column of words "-" or "None" may be a word; in one of numbers they cannot be numbers.
MISSING_WORDS = frozenset(
    ["", "?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "#N/A", "<NA>", "<na>"]
)
MISSING_NUMBERS = frozenset(
    ["", "?", "na", "n/a", "nan", "-nan", "null", "none", "nil", "-", "--", "."]
    + ["#n/a", "<na>", "n.a.", "#na", "#null!", "(null)", "\\n"]
)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_INFINITY = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
# A date, a time of day or a duration: 2024-01-31, 31.1.2024 12:00, 12:00:30, 2 days 00:30:00.
_TIME = re.compile(
    r"(?:\d{4}-\d\d?-\d\d?|\d\d?([./])\d\d?\1(?:\d\d){1,2}|-?\d+ days?)?"
    r"(?:(?:^|[T ])\+?-?\d\d?:\d\d(?::\d\d(?:\.\d*)?)?(?:Z|[+-]\d\d:?\d\d)?)?",
    re.ASCII,
)
# A digit group of three after a sign that is no decimal point: 12,345 or 12 345 or 12'345.
_GROUPED = {
    decimal: re.compile(
        rf"[+-]?\d{{1,3}}([{other}'’ \u00a0\u202f])\d{{3}}(?:\1\d{{3}})*(?:{point}\d*)?", re.ASCII
    )
    for decimal, other, point in ((".", ",", r"\."), (",", ".", ","))
}


def spellings_of_nothing():
    """The cells that are missing numbers: in their usual cases, a leading blank or not."""
    spelt = {form(word) for word in MISSING_NUMBERS for form in (str, str.upper, str.title)}
    return [blank + word for word in sorted(spelt | MISSING_WORDS) for blank in ("", " ")]


def clean(cell):
    """A cell without the blanks and the pair of quotes around it."""
    cell = cell.strip()
    if len(cell) > 1 and cell[0] == cell[-1] and cell[0] in "'\"":
        cell = cell[1:-1].strip()
    return cell


def number_of(cell, decimal=".", missing=()):
    """The number that a cell holds, NaN where it is missing, None where it is a word.

    Parameters
    ----------
    cell : str
    decimal : {".", ",", None}
        The decimal sign; the other one may part groups of three digits. Without any a comma is
        neither.
    missing : collection of str
        Further spellings of a missing cell.
    """
    cell = clean(cell)
    if cell in missing or cell.casefold() in MISSING_NUMBERS:
        return math.nan
    if decimal != "," and _NUMBER.fullmatch(cell):
        return float(cell)
    if _INFINITY.fullmatch(cell):
        return float(cell)
    if decimal is None and "," in cell:
        return None
    if grouped := _GROUPED[decimal or "."].fullmatch(cell):
        cell = cell.replace(grouped[1], "")
    elif decimal == "," and "." in cell:
        return None
    if decimal == ",":
        cell = cell.replace(",", ".")
    return float(cell) if _NUMBER.fullmatch(cell) else None


def word_of(cell, missing=()):
    """The word that a cell holds, "" where it is missing."""
    word = clean(cell)
    return "" if word in MISSING_WORDS or word in missing else word


def is_time(word):
    """Whether a word is a date, a time of day or a duration."""
    return bool(word) and _TIME.fullmatch(word) is not None


def number_as_word(value):
    """A number as a word; a whole one is written without a point."""
    if math.isnan(value):
        return ""
    return str(int(value)) if math.isfinite(value) and value == int(value) else repr(value)


def listed(names, limit=12, spelt=repr):
    """Names as a message shows them."""
    shown = ", ".join(spelt(str(name)) for name in list(names)[:limit])
    return shown + (f" and {len(names) - limit} more" if len(names) > limit else "")


def unique_names(header, width):
    """Names of columns as the header gives them, made unique, or their numbers."""
    names = []
    for number in range(1, width + 1):
        name = (clean(header[number - 1]) if header is not None else "") or str(number)
        while name in names:
            name += f".{number}"
        names.append(name)
    return names
