"""Files whose columns come with their types: Parquet, Feather and scikit-learn's bundled sets."""

from __future__ import annotations

import contextlib
import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .cells import number_as_word, unique_names
from .columns import NUMBER, TEXT

BUNDLED = ("breast_cancer", "digits", "iris", "wine")
# Dates are days, times of day and durations seconds: in Arrow ticks are microseconds.
_UNITS = [
    (pa.types.is_date, pa.timestamp("us"), 86_400e6),
    (pa.types.is_timestamp, pa.timestamp("us"), 86_400e6),
    (pa.types.is_time, pa.time64("us"), 1e6),
    (pa.types.is_duration, pa.duration("us"), 1e6),
]


class TypedFile:
    """A file that declares what its columns hold.

    Attributes
    ----------
    names : list of str
        Unique.
    kinds : dict of str to arrow type
        NUMBER, TEXT, or the type of a column that cannot be used.
    words : set of str
        Columns of words by declaration, whatever their cells look like.
    row_labels : set of str
        Columns that hold the index of a stored frame.
    notes : list of str
    """

    dialect = header = None

    def __init__(self, name, names, kinds):
        self.name, self.notes, self.row_labels = name, [], set()
        self.names = unique_names(names, len(names))
        self.kinds = dict(zip(self.names, kinds, strict=True))
        self.words = {name for name, kind in self.kinds.items() if kind == TEXT}

    def batches(self, columns, whole=False):
        """The rows as record batches of columns of NUMBER or TEXT.

        Raises
        ------
        ValueError
            If a column of another kind is asked for, or the file is damaged.
        """
        for name in columns:
            kind = self.kinds[name]
            if kind not in (NUMBER, TEXT):
                raise ValueError(
                    f"column {name!r} of {self.name} holds {kind} values, which are "
                    f"neither numbers nor words; leave it out with --drop {name!r}."
                )
        schema = pa.schema(columns.items())
        for arrays in self._arrays([self.names.index(name) for name in columns]):
            converted = map(_converted, arrays, columns.values())
            yield pa.record_batch(list(converted), schema=schema)

    def place(self, row):
        """Where a row stands, for a message."""
        return f"row {row + 1} of {self.name}"


class ColumnarFile(TypedFile):
    """A Parquet or Feather file."""

    def __init__(self, content):
        self.content = content
        with self._guarded():
            if content.is_plain:
                buffer = pa.memory_map(content.path)
            else:
                with content.open() as stream:
                    buffer = pa.BufferReader(stream.read())
            open_ = _open_parquet if content.head(4) == b"PAR1" else _open_feather
            schema, n_rows, self._read = open_(buffer)
        if not n_rows or not schema.names:
            raise ValueError(f"{content.name} is empty; give a file with rows.")
        super().__init__(content.name, schema.names, [_kind(field.type) for field in schema])
        described = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
        index = [name for name in described.get("index_columns", []) if isinstance(name, str)]
        self.row_labels = {name for name in self.names if name in index}
        times = [n for n, field in zip(self.names, schema, strict=True) if _is_time(field.type)]
        if times:
            self.notes.append(
                f"in {content.name} dates are taken as days since 1970, times of day and "
                f"durations as seconds: {', '.join(times)}."
            )

    def _arrays(self, positions):
        with self._guarded():
            yield from self._read(positions)

    @contextlib.contextmanager
    def _guarded(self):
        try:
            yield
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise ValueError(
                f"{self.content.name} is a damaged Parquet or Feather file ({reason})."
            ) from None


def _open_parquet(buffer):
    import pyarrow.parquet as pq

    file = pq.ParquetFile(buffer, page_checksum_verification=True)
    names = file.schema_arrow.names

    def read(positions):
        if len(set(names)) < len(names):  # columns can be asked for by name only
            for batch in file.iter_batches():
                yield [batch.column(position) for position in positions]
            return
        wanted = [names[position] for position in positions]
        for batch in file.iter_batches(columns=wanted):
            yield [batch.column(name) for name in wanted]

    return file.schema_arrow, file.metadata.num_rows, read


def _open_feather(buffer):
    from pyarrow.feather import read_table

    table = read_table(buffer)

    def read(positions):
        for batch in table.to_batches():
            yield [batch.column(position) for position in positions]

    return table.schema, table.num_rows, read


def _kind(kind):
    """NUMBER or TEXT for a type that can be used, else the type."""
    is_ = pa.types
    if is_.is_dictionary(kind):
        kind = kind.value_type
    if is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind):
        return TEXT
    numeric = (is_.is_boolean, is_.is_integer, is_.is_floating, is_.is_decimal, is_.is_null)
    return NUMBER if _is_time(kind) or any(is_kind(kind) for is_kind in numeric) else kind


def _is_time(kind):
    return pa.types.is_temporal(kind) and not pa.types.is_interval(kind)


def _converted(column, kind):
    """An Arrow column as NUMBER or TEXT."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if kind == TEXT:
        if pa.types.is_floating(column.type):
            words = [
                None if value is None else number_as_word(value) for value in column.to_pylist()
            ]
            column = pa.array(words, pa.string())
        return column.cast(pa.string()).dictionary_encode()
    for is_kind, kind, unit in _UNITS:
        if is_kind(column.type):
            ticks = column.cast(kind, safe=False).cast(pa.int64())
            return pc.divide(ticks.cast(NUMBER), unit)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    numbers = column.cast(NUMBER, safe=False)
    return pc.if_else(pc.is_nan(numbers), None, numbers)


class BundledSet(TypedFile):
    """One of scikit-learn's sets with classes, by the name ``sklearn:NAME``."""

    def __init__(self, path):
        from sklearn import datasets

        name = path.removeprefix("sklearn:")
        if name not in BUNDLED:
            raise ValueError(
                f"{path!r} is not a bundled set with classes; "
                f"choose one of {', '.join(f'sklearn:{known}' for known in BUNDLED)}."
            )
        data = getattr(datasets, f"load_{name}")()
        labels = np.array([str(label) for label in data.target_names], dtype=object)[data.target]
        self._columns = [*map(pa.array, np.array(data.data, dtype=np.float64).T), pa.array(labels)]
        names = [*map(str, data.feature_names), "target"]
        super().__init__(repr(path), names, [_kind(column.type) for column in self._columns])

    def _arrays(self, positions):
        yield [self._columns[position] for position in positions]
