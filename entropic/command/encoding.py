"""From the columns of a table to the matrix a classifier reads, learnt once and kept.

Numbers stay as they are, a missing one becomes the training median. Words are encoded one-hot;
a missing one is a category of its own where training rows had it, and a word that training
rows lacked is left out (all zeros). Everything here is plain data, so that a model file can
carry it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from entropic.model_format import stored

from .tables import (
    IndexedRows,
    Table,
    as_words,
    cells_as_column,
    number_as_word,
    numbered,
)

DENSE_CELLS = 1 << 26


@stored("NumberColumn")
@dataclass
class NumberColumn:
    """A column of numbers and the training median that fills its missing cells."""

    name: str
    median: float

    @classmethod
    def learn(cls, name, values):
        known = values[~np.isnan(values)]
        return cls(name, float(np.median(known)))

    def encode(self, table, out):
        """Write the column into ``out`` of shape (n_rows,)."""
        values = table.column(self.name)
        if values.dtype.kind != "f":
            row = next(
                row for row, cell in enumerate(values) if cells_as_column([cell]).dtype.kind != "f"
            )
            raise ValueError(
                f"column {self.name!r} holds {values[row]!r} in {table.place(row)}, where the "
                "training rows have numbers; mend or empty the cell."
            )
        check_finite(table, self.name)
        out[:] = np.where(np.isnan(values), self.median, values)


@stored("WordColumn")
@dataclass
class WordColumn:
    """A column of words and those that training rows had; "" stands for a missing cell."""

    name: str
    words: np.ndarray

    @classmethod
    def learn(cls, name, cells):
        return cls(name, np.array(sorted(set(cells.tolist())), dtype=str))

    def codes(self, table):
        """The position of each row's word among ``words``; -1 for an unknown one."""
        position = {word: code for code, word in enumerate(self.words.tolist())}
        cells = as_words(table.column(self.name))
        return np.array([position.get(cell, -1) for cell in cells.tolist()], dtype=np.int64)


def check_finite(table, name):
    values = table.column(name)
    if np.isinf(values).any():
        row = int(np.flatnonzero(np.isinf(values))[0])
        raise ValueError(
            f"column {name!r} holds infinity in {table.place(row)}; empty the cell or --drop "
            "the column."
        )


@stored("TableEncoder")
@dataclass
class TableEncoder:
    """How the rows of a table become rows of a matrix.

    Attributes
    ----------
    names : list of str
        All columns of the training table, in its order.
    header : bool
        Whether the names came from a header; else they are numbers, and columns are known by
        their position.
    target : str or None
        The column of labels.
    dropped : list of str
        Columns that are not used.
    numbers : list of NumberColumn
    words : list of WordColumn
    """

    names: list
    header: bool
    target: str | None
    dropped: list
    numbers: list = field(default_factory=list)
    words: list = field(default_factory=list)

    @classmethod
    def learn(cls, table, target, dropped=()):
        """Learn from training rows what each column holds.

        Columns without any known cell are dropped.

        Raises
        ------
        ValueError
            If no column is left, or one holds infinity.
        """
        encoder = cls(list(table.names), table.header, target, list(dropped))
        for name, values in zip(table.names, table.columns, strict=True):
            if name == target or name in encoder.dropped:
                continue
            if values.dtype.kind == "f":
                check_finite(table, name)
                if np.isnan(values).all():
                    encoder.dropped.append(name)
                else:
                    encoder.numbers.append(NumberColumn.learn(name, values))
            elif set(values.tolist()) == {""}:
                encoder.dropped.append(name)
            else:
                encoder.words.append(WordColumn.learn(name, values))
        if not encoder.numbers and not encoder.words:
            raise ValueError("no column is left to learn from; give more columns or drop fewer.")
        return encoder

    # ------------------------------------------------- reading other files alike

    @property
    def reading(self):
        """Arguments for ``tables.read`` with which other files are read as training files were."""
        return dict(
            naming=self._naming,
            words={column.name for column in self.words},
            known=self.names if self.header else (),
        )

    def _naming(self, header, width):
        """Names for a file's columns: the header's, or those of the training file by position."""
        if self.header:
            found = [] if header is None else numbered(header, width)
            missing = [column.name for column in self._used if column.name not in found]
            if missing:
                raise ValueError(
                    f"the column {missing[0]!r} of the training rows is missing; "
                    "give a file with the columns of the training file and its header."
                )
            extra = [name for name in found if name not in self.names]
            if extra:
                raise ValueError(
                    f"the column {extra[0]!r} is none of the training file's; take it out."
                )
            return found
        for names in (self.names, [name for name in self.names if name != self.target]):
            if len(names) == width:
                return names
        wanted = f"{len(self.names)}"
        if self.target is not None:
            wanted += f", or {len(self.names) - 1} without the labels"
        raise ValueError(f"there are {width} columns; the training file had {wanted}.")

    @property
    def _used(self):
        return [*self.numbers, *self.words]

    # ---------------------------------------------------------------- encoding

    def matrix(self, table):
        """Rows for the classifier: the columns of numbers, then the one-hot columns.

        Returns
        -------
        array, or a CSR matrix if it is large and has words, of shape (n_rows, n_features)
        """
        if not isinstance(table, Table):
            raise ValueError("the model was fitted on a table; a LIBSVM file has other columns.")
        numbers = np.empty((table.n_rows, len(self.numbers)))
        for column, out in zip(self.numbers, numbers.T, strict=True):
            column.encode(table, out)
        if not self.words:
            return numbers
        blocks = [_one_hot(column.codes(table), len(column.words)) for column in self.words]
        if table.n_rows * self.n_features > DENSE_CELLS:
            return sp.hstack([sp.csr_matrix(numbers), *blocks], format="csr")
        return np.hstack([numbers, *(block.toarray() for block in blocks)])

    @property
    def n_features(self):
        return len(self.numbers) + sum(len(column.words) for column in self.words)

    def feature_names(self):
        """Names of the matrix's columns: ``column`` or ``column=word``."""
        return [column.name for column in self.numbers] + [
            f"{column.name}={word}" for column in self.words for word in column.words.tolist()
        ]

    def missing(self, table):
        """Numbers of missing cells in the columns of numbers, and in those of words."""
        in_numbers = sum(np.isnan(table.column(column.name)).sum() for column in self.numbers)
        in_words = sum((as_words(table.column(column.name)) == "").sum() for column in self.words)
        return int(in_numbers), int(in_words)

    def unseen(self, table):
        """Number of cells with a word that training rows lacked."""
        return sum(
            int(np.sum((column.codes(table) < 0) & (as_words(table.column(column.name)) != "")))
            for column in self.words
        )

    def raw_labels(self, table):
        return label_cells(table, self.target)


