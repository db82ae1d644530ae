"""Files read whole, for tests: names, columns as NumPy arrays, and the source they came from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from entropic.command.dialect import Dialect
from entropic.command.encoding import cells_of, numbers_of
from entropic.command.source import Source, open_source

ROWS = [[1.5, "red", 0], [2, "green", 1], [-3e2, "blue", 0]]


@dataclass
class Whole:
    """A table in memory: floats with NaN for a missing cell, or str objects with "" for one."""

    source: object
    names: list
    columns: list

    @property
    def n_rows(self):
        return len(self.columns[0])

    def column(self, name):
        return self.columns[self.names.index(name)]


def read(paths, *, known=(), select=None, **dialect):
    """Read files with ``open_source``; those of LIBSVM are IndexedRows."""
    source = open_source(paths, Dialect(**dialect), known)
    if not isinstance(source, Source):
        return source.table()
    select = select or {}
    features = select.pop("features", source.names)
    source.select(features, **select)
    table = source.table()
    columns = [_column(table, name) for name in table.column_names]
    assert {len(column) for column in columns} == {table.num_rows}
    _same_in_batches(source, table)
    return Whole(source, table.column_names, columns)


def _column(table, name):
    if str(table.schema.field(name).type) == "double":
        return numbers_of(table, name)
    return cells_of(table, name)


def _same_in_batches(source, table):
    """The rows as batches are those of the table."""
    batches = list(source.batches())
    for name in table.column_names:
        pieces = [_column(batch, name) for batch in batches]
        np.testing.assert_array_equal(np.concatenate(pieces), _column(table, name))


def assert_holds_rows(table, header=True):
    """Check that a table is ROWS."""
    assert table.source.header is header
    assert table.names == (["size", "colour", "y"] if header else ["1", "2", "3"])
    np.testing.assert_array_equal(table.columns[0], [1.5, 2, -300])
    assert table.columns[1].tolist() == ["red", "green", "blue"]
    np.testing.assert_array_equal(table.columns[2], [0, 1, 0])


def text_of(separator=",", end="\n", header=True, quote=""):
    """ROWS as text."""
    rows = [["size", "colour", "y"]] * header + ROWS
    return "".join(separator.join(f"{quote}{cell}{quote}" for cell in row) + end for row in rows)
