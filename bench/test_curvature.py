"""Matrices from rows beside BLAS: what a Newton step costs beyond its sweep.

Compare with ``OPENBLAS_NUM_THREADS=1`` in the environment. The curvature's peer
is ``dsyrk`` on chunks of 256 rows weighted in the same loop, the quadratic forms' a matrix product
and its squares.
"""

import numpy as np
import pytest
from problems import CURVATURES
from scipy.linalg.blas import dsyrk

from entropic.kernels import numpy_sweeps
from entropic.kernels.backend import sweeps
from entropic.rows import DenseRows


@pytest.fixture(params=CURVATURES, ids=lambda size: f"{size[0]}x{size[1]}")
def rows(request):
    return DenseRows(np.random.default_rng(0).standard_normal(request.param))


def timed(measure, what, rows, method, run):
    n_rows, n_columns = rows.values.shape
    measure(what, f"{n_rows:,} × {n_columns:,}", method, run, rounds=9)


def weights(rows):
    return np.random.default_rng(1).random(rows.values.shape[0])


def factor(rows):
    size = rows.values.shape[1] + 1
    return np.random.default_rng(2).standard_normal((size, size))


def test_curvature(measure, rows):
    q = weights(rows)
    timed(measure, "curvature", rows, "entropic", lambda: sweeps.curvature(rows, q, 1))


def test_chunked_dsyrk(measure, rows):
    X, root = rows.values, np.sqrt(weights(rows))[:, None]

    def chunked():
        total, chunk = np.zeros((X.shape[1],) * 2, order="F"), np.empty((256, X.shape[1]))
        for start in range(0, len(X), 256):
            part = X[start : start + 256]
            weighted = np.multiply(part, root[start : start + 256], out=chunk[: len(part)])
            dsyrk(1.0, weighted.T, beta=1.0, c=total, overwrite_c=True)

    timed(measure, "curvature", rows, "BLAS dsyrk", chunked)


@pytest.mark.parametrize("method", ["entropic", "NumPy"])
def test_quadratic_forms(measure, rows, method):
    run = (numpy_sweeps if method == "NumPy" else sweeps).quadratic_forms
    L = factor(rows)
    timed(measure, "quadratic forms", rows, method, lambda: run(rows, L, None, 1))
