"""The command's reading of a CSV file of 200 MB beside pyarrow.csv alone, whole and as a stream.

The same columns are read, with their types; at least at 0.7 of pyarrow's speed.
"""

import time

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

from entropic.command.source import open_source

N_ROWS = 1_050_000
BOUND = 0.7  # of pyarrow's speed


@pytest.fixture(scope="module", params=["clean", "missing cells"])
def path(request, tmp_path_factory):
    rng = np.random.default_rng(0)
    columns = {f"x{j}": pa.array(rng.normal(size=N_ROWS)) for j in range(9)}
    if request.param == "missing cells":
        columns["x0"] = pa.array(columns["x0"].to_numpy(), mask=rng.random(N_ROWS) < 0.01)
    columns["colour"] = pa.array(np.array(["red", "green", "blue"])[rng.integers(0, 3, N_ROWS)])
    columns["y"] = pa.array(np.array(["u", "v"])[rng.integers(0, 2, N_ROWS)])
    path = tmp_path_factory.mktemp("reading") / "rows.csv"
    pacsv.write_csv(pa.table(columns), path)
    yield path
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


@pytest.mark.parametrize(
    "ours, theirs",
    [(whole, whole_by_pyarrow), (batches, batches_by_pyarrow)],
    ids=["whole", "batches"],
)
def test_reading(benchmark, path, ours, theirs):
    """In turns, so that what else the machine does falls on both."""
    seconds = {ours: [], theirs: []}

    def both():
        for read in (theirs, ours):
            start = time.perf_counter()
            assert read(path) == N_ROWS
            seconds[read].append(time.perf_counter() - start)

    benchmark.pedantic(both, rounds=4)
    ratio = min(seconds[theirs]) / min(seconds[ours])
    benchmark.extra_info["speed, of pyarrow's"] = round(ratio, 2)
    print(f"\n{path}: {ratio:.2f} of pyarrow's speed, {1e3 * min(seconds[ours]):.0f} ms")
    assert ratio >= BOUND
