"""Files as rows: separated text, ARFF, Parquet, LIBSVM, and scikit-learn's bundled sets."""

from __future__ import annotations

import io
import itertools
import math
import re
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from entropic.files import read_bytes

from . import text
from .text import MISSING, clean

CHUNK_ROWS = 1 << 14
BUNDLED = ("breast_cancer", "digits", "iris", "wine")


@dataclass
class Table:
    """Named columns of numbers or of words.

    Attributes
    ----------
    names : list of str
    columns : list of arrays of shape (n_rows,)
        float64 with NaN for a missing cell, or str objects with "" for one.
    files : list of str
    origin, line : int arrays of shape (n_rows,)
        Which of the files, and where in it, a row comes from.
    header : bool
        Whether the names are the file's own; else they are the columns' numbers, from 1.
    """

    names: list
    columns: list
    files: list
    origin: np.ndarray
    line: np.ndarray
    header: bool

    @property
    def n_rows(self):
        return len(self.line)

    def take(self, rows):
        """The table of some of the rows."""
        columns = [column[rows] for column in self.columns]
        return Table(
            self.names, columns, self.files, self.origin[rows], self.line[rows], self.header
        )

    def column(self, name):
        return self.columns[self.names.index(name)]

    def place(self, row):
        """Where a row stands, for a message."""
        return f"line {self.line[row]} of {self.files[self.origin[row]]!r}"

    def find(self, wanted, option):
        """The name of a column given by its name or by its number, -1 being the last.

        Raises
        ------
        ValueError
            If there is no such column; the message lists those there are.
        """
        if wanted in self.names:
            return wanted
        try:
            number = int(wanted)
        except ValueError:
            number = 0
        if 1 <= number <= len(self.names) or -len(self.names) <= number <= -1:
            return self.names[number - 1 if number > 0 else number]
        known = (
            f"the columns are {_listed(self.names)}"
            if self.header
            else f"there is no header, and the columns are numbered 1 to {len(self.names)}"
        )
        raise ValueError(f"{option} {wanted!r} is not a column; {known}.")


@dataclass
class IndexedRows:
    """The labels and the sparse rows of LIBSVM files; column j holds the values of index j."""

    matrix: sp.csr_matrix
    labels: np.ndarray

    @property
    def n_rows(self):
        return self.matrix.shape[0]

    def take(self, rows):
        return IndexedRows(self.matrix[rows], self.labels[rows])


def numbered(header, width):
    """Names of columns as the header gives them, made unique, or their numbers."""
    if header is None:
        return [str(number) for number in range(1, width + 1)]
    names = []
    for number, name in enumerate(header, 1):
        name = clean(name) or str(number)
        while name in names:
            name += f".{number}"
        names.append(name)
    return names


def read(paths, *, separator=None, header=None, naming=numbered, words=(), known=()):
    """Read files, one below the other.

    Parameters
    ----------
    paths : list of str
        Files, or names like ``sklearn:breast_cancer``.
    separator : str or None
        None finds it out from the first lines.
    header : bool or None
        Whether the first line names the columns; None finds it out.
    naming : callable
        Gives the names of the columns from the header (None if there is none) and the width.
    words : set of str
        Columns whose cells are words even where they look like numbers.
    known : list of str
        Names, any of which shows the first line to be a header.

    Returns
    -------
    Table or IndexedRows

    Raises
    ------
    ValueError
        If a file is missing, empty, damaged, ragged, or unlike the others.
    """
    sources = [_Source(path, separator, header, naming, known) for path in paths]
    indexed = [source for source in sources if source.kind == "indexed"]
    if indexed:
        if len(indexed) < len(sources):
            other = next(source for source in sources if source.kind != "indexed")
            raise ValueError(
                f"{indexed[0].path!r} is a LIBSVM file and {other.path!r} is not; "
                "give files of one form."
            )
        return _stack([source.indexed_rows() for source in indexed])
    words = set(words)
    while True:
        parts = [source.part(words) for source in sources]
        names, header_seen = parts[0].names, parts[0].header
        for part, source in zip(parts, sources, strict=True):
            if part.names != names:
                raise ValueError(
                    f"{source.path!r} has other columns ({_listed(part.names)}) than "
                    f"{sources[0].path!r} ({_listed(names)}); give files of the same columns."
                )
        chunks = [chunk for part in parts for chunk in part.chunks]
        kinds = [{column.dtype.kind for column in pieces} for pieces in zip(*chunks, strict=True)]
        mixed = {name for name, found in zip(names, kinds, strict=True) if len(found) > 1}
        if not mixed:
            break
        words |= mixed  # numbers in one place and words in another: words everywhere
    return Table(
        names=names,
        columns=[np.concatenate(pieces) for pieces in zip(*chunks, strict=True)],
        files=[source.path for source in sources],
        origin=np.repeat(np.arange(len(parts)), [len(part.line) for part in parts]),
        line=np.concatenate([part.line for part in parts]),
        header=header_seen,
    )


