"""The command's reading of a CSV file of 200 MB beside pyarrow.csv alone, whole and as a stream.

The same columns are read, with their types; at least at 0.7 of pyarrow's speed.
"""

import numpy as np
import pytest
from problems import FILE_ROWS

pa = pytest.importorskip("pyarrow")
pacsv = pytest.importorskip("pyarrow.csv")

from entropic.command.source import open_source  # noqa: E402


@pytest.fixture(scope="module", params=["clean", "missing cells"])
def file(request, tmp_path_factory):
    rng = np.random.default_rng(0)
    columns = {f"x{j}": pa.array(rng.normal(size=FILE_ROWS)) for j in range(9)}
    if request.param == "missing cells":
        columns["x0"] = pa.array(columns["x0"].to_numpy(), mask=rng.random(FILE_ROWS) < 0.01)
    columns["colour"] = pa.array(np.array(["red", "green", "blue"])[rng.integers(0, 3, FILE_ROWS)])
    columns["y"] = pa.array(np.array(["u", "v"])[rng.integers(0, 2, FILE_ROWS)])
    path = tmp_path_factory.mktemp("reading") / "rows.csv"
    pacsv.write_csv(pa.table(columns), path)
    yield request.param, path
    path.unlink()


def whole(path):
    source = open_source([path])
    source.select(source.names[:-1], labels=["y"], kept=[])
    return source.table().num_rows


def whole_by_pyarrow(path):
    return pacsv.read_csv(path).num_rows


def batches(path):
    source = open_source([path])
    source.select(source.names[:-1], labels=["y"], kept=[])
    return sum(batch.num_rows for batch in source.batches())


def batches_by_pyarrow(path):
    """Two passes: the first one of a source learns what the columns hold."""
    for _ in range(2):
        with pacsv.open_csv(path) as reader:
            n_rows = sum(batch.num_rows for batch in reader)
    return n_rows


READS = {
    "whole": {"pyarrow.csv": whole_by_pyarrow, "entropic": whole},
    "in batches": {"pyarrow.csv": batches_by_pyarrow, "entropic": batches},
}


@pytest.mark.parametrize("how", READS)
@pytest.mark.parametrize("method", ["pyarrow.csv", "entropic"])
def test_reading(measure, file, how, method):
    kind, path = file
    read = READS[how][method]
    assert measure("reading", f"{kind}, {how}", method, lambda: read(path), rounds=4) == FILE_ROWS
