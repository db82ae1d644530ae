"""LIBSVM files, ``label index:value ...``: scikit-learn reads the pairs, labels stay text."""

from __future__ import annotations

import io
import itertools
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from entropic.rows.libsvm import blocks, fault_of

from .dialect import Dialect

_BYTES = 1 << 22  # of text in a batch


@dataclass
class IndexedRows:
    """Some rows of LIBSVM files.

    Attributes
    ----------
    matrix : CSR matrix of shape (n_rows, largest index + 1)
        Column j holds the values of index j.
    labels : str objects of shape (n_rows,)
        As they are written; "" for a row without one.
    """

    matrix: sp.csr_matrix
    labels: np.ndarray

    @property
    def num_rows(self):
        return self.matrix.shape[0]

    def take(self, rows):
        """Some of the rows, by their numbers, a mask or a range."""
        return IndexedRows(self.matrix[rows], self.labels[rows])

    # as Arrow's batches have them
    def filter(self, mask):
        return self.take(np.asarray(mask))

    def slice(self, start, length):
        return self.take(slice(start, start + length))

    @classmethod
    def stacked(cls, parts):
        """Parts one below the other."""
        width = max(part.matrix.shape[1] for part in parts)
        for part in parts:
            part.matrix.resize(part.num_rows, width)
        matrix = sp.vstack([part.matrix for part in parts], format="csr")
        return cls(matrix, np.concatenate([part.labels for part in parts]))


class IndexedFiles:
    """The rows of LIBSVM files, one below the other, as often as they are asked for.

    Parameters
    ----------
    files : list of IndexedFile
    """

    dialect = Dialect()
    notes = left_out = ()

    def __init__(self, files):
        self.files = files

    def batches(self):
        """The rows as IndexedRows, in bounded memory.

        Raises
        ------
        ValueError
            If a line is not of that form; the message names file, line and index.
        """
        return itertools.chain.from_iterable(file.batches() for file in self.files)

    def table(self):
        """All rows at once."""
        return IndexedRows.stacked(list(self.batches()))

    def place(self, row):
        """Where a row stands, for a message."""
        places = ((line, file) for file in self.files for _, line, _, _ in file.rows())
        line, file = next(itertools.islice(places, row, None))
        return f"line {line} of {file.name}"


class IndexedFile:
    """One LIBSVM file.

    Parameters
    ----------
    content : Content
    encoding : str
    """

    def __init__(self, content, encoding):
        self.content, self.name, self._encoding = content, content.name, encoding

    def rows(self):
        """The number of a block of text, and of a line in the file; its label; its pairs."""
        with self.content.guarded(), self.content.open() as stream:
            if self._encoding.startswith(("utf-16", "utf-32")):
                stream = io.BytesIO(stream.read().decode(self._encoding).encode())
            for number, (block, n_before) in enumerate(blocks(stream, _BYTES)):
                block = block.removeprefix(b"\xef\xbb\xbf") if number == 0 else block
                for line, text in enumerate(block.splitlines(), n_before + 1):
                    label, *pairs = text.partition(b"#")[0].split(None, 1) or [b""]
                    if b":" in label:
                        label, pairs = b"", [label, *pairs]
                    elif not label:
                        continue
                    yield number, line, label.decode("utf-8", "replace"), pairs

    def batches(self):
        """The rows of each block of text, as IndexedRows."""
        empty = True
        for _, rows in itertools.groupby(self.rows(), lambda row: row[0]):
            _, lines, labels, pairs = zip(*rows, strict=True)
            matrix = self._matrix([b" ".join([b"0", *own]) for own in pairs], lines)
            empty = False
            yield IndexedRows(matrix, np.array(labels, dtype=object))
        if empty:
            raise ValueError(f"{self.name} has no rows; give a file with rows.")

    def _matrix(self, rows, lines):
        from sklearn.datasets import load_svmlight_file

        try:
            matrix, _ = load_svmlight_file(io.BytesIO(b"\n".join(rows)), zero_based=True)
            sound = np.isfinite(matrix.data).all() and matrix.shape[0] == len(rows)
        except (ValueError, OverflowError):
            sound = False
        if not sound:
            for number, row in zip(lines, rows, strict=True):
                if fault := fault_of(row.split()[1:]):
                    raise ValueError(f"{self.name}, line {number}, {fault}; mend the line.")
            raise ValueError(f"{self.name} is not of the LIBSVM form; mend it.")
        return matrix
