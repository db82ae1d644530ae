"""CSV and its kin: read by pyarrow, with an exact place for whatever it refuses."""

from __future__ import annotations

import collections
import csv
import io
import itertools
import mmap
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from .cells import clean, spellings_of_nothing, unique_names
from .dialect import WHITESPACE, encoding_of

NUMBER, TEXT = pa.float64(), pa.dictionary(pa.int32(), pa.string())
_BLOCK, _LARGEST_BLOCK = 1 << 20, 1 << 28
_GUESSED_ROWS = 1000


class Reread(Exception):
    """The way of reading a file has changed: whoever reads it begins again."""


class SeparatedFile:
    """A text file of separated cells.

    Arrow reads it, fast and forgiving. Where it refuses, or where quotations hold the ends of
    lines, Python's strict reader goes over the rows: it finds the place, or tidies the text so
    that Arrow can read it.

    Attributes
    ----------
    dialect : Dialect
        With everything found out.
    header : list of str or None
        The cells of the first line where it names the columns.
    names : list of str
        Unique: the header's, or the columns' numbers from 1.
    kinds : dict of str to arrow type
        NUMBER for columns whose first cells are numbers, else TEXT.
    notes : list of str
        What was passed over on reading.
    """

    words: frozenset = frozenset()
    row_labels: frozenset = frozenset()

    def __init__(self, content, sample, dialect, known=()):
        self.content, self.name, self.notes = content, content.name, []
        if not sample.filled:
            raise ValueError(f"{content.name} is empty; give a file with rows.")
        self.dialect, self.header, self._skipped = sample.complete(dialect, known)
        rows = []
        try:
            located = self.dialect.rows(sample.lines[self._skipped :], self._skipped)
            rows += (row for _, row in itertools.islice(located, _GUESSED_ROWS))
        except ValueError as error:
            if not rows:
                raise ValueError(f"{content.name}, {error}") from None
        if not rows:
            without = "a header and no rows" if self.header else "no rows"
            raise ValueError(f"{content.name} has {without}; give a file with rows.")
        labelled = self.header and {len(row) for row in rows} == {len(self.header) + 1}
        if labelled and len({row[0] for row in rows}) == len(rows):
            self.header = ["", *self.header]
            self._note(f"the header of {content.name} lacks the name of the first column.")
        width = len(self.header or rows[0])
        self.names = unique_names(self.header, width)
        columns = zip(*(row for row in rows if len(row) == width), strict=True)
        self._nothing = pa.array([*spellings_of_nothing(), *self.dialect.missing])
        self.kinds = {
            name: NUMBER if self._are_numbers(pa.array(column)) else TEXT
            for name, column in itertools.zip_longest(self.names, columns, fillvalue=("",))
        }
        self._block = max(_BLOCK, 16 * max(map(len, sample.lines)))
        self._tidied = self.dialect.separator == WHITESPACE  # Arrow knows no runs of blanks
        self._checked_encoding = False
        self._worded = set()  # columns of numbers that turned out to hold other cells too

    def _note(self, note):
        if note not in self.notes:
            self.notes.append(note)

    # ----------------------------------------------------------------- reading

    def table(self, columns):
        """The rows as a table.

        Parameters
        ----------
        columns : dict of str to arrow type
            NUMBER or TEXT. A column of numbers with other cells among them comes as TEXT.

        Raises
        ------
        Reread
            If it has to be read in another way.
        ValueError
            If the file cannot be read; the message names the line.
        """
        source, *options = self._arguments(columns)
        try:
            with self.content.guarded():
                table = pacsv.read_csv(source, *options)
        except (pa.ArrowException, ValueError) as error:
            self._adapt(columns, source, error)
        self._check_lines(table.num_rows)
        return next(self._without_blank_end([table]), table.slice(0, 0))

    def batches(self, columns):
        """The rows as record batches of the same columns; as ``table``, in bounded memory."""
        source, *options = self._arguments(columns)
        n_rows = 0

        def counted():
            nonlocal n_rows
            for batch in pacsv.open_csv(source, *options):
                n_rows += batch.num_rows
                yield batch

        try:
            with self.content.guarded():
                yield from self._without_blank_end(counted())
        except (pa.ArrowException, ValueError) as error:
            self._adapt(columns, source, error)
        self._check_lines(n_rows)

    def _arguments(self, columns):
        tidied, dialect = self._tidied, self.dialect
        if tidied:
            source = _Tidied(self._rows(), len(self.names), self.content.name)
        elif self.content.is_plain:
            source = self.content.path
        else:
            source = self.content.open()
        kinds = {name: TEXT if name in self._worded else kind for name, kind in columns.items()}
        return (
            source,
            pacsv.ReadOptions(
                column_names=self.names,
                skip_rows=0 if tidied else self._skipped,
                block_size=self._block,
                encoding="utf-8" if tidied else dialect.encoding,
            ),
            pacsv.ParseOptions(
                delimiter="," if tidied else dialect.separator,
                quote_char='"' if tidied else dialect.quote,
                newlines_in_values=tidied or self._has_quotes,
            ),
            pacsv.ConvertOptions(
                include_columns=list(columns),
                column_types=kinds,
                null_values=self._nothing.to_pylist(),
                strings_can_be_null=False,
                true_values=[],
                false_values=[],
                decimal_point=dialect.decimal or ".",
            ),
        )

    @property
    def _has_quotes(self):
        if not self.content.is_plain:
            return True
        with self.content.open() as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
            return data.find(self.dialect.quote.encode()) >= 0

    # ---------------------------------------------------- what Arrow does not say

    def _adapt(self, columns, source, error):
        """After Arrow refused: find another way of reading and raise Reread, or raise why."""
        if isinstance(source, _Tidied) and source.error is not None:
            raise source.error from None
        if not isinstance(error, pa.ArrowException):
            raise error
        if not self._checked_encoding:
            self._check_encoding()
        failing = self._failing(columns)
        if failing:
            self._worded |= failing
        elif not self._tidied:
            self._tidied = True
        elif self._block < _LARGEST_BLOCK:
            self._block *= 16
        else:
            reason = (str(error).splitlines() or [""])[0]
            raise ValueError(f"{self.content.name} cannot be read ({reason}).") from None
        raise Reread

    def _check_encoding(self):
        """Find the encoding out again where text that began as UTF-8 does not go on so."""
        self._checked_encoding = True
        try:
            for _ in self.content.text(self.dialect.encoding):
                pass
        except UnicodeDecodeError:
            with self.content.open() as stream:
                strange = b"\n".join(line for line in stream if not line.isascii())
            encoding = encoding_of(strange)
            if self.dialect.encoding != "utf-8" or encoding in (None, "utf-8"):
                raise ValueError(
                    f"{self.content.name} is not {self.dialect.encoding} text; "
                    "give its --encoding, or convert it to UTF-8."
                ) from None
            self.dialect = replace(self.dialect, encoding=encoding)
            raise Reread from None

    def _failing(self, columns):
        """Names of the columns of numbers that hold other cells; None if rows cannot be cut."""
        wanted = [
            name for name, kind in columns.items() if kind == NUMBER and name not in self._worded
        ]
        failing = set()
        source, read, parse, convert = self._arguments(dict.fromkeys(columns, TEXT))
        convert.column_types = dict.fromkeys(columns, pa.string())
        try:
            for batch in pacsv.open_csv(source, read, parse, convert):
                failing |= {
                    name
                    for name in wanted
                    if name not in failing and not self._are_numbers(batch.column(name))
                }
        except (pa.ArrowException, ValueError):
            return None
        return failing

    def _are_numbers(self, cells):
        """Whether Arrow reads all cells of a column of text as numbers."""
        known = cells.filter(pc.invert(pc.is_in(cells, value_set=self._nothing)))
        known = pc.utf8_trim_whitespace(known)
        if self.dialect.decimal == ",":
            if pc.any(pc.match_substring(known, ".")).as_py():
                return False
            known = pc.replace_substring(known, ",", ".")
        try:
            known.cast(NUMBER)
        except pa.ArrowInvalid:
            return False
        return True

    def _check_lines(self, n_rows):
        """Where quotations may have swallowed lines, let the strict reader go over the rows."""
        if self._tidied or not (self._has_quotes or len(self.names) == 1):
            return
        lines, tail = 0, b""
        with self.content.open() as stream:
            while chunk := stream.read(_BLOCK):
                lines += np.count_nonzero(np.frombuffer(chunk, dtype=np.uint8) == ord("\n"))
                tail = chunk if len(chunk) > len(tail) else tail[len(chunk) :] + chunk
        lines += not tail.endswith(b"\n")
        if len(self.names) == 1 and lines > n_rows + self._skipped:
            blank = lines - n_rows - self._skipped
            self._note(f"{blank:,} blank lines of {self.content.name} are passed over.")
        last = tail.rstrip().rpartition(b"\n")[2]
        if self._has_quotes and (
            lines != n_rows + self._skipped or last.count(self.dialect.quote.encode()) % 2
        ):
            self._tidied = True
            raise Reread

    def _without_blank_end(self, batches):
        """Leave out the rows of empty cells that end the file."""
        held = []
        for batch in batches:
            if _blank_end(batch) < batch.num_rows:
                yield from held
                held = []
            held.append(batch)
        blank = 0
        for batch in reversed(held):
            blank += _blank_end(batch)
        if blank:
            # columns that are not read may hold something in these rows
            last = collections.deque(self._rows(), maxlen=blank)
            empty = itertools.takewhile(
                lambda row: not any(clean(cell) for cell in row[1]), reversed(last)
            )
            blank = sum(1 for _ in empty)
        if blank:
            self._note(
                f"{blank:,} row{'s' * (blank > 1)} of empty cells at the end of "
                f"{self.content.name} {'are' if blank > 1 else 'is'} passed over."
            )
        kept = sum(batch.num_rows for batch in held) - blank
        for batch in held:
            if kept > 0:
                yield batch.slice(0, min(kept, batch.num_rows))
            kept -= batch.num_rows

    # ------------------------------------------------------------------ places

    def place(self, row):
        """Where a row stands, for a message."""
        line, _ = next(itertools.islice(self._rows(), row, None))
        return f"line {line} of {self.content.name}"

    def _rows(self):
        with self.content.text(self.dialect.encoding) as lines:
            for _ in itertools.islice(lines, self._skipped):
                pass
            try:
                yield from self.dialect.rows(lines, self._skipped)
            except UnicodeDecodeError:
                raise
            except ValueError as error:
                raise ValueError(f"{self.content.name}, {error}") from None


class _Tidied(io.RawIOBase):
    """Rows written out again in the plainest CSV, as a stream of bytes."""

    def __init__(self, rows, width, name):
        self._rows, self._width, self._name = rows, width, name
        self._ready, self.error = b"", None

    def readable(self):
        return True

    def readinto(self, buffer):
        if not self._ready:
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            try:
                for line, row in itertools.islice(self._rows, 1 << 12):
                    if len(row) != self._width:
                        raise ValueError(
                            f"{self._name}, line {line}: {len(row)} cell{'s' * (len(row) != 1)} "
                            f"where {self._width} are expected; mend the line, or give "
                            "--separator."
                        )
                    writer.writerow(row)
            except ValueError as error:
                self.error = error
                raise
            self._ready = text.getvalue().encode()
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size


def _blank_end(batch):
    """How many rows at the end of a table have no cell with anything in it."""
    row = batch.num_rows
    while row and all(not clean(str(column[row - 1].as_py() or "")) for column in batch.columns):
        row -= 1
    return batch.num_rows - row
