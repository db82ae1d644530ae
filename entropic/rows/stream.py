"""Rows that come in batches: read again for every sweep, checked once, one batch ahead.

A batch is ``(X, y)`` or ``(X, y, weight)``. Small ones are put together and large ones taken as
they are, so that a *part*, what the kernels work on at once, is large enough to be worth a call
and no larger than it must be. While a part is worked on, a thread reads the next.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array, column_or_1d

from entropic import checks
from entropic.labels import check_labels

# Numbers in a part that is put together of smaller batches; one of half as many is taken as it is.
PART_ENTRIES = 1 << 19
ONLY_ONCE = (
    "give a list, an object that can be iterated again, or a function without arguments that "
    "makes a new iterator"
)


class PlacedBatch(tuple):
    """A batch that knows where it comes from: ``place``, "'a.csv'", say, from row ``first`` on.

    The place may be a function that finds it out, where this takes a while.
    """

    place, first = "", 0

    @classmethod
    def at(cls, place, first, *columns):
        batch = cls(columns)
        batch.place, batch.first = place, first
        return batch


@dataclass(frozen=True)
class Part:
    """Rows to work on at once.

    Attributes
    ----------
    X : float array or CSR matrix of shape (n_samples, n_features)
    codes : int16 array of shape (n_samples,)
        Of the labels.
    labels : tuple
        Those with codes so far, in the order of the codes; empty where they are known.
    given : array of shape (n_samples,) or None
        Weights as the user gave them.
    mapped : list of memmap
        Files in memory that the rows were read from.
    """

    X: np.ndarray
    codes: np.ndarray
    labels: tuple = ()
    given: np.ndarray | None = None
    mapped: list = field(default_factory=list)

    @property
    def n_entries(self):
        return int(self.X.nnz) if sp.issparse(self.X) else self.X.size


class Batches:
    """What the user gave, as parts, as often as they are asked for.

    Parameters
    ----------
    batches : iterable or callable
        Of batches; a callable without arguments makes a new iterator each time.
    check_columns : callable or None
        Called with each X and whether it is the first; raises where names or number of the
        columns are others.
    checked : bool
        Whether the rows have been read before and need no check.
    may_be_empty : bool
        Whether there may be no rows at all.
    joins : bool
        Whether small batches are put together; else each is a part.

    Attributes
    ----------
    transform : callable or None
        Applied to the X of every batch once it is checked; may be set between two reads.

    Raises
    ------
    ValueError
        If ``batches`` can be read only once.
    """

    def __init__(
        self, batches, check_columns=None, *, checked=False, may_be_empty=False, joins=True
    ):
        if isinstance(batches, Iterator):
            raise ValueError(
                f"batches is {type(batches).__name__!r}, an iterator, which can be read only "
                f"once, and a fit reads the rows about ten times; {ONLY_ONCE}."
            )
        if isinstance(batches, (str, os.PathLike)):
            raise ValueError(
                f"batches is the path {os.fspath(batches)!r}; read it by TableFiles, ArrayFiles or "
                "LibsvmFiles of entropic.rows.batches."
            )
        if not callable(batches) and not hasattr(batches, "__iter__"):
            raise ValueError(f"batches must be an iterable or a function, not {batches!r}.")
        self._batches, self._check_columns = batches, check_columns
        self._checked, self._may_be_empty = checked, may_be_empty
        self._joins, self._n_rows, self.transform = joins, None, None

    def parts(self, encode):
        """The parts, each read while the one before is worked on.

        Parameters
        ----------
        encode : callable
            From labels to their codes and the labels that have codes.

        Raises
        ------
        ValueError
            If a batch cannot be used, with its number and its rows; or if there are none, or
            not as many rows as there were before.
        """
        for part in ahead(self._parts(encode)):
            yield part
            for mapped in part.mapped:
                release(mapped)

    def _parts(self, encode):
        waiting, size, n_rows, sparse = [], 0, 0, None
        batches = self._batches() if callable(self._batches) else self._batches
        for number, batch in enumerate(batches):
            with named(number, n_rows, batch):
                part = self._read(batch, encode, first=n_rows == 0)
                if part is None:
                    continue
                if sparse not in (None, sp.issparse(part.X)):
                    raise ValueError("X is dense in some batches and sparse in others; give one.")
                sparse = sp.issparse(part.X)
            n_rows += part.X.shape[0]
            if not self._joins or part.n_entries >= PART_ENTRIES // 2:
                if waiting:
                    yield joined(waiting)
                waiting, size = [], 0
                yield part
                continue
            waiting.append(part)
            size += max(part.n_entries, part.X.shape[0])
            if size >= PART_ENTRIES:
                yield joined(waiting)
                waiting, size = [], 0
        if waiting:
            yield joined(waiting)
        if self._n_rows not in (None, n_rows):
            raise ValueError(
                f"batches held {self._n_rows} rows when first read and hold {n_rows} now, and "
                f"must be the same each time; {ONLY_ONCE}."
            )
        if n_rows == 0 and not self._may_be_empty:
            raise ValueError("batches hold no rows; give at least two, of different classes.")
        self._n_rows, self._checked = n_rows, True

    def _read(self, batch, encode, first):
        if not isinstance(batch, (tuple, list)) or len(batch) not in (2, 3):
            raise ValueError("a batch must be (X, y) or (X, y, weight).")
        X, y, given = (*batch, None)[:3]
        if len(y) == 0 and X.shape[0] == 0:
            return None
        mapped = [values for values in (X, y, given) if isinstance(values, np.memmap)]
        if not self._checked and self._check_columns is not None:
            self._check_columns(X, first)
        X = as_matrix(X)
        if not self._checked:
            checks.check_finite(X, "X")
            check_labels(y)
        if self.transform is not None:
            X = self.transform(X)
        y = column_or_1d(y)
        if len(y) != X.shape[0]:
            raise ValueError(f"y has {len(y)} labels for {X.shape[0]} rows; give one a row.")
        if given is not None:
            given = checks.check_per_sample(given, len(y), "weight", default=1.0)
            if np.any(given < 0):
                row = int(np.argmax(given < 0))
                raise ValueError(f"weight is negative in row {row}; use 0 to leave a row out.")
            given = np.broadcast_to(given, len(y))
        return Part(X, *encode(y), given, mapped)


def sample_of(batches, n_rows, n_entries):
    """Rows of batches, drawn evenly at random, the same in every call.

    Parameters
    ----------
    batches : Batches
    n_rows, n_entries : int
        At most so many rows, and so many numbers.

    Returns
    -------
    X, y, weight : arrays of the rows, in the order of the batches; weight may be None
    """

    def encode(y):
        return y, ()

    total = width = 0
    for part in batches.parts(encode):
        total += part.X.shape[0]
        width = max(width, part.n_entries / part.X.shape[0])
    n_rows = min(total, n_rows, max(2, int(n_entries / max(width, 1))))
    chosen = np.sort(np.random.default_rng(0).choice(total, n_rows, replace=False))
    taken, first = [], 0
    for part in batches.parts(encode):
        here = chosen[(chosen >= first) & (chosen < first + part.X.shape[0])] - first
        given = None if part.given is None else part.given[here]
        taken.append(Part(part.X[here], part.codes[here], (), given))
        first += part.X.shape[0]
    sample = joined(taken)
    return sample.X, sample.codes, sample.given


@contextmanager
def named(number, n_before, batch):
    """Put where a batch comes from, or its number and rows, before the message of an error."""
    try:
        yield
    except (ValueError, TypeError) as error:
        message = str(error)
        if place := getattr(batch, "place", ""):
            place = place() if callable(place) else place
            # rows of the batch become rows of the file
            message = re.sub(
                r"\brow (\d+)", lambda row: f"row {int(row[1]) + batch.first}", message
            )
        else:
            with_rows = isinstance(batch, (tuple, list)) and batch and hasattr(batch[0], "shape")
            last = f" to {n_before + batch[0].shape[0] - 1}" if with_rows else " on"
            place = f"Batch {number} (rows {n_before}{last} of all)"
        raise ValueError(f"{place}: {message}") from None


def as_matrix(X):
    """A float array or CSR matrix; what is one already is not copied."""
    checks.check_rows(X, "X")
    known = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"
    if not known:
        X = check_array(
            X, accept_sparse="csr", dtype="numeric", ensure_all_finite=False, ensure_min_samples=0
        )
    return checks.as_float(np.asarray(X) if known else X, "X")


def joined(parts):
    """Several small parts as one."""
    if len(parts) == 1:
        return parts[0]
    stack = sp.vstack if sp.issparse(parts[0].X) else np.concatenate
    given = None
    if any(part.given is not None for part in parts):
        filled = (np.ones(len(p.codes)) if p.given is None else p.given for p in parts)
        given = np.concatenate(list(filled))
    X = stack([part.X for part in parts])
    return Part(
        X.tocsr() if sp.issparse(X) else X,
        np.concatenate([part.codes for part in parts]),
        parts[-1].labels,
        given,
        [mapped for part in parts for mapped in part.mapped],
    )


def ahead(iterator):
    """The items of an iterator, the next of which a thread gets while one is worked on."""
    end = object()
    with ThreadPoolExecutor(1, thread_name_prefix="entropic-batches") as reader:
        following = reader.submit(next, iterator, end)
        while (item := following.result()) is not end:
            following = reader.submit(next, iterator, end)
            yield item


def release(array):
    """Let go of the pages of a file in memory: they would count until the whole file is there.

    Nothing is lost: pages of a shared mapping are read again where they are needed.
    """
    mapping = getattr(array, "_mmap", None)
    if mapping is None or getattr(array, "mode", "c") == "c" or not hasattr(mmap, "MADV_DONTNEED"):
        return
    mapping.madvise(mmap.MADV_DONTNEED)
