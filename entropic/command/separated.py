"""CSV and its kin: cut into cells by pyarrow, with an exact place for whatever it refuses."""

from __future__ import annotations

import collections
import functools
import itertools
import mmap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from .cells import clean, spellings_of_nothing, unique_names
from .columns import NUMBER, TEXT, read_off
from .dialect import WHITESPACE, encoding_of

_BLOCK, _ROWS = 1 << 22, 1 << 14


class Reread(Exception):
    """The way of reading a file has changed: whoever reads it begins again."""


class SeparatedFile:
    """A text file of separated cells.

    Arrow cuts it, fast and forgiving. Where it refuses, or where quotations hold the ends of
    lines, Python's strict reader does, and names the line of what is wrong.

    Attributes
    ----------
    dialect : Dialect
        With everything found out.
    header : list of str or None
        The cells of the first line where it names the columns.
    names : list of str
        Unique: the header's, or the columns' numbers from 1.
    kinds : dict of str to arrow type
        NUMBER: any column may hold numbers.
    notes : list of str
        What was passed over on reading.
    """

    words: frozenset = frozenset()
    row_labels: frozenset = frozenset()

    def __init__(self, content, sample, dialect, known=()):
        self.content, self.name, self.notes = content, content.name, []
        if not sample.filled:
            raise ValueError(f"{self.name} is empty; give a file with rows.")
        self.dialect, self.header, self._skipped, rows = sample.complete(dialect, known)
        try:
            rows = rows or [row for _, row in itertools.islice(self._rows(), 1)]
        except UnicodeDecodeError:
            raise self._foreign() from None
        if not rows:
            without = "a header and no rows" if self.header else "no rows"
            raise ValueError(f"{self.name} has {without}; give a file with rows.")
        labelled = self.header and {len(row) for row in rows} == {len(self.header) + 1}
        if labelled and len({row[0] for row in rows}) == len(rows):
            self.header = ["", *self.header]
            self._note(f"the header of {self.name} lacks the name of the first column.")
        self.names = unique_names(self.header, len(self.header or rows[0]))
        self.kinds = dict.fromkeys(self.names, NUMBER)
        self._nothing = pa.array([*spellings_of_nothing(), *self.dialect.missing])
        columns = zip(*(row for row in rows if len(row) == len(self.names)), strict=True)
        self._plain = {  # columns that Arrow is trusted to read as numbers, until it fails
            name
            for name, cells in zip(self.names, columns, strict=False)
            if self._converted(pa.array(cells).dictionary_encode(), NUMBER).type == NUMBER
        }
        self._block = max(_BLOCK, 16 * max(map(len, sample.lines)))
        self._strict = self.dialect.separator == WHITESPACE  # Arrow knows no runs of blanks
        self._checked_encoding = False

    def _note(self, note):
        if note not in self.notes:
            self.notes.append(note)

    # ----------------------------------------------------------------- reading

    def batches(self, columns, whole=False):
        """The rows as record batches, in bounded memory.

        Parameters
        ----------
        columns : dict of str to arrow type
            TEXT, or NUMBER, which a batch has where all of its cells are plain numbers or missing;
            else it has TEXT.
        whole : bool
            Whether all of them will be kept, so that memory need not be bounded: Arrow reads
            on all cores then.

        Raises
        ------
        Reread
            If it has to be read in another way.
        ValueError
            If the file cannot be read; the message names the line.
        """

        def converted(cut):
            arrays = map(self._converted, cut.columns, columns.values())
            return pa.record_batch(list(arrays), names=list(columns))

        n_rows = 0
        try:
            with self.content.guarded():
                cut = self._without_blank_end(self._cut(columns, whole))
                for batch in _side_by_side(converted, cut):
                    n_rows += batch.num_rows
                    yield batch
        except (pa.ArrowException, UnicodeDecodeError) as error:
            if not self._checked_encoding:
                self._check_encoding()
            if self._plain:
                self._plain = set()
                raise Reread from None
            if self._strict:
                reason = (str(error).splitlines() or [""])[0]
                raise ValueError(f"{self.name} cannot be read ({reason}).") from None
            self._strict = True
            raise Reread from None
        self._check_lines(n_rows)

    def _converted(self, cells, kind):
        if kind == TEXT or cells.type == NUMBER:
            return cells
        return read_off(cells, self.dialect.decimal, self._nothing)

    def _cut(self, columns, whole):
        """Batches of some columns, as text or as plain numbers."""
        names = list(columns)
        if self._strict:
            positions = [self.names.index(name) for name in names]
            rows = self._checked_rows()
            while chunk := list(itertools.islice(rows, _ROWS)):
                cells = list(zip(*chunk, strict=True))
                arrays = [pa.array(cells[position]).dictionary_encode() for position in positions]
                yield pa.record_batch(arrays, names=names)
            return
        arguments = (
            self.content.path if self.content.is_plain else self.content.open(),
            pacsv.ReadOptions(
                column_names=self.names,
                skip_rows=self._skipped,
                block_size=self._block,
                encoding=self.dialect.encoding,
            ),
            pacsv.ParseOptions(delimiter=self.dialect.separator, quote_char=self.dialect.quote),
            pacsv.ConvertOptions(
                include_columns=names,
                column_types={
                    name: kind if name in self._plain else TEXT for name, kind in columns.items()
                },
                null_values=self._nothing.to_pylist(),
                decimal_point=self.dialect.decimal or ".",
            ),
        )
        if whole:
            yield from pacsv.read_csv(*arguments).to_batches()
        else:
            yield from pacsv.open_csv(*arguments)

    @functools.cached_property
    def _has_quotes(self):
        """Whether there may be quotations; Arrow refuses most of those that hold ends of lines."""
        if not self.content.is_plain:
            return True
        with self.content.open() as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
            return data.find(self.dialect.quote.encode()) >= 0

    def _without_blank_end(self, batches):
        """Leave out the rows of empty cells that end the file."""
        held = []
        for batch in batches:
            if _blank_end(batch) < batch.num_rows:
                yield from held
                held = []
            held.append(batch)
        if blank := sum(map(_blank_end, held)):
            # columns that are not read may hold something in these rows
            last = collections.deque(self._rows(), maxlen=blank)
            empty = (not any(map(clean, row)) for _, row in reversed(last))
            blank = sum(1 for _ in itertools.takewhile(bool, empty))
        if blank:
            self._note(
                f"{blank:,} row{'s' * (blank > 1)} of empty cells at the end of "
                f"{self.name} {'are' if blank > 1 else 'is'} passed over."
            )
        kept = sum(batch.num_rows for batch in held) - blank
        for batch in held:
            if kept > 0:
                yield batch.slice(0, min(kept, batch.num_rows))
            kept -= batch.num_rows

    # ---------------------------------------------------- what Arrow does not say

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
                raise self._foreign() from None
            self.dialect = replace(self.dialect, encoding=encoding)
            raise Reread from None

    def _foreign(self):
        return ValueError(
            f"{self.name} is not {self.dialect.encoding} text; "
            "give its --encoding, or convert it to UTF-8."
        )

    def _check_lines(self, n_rows):
        """Where quotations may have swallowed lines, let the strict reader go over the rows."""
        if self._strict or not (self._has_quotes or len(self.names) == 1):
            return
        tail = b""

        def chunks(stream):
            nonlocal tail
            while chunk := stream.read(_BLOCK):
                tail = chunk if len(chunk) > len(tail) else tail[len(chunk) :] + chunk
                yield chunk

        with self.content.open() as stream:
            lines = sum(_side_by_side(_ends_of_lines, chunks(stream)))
        lines += not tail.endswith(b"\n")
        if len(self.names) == 1 and lines > n_rows + self._skipped:
            blank = lines - n_rows - self._skipped
            self._note(f"{blank:,} blank lines of {self.name} are passed over.")
        last = tail.rstrip().rpartition(b"\n")[2]
        if self._has_quotes and (
            lines != n_rows + self._skipped or last.count(self.dialect.quote.encode()) % 2
        ):
            self._strict = True
            raise Reread

    # ------------------------------------------------------------------ places

    def place(self, row):
        """Where a row stands, for a message."""
        line, _ = next(itertools.islice(self._rows(), row, None))
        return f"line {line} of {self.name}"

    def _rows(self):
        """Pairs of line number and cells by Python's strict reader."""
        with self.content.text(self.dialect.encoding) as lines:
            for _ in itertools.islice(lines, self._skipped):
                pass
            try:
                yield from self.dialect.rows(lines, self._skipped)
            except UnicodeDecodeError:
                raise
            except ValueError as error:
                raise ValueError(f"{self.name}, {error}") from None

    def _checked_rows(self):
        """The cells of each row."""
        width = len(self.names)
        for line, row in self._rows():
            if len(row) != width:
                raise ValueError(
                    f"{self.name}, line {line}: {len(row)} cell{'s' * (len(row) != 1)} where "
                    f"{width} are expected; mend the line, or give --separator."
                )
            yield row


def _side_by_side(function, values):
    """Apply a function to a few values at a time, in threads; the results in order."""
    n_threads, ready = pa.cpu_count(), collections.deque()
    with ThreadPoolExecutor(n_threads) as pool:
        for value in values:
            ready.append(pool.submit(function, value))
            if len(ready) > n_threads:
                yield ready.popleft().result()
        while ready:
            yield ready.popleft().result()


def _ends_of_lines(text):
    return np.count_nonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n"))


def _blank_end(batch):
    """How many rows at the end of a batch have no cell with anything in it."""
    row = batch.num_rows
    while row and not any(clean(str(column[row - 1].as_py() or "")) for column in batch.columns):
        row -= 1
    return batch.num_rows - row
