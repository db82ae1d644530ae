"""Files as batches for ``fit_batches``: arrays, tables and LIBSVM text larger than memory.

Each function gives an object that can be iterated again and again and reads a bounded number of
rows at a time, from wherever the rows lie; errors of a fit name the file and the rows in it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import numpy as np

from entropic.typing import Path as PathLike

from .content import Content, expanded
from .libsvm import blocks, fault_of
from .stream import PlacedBatch

# Bytes of a batch, unless the number of its rows is given.
BATCH_BYTES = 1 << 22
LIBSVM_BYTES = 1 << 24  # of text
MOST_FEATURES = np.iinfo(np.int32).max  # where their number is not known yet


class ArrayFiles:
    """Batches of ``X.npy`` and ``y.npy``, read without mapping them into memory.

    Parameters
    ----------
    X : str or path-like
        File of ``numpy.save`` in C order, of shape (n_samples, n_features).
    y : str or path-like
        The same of labels, of shape (n_samples,).
    weight : str or path-like, or None
        The same of weights.
    batch_rows : int or None
        None takes rows of 4 MiB.

    Raises
    ------
    ValueError
        If a file is missing, no such array, cut short, or of another length than the others.
    """

    def __init__(
        self,
        X: PathLike,
        y: PathLike,
        weight: PathLike | None = None,
        *,
        batch_rows: int | None = None,
    ) -> None:
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

    def __iter__(self) -> Iterator[PlacedBatch]:
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
        The column of labels: words, numbers or booleans.
    columns : list of str or None
        Those to learn from, of numbers; None takes all but the target and the weight. Batches are
        arrays, so that a model knows their order and not their names.
    weight : str or None
        The column of weights.
    batch_rows : int or None
        None takes rows of 4 MiB.

    Raises
    ------
    ValueError
        If a file is missing or damaged, a column is missing or holds no numbers, or pyarrow is
        not there.
    """

    def __init__(
        self,
        paths: PathLike | Sequence[PathLike],
        target: str,
        columns: Sequence[str] | None = None,
        weight: str | None = None,
        *,
        batch_rows: int | None = None,
    ) -> None:
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
        Content(path)  # says whether it is there
        form = Path(path).suffix.lower().lstrip(".")
        forms = {"parquet": "parquet", "pq": "parquet", "feather": "feather", "arrow": "feather",
                 "csv": "csv"}  # fmt: skip
        if form not in forms:
            raise ValueError(f"{path!r} is no .parquet, .feather, .arrow or .csv file.")
        return forms[form]

    def __iter__(self) -> Iterator[PlacedBatch]:
        for path, form in self.files:
            first = 0
            for batch in self._batches(path, form):
                yield PlacedBatch.at(repr(path), first, *self._converted(path, batch))
                first += batch.num_rows

    def _batches(self, path, form):
        options = {}
        if form == "parquet":  # by the checksums of its pages, where it has them
            options["fragment_scan_options"] = self._dataset.ParquetFragmentScanOptions(
                page_checksum_verification=True
            )
        with _named_file(path):
            # a reader without threads can tell in which row of a CSV file it stands
            yield from self._dataset.dataset(path, format=form).to_batches(
                columns=self.needed,
                batch_size=self.batch_rows,
                batch_readahead=1,
                fragment_readahead=1,
                use_threads=form != "csv",
                **options,
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


class LibsvmFiles:
    """Batches of LIBSVM files (``label index:value ...``), sparse, read some whole lines at a time.

    Parameters
    ----------
    paths : str, path-like or list of them
        Files, patterns and folders, read in the order of their names.
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

    def __init__(
        self,
        paths: PathLike | Sequence[PathLike],
        n_features: int | None = None,
        zero_based: bool | None = None,
        *,
        batch_bytes: int = LIBSVM_BYTES,
    ) -> None:
        self.files, self.batch_bytes = expanded(paths), batch_bytes
        self.n_features, self.zero_based = n_features, bool(zero_based)
        if n_features is None:
            least, most = np.inf, -1
            for _, X, _ in self._ranges(MOST_FEATURES, True):
                if X.nnz:
                    least, most = min(least, X.indices.min()), max(most, X.indices.max())
            self.zero_based = bool(least == 0) if zero_based is None else self.zero_based
            self.n_features = int(most) + int(self.zero_based)

    def __iter__(self) -> Iterator[PlacedBatch]:
        first, last = 0, None
        for path, X, y in self._ranges(self.n_features, self.zero_based):
            first = first if path == last else 0
            yield PlacedBatch.at(repr(path), first, X, y)
            first, last = first + X.shape[0], path

    def _ranges(self, n_features, zero_based):
        from sklearn.datasets import load_svmlight_file

        for path in self.files:
            with Content(path).open() as stream:
                for block, n_before in blocks(stream, self.batch_bytes):
                    try:
                        X, y = load_svmlight_file(
                            BytesIO(block), n_features=n_features, zero_based=zero_based
                        )
                    except (ValueError, OverflowError) as error:
                        fault = _fault(block, n_before) or f"cannot be read: {error}"
                        raise ValueError(f"{path!r}{fault}") from None
                    if len(y):
                        yield path, X, y


def _fault(block, n_before):
    """The line and the index of what is wrong first in a block of LIBSVM text, or None."""
    for number, line in enumerate(block.splitlines(), n_before + 1):
        label, *pairs = line.partition(b"#")[0].split() or [b"0"]
        fault = fault_of(pairs)
        try:
            float(label)
        except ValueError:
            fault = f"the label {label.decode(errors='replace')!r} is not a number"
        if fault:
            return f", line {number}, {fault}; mend the line."
    return None
