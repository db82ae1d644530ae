"""Files as batches for ``fit_batches``: arrays, tables and LIBSVM text larger than memory.

Each function gives an object that can be iterated again and again and reads a bounded number of
rows at a time, from wherever the rows lie; errors of a fit name the file and the rows in it.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from .stream import PlacedBatch

# Bytes of a batch, unless the number of its rows is given.
BATCH_BYTES = 1 << 23
LIBSVM_BYTES = 1 << 24  # of text


class ArrayFiles:
    """Batches of ``X.npy`` and ``y.npy``, read without mapping them into memory.

    Parameters
    ----------
    X, y, weight : str or path-like; weight may be None
        Files of ``numpy.save`` in C order, of shapes (n_samples, n_features) and (n_samples,).
    batch_rows : int or None
        None takes rows of 8 MiB.

    Raises
    ------
    ValueError
        If a file is missing, no such array, cut short, or of another length than the others.
    """

    def __init__(self, X, y, weight=None, *, batch_rows=None):
        self.files = [_ArrayFile(X, 2), _ArrayFile(y, 1)]
        if weight is not None:
            self.files.append(_ArrayFile(weight, 1))
        first = self.files[0]
        for file in self.files[1:]:
            if file.shape[0] != first.shape[0]:
                raise ValueError(
                    f"{str(file.path)!r} has {file.shape[0]} entries and {str(first.path)!r} "
                    f"{first.shape[0]} rows; give one a row."
                )
        self.batch_rows = batch_rows or max(1, BATCH_BYTES // max(1, first.row_bytes))

    def __iter__(self):
        n_rows = self.files[0].shape[0]
        for start in range(0, n_rows, self.batch_rows):
            stop = min(start + self.batch_rows, n_rows)
            columns = (file.rows(start, stop) for file in self.files)
            yield PlacedBatch.at(repr(str(self.files[0].path)), start, *columns)


class _ArrayFile:
    """An array in a file, read a range of rows at a time."""

    def __init__(self, path, ndim):
        self.path = Path(path)
        try:
            with open(self.path, "rb") as file:
                version = np.lib.format.read_magic(file)
                read = getattr(np.lib.format, f"read_array_header_{version[0]}_0")
                self.shape, fortran, self.dtype = read(file)
                self.start = file.tell()
        except FileNotFoundError:
            raise ValueError(f"there is no file {str(path)!r}.") from None
        except (OSError, ValueError, AttributeError) as error:
            raise ValueError(f"{str(path)!r} is not an array of numpy.save ({error}).") from None
        if len(self.shape) != ndim or self.dtype.hasobject or (fortran and ndim > 1):
            raise ValueError(
                f"{str(path)!r} holds an array of shape {self.shape} and type {self.dtype}"
                f"{' in Fortran order' if fortran else ''}; save {ndim} dimension"
                f"{'s' if ndim > 1 else ''} of plain values in C order."
            )
        self.row_bytes = self.dtype.itemsize * int(np.prod(self.shape[1:]))
        needed = self.start + self.row_bytes * self.shape[0]
        size = os.path.getsize(self.path)
        if size < needed:
            raise ValueError(f"{str(path)!r} is cut short: it has {size} bytes of {needed}.")

    def rows(self, start, stop):
        """Rows ``start:stop``, in memory of their own."""
        count = (stop - start) * self.row_bytes // max(1, self.dtype.itemsize)
        offset = self.start + start * self.row_bytes
        values = np.fromfile(self.path, self.dtype, count, offset=offset)
        return values.reshape(stop - start, *self.shape[1:])
