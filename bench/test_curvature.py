"""Matrices from rows beside BLAS: what a Newton step costs beyond its sweep.

Run with ``OPENBLAS_NUM_THREADS=1 python -m pytest bench/test_curvature.py``. The curvature's peer
is ``dsyrk`` on rows already weighted, the quadratic forms' a matrix product and its squares.
"""

import numpy as np
import pytest
from scipy.linalg.blas import dsyrk

from entropic.kernels import numpy_sweeps
from entropic.kernels.backend import sweeps
from entropic.rows import DenseRows

SIZES = [(20_000, 50), (5_000, 200), (2_000, 500), (2_000, 1_000)]
ROUNDS = dict(rounds=9, warmup_rounds=1)


@pytest.fixture(params=SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def rows(request):
    return DenseRows(np.random.default_rng(0).standard_normal(request.param))


def group(benchmark, what, rows):
    benchmark.group = f"{what}, {rows.values.shape[0]} x {rows.values.shape[1]}"


def weights(rows):
    return np.random.default_rng(1).random(rows.values.shape[0])


def factor(rows):
    size = rows.values.shape[1] + 1
    return np.random.default_rng(2).standard_normal((size, size))


def test_curvature(benchmark, rows):
    group(benchmark, "curvature", rows)
    benchmark.pedantic(sweeps.curvature, (rows, weights(rows), 1), **ROUNDS)


def test_dsyrk(benchmark, rows):
    group(benchmark, "curvature", rows)
    weighted = np.asfortranarray(rows.values * np.sqrt(weights(rows))[:, None])
    benchmark.pedantic(lambda: dsyrk(1.0, weighted, trans=1), **ROUNDS)


def test_quadratic_forms(benchmark, rows):
    group(benchmark, "quadratic forms", rows)
    benchmark.pedantic(sweeps.quadratic_forms, (rows, factor(rows), 1), **ROUNDS)


def test_quadratic_forms_in_numpy(benchmark, rows):
    group(benchmark, "quadratic forms", rows)
    benchmark.pedantic(numpy_sweeps.quadratic_forms, (rows, factor(rows), 1), **ROUNDS)
