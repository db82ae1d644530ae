"""From the columns of a table to the matrix a classifier reads, learnt once and kept.

Numbers stay as they are, a missing one becomes the training median. Words are encoded one-hot;
a missing one is a category of its own where training rows had it, and a word that training
rows lacked is left out (all zeros). Everything here is plain data, so that a model file can
carry it, and nothing here needs pyarrow.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from entropic.model_format import stored

from .cells import listed, word_of
from .dialect import Dialect
from .indexed import IndexedFiles, IndexedRows
from .medians import exact_medians

DENSE_CELLS = 1 << 26
COPIED = "--id"


@stored("NumberColumn")
@dataclass
class NumberColumn:
    """A column of numbers and the training median that fills its missing cells."""

    name: str
    median: float

    def encode(self, table, out):
        """Write the column into ``out`` of shape (n_rows,)."""
        values = numbers_of(table, self.name)
        out[:] = np.where(np.isnan(values), self.median, values)


@stored("WordColumn")
@dataclass
class WordColumn:
    """A column of words and those that training rows had; "" stands for a missing cell."""

    name: str
    words: np.ndarray

    def codes(self, table):
        """The position of each row's word among ``words``; -1 for an unknown one."""
        position = {word: code for code, word in enumerate(self.words.tolist())}
        words, codes = words_of(table, self.name)
        return np.array([position.get(word, -1) for word in words], dtype=np.int64)[codes]


def numbers_of(table, name):
    """A column of numbers of an Arrow table or record batch, NaN where missing."""
    return table.column(name).to_numpy(zero_copy_only=False)


def _number_columns(source):
    for batch in source.batches():
        yield lambda name, batch=batch: numbers_of(batch, name)


def _median(values):
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else float("nan")


