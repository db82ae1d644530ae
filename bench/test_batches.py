"""Fits on rows in files beside others that read them; a pass beside reading and summing them."""

import os

import numpy as np
import pytest
from problems import BATCHES, SLOW_BATCHES, write_batches
from whole_process import methods

from entropic import EntropicClassifier
from entropic.rows import parts
from entropic.rows.batches import ArrayFiles

PROBLEMS = [
    pytest.param(name, marks=[pytest.mark.slow] if name in SLOW_BATCHES else []) for name in BATCHES
]


@pytest.fixture(scope="module", params=PROBLEMS)
def problem(request, tmp_path_factory):
    root = tmp_path_factory.mktemp("batches")
    folder = root / request.param
    folder.mkdir()
    write_batches(folder, BATCHES[request.param])
    os.environ["ENTROPIC_BENCH_FILES"] = str(root)
    yield request.param, ArrayFiles(folder / "X.npy", folder / "y.npy")
    for file in folder.iterdir():
        file.unlink()


@pytest.mark.parametrize("method", methods("batches", None))
def test_fit(measure_process, problem, method):
    """From one size to the next the time grows at most 11 times."""
    if problem[0] in SLOW_BATCHES and method.endswith("NumPy"):
        pytest.skip("takes minutes")
    measure_process("batches", problem[0], method, rounds=2)


def test_sweep(measure, problem, monkeypatch):
    """One pass of Newton's method, curvature included: at most twice the time of reading."""
    name, rows = problem
    if name in SLOW_BATCHES:
        pytest.skip("takes a fit of a minute to get there")
    kept = {}
    run = parts.LocalParts.run

    def keep(self, task):
        kept.setdefault(type(task).__name__, (self, task))
        return run(self, task)

    monkeypatch.setattr(parts.LocalParts, "run", keep)
    EntropicClassifier(leave_one_out=False).fit_batches(rows)
    measure("pass over batches", name, "entropic", lambda: run(*kept["Evaluate"]), rounds=3)


def test_read_and_sum(measure, problem):
    name, rows = problem
    if name in SLOW_BATCHES:
        pytest.skip("is beside the pass above")
    measure(
        "pass over batches", name, "read and sum",
        lambda: [X.sum(dtype=np.float64) for X, _ in rows], rounds=3,
    )  # fmt: skip