def label_cells(table, target):
    """The cells of the label column, words or numbers.

    Raises
    ------
    ValueError
        If the column is absent or a label is missing.
    """
    if target not in table.names:
        raise ValueError(f"the column of labels, {target!r}, is missing in {table.files[0]!r}.")
    values = table.column(target)
    missing = values == "" if values.dtype.kind == "O" else np.isnan(values)
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise ValueError(
            f"the label is missing in {table.place(row)}; give one or take the row out."
        )
    return values


def _one_hot(codes, width):
    """CSR matrix with a one at each row's code, none where it is -1."""
    seen = codes >= 0
    indptr = np.concatenate([[0], np.cumsum(seen)])
    return sp.csr_matrix(
        (np.ones(indptr[-1]), codes[seen], indptr), shape=(len(codes), width), dtype=np.float64
    )


@stored("IndexedEncoder")
@dataclass
class IndexedEncoder:
    """How the rows of LIBSVM files become rows of a matrix: a fixed range of indices.

    Attributes
    ----------
    first : int
        Index of the first column: 0 if training rows used the index 0, else 1.
    n_features : int
    """

    first: int
    n_features: int

    @property
    def reading(self):
        return {}

    @classmethod
    def learn(cls, rows):
        first = 0 if rows.matrix[:, :1].nnz else 1
        if rows.matrix.shape[1] <= first:
            raise ValueError("no row has an entry; there is nothing to learn from.")
        return cls(first, rows.matrix.shape[1] - first)

    def matrix(self, rows):
        """CSR matrix of shape (n_rows, n_features): indices beyond the training rows' are cut."""
        if not isinstance(rows, IndexedRows):
            raise ValueError("the model was fitted on LIBSVM rows; give a LIBSVM file.")
        matrix = rows.matrix[:, self.first :]
        matrix.resize(matrix.shape[0], self.n_features)
        return matrix

    def missing(self, rows):
        return 0, 0

    def unseen(self, rows):
        """Number of entries at indices that no training row has."""
        return rows.matrix.nnz - self.matrix(rows).nnz

    def raw_labels(self, rows):
        return rows.labels


def positional_encoder(n_features, names=None):
    """The encoder of a model that was fitted on an array: every column a number as it is."""
    header = names is not None
    names = list(names) if header else [number_as_word(float(j + 1)) for j in range(n_features)]
    numbers = [NumberColumn(name, float("nan")) for name in names]
    return TableEncoder(names, header, None, [], numbers)
