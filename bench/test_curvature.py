"""Matrices from rows beside BLAS: what a Newton step costs beyond its sweep.

Run with ``OPENBLAS_NUM_THREADS=1 python -m pytest bench/test_curvature.py``. The curvature's peer
is ``dsyrk`` on chunks of 256 rows weighted in the same loop, the quadratic forms' a matrix product
and its squares.
"""

import numpy as np
import pytest
from scipy.linalg.blas import dsyrk

from entropic.kernels import numpy_sweeps
from entropic.kernels.backend import sweeps
from entropic.rows import DenseRows

SIZES = [(20_000, 500), (2_000, 500), (200_000, 100)]
NARROW = [(100_000, 10), (100_000, 20), (100_000, 50)]
ROUNDS = dict(rounds=9, warmup_rounds=1)


@pytest.fixture(params=SIZES + NARROW, ids=lambda size: f"{size[0]}x{size[1]}")
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


def test_chunked_dsyrk(benchmark, rows):
    group(benchmark, "curvature", rows)
    X, root = rows.values, np.sqrt(weights(rows))[:, None]

    def chunked():
        total, chunk = np.zeros((X.shape[1],) * 2, order="F"), np.empty((256, X.shape[1]))
        for start in range(0, len(X), 256):
            part = X[start : start + 256]
            weighted = np.multiply(part, root[start : start + 256], out=chunk[: len(part)])
            dsyrk(1.0, weighted.T, beta=1.0, c=total, overwrite_c=True)

    benchmark.pedantic(chunked, **ROUNDS)


def test_quadratic_forms(benchmark, rows):
    group(benchmark, "quadratic forms", rows)
    benchmark.pedantic(sweeps.quadratic_forms, (rows, factor(rows), 1), **ROUNDS)


def test_quadratic_forms_in_numpy(benchmark, rows):
    group(benchmark, "quadratic forms", rows)
    benchmark.pedantic(numpy_sweeps.quadratic_forms, (rows, factor(rows), 1), **ROUNDS)
