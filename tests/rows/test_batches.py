"""Files as batches: the model of the same rows in memory, and errors that name file and row."""

import gzip

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from entropic import EntropicClassifier
from entropic.command.source import open_source
from entropic.rows.batches import ArrayFiles, LibsvmFiles, TableFiles, expanded

pa = pytest.importorskip("pyarrow")
csv = pytest.importorskip("pyarrow.csv")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")


def rows(n_samples=200):
    rng = np.random.default_rng(0)
    X = (np.round(64 * rng.normal(size=(n_samples, 3))) / 64).astype(np.float32)
    return X, np.where(X[:, 0] + rng.logistic(size=n_samples) > 0, "yes", "no")


def table(X, y, weight):
    columns = {name: X[:, place] for place, name in enumerate("abc")}
    return pa.table({"text": [str(k) for k in range(len(y))], **columns, "y": y, "w": weight})


WRITE = {
    "parquet": lambda rows, path: parquet.write_table(rows, path, row_group_size=33),
    "feather": lambda rows, path: feather.write_feather(rows, path, chunksize=33),
    "csv": csv.write_csv,
}


def assert_same(model, whole):
    assert_allclose(model.coef_, whole.coef_, rtol=1e-8)
    assert_allclose(model.band_, whole.band_, rtol=1e-8)
    assert model.classes_.tolist() == whole.classes_.tolist()


@pytest.mark.parametrize("form", WRITE)
@pytest.mark.parametrize("batch_rows", [1, 7, None])
def test_tables(tmp_path, form, batch_rows):
    X, y = rows(60)
    weight = np.arange(60) % 4
    for start in (0, 25):
        part = slice(start, 25 if start == 0 else None)
        WRITE[form](table(X[part], y[part], weight[part]), tmp_path / f"{start:02}.{form}")
    files = TableFiles(tmp_path, "y", list("abc"), "w", batch_rows=batch_rows)
    whole = EntropicClassifier().fit(X, y, weight)
    assert_same(EntropicClassifier().fit_batches(files), whole)
    pattern = TableFiles(f"{tmp_path}/*.{form}", "y", list("abc"), "w")
    found = [np.concatenate(column) for column in zip(*pattern, strict=True)]
    assert_allclose(found[0], X)
    assert found[1].tolist() == y.tolist() and found[2].tolist() == weight.tolist()


def test_dictionaries_of_words_are_labels(tmp_path):
    X, y = rows(60)
    encoded = pa.table({"a": X[:, 0], "y": pa.array(y).dictionary_encode()})
    parquet.write_table(encoded, tmp_path / "a.parquet")
    model = EntropicClassifier().fit_batches(TableFiles(tmp_path / "a.parquet", "y"))
    assert model.classes_.tolist() == ["no", "yes"]


def test_only_the_needed_columns_are_read(tmp_path, monkeypatch):
    X, y = rows(60)
    parquet.write_table(table(X, y, np.ones(60)), tmp_path / "a.parquet")
    files = TableFiles([tmp_path / "a.parquet"], "y", ["c", "a"])
    batch = next(files._batches(*files.files[0]))
    assert batch.schema.names == ["c", "a", "y"]
    assert next(iter(files))[0].dtype == np.float32


def refused(files, message):
    with pytest.raises(ValueError, match=message):
        EntropicClassifier().fit_batches(files)


def test_errors_of_tables_name_file_and_row(tmp_path):
    X, y = rows(100)
    X[77, 1] = np.nan
    path = tmp_path / "a.parquet"
    parquet.write_table(table(X, y, np.ones(100)), path)
    refused(
        TableFiles(path, "y", list("abc"), batch_rows=10), r"a.parquet': X contains NaN in row 77,"
    )
    refused(TableFiles(path, "y"), "column 'text' of '.*a.parquet' holds string values")
    with pytest.raises(ValueError, match="has no column 'z'; it has text, a, b, c, y, w"):
        TableFiles(path, "z")
    with pytest.raises(ValueError, match="there is no file"):
        TableFiles(tmp_path / "none.parquet", "y")
    content = path.read_bytes()
    path.write_bytes(content[:-30])
    with pytest.raises(ValueError, match=r"a.parquet' cannot be read"):
        TableFiles(path, "y")
    path.write_bytes(content[:200] + bytes(200) + content[400:])
    refused(TableFiles(path, "y", list("abc")), "a.parquet' cannot be read|NaN|label")


