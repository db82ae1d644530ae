"""Rows of files as Arrow batches of one schema: numbers as float64, words as dictionaries."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter

import numpy as np
import pyarrow as pa

from entropic.rows.content import Content, expanded

from .arff_file import ArffFile
from .cells import clean, listed
from .columns import NUMBER, TEXT, Cells, as_numbers, as_words, distinct, numbers_in, words_in
from .dialect import Dialect, Sample
from .indexed import IndexedFile, IndexedFiles
from .separated import Reread, SeparatedFile
from .typed import BundledSet, ColumnarFile

_FEATHER = (b"ARROW1", b"FEA1")
_FOREIGN = {b"PK\x03\x04": "a zip archive (or a spreadsheet)", b"\xd0\xcf\x11\xe0": "a spreadsheet"}
NAMELESS = ("", "Unnamed: 0")
_FEWEST_NUMBERED = 10  # rows that count up by chance are seldom as many as this


def open_source(paths, dialect=None, known=()):
    """Open files whose rows stand one below the other.

    Parameters
    ----------
    paths : list of str
        Files, folders, patterns, ``-`` for standard input, or ``sklearn:NAME``.
    dialect : Dialect or None
        What is known of how text is written; the rest is found out.
    known : collection of str
        Names, any of which shows a first line to be a header.

    Returns
    -------
    Source or IndexedFiles

    Raises
    ------
    ValueError
        If a file is missing, empty, damaged, of unknown form, or unlike the others.
    """
    dialect = dialect or Dialect()
    files, indexed = [], []
    for path in expanded(paths):
        if path.startswith("sklearn:"):
            files.append(BundledSet(path))
            continue
        content = Content(path)
        start = content.head(6)
        if start.startswith((b"PAR1", *_FEATHER)):
            files.append(ColumnarFile(content))
            continue
        if start[:4] in _FOREIGN:
            raise ValueError(
                f"{content.name} is {_FOREIGN[start[:4]]}; give CSV, TSV, ARFF, LIBSVM, Parquet or "
                "Feather."
            )
        sample = Sample.of(content, dialect.encoding)
        if sample.is_arff:
            files.append(ArffFile(content, sample.encoding))
        elif sample.is_indexed:
            indexed.append(IndexedFile(content, sample.encoding))
        else:
            files.append(SeparatedFile(content, sample, dialect, known))
    if indexed and files:
        raise ValueError(
            f"{indexed[0].name} is a LIBSVM file and {files[0].name} is not; "
            "give files of one form."
        )
    return IndexedFiles(indexed) if indexed else Source(files, dialect)


class Source:
    """Rows of one or several files.

    ``select`` says which columns are wanted; a first pass over the rows then settles what each
    of them holds, and from then on ``table`` and ``batches`` give the rows, as often as they are
    asked for.

    Attributes
    ----------
    names : list of str
        All columns, unique.
    header : bool
        Whether the names are the files' own; else they are the columns' numbers, from 1.
    notes : list of str
        What the user should know of the reading.
    left_out : list of str
        Columns that hold the numbers or labels of rows.
    """

    def __init__(self, files, dialect):
        self.files, self._given = files, dialect
        self.names = list(files[0].names)
        for file in files:
            if file.names != self.names:
                raise ValueError(
                    f"{file.name} has other columns ({listed(file.names)}) than "
                    f"{files[0].name} ({listed(self.names)}); give files of the same columns."
                )
        self.header = not (isinstance(files[0], SeparatedFile) and files[0].header is None)
        self.left_out, self._own_notes = [], []
        self._kinds = None

    @property
    def dialect(self):
        """How the text of the first text file is written, or what was given."""
        return next((file.dialect for file in self.files if file.dialect), self._given)

    @property
    def notes(self):
        return list(
            dict.fromkeys(
                [*itertools.chain.from_iterable(f.notes for f in self.files), *self._own_notes]
            )
        )

    def find(self, wanted, option):
        """The name of a column given by its name or by its number, -1 being the last.

        Raises
        ------
        ValueError
            If there is no such column; the message lists those there are.
        """
        if wanted in self.names:
            return wanted
        with contextlib.suppress(ValueError, IndexError):
            if number := int(wanted):
                return self.names[number - 1 if number > 0 else number]
        known = (
            f"the columns are {listed(self.names)}"
            if self.header
            else f"there is no header, and the columns are numbered 1 to {len(self.names)}"
        )
        raise ValueError(f"{option} {wanted!r} is not a column; {known}.")

    def select(self, features, *, labels=(), numbers=(), words=(), columns=None, kept=None):
        """Say which columns are read, and as what.

        Parameters
        ----------
        features : list of str
            Columns that hold numbers or words; which, the first pass settles.
        labels : list of str
            Columns read as they are written.
        numbers, words : collections of str
            Those of ``features`` for which it is settled already.
        columns : dict of str to str
            The columns of the files by the names used here, where they are others.
        kept : collection of str or None
            With a collection, columns outside of it that only number or name the rows are left
            out, unless nothing else is left.
        """
        self._own = {name: name for name in self.names} | (columns or {})
        settled = dict.fromkeys(numbers, NUMBER) | dict.fromkeys([*words, *labels], TEXT)
        self._wanted = {name: settled.get(name) for name in [*features, *labels]}
        for name, own in self._own_names(features):
            if self._wanted[name] is None and any(own in file.words for file in self.files):
                self._wanted[name] = TEXT
        self._n_features, self._kept = len(features), features if kept is None else kept
        self._as_text, self._kinds, self._labels = set(), None, set(labels)
        for name, own in self._own_names(features):
            if any(own in file.row_labels for file in self.files):
                self._leave_out(name, "holds the stored index of the rows")
            elif name == self.names[0] and self._first_is_nameless:
                self._leave_out(name, "has no name and comes first, as row numbers do")

    @property
    def _first_is_nameless(self):
        return clean((self.files[0].header or self.names)[0]) in NAMELESS

    def _leave_out(self, name, reason):
        if self._n_features > 1 and name not in self._kept:
            del self._wanted[name]
            self._n_features -= 1
            self.left_out.append(name)
            self._own_notes.append(
                f"column {name!r} {reason}; it is left out (--keep {name!r} takes it in)."
            )

    @property
    def schema(self):
        """The names and kinds of the columns, float64 or dictionaries of words."""
        if self._kinds is None:
            self._settle()
        return pa.schema(self._kinds.items())

    def table(self):
        """All rows as one Arrow table.

        Numbers are float64 and null where missing; words are dictionaries and "" where missing.

        Raises
        ------
        ValueError
            If the rows cannot be read as what they are or should be; the message names file,
            line and cell.
        """
        parts = self._settle(keep=True)
        return pa.Table.from_batches(self._converted(parts), self.schema).unify_dictionaries()

    def batches(self):
        """The rows as Arrow record batches of ``schema``, in bounded memory."""
        _ = self.schema
        columns = self._asked()
        yield from self._converted(file.batches(columns) for file in self.files)

    def _converted(self, parts):
        """Batches of each file as batches of ``schema``."""
        for file, batches in zip(self.files, parts, strict=True):
            for batch in batches:
                arrays = [
                    self._column(file, name, batch.column(own))
                    for name, own in self._own_names(self._kinds)
                ]
                yield pa.record_batch(arrays, schema=self.schema)

    def place(self, row):
        """Where a row stands, for a message."""
        for file, length in zip(self.files, self._lengths, strict=True):
            if row < length:
                return file.place(row)
            row -= length
        raise IndexError(row)

    def missing_spellings(self):
        """How missing cells of the features are written, the commonest first."""
        names = [
            name
            for name in self._kinds
            if self._found[name].has_missing and name not in self._labels
        ]
        columns = {own: TEXT for _, own in self._own_names(names)}
        spelt = Counter()
        for file in self.files:
            for batch in file.batches(columns):
                for name, own in self._own_names(names):
                    values, codes = distinct(batch.column(own))
                    counts = np.bincount(codes[codes >= 0], minlength=len(values))
                    if self._kinds[name] == TEXT:
                        words = words_in(values, file, self._given)
                        empty = [code for code, word in enumerate(words) if not word]
                    else:
                        numbers, words = numbers_in(values, file, self._given)
                        empty = np.flatnonzero(np.isnan(numbers) & ~words)
                    for code in empty:
                        spelt[values[code].as_py().strip()] += int(counts[code])
        return [word for word, count in spelt.most_common() if count]

    # ---------------------------------------------------------- the first pass

    def _own_names(self, names):
        """Pairs of a column's name and what the files call it."""
        return [(name, self._own[name]) for name in names]

    def _asked(self):
        """What the files are asked for: NUMBER where all of them promise numbers, else TEXT."""
        asked = {}
        for name, own in self._own_names(self._wanted):
            kinds = {file.kinds[own] for file in self.files}
            unusable = kinds - {NUMBER, TEXT}
            text = name in self._as_text or TEXT in {*kinds, self._wanted[name], asked.get(own)}
            asked[own] = unusable.pop() if unusable else TEXT if text else NUMBER
        return asked

    def _settle(self, keep=False):
        """Read all rows once and find out what the columns hold.

        Returns
        -------
        list of list of record batch
            What was read of each file, if it was to be kept.
        """
        while True:
            asked = self._asked()
            found = {name: Cells(name, kind) for name, kind in self._wanted.items()}
            parts, self._lengths = [], []
            try:
                for file in self.files:
                    n_rows = 0
                    parts.append([])
                    for batch in file.batches(asked, whole=keep):
                        for name, own in self._own_names(self._wanted):
                            found[name].update(file, self._given, batch.column(own), n_rows)
                        n_rows += batch.num_rows
                        if keep:
                            parts[-1].append(batch)
                    self._lengths.append(n_rows)
            except Reread:
                continue
            kinds = {name: cells.kind() for name, cells in found.items()}
            mixed = {
                name for name, kind in kinds.items() if kind == TEXT and found[name].read_as_numbers
            }
            if not mixed - self._as_text:
                break
            self._as_text |= mixed
        n_rows = sum(self._lengths)
        if not n_rows:
            raise ValueError(f"{self.files[0].name} has no rows; give a file with rows.")
        first = self.names[0]
        numbered = first in found and found[first].counts_up and n_rows >= _FEWEST_NUMBERED
        if numbered:
            self._leave_out(first, f"counts the rows from {found[first].start:.0f} on")
        self._kinds, self._found = {name: kinds[name] for name in self._wanted}, found
        return parts

    def _column(self, file, name, column):
        """A column as what it was found to be."""
        if column.type == NUMBER:
            return column
        if self._kinds[name] == NUMBER:
            return as_numbers(column, file, self._given)
        return as_words(column, file, self._given, name in self._labels)
