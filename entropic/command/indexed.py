"""LIBSVM files, ``label index:value ...``: scikit-learn reads the pairs, labels stay text."""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from entropic.rows.libsvm import fault_of

from .dialect import Dialect


@dataclass
class IndexedRows:
    """The rows of LIBSVM files.

    Attributes
    ----------
    matrix : CSR matrix of shape (n_rows, largest index + 1)
        Column j holds the values of index j.
    labels : str objects of shape (n_rows,)
        As they are written; "" for a row without one.
    lines, origin : int arrays of shape (n_rows,)
        In which line of which file a row stands.
    files : list of str
    """

    matrix: sp.csr_matrix
    labels: np.ndarray
    lines: np.ndarray
    origin: np.ndarray
    files: list
    dialect = Dialect()
    notes = ()

    @property
    def num_rows(self):
        return self.matrix.shape[0]

    def place(self, row):
        """Where a row stands, for a message."""
        return f"line {self.lines[row]} of {self.files[self.origin[row]]}"

    def take(self, rows):
        """Some of the rows."""
        return IndexedRows(
            self.matrix[rows], self.labels[rows], self.lines[rows], self.origin[rows], self.files
        )


def read_indexed(contents):
    """Read LIBSVM files, one below the other.

    Parameters
    ----------
    contents : list of pairs
        Content and encoding.

    Raises
    ------
    ValueError
        If a line is not of that form; the message names file, line and index.
    """
    parts = [_read(content, encoding) for content, encoding in contents]
    width = max(matrix.shape[1] for matrix, _, _ in parts)
    for matrix, _, _ in parts:
        matrix.resize(matrix.shape[0], width)
    return IndexedRows(
        sp.vstack([matrix for matrix, _, _ in parts], format="csr"),
        np.concatenate([labels for _, labels, _ in parts]),
        np.concatenate([lines for _, _, lines in parts]),
        np.repeat(np.arange(len(parts)), [len(lines) for _, _, lines in parts]),
        [content.name for content, _ in contents],
    )


def _read(content, encoding):
    from sklearn.datasets import load_svmlight_file

    with content.open() as stream:
        data = stream.read()
    if encoding.startswith(("utf-16", "utf-32")):
        data = data.decode(encoding).encode()
    labels, lines, rows = [], [], []
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        label, *pairs = line.partition(b"#")[0].split(None, 1) or [b""]
        if not label:
            continue
        if b":" in label:
            label, pairs = b"", [label, *pairs]
        labels.append(label.decode("utf-8", "replace"))
        lines.append(number)
        rows.append(b" ".join([b"0", *pairs]))
    if not rows:
        raise ValueError(f"{content.name} has no rows; give a file with rows.")
    try:
        matrix, _ = load_svmlight_file(io.BytesIO(b"\n".join(rows)), zero_based=True)
        sound = np.isfinite(matrix.data).all() and matrix.shape[0] == len(rows)
    except (ValueError, OverflowError):
        sound = False
    if not sound:
        for number, row in zip(lines, rows, strict=True):
            if fault := fault_of(row.split()[1:]):
                raise ValueError(f"{content.name}, line {number}, {fault}; mend the line.")
        raise ValueError(f"{content.name} is not of the LIBSVM form; mend it.")
    return matrix, np.array(labels, dtype=object), np.array(lines)