def words_of(table, name):
    """The different words of a column of an Arrow table or record batch, and each row's code."""
    column = table.column(name)
    if hasattr(column, "combine_chunks"):
        column = column.unify_dictionaries().combine_chunks()
    return column.dictionary.to_pylist(), column.indices.to_numpy(zero_copy_only=False)


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
    dialect : Dialect or None
        How the text of the training files was written; None in models before it was kept.
    numbers : list of NumberColumn
    words : list of WordColumn
    """

    names: list
    header: bool
    target: str | None
    dropped: list
    dialect: Dialect | None = None
    numbers: list = field(default_factory=list)
    words: list = field(default_factory=list)

    @classmethod
    def learn(cls, source, target, dropped=(), table=None):
        """Learn from training rows what each column holds.

        Columns without any known cell are dropped.

        Parameters
        ----------
        source : Source
        target : str
        dropped : list of str
        table : Arrow table or None
            Of rows of the source; None reads all of its rows, in batches.

        Raises
        ------
        ValueError
            If no column is left.
        """
        schema = source.schema if table is None else table.schema
        is_number = {name: str(schema.field(name).type) == "double" for name in schema.names}
        numbers = [name for name in schema.names if is_number[name]]
        words = [name for name in schema.names if not is_number[name] and name != target]
        seen = {name: set() for name in words}
        for batch in source.batches() if table is None else [table]:
            for name in words:
                known, codes = words_of(batch, name)
                seen[name].update(known[code] for code in np.unique(codes))
        if table is None:
            medians = exact_medians(lambda: _number_columns(source), numbers)
        else:
            medians = {name: _median(numbers_of(table, name)) for name in numbers}
        encoder = cls(list(source.names), source.header, target, list(dropped), source.dialect)
        encoder.dropped += [name for name in numbers if np.isnan(medians[name])]
        encoder.dropped += [name for name in words if seen[name] == {""}]
        left = [name for name in schema.names if name not in encoder.dropped]
        encoder.numbers = [NumberColumn(name, medians[name]) for name in left if is_number[name]]
        encoder.words = [
            WordColumn(name, np.array(sorted(seen[name]), dtype=str))
            for name in left
            if name in seen
        ]
        if not encoder.numbers and not encoder.words:
            raise ValueError("no column is left to learn from; give more columns or drop fewer.")
        return encoder

    # ------------------------------------------------- reading other files alike

    @property
    def reading(self):
        """The dialect in which other files are read."""
        return self.dialect or Dialect(header=None if self.header else False)

    @property
    def known(self):
        """Names that show a first line to be a header."""
        return self.names if self.header else ()

    def select(self, source, dropped=(), copied=None):
        """Have a source read its columns as those of the training rows.

        Parameters
        ----------
        source : Source or IndexedFiles
        dropped : list of str
            Columns of the source to pass over.
        copied : str or None
            A column to read, beside those of the model, as it is written, under the name COPIED.

        Returns
        -------
        list of str
            Columns of the source that the training rows lacked.

        Raises
        ------
        ValueError
            If a column that the model needs is not there.
        """
        if isinstance(source, IndexedFiles):
            raise ValueError("the model was fitted on a table; a LIBSVM file has other columns.")
        theirs = [name for name in source.names if name not in dropped]
        if self.header and source.header:
            columns = {name: name for name in theirs}
        else:
            columns = self._by_position(source, theirs, copied)
        used = [column.name for column in (*self.numbers, *self.words)]
        if missing := [name for name in used if name not in columns]:
            remedy = "; give the --separator of this file" if len(theirs) == 1 else ""
            raise ValueError(
                f"{source.files[0].name}: the column {missing[0]!r} of the training rows is "
                f"missing; the columns are {listed(theirs)}{remedy}."
            )
        labels = [self.target] if self.target in columns else []
        if copied is not None:
            labels.append(COPIED)
            columns[COPIED] = copied
        source.select(
            used,
            labels=labels,
            numbers=[column.name for column in self.numbers],
            words=[column.name for column in self.words],
            columns=columns,
        )
        expected = {columns.get(name) for name in self.names} | {copied}
        return [name for name in theirs if name not in expected]

    def _by_position(self, source, theirs, copied):
        """The columns of a source by the names that those of the training rows have."""
        ours = [name for name in self.names if name != self.target]
        free = [name for name in theirs if name != copied]
        for own in (free, theirs):  # a column to copy is rather one of its own
            for names in (self.names, ours):
                if len(own) == len(names):
                    return dict(zip(names, own, strict=True))
        wanted = str(len(self.names))
        if self.target is not None:
            wanted += f", or {len(ours)} without the labels"
        raise ValueError(
            f"{source.files[0].name}: there are {len(theirs)} columns; the training file had "
            f"{wanted}; --drop what is too much."
        )

    # ---------------------------------------------------------------- encoding

    def matrix(self, table):
        """Rows for the classifier: the columns of numbers, then the one-hot columns.

        Parameters
        ----------
        table : Arrow table or record batch

        Returns
        -------
        array, or a CSR matrix if it is large and has words, of shape (n_rows, n_features)
        """
        numbers = np.empty((table.num_rows, len(self.numbers)))
        for column, out in zip(self.numbers, numbers.T, strict=True):
            column.encode(table, out)
        if not self.words:
            return numbers
        blocks = [_one_hot(column.codes(table), len(column.words)) for column in self.words]
        if table.num_rows * self.n_features > DENSE_CELLS:
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
        in_numbers = sum(np.isnan(numbers_of(table, c.name)).sum() for c in self.numbers)
        return int(in_numbers), sum(_count(table, c.name, {""}) for c in self.words)

    def unseen(self, table):
        """Number of cells with a word that training rows lacked."""
        unseen = 0
        for column in self.words:
            words, _ = words_of(table, column.name)
            unseen += _count(table, column.name, {*words} - {*column.words.tolist(), ""})
        return unseen


def _count(table, name, wanted):
    """How many cells of a column hold one of some words."""
    words, codes = words_of(table, name)
    return int(np.isin(codes, [code for code, word in enumerate(words) if word in wanted]).sum())


def cells_of(table, name):
    """The cells of a column of words of an Arrow table, as objects."""
    words, codes = words_of(table, name)
    return np.array(words, dtype=object)[codes]


def label_cells(table, target, source, n_before=0):
    """The labels of a table or batch, before which the source has other rows, as they are written.

    Raises
    ------
    ValueError
        If the column is absent or a label is missing.
    """
    if isinstance(table, IndexedRows):
        labels = table.labels
    elif target in table.column_names:
        labels = cells_of(table, target)
    else:
        raise ValueError(f"the column of labels, {target!r}, is missing in {source.files[0].name}.")
    spelt = [label for label in set(labels) if not word_of(label, source.dialect.missing)]
    missing = np.flatnonzero(np.isin(labels, spelt))
    if len(missing):
        place = source.place(n_before + int(missing[0]))
        raise ValueError(f"the label is missing in {place}; give one or take the row out.")
    return labels


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
    reading = Dialect()
    known = ()

    @classmethod
    def learn(cls, batches):
        """Learn from batches of training rows which indices they use."""
        first, width = 1, 0
        for rows in batches:
            first = 0 if rows.matrix[:, :1].nnz else first
            width = max(width, rows.matrix.shape[1])
        if width <= first:
            raise ValueError("no row has an entry; there is nothing to learn from.")
        return cls(first, width - first)

    def select(self, source):
        """As that of a table's encoder; nothing is left to be chosen."""
        if not isinstance(source, IndexedFiles):
            raise ValueError("the model was fitted on LIBSVM rows; give a LIBSVM file.")

    def matrix(self, rows):
        """CSR matrix of shape (n_rows, n_features): indices beyond the training rows' are cut."""
        matrix = rows.matrix[:, self.first :]
        matrix.resize(matrix.shape[0], self.n_features)
        return matrix

    def feature_names(self):
        """The indices, as the files have them."""
        return [str(self.first + place) for place in range(self.n_features)]

    def missing(self, rows):
        return 0, 0

    def unseen(self, rows):
        """Number of entries at indices that no training row has."""
        return rows.matrix.nnz - self.matrix(rows).nnz


def positional_encoder(n_features, names=None):
    """The encoder of a model that was fitted on an array: every column a number as it is."""
    header = names is not None
    names = list(names) if header else [str(j + 1) for j in range(n_features)]
    numbers = [NumberColumn(name, float("nan")) for name in names]
    return TableEncoder(names, header, None, [], Dialect(), numbers)
