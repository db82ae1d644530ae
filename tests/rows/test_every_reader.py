"""Rows from every reader, in batches of any size and order, give the model of one memory."""

from functools import cache
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import dump_svmlight_file

from entropic import EntropicClassifier
from entropic.command.options import dialect_of, parser
from entropic.command.source import open_source
from entropic.command.streamed import StreamedRows
from entropic.rows import stream
from entropic.rows.batches import ArrayFiles, LibsvmFiles, TableFiles

pa = pytest.importorskip("pyarrow")
csv = pytest.importorskip("pyarrow.csv")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")

# Batches of one and of seven rows are as many as the rows, and so are read of fewer.
N_ROWS, FEW, NAMES = 1100, 90, ["a", "b", "c"]
SIZES = [(1, FEW), (7, FEW), (1000, N_ROWS), (N_ROWS, N_ROWS)]
TABLES = {"parquet": parquet.write_table, "feather": feather.write_feather, "csv": csv.write_csv}
READERS = ["arrays", *TABLES, "libsvm", "command"]


@cache
def rows():
    """Numbers that every form of file keeps exactly, classes and weights."""
    rng = np.random.default_rng(0)
    X = np.round(64 * rng.normal(size=(N_ROWS, 3)) * [1.0, 5.0, 0.5]) / 64
    y = (X[:, 0] + 0.3 * X[:, 1] + rng.logistic(size=N_ROWS) > 0).astype(int)
    return X, y, rng.integers(0, 4, N_ROWS) / 2


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Of all rows and of the first few, by their number, each with a file of every form."""
    return {n_rows: written(tmp_path_factory.mktemp("rows"), n_rows) for n_rows in (FEW, N_ROWS)}


def written(folder, n_rows):
    X, y, weight = (values[:n_rows] for values in rows())
    for name, values in (("X", X), ("y", y), ("weight", weight)):
        np.save(folder / f"{name}.npy", values)
    columns = dict(zip(NAMES, X.T, strict=True)) | {"y": y, "w": weight}
    for form, write in TABLES.items():
        write(pa.table(columns), folder / f"rows.{form}")
    dump_svmlight_file(X, y, str(folder / "rows.svm"), zero_based=False)
    return folder


def read(reader, folder, size, weighted):
    """The batches of a reader, of so many rows each."""
    weight = folder / "weight.npy" if weighted else None
    if reader == "arrays":
        return ArrayFiles(folder / "X.npy", folder / "y.npy", weight, batch_rows=size)
    if reader == "libsvm":
        text = (folder / "rows.svm").read_bytes()
        line = len(text) // text.count(b"\n")
        return LibsvmFiles(folder / "rows.svm", 3, batch_bytes=1 if size == 1 else size * line)
    if reader == "command":
        path = str(folder / "rows.csv")
        options = parser().parse_args(
            ["fit", path, "--target", "y", "--drop", "w", "--holdout", "0"]
            + ["--batch-rows", str(size)]
        )
        source = open_source([path], dialect_of(options))
        source.select(NAMES, labels=["y"])
        return StreamedRows(source, "y", ["w"], options)
    path = folder / f"rows.{reader}"
    return TableFiles(path, "y", NAMES, "w" if weighted else None, batch_rows=size)


@cache
def in_memory(n_rows, degree, constraint, weighted, sparse):
    X, y, weight = (values[:n_rows] for values in rows())
    X = sp.csr_matrix(X) if sparse else X
    return model(degree, constraint).fit(X, y, weight if weighted else None)


def model(degree, constraint):
    return EntropicClassifier(degree, constraint=constraint, bound=1.0, slack=1.0)


WITHOUT_WEIGHTS = ("libsvm", "command")
CASES = [
    (reader, weighted)
    for reader, weighted in product(READERS, (False, True))
    if not (weighted and reader in WITHOUT_WEIGHTS)
]


@pytest.mark.parametrize("constraint", ["equality", "inequality"])
@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("size, n_rows", SIZES)
@pytest.mark.parametrize("reader, weighted", CASES)
def test_the_model_is_that_of_one_memory(
    folders, monkeypatch, reader, weighted, size, n_rows, degree, constraint
):
    monkeypatch.setattr(stream, "PART_ENTRIES", 300)  # several parts, each of several batches
    batches = read(reader, folders[n_rows], size, weighted)
    found = list(batches() if callable(batches) else batches)
    assert sum(len(batch[1]) for batch in found) == n_rows
    assert len(found) >= 0.7 * n_rows / size
    np.random.default_rng(1).shuffle(found)
    whole = in_memory(n_rows, degree, constraint, weighted, reader == "libsvm")
    for given in (batches, found):
        fitted = model(degree, constraint).fit_batches(given)
        most = np.max(np.abs(whole.coef_))
        assert_allclose(fitted.coef_, whole.coef_, rtol=1e-8, atol=1e-8 * most)
        assert_allclose(fitted.intercept_, whole.intercept_, rtol=1e-8, atol=1e-8 * most)
        # rests on a curvature that may be the one of the last step but one
        assert_allclose(fitted.band_, whole.band_, rtol=1e-5)