@pytest.mark.parametrize("row", [12_345, 123_456])
def test_a_ragged_row_of_csv_is_named(tmp_path, row):
    """In the first block that is read, and in a later one."""
    lines = ["a,b,y", *(f"{k},{k % 7},{k % 2}" for k in range(150_000))]
    lines[row] = "1,2"
    (tmp_path / "a.csv").write_text("\n".join(lines))
    message = rf"a.csv' cannot be read: CSV parse error: Row #{row + 1}: Expected 3 columns, got 2"
    with pytest.raises(ValueError, match=message):
        EntropicClassifier().fit_batches(TableFiles(tmp_path / "a.csv", "y"))


def test_arrays(tmp_path):
    X, y = rows()
    weight = np.linspace(0, 1, 200)
    for name, values in (("X", X), ("y", y), ("w", weight), ("short", y[:-1])):
        np.save(tmp_path / f"{name}.npy", values)
    paths = [tmp_path / f"{name}.npy" for name in "Xyw"]
    whole = EntropicClassifier().fit(X, y, weight)
    for batch_rows in (1, 33, None):
        assert_same(
            EntropicClassifier().fit_batches(ArrayFiles(*paths, batch_rows=batch_rows)), whole
        )
    with pytest.raises(ValueError, match=r"short.npy' has 199 entries and .*X.npy' 200 rows"):
        ArrayFiles(paths[0], tmp_path / "short.npy")
    with pytest.raises(ValueError, match="there is no file"):
        ArrayFiles(paths[0], tmp_path / "none.npy")
    with pytest.raises(
        ValueError, match=r"y.npy' holds an array of shape .200,.*save 2 dimensions"
    ):
        ArrayFiles(paths[1], paths[1])
    X[150, 2] = np.inf
    np.save(paths[0], X)
    refused(ArrayFiles(*paths, batch_rows=40), r"X.npy': X contains infinity in row 150, column 2")
    content = paths[0].read_bytes()
    paths[0].write_bytes(content[:-1])
    with pytest.raises(ValueError, match=r"X.npy' is cut short"):
        ArrayFiles(*paths)
    paths[0].write_bytes(b"none")
    with pytest.raises(ValueError, match=r"X.npy' is not an array of numpy.save"):
        ArrayFiles(*paths)


@pytest.mark.parametrize("zero_based", [True, False])
def test_libsvm(tmp_path, zero_based):
    rng = np.random.default_rng(0)
    X = sp.random(200, 40, 0.2, format="csr", random_state=rng)
    y = np.asarray(X[:, :20].sum(axis=1)).ravel() > 2
    path = tmp_path / "a.svm"
    dump_svmlight_file(X, y.astype(int), str(path), zero_based=zero_based)
    X, y = load_svmlight_file(str(path), zero_based=zero_based)
    whole = EntropicClassifier().fit(X, y)
    for batch_bytes in (1, 1000, 1 << 20):  # of less than a line, too
        files = LibsvmFiles(path, batch_bytes=batch_bytes)
        assert files.zero_based is zero_based and files.n_features == X.shape[1]
        assert sum(X.shape[0] for X, _ in files) == 200
        assert_same(EntropicClassifier().fit_batches(files), whole)
    lines = path.read_text().splitlines()
    lines[120] = "1 3:x"
    path.write_text("\n".join(lines))
    with pytest.raises(ValueError, match=r"a.svm', line 121, index 3: 'x' is not a finite number"):
        LibsvmFiles(path, batch_bytes=500)
    lines[120] = "yes 3:1"
    (tmp_path / "a.svm.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    with pytest.raises(ValueError, match=r"a.svm.gz', line 121, the label 'yes' is not a number"):
        LibsvmFiles(tmp_path / "a.svm.gz", batch_bytes=500)


@pytest.mark.parametrize("form", ["batches", "command"])
def test_a_damaged_page_of_parquet_is_named(tmp_path, form):
    """Where the file has checksums: numbers that were changed would else be as good as any."""
    path = tmp_path / "a.parquet"
    columns = pa.table({"a": np.arange(3000.0), "y": np.arange(3000) % 2})
    parquet.write_table(columns, path, write_page_checksum=True, compression="none")
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a.parquet' .*(corrupt|CRC)"):
        if form == "batches":
            EntropicClassifier().fit_batches(TableFiles(path, "y"))
        else:
            source = open_source([path])
            source.select(source.names)
            source.table()


def test_paths_patterns_and_folders(tmp_path):
    (tmp_path / "in").mkdir()
    for name in ("b.csv", "a.csv", "in/c.csv"):
        (tmp_path / name).write_text("")
    found = expanded([f"{tmp_path}/*.csv", tmp_path])
    assert [path.rpartition("/")[2] for path in found] == ["a.csv", "b.csv", "c.csv"]
