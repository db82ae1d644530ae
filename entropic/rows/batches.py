"""Files as batches for ``fit_batches``: arrays, tables and LIBSVM text larger than memory.

Each function gives an object that can be iterated again and again and reads a bounded number of
rows at a time, from wherever the rows lie; errors of a fit name the file and the rows in it.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from glob import escape, glob
from io import BytesIO
from pathlib import Path

import numpy as np

from .stream import PlacedBatch

# Bytes of a batch, unless the number of its rows is given.
BATCH_BYTES = 1 << 23
LIBSVM_BYTES = 1 << 24  # of text
MOST_FEATURES = np.iinfo(np.int32).max  # where their number is not known yet


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


class TableFiles:
    """Batches of Parquet, Feather or CSV files, of which only the needed columns are read.

    Parameters
    ----------
    paths : str, path-like or list of them
        Files, patterns (``data/*.parquet``) and folders, read in the order of their names.
    target : str
        The column of labels.
    columns : list of str or None
        Those to learn from, of numbers; None takes all but the target and the weight.
    weight : str or None
        The column of weights.
    batch_rows : int or None
        None takes rows of 8 MiB.

    Raises
    ------
    ValueError
        If a file is missing or damaged, a column is missing or holds no numbers, or pyarrow is
        not there.
    """

    def __init__(self, paths, target, columns=None, weight=None, *, batch_rows=None):
        self._dataset = _pyarrow_dataset()
        self.files = [(path, self._form(path)) for path in expanded(paths)]
        first, form = self.files[0]
        with _named_file(first):
            names = self._dataset.dataset(first, format=form).schema.names
        left_out = {target, weight}
        self.columns = columns or [name for name in names if name not in left_out]
        self.target, self.weight = target, weight
        self.needed = [*self.columns, target, *([] if weight is None else [weight])]
        missing = [name for name in self.needed if name not in names]
        if missing:
            raise ValueError(f"{first!r} has no column {missing[0]!r}; it has {', '.join(names)}.")
        self.batch_rows = batch_rows or max(1, BATCH_BYTES // (8 * len(self.columns)))

    @staticmethod
    def _form(path):
        form = Path(path).suffix.lower().lstrip(".")
        forms = {"parquet": "parquet", "pq": "parquet", "feather": "feather", "arrow": "feather",
                 "csv": "csv"}  # fmt: skip
        if form not in forms:
            raise ValueError(f"{path!r} is no .parquet, .feather, .arrow or .csv file.")
        return forms[form]

    def __iter__(self):
        for path, form in self.files:
            first = 0
            for batch in self._batches(path, form):
                yield PlacedBatch.at(repr(path), first, *self._converted(path, batch))
                first += batch.num_rows

    def _batches(self, path, form):
        with _named_file(path):
            # a reader without threads can tell in which row of a CSV file it stands
            yield from self._dataset.dataset(path, format=form).to_batches(
                columns=self.needed,
                batch_size=self.batch_rows,
                batch_readahead=1,
                fragment_readahead=1,
                use_threads=form != "csv",
            )

    def _converted(self, path, batch):
        """X, y and weights of a record batch."""
        columns = [_numbers(path, name, batch.column(name)) for name in self.columns]
        X = np.empty((batch.num_rows, len(columns)), np.result_type(np.float32, *columns))
        for place, column in enumerate(columns):
            X[:, place] = column
        labels = batch.column(self.target)
        if hasattr(labels, "dictionary_decode"):
            labels = labels.dictionary_decode()
        y = labels.to_numpy(zero_copy_only=False)
        if labels.null_count:
            y = np.array(labels.to_pylist(), dtype=object)
        if self.weight is None:
            return X, y
        return X, y, _numbers(path, self.weight, batch.column(self.weight)).astype(np.float64)


def _numbers(path, name, column):
    """An Arrow column of numbers as an array, NaN where a cell is missing."""
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype.kind not in "biuf":
        raise ValueError(
            f"column {name!r} of {path!r} holds {column.type} values and no numbers; leave it out "
            "by columns=, or let the command `entropic fit` encode it."
        )
    return values


def _pyarrow_dataset():
    try:
        import pyarrow.dataset
    except ImportError:
        raise ValueError(
            "Tables are read by pyarrow, which is not installed; install entropic-classifier[cli]."
        ) from None
    return pyarrow.dataset


@contextmanager
def _named_file(path):
    """Put the file before what a library says of it."""
    try:
        yield
    except (OSError, ValueError) as error:  # pyarrow's errors are one or the other
        message = " ".join(str(error).split()).rpartition("Invalid: ")[2]
        raise ValueError(f"{path!r} cannot be read: {message[:300]}") from None


def expanded(paths):
    """The files that some paths, patterns and folders name, each once.

    Raises
    ------
    ValueError
        If one names no file.
    """
    found = []
    for path in [paths] if isinstance(paths, (str, os.PathLike)) else paths:
        name = os.fspath(path)
        if os.path.isdir(name):
            here = sorted(file for file in glob(f"{escape(name)}/**/*.*", recursive=True)
                          if os.path.isfile(file))  # fmt: skip
        else:
            here = [name] if os.path.isfile(name) else sorted(glob(name, recursive=True))
        if not here:
            raise ValueError(f"there is no file {name!r}.")
        found += here
    return list(dict.fromkeys(found))