@dataclass
class _Part:
    names: list
    chunks: list  # of lists of columns
    line: np.ndarray
    header: bool


class _Source:
    """One file: what it is, and its rows, which may be asked for more than once."""

    def __init__(self, path, separator, header, naming, known):
        self.path = str(path)
        self.separator, self.header, self.naming, self.known = separator, header, naming, known
        if self.path.startswith("sklearn:"):
            self.kind = "bundled"
            return
        content = read_bytes(path)
        if content.startswith(b"PAR1"):
            self.kind, self.content = "parquet", content
            return
        self.text = self._decoded(content)
        self.lines = text.sample(self.text)
        if not self.lines:
            raise ValueError(f"{self.path!r} is empty; give a file with rows.")
        if text.is_arff(self.lines):
            self.kind = "arff"
        else:
            self.kind = "indexed" if text.is_indexed(self.lines) else "separated"

    def _decoded(self, content):
        if b"\0" in content:
            raise ValueError(
                f"{self.path!r} is neither text nor Parquet; "
                "give CSV, TSV, ARFF, LIBSVM or Parquet."
            )
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise ValueError(
                f"{self.path!r} is not UTF-8 text (line {line}); convert it to UTF-8."
            ) from None

    def _named(self, header, width):
        try:
            return self.naming(header, width)
        except ValueError as error:
            raise ValueError(f"{self.path!r}: {error}") from None

    def part(self, words):
        return getattr(self, f"_{self.kind}")(words)

    # ------------------------------------------------------------------- text

    def _separated(self, words):
        separator = self.separator or text.find_separator(self.lines)
        rows = self._located(text.cells(io.StringIO(self.text, newline=None), separator))
        head = list(itertools.islice(rows, text.SAMPLE_LINES))
        if not head:  # lines there are, but no cell has anything in it
            raise ValueError(f"{self.path!r} has no rows; give a file with rows.")
        header = self.header
        if header is None and self.known:
            header = any(clean(cell) in self.known for cell in head[0][1])
        elif header is None:
            header = text.has_header([row for _, row in head])
        names = head.pop(0)[1] if header else None
        return self._gather(names, itertools.chain(head, rows), words)

    def _arff(self, words):
        try:
            names, rows = text.arff_rows(self.text)
        except ValueError as error:
            raise ValueError(f"{self.path!r}: {error}") from None
        return self._gather(names, self._located(rows), words)

    def _located(self, rows):
        try:
            yield from rows
        except ValueError as error:
            raise ValueError(f"{self.path!r}, {error}") from None

    def _gather(self, header, rows, words):
        """Cut rows into chunks of columns, so that text is not held longer than needed."""
        names = None if header is None else self._named(header, len(header))
        chunks, lines = [], []
        while chunk := list(itertools.islice(rows, CHUNK_ROWS)):
            names = names or self._named(None, len(chunk[0][1]))
            width = len(names)
            for line, row in chunk:
                if len(row) != width:
                    raise ValueError(
                        f"{self.path!r}, line {line}: {len(row)} cell{'s' * (len(row) != 1)} where "
                        f"{width} are expected; mend the line, or give --separator."
                    )
            lines.extend(line for line, _ in chunk)
            columns = zip(*(row for _, row in chunk), strict=True)
            chunks.append(
                [
                    cells_as_words(column) if name in words else cells_as_column(column)
                    for name, column in zip(names, columns, strict=True)
                ]
            )
        if not chunks:
            raise ValueError(f"{self.path!r} has a header and no rows; give a file with rows.")
        return _Part(names, chunks, np.array(lines), header is not None)

    # ------------------------------------------------------------ other forms

    def _parquet(self, words):
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise ValueError(
                "reading Parquet needs pyarrow; install it with: pip install pyarrow"
            ) from None
        try:
            table = pq.read_table(io.BytesIO(self.content))
        except (pa.ArrowException, OSError, ValueError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise ValueError(f"{self.path!r} is a damaged Parquet file ({reason}).") from None
        if not table.num_rows or not table.num_columns:
            raise ValueError(f"{self.path!r} is empty; give a file with rows.")
        names = self._named(table.column_names, table.num_columns)
        columns = []
        for name, column in zip(names, table.columns, strict=True):
            values = self._arrow_column(name, column, pa)
            columns.append(as_words(values) if name in words else values)
        return _Part(names, [columns], np.arange(1, table.num_rows + 1), True)

    def _arrow_column(self, name, column, pa):
        kind = column.type
        if pa.types.is_dictionary(kind):
            column = column.cast(kind.value_type)
            kind = column.type
        if any(is_kind(kind) for is_kind in _numeric_kinds(pa)):
            return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return cells_as_words("" if cell is None else cell for cell in column.to_pylist())
        raise ValueError(
            f"column {name!r} of {self.path!r} holds {kind} values; give numbers or words, "
            "or leave the column out of the file."
        )

    def _bundled(self, words):
        from sklearn import datasets

        name = self.path.removeprefix("sklearn:")
        if name not in BUNDLED:
            raise ValueError(
                f"{self.path!r} is not a bundled set with classes; "
                f"choose one of {', '.join(f'sklearn:{known}' for known in BUNDLED)}."
            )
        data = getattr(datasets, f"load_{name}")()
        target = np.array([str(label) for label in data.target_names], dtype=object)[data.target]
        names = [str(feature) for feature in data.feature_names]
        columns = [*np.array(data.data, dtype=np.float64).T, as_column(target)]
        names = self._named([*names, "target"], len(columns))
        return _Part(names, [columns], np.arange(1, len(target) + 1), True)

    def indexed_rows(self):
        from sklearn.datasets import load_svmlight_file

        content = self.text
        if ":" in self.lines[0].split()[0]:  # rows without labels
            content = re.sub(r"^(?=[ \t]*\d+:)", "0 ", content, flags=re.MULTILINE)
        try:
            matrix, labels = load_svmlight_file(io.BytesIO(content.encode()), zero_based=True)
        except (ValueError, OverflowError) as error:
            line = text.first_bad_indexed_line(content)
            where = "" if line is None else f", line {line}"
            reason = str(error).splitlines()[0].rstrip(".")
            raise ValueError(f"{self.path!r}{where}: not of the LIBSVM form ({reason}).") from None
        return IndexedRows(matrix, labels)


def _numeric_kinds(pa):
    kinds = pa.types
    return (
        kinds.is_boolean,
        kinds.is_integer,
        kinds.is_floating,
        kinds.is_decimal,
        kinds.is_null,
    )


def _stack(parts):
    width = max(part.matrix.shape[1] for part in parts)
    for part in parts:
        part.matrix.resize(part.matrix.shape[0], width)
    matrix = sp.vstack([part.matrix for part in parts], format="csr")
    return IndexedRows(matrix, np.concatenate([part.labels for part in parts]))


# ------------------------------------------------------------------------ cells


def cells_as_column(cells):
    """Cells of text as numbers where all of them are, else as words."""
    for candidate in (cells, ["nan" if clean(cell) in MISSING else clean(cell) for cell in cells]):
        if any("_" in cell for cell in candidate):
            break  # Python reads 1_000 as a number; a table means an identifier
        try:
            return np.array(candidate, dtype=np.float64)
        except ValueError:
            continue
    return cells_as_words(cells)


def cells_as_words(cells):
    """Cells of text as words, equal ones sharing their memory, missing ones empty."""
    shared = {}
    return np.array([_shared(shared, cell) for cell in cells], dtype=object)


def _shared(shared, cell):
    word = shared.get(cell)
    if word is None:
        word = clean(cell)
        word = shared[cell] = "" if word in MISSING else word
    return word


def as_column(words):
    """Words as a column of numbers where all of them are numbers."""
    return cells_as_column(list(words))


def as_words(values):
    """A column as words; whole numbers are written without a point."""
    if values.dtype.kind != "f":
        return values
    return np.array([number_as_word(value) for value in values.tolist()], dtype=object)


def number_as_word(value):
    if math.isnan(value):
        return ""
    return str(int(value)) if math.isfinite(value) and value == int(value) else repr(value)


def _listed(names, limit=12):
    shown = ", ".join(repr(name) for name in names[:limit])
    return shown + (f" and {len(names) - limit} more" if len(names) > limit else "")
