"""Fits on batches: a sweep beside reading and summing the same file, and time by rows."""

import numpy as np
import pytest

from entropic import EntropicClassifier
from entropic.rows import parts
from entropic.rows.batches import ArrayFiles

N_COLUMNS = 20


@pytest.fixture(scope="module", params=[100_000, 1_000_000, 10_000_000])
def files(request, tmp_path_factory):
    """Standard normal float32 rows, and classes of which a tenth overlaps."""
    folder, n_rows = tmp_path_factory.mktemp("rows"), request.param
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float32, (n_rows, N_COLUMNS))
    y = np.lib.format.open_memmap(folder / "y.npy", "w+", np.int8, (n_rows,))
    for start in range(0, n_rows, 100_000):
        block = rng.standard_normal((100_000, N_COLUMNS), dtype=np.float32)
        X[start : start + 100_000] = block
        y[start : start + 100_000] = block[:, 0] + 0.3 * rng.logistic(size=100_000) > 0
    return folder / "X.npy", folder / "y.npy"


def test_fit(benchmark, files):
    """From one size to the next the time grows at most 11 times."""
    model = EntropicClassifier()
    benchmark.pedantic(model.fit_batches, (ArrayFiles(*files),), rounds=1)
    assert model.converged_


def test_sweep(benchmark, files, monkeypatch):
    """One pass of Newton's method, curvature included."""
    kept = {}
    run = parts.LocalParts.run

    def keep(self, task):
        kept.setdefault(type(task).__name__, (self, task))
        return run(self, task)

    monkeypatch.setattr(parts.LocalParts, "run", keep)
    EntropicClassifier(leave_one_out=False).fit_batches(ArrayFiles(*files))
    benchmark.pedantic(run, kept["Evaluate"], rounds=3)


def test_read_and_sum(benchmark, files):
    """The yardstick of a sweep, which is to take at most twice as long."""
    rows = ArrayFiles(*files)
    benchmark.pedantic(lambda: [X.sum(dtype=np.float64) for X, _ in rows], rounds=3)
