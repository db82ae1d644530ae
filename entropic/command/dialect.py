"""How a text file is written: encoding, separator, quote, header and decimal sign, found out once.

What a fit has found out is kept with the model, and other files are read by it, not guessed anew.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections import Counter
from dataclasses import dataclass, field, replace

from entropic.model_format import stored

from .cells import MISSING_WORDS, clean, number_of

SAMPLE_BYTES = 1 << 18
SAMPLE_LINES = 100
_SNIFFED_CHARACTERS, _SNIFFED_LINE = 1 << 14, 1 << 12
SEPARATORS = [",", ";", "\t", "|", " "]
WHITESPACE = " "
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_CONTROL = re.compile("[\0-\x08\x0e-\x1f\ufffd]")
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\r?\n?', re.IGNORECASE)
_PAIR = r"(?:qid|\d+):[^\s:,'\"]+"
_INDEXED_LINE = re.compile(rf"(?:[^\s:#]+|{_PAIR})(?:\s+{_PAIR})*\s*(?:#.*)?$")
_COMMA = re.compile(r"[+-]?\d*(?:\.\d{3})*,\d+", re.ASCII)
_COMMA_GROUPS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+", re.ASCII)
_POINT = re.compile(r"[+-]?(?:\d*|[1-9]\d{0,2}(?:,\d{3})+)\.\d+", re.ASCII)


@stored("Dialect")
@dataclass
class Dialect:
    """How text is cut into cells; None where it is to be found out.

    Attributes
    ----------
    separator : str or None
        One character; a blank stands for any run of white space.
    quote : str or None
    header : bool or None
        Whether the first line names the columns.
    decimal : {".", ",", None}
        After the finding out, None says that a comma is of unknown meaning.
    encoding : str or None
    missing : list of str
        Spellings of a missing cell beyond the usual ones.
    """

    separator: str | None = None
    quote: str | None = None
    header: bool | None = None
    decimal: str | None = None
    encoding: str | None = None
    missing: list = field(default_factory=list)

    @property
    def is_sound(self):
        """Whether every attribute is of its type."""
        cut = (self.separator, self.quote, self.decimal)
        return (
            all(sign is None or (type(sign) is str and len(sign) == 1) for sign in cut)
            and self.header in (None, False, True)
            and (self.encoding is None or _is_codec(self.encoding))
            and type(self.missing) is list
            and all(type(word) is str for word in self.missing)
        )

    def described(self):
        """The dialect in words, for the report."""
        between = {WHITESPACE: "blanks", "\t": "tabs"}.get(self.separator, repr(self.separator))
        sign = {",": ", decimal commas", ".": "", None: ""}[self.decimal]
        return f"cells between {between}, quotes {self.quote}, {self.encoding}{sign}"

    def rows(self, lines, skipped=0):
        """Pairs of the number of a row's last line and its cells; blank lines are left out.

        Parameters
        ----------
        lines : iterable of str
        skipped : int
            Lines of the file before the first of these.

        Raises
        ------
        ValueError
            If a quotation is not closed, or goes on after its end; the message names the line.
        """
        csv.field_size_limit(2**31 - 1)
        if self.separator == WHITESPACE:
            lines = (line.rstrip().replace("\t", " ") + "\n" for line in lines)
        reader = csv.reader(
            lines,
            delimiter=self.separator,
            quotechar=self.quote,
            skipinitialspace=True,
            strict=True,
        )
        number = 0
        try:
            for row in reader:
                number = reader.line_num
                if len(row) > 1 or (row and row[0].strip()):
                    yield number + skipped, row
        except csv.Error as error:
            raise ValueError(f"line {number + skipped + 1}: {error}.") from None


@dataclass
class Sample:
    """The first lines of a text file: what they show of it.

    Attributes
    ----------
    encoding : str
    lines : list of str
        With their ends; a last one that is not whole is left out.
    """

    encoding: str
    lines: list

    @classmethod
    def of(cls, content, encoding=None):
        """Decode the first bytes.

        Raises
        ------
        ValueError
            If they are no text.
        """
        size = SAMPLE_BYTES
        while len(head := content.head(size)) == size and len(head.splitlines()) < 4:
            size *= 8  # rows this wide are seldom
        found = encoding_of(head, encoding)
        if found is None:
            raise ValueError(
                f"{content.name} is neither text nor Parquet; "
                "give CSV, TSV, ARFF, LIBSVM, Parquet or Feather."
            )
        text = codecs.getincrementaldecoder(found)("replace").decode(head)
        lines = list(io.StringIO(text.removeprefix("\ufeff"), newline=""))
        if len(head) == size and len(lines) > 1:
            lines.pop()
        return cls(found, lines)

    @property
    def filled(self):
        """The first lines that are not blank."""
        return list(
            itertools.islice((line.strip("\r\n") for line in self.lines if line.strip()), 50)
        )

    @property
    def is_arff(self):
        """Whether the file opens with the @-lines of ARFF or KEEL."""
        first = next((line for line in self.filled if not line.lstrip().startswith("%")), "")
        return first.lstrip().lower().startswith(("@relation", "@attribute"))

    @property
    def is_indexed(self):
        """Whether lines are of the LIBSVM form ``label index:value ...``."""
        lines = [line.strip() for line in self.filled if not line.lstrip().startswith("#")]
        return all(_INDEXED_LINE.match(line) for line in lines) and any(
            re.search(r"(?:^|\s)\d+:[^\s:]", line) for line in lines
        )

    def complete(self, dialect, known=()):
        """The dialect with what it leaves open found out, and where the rows begin.

        Parameters
        ----------
        dialect : Dialect
        known : collection of str
            Names, any of which shows the first line to be a header.

        Returns
        -------
        dialect : Dialect
        header : list of str or None
        skipped : int
            Lines of the file before the first row.
        rows : list of list of str
            The first rows.
        """
        lines, skipped = self.lines, 0
        declared = _SEPARATOR_LINE.fullmatch(lines[0])
        if declared:
            lines, skipped = lines[1:], 1
        separator, quote = dialect.separator, dialect.quote
        if separator is None and declared:
            separator = declared[1]
        if separator is None or quote is None:
            found = _sniffed([line for line in lines if line.strip()], separator)
            separator, quote = separator or found[0], quote or found[1]
        dialect = replace(dialect, encoding=self.encoding, separator=separator, quote=quote)
        rows = []
        try:
            for row in itertools.islice(dialect.rows(lines), SAMPLE_LINES):
                rows.append(row)
        except ValueError:
            pass  # in a row further down, or one that the sample cuts; said on reading it
        cells = [[clean(cell) for cell in row] for _, row in rows]
        decimal, header = dialect.decimal or _decimal(cells, separator), dialect.header
        if header is None and cells:
            missing = dialect.missing
            header = (
                any(cell in known for cell in cells[0])
                if known
                else _has_header(cells, decimal, missing)
            )
        dialect = replace(dialect, decimal=decimal, header=bool(header))
        if header and rows:
            (line, first), *rows = rows
            return dialect, first, skipped + line, [row for _, row in rows]
        return dialect, None, skipped, [row for _, row in rows]


def _is_codec(name):
    try:
        return codecs.lookup(name) is not None
    except (LookupError, TypeError):
        return False


def encoding_of(data, otherwise=None):
    """The encoding of bytes, by their mark, by being UTF-8, else as told or guessed; or None."""
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            return encoding
    if b"\0" in data:
        wide = "utf-16-be" if data[::2].count(0) > data[1::2].count(0) else "utf-16-le"
        text = codecs.getincrementaldecoder(wide)("replace").decode(data)
        return None if _CONTROL.search(text) else wide
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)
        return "utf-8"
    except UnicodeDecodeError:
        pass
    if otherwise not in (None, "utf-8"):
        return otherwise
    from charset_normalizer import from_bytes

    lines = b"\n".join(line for line in data.splitlines() if not line.isascii())
    matches = from_bytes(lines[:SAMPLE_BYTES])
    best = matches.best()
    if best is None:
        return None
    likely = {name for match in matches for name in match.could_be_from_charset}
    # Western text in few letters fits many code pages alike; this is by far the commonest.
    return "cp1252" if "cp1252" in likely else best.encoding


def _sniffed(lines, separator):
    """The separator and the quote of a sample of lines."""
    import clevercsv

    text, size = [], 0
    for line in lines[:SAMPLE_LINES]:
        text.append(line.rstrip("\r\n")[:_SNIFFED_LINE] + "\n")
        size += len(text[-1])
        if size > _SNIFFED_CHARACTERS and len(text) > 1:
            break
    delimiters = SEPARATORS if separator is None else [separator]
    try:
        found = clevercsv.Sniffer().sniff("".join(text), delimiters=delimiters)
    except clevercsv.Error:
        found = None
    if found is None:
        return separator or ",", '"'
    quote = found.quotechar if found.quotechar in ("'", '"') else '"'
    return separator or found.delimiter or ",", quote


def _decimal(rows, separator):
    """The decimal sign of a sample, None where commas may be either of two things."""
    found = Counter()
    for cell in itertools.chain.from_iterable(rows):
        if _COMMA_GROUPS.fullmatch(cell):
            found["."] += cell.count(",") > 1 or separator == ","
            found["either"] += 1
        elif _COMMA.fullmatch(cell):
            found[","] += 1
        elif _POINT.fullmatch(cell):
            found["."] += 1
    if found[","] > found["."]:
        return ","
    return None if found["either"] and not found["."] else "."


def _has_header(rows, decimal, missing):
    """Whether the first of some rows names the columns.

    It does where the columns of numbers start with words. Numbers among those may be names too
    (years), if they are whole, differ, and lie outside of what their columns hold. Where every
    column is of words, it does unless names repeat or are missing. A word that turns up again
    further down in its column is no name.
    """
    first, *rest = rows
    rest = [row for row in rest if len(row) == len(first)]

    def value(cell):
        return number_of(cell, decimal, missing)

    if not rest:
        return not any(cell in MISSING_WORDS or value(cell) is not None for cell in first)
    names, years, words = [], [], []
    for name, *column in zip(first, *rest, strict=True):
        known = [cell for cell in map(value, column) if cell is None or cell == cell]
        if not known or None in known:
            words.append((name, column))
        elif value(name) is None:
            names.append(name)
        elif name not in MISSING_WORDS:
            years.append((value(name), min(known), max(known)))
    if any(name in column for name, column in words if name):
        return False
    if names:
        values = [year for year, _, _ in years]
        return len(set(values)) == len(values) and all(
            year == year and year == int(year) and not low <= year <= high
            for year, low, high in years
        )
    numbered = first[0] == "" and len(words) < len(first)  # the nameless numbers of the rows
    named = first[1:] if numbered else first
    return not years and len(set(first)) == len(first) and not MISSING_WORDS.intersection(named)