class LibsvmFiles:
    """Batches of LIBSVM files (``label index:value ...``), sparse, read a range of bytes at a time.

    Parameters
    ----------
    paths : str, path-like or list of them
    n_features : int or None
        None reads all rows once beforehand to find the largest index.
    zero_based : bool or None
        Whether indices begin at 0; None finds out with the number of features, and is False
        where that is given.
    batch_bytes : int
        Of text.

    Raises
    ------
    ValueError
        If a file is missing, or a line is not of that form; the message names it.
    """

    def __init__(self, paths, n_features=None, zero_based=None, *, batch_bytes=LIBSVM_BYTES):
        self.files, self.batch_bytes = expanded(paths), batch_bytes
        self.n_features, self.zero_based = n_features, bool(zero_based)
        if n_features is None:
            least, most = np.inf, -1
            for _, X, _ in self._ranges(MOST_FEATURES, True):
                if X.nnz:
                    least, most = min(least, X.indices.min()), max(most, X.indices.max())
            self.zero_based = bool(least == 0) if zero_based is None else self.zero_based
            self.n_features = int(most) + int(self.zero_based)

    def __iter__(self):
        first, last = 0, None
        for path, X, y in self._ranges(self.n_features, self.zero_based):
            first = first if path == last else 0
            yield PlacedBatch.at(repr(path), first, X, y)
            first, last = first + X.shape[0], path

    def _ranges(self, n_features, zero_based):
        from sklearn.datasets import load_svmlight_file

        options = dict(n_features=n_features, zero_based=zero_based)
        for path in self.files:
            for start in range(0, os.path.getsize(path), self.batch_bytes):
                try:
                    X, y = load_svmlight_file(
                        path, offset=start, length=self.batch_bytes, **options
                    )
                except ValueError as error:
                    line = self._bad_line(path, start, options)
                    raise ValueError(f"{path!r}, line {line}: {error}") from None
                if len(y):
                    yield path, X, y

    def _bad_line(self, path, start, options):
        """The number of the first line from a position on that cannot be read."""
        from sklearn.datasets import load_svmlight_file

        with open(path, "rb") as file:
            number = sum(block.count(b"\n") for block in _blocks(file, start)) + 1
            if start:  # the line that the range before has read to its end
                file.readline()
                number += 1
            for line in file:
                try:
                    load_svmlight_file(BytesIO(line), **options)
                except ValueError:
                    break
                number += 1
        return number


def _blocks(file, n_bytes):
    """The first bytes of a file, some at a time."""
    while n_bytes > 0 and (block := file.read(min(n_bytes, 1 << 20))):
        n_bytes -= len(block)
        yield block
