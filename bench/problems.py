"""The problems that are timed, every one from a fixed seed or a real file."""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np
from real_data import path
from sklearn.datasets import load_svmlight_file, make_classification
from sklearn.preprocessing import StandardScaler

SMOKE = os.environ.get("ENTROPIC_BENCH") == "smoke"


class Problem(NamedTuple):
    """Rows to fit, and rows that no fit has seen."""

    X: object
    y: np.ndarray
    X_test: object
    y_test: np.ndarray


def _narrow(X):
    """The same rows with the 32-bit indices that LinearSVC insists on."""
    X = X.tocsr()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def _svm_file(name, n_features=None):
    X, y = load_svmlight_file(str(path(name)), n_features=n_features)
    return _narrow(X), (y > 0).astype(int)


def a9a():
    return Problem(*_svm_file("a9a/a9a", 123), *_svm_file("a9a/a9a.t", 123))


def w8a():
    X, y = _svm_file("w8a/w8a")
    order = np.random.default_rng(0).permutation(len(y))
    train, test = np.split(order, [2 * len(y) // 3])
    return Problem(X[train], y[train], X[test], y[test])


def rcv1():
    train, test = (
        _svm_file(f"rcv1_small/rcv1_small.{part}.svm.gz", 47_236) for part in ("train", "test")
    )
    return Problem(*train, *test)


def made(n_samples, n_features):
    """Dense rows of scaled columns, of which up to 25 tell something."""

    def load():
        X, y = make_classification(
            n_samples + n_samples // 4,
            n_features,
            n_informative=min(50, n_features) // 2,
            random_state=0,
        )
        X = StandardScaler().fit_transform(X)
        return Problem(X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:])

    return load


def letter():
    """26 classes; the last quarter of the rows is not fitted, as is usual."""
    lines = path("letter/letter.arff").read_text().split("@data\n")[1].split()
    cells = np.array([line.split(",") for line in lines])
    X = StandardScaler().fit_transform(cells[:, :-1].astype(float))
    train = 3 * len(cells) // 4
    return Problem(X[:train], cells[:train, -1], X[train:], cells[train:, -1])


def made_classes(n_samples, n_features, n_classes):
    """Normal rows around a centre a class."""

    def load():
        rng = np.random.default_rng(0)
        centres = rng.normal(size=(n_classes, n_features))
        y = rng.integers(0, n_classes, n_samples + n_samples // 4)
        X = centres[y] + 2 * rng.normal(size=(len(y), n_features))
        return Problem(X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:])

    return load


FITS = {
    "a9a": a9a,
    "w8a": w8a,
    "rcv1": rcv1,
    "150 × 4": made(150, 4),
    "100,000 × 10": made(100_000, 10),
    "100,000 × 50": made(100_000, 50),
    "20,000 × 500": made(20_000, 500),
    "2,000 × 5,000": made(2_000, 5_000),
    "1,000,000 × 20": made(1_000_000, 20),
}
SLOW_FITS = ("20,000 × 500", "2,000 × 5,000", "1,000,000 × 20")
# Whose processes' memory is measured too.
PROCESSES = ("a9a", "100,000 × 50", "1,000,000 × 20")

CLASSES = {
    "letter, 26 classes": letter,
    "100,000 × 20, 5 classes": made_classes(100_000, 20, 5),
}
# rows, features, degree
POLYNOMIALS = {
    "degree 2, 50,000 × 20": (50_000, 20, 2),
    "degree 3, 20,000 × 20": (20_000, 20, 3),
    "degree 6, 20,000 × 4": (20_000, 4, 6),
}
# Rows of 20 columns in files; the largest takes 1.7 GB.
BATCHES = {
    "100,000 rows": 100_000,
    "1,000,000 rows": 1_000_000,
    "20,000,000 rows": 20_000_000,
}
SLOW_BATCHES = ("20,000,000 rows",)
SWEEPS = [(20_000, 1_000), (200_000, 50), (2_000_000, 10)]
EACH = (100_000, 20)  # rows and columns for one class against the rest, for each class
CURVATURES = [(20_000, 500), (2_000, 500), (200_000, 100), (100_000, 10), (100_000, 50)]
HARD_ROWS = {"20,000 × 20": (20_000, 20)}
DASK_ROWS = 1_000_000
FILE_ROWS = 1_050_000  # 200 MB as CSV

if SMOKE:
    FITS = {"2,000 × 10": made(2_000, 10), "200 × 500": made(200, 500)}
    SLOW_FITS, PROCESSES = (), ("2,000 × 10",)
    CLASSES = {"500 × 5, 3 classes": made_classes(500, 5, 3)}
    POLYNOMIALS = {"degree 2, 1,000 × 5": (1_000, 5, 2)}
    BATCHES, SLOW_BATCHES = {"20,000 rows": 20_000}, ()
    SWEEPS = [(2_000, 40)]
    EACH = (2_000, 5)
    CURVATURES = [(2_000, 20)]
    HARD_ROWS = {"200 × 5": (200, 5)}
    DASK_ROWS = 20_000
    FILE_ROWS = 10_000


def polynomial(n_samples, n_features):
    """Normal rows whose classes a quadratic surface separates but for noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples + 5000, n_features))
    score = X[:, 0] * X[:, 1] + X[:, 2] ** 2 - X[:, 3] + rng.normal(size=len(X))
    y = (score > 1).astype(int)
    return Problem(X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:])


def separable(n_samples, n_features):
    """A signed design that the exact constraint has a solution for."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, n_features))
    normal = np.linspace(1, 2, n_features) / np.linalg.norm(np.linspace(1, 2, n_features))
    sign = np.where(rng.random(n_samples) < 0.5, 1.0, -1.0)
    # rows keep a distance of 0.1 from the plane at least
    along = X @ normal
    X += np.outer(sign * (np.abs(along) + 0.1) - along, normal)
    return sign[:, None] * X


def batch(n_rows, seed):
    """Standard normal float32 rows of 20 columns, and classes of which a tenth overlaps."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 20), dtype=np.float32)
    y = (X @ np.linspace(-1, 1, 20) + 0.3 * rng.logistic(size=n_rows) > 0).astype(np.int8)
    return X, y


def write_batches(folder, n_rows):
    """``X.npy`` and ``y.npy`` of so many rows, written 100,000 at a time."""
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float32, (n_rows, 20))
    y = np.lib.format.open_memmap(folder / "y.npy", "w+", np.int8, (n_rows,))
    step = min(n_rows, 100_000)
    for start in range(0, n_rows, step):
        X[start : start + step], y[start : start + step] = batch(step, start)
