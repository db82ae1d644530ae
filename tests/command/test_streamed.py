"""The command on files that it streams: the model of a fit in memory, and checkpoints."""

import numpy as np
import pytest

from entropic import load_model
from entropic.command import indexed, source, streamed
from entropic.command.options import dialect_of, parser
from entropic.command.source import open_source

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    a, word = rng.normal(size=400), rng.choice(["red", "green", "blue"], 400)
    y = np.where(a + (word == "red") + rng.logistic(size=400) > 0, "up", "down")
    b = np.where(rng.random(400) < 0.1, np.nan, rng.normal(size=400))
    table = pa.table({"a": a, "b": pa.array(b, from_pandas=True), "word": word, "y": y})
    for number in range(2):
        parquet.write_table(table.slice(200 * number, 200), tmp_path / f"{number}.parquet")
    return f"{tmp_path}/*.parquet"


@pytest.fixture
def fitted(run):
    def fitted(path, *arguments):
        code, out, err = run("fit", *arguments, "--degree", 2, "--model", path)
        assert code == 0, err
        return load_model(path), out

    return fitted


@pytest.mark.parametrize("batch_rows", [1, 33, 1000])
def test_streamed_rows_give_the_model_of_all(files, tmp_path, run, fitted, batch_rows):
    settings = (files, "--target", "y", "--holdout", 0)
    whole, report = fitted(tmp_path / "whole", *settings)
    model, same = fitted(tmp_path / "model", *settings, "--batch-rows", batch_rows)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-7)
    np.testing.assert_allclose(model.band_, whole.band_, rtol=1e-7)
    assert report.partition("Fit")[0] == same.partition("Fit")[0]


def test_rows_that_would_not_fit_are_streamed(files, tmp_path, run, fitted, monkeypatch):
    whole, _ = fitted(tmp_path / "whole", files, "--target", "y", "--holdout", 0)
    monkeypatch.setattr(streamed, "memory_limit", lambda: 1000)
    model, _ = fitted(tmp_path / "model", files, "--target", "y", "--holdout", 0)
    assert model.multipliers_ is None and whole.multipliers_ is not None
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-7)
    _, report = fitted(tmp_path / "model", files, "--target", "y")
    assert "held out" in report and "accuracy" in report


def test_a_checkpoint_is_gone_on_from(files, tmp_path, run, fitted, monkeypatch):
    checkpoint = tmp_path / "checkpoint"
    settings = (files, "--target", "y", "--checkpoint", checkpoint)
    whole, _ = fitted(tmp_path / "whole", *settings)
    assert not checkpoint.exists()
    begin, passes = streamed.Progress.begin, []

    def stopped(self):
        begin(self)
        passes.append(1)
        if len(passes) == 4:
            raise ValueError("the disk is gone")

    monkeypatch.setattr(streamed.Progress, "begin", stopped)
    code, _, err = run("fit", *settings, "--degree", 2)
    assert code == 2 and "the disk is gone" in err and checkpoint.exists()
    code, _, err = run("fit", *settings, "--degree", 3)
    assert code == 2 and "is of a fit with degree=2, not 3" in err
    model, _ = fitted(tmp_path / "model", *settings)
    assert np.array_equal(model.coef_, whole.coef_) and not checkpoint.exists()


@pytest.mark.parametrize("batch_rows", [1, 33, 1000])
def test_rows_of_libsvm_files_are_streamed(tmp_path, run, fitted, monkeypatch, batch_rows):
    rng, lines = np.random.default_rng(0), []
    for _ in range(300):
        values = np.where(rng.random(6) < 0.5, 0, rng.normal(size=6).round(3))
        label = "yes" if values[0] - values[1] + rng.logistic() > 0 else "no"
        lines.append(label + "".join(f" {j}:{v}" for j, v in enumerate(values, 1) if v))
    for number, part in enumerate((lines[:120], lines[120:])):
        (tmp_path / f"{number}.svm").write_text("\n".join(part))
    files = f"{tmp_path}/*.svm"
    monkeypatch.setattr(indexed, "_BYTES", 1000)
    whole, report = fitted(tmp_path / "whole", files, "--holdout", 0)
    model, same = fitted(tmp_path / "model", files, "--holdout", 0, "--batch-rows", batch_rows)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(model.band_, whole.band_, rtol=1e-5)
    assert model.multipliers_ is None and report.partition("Fit")[0] == same.partition("Fit")[0]
    outputs = [run("predict", tmp_path / name, files)[1] for name in ("whole", "model")]
    answers = [[line.split(",")[0] for line in out.splitlines()] for out in outputs]
    assert answers[0] == answers[1] and len(answers[0]) == 301
    _, report = fitted(tmp_path / "model", files, "--batch-rows", batch_rows)
    assert "210 to fit, 90 held out" in report


def test_held_out_rows_are_the_same_share_of_each_class(files, tmp_path, run, fitted):
    rng = np.random.default_rng(1)
    y = rng.choice(["many", "some", "few"], 1000, p=[0.9, 0.09, 0.01])
    counts = {label: int(np.sum(y == label)) for label in set(y)}
    rows = "".join(f"{rng.normal():.3f},{label}\n" for label in y)
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n" + rows)
    held = set()
    for batch_rows in (7, 400):
        options = parser().parse_args(
            ["fit", str(path), "--target", "y", "--batch-rows", str(batch_rows)]
        )
        source = open_source([str(path)], dialect_of(options))
        source.select(["x"], labels=["y"])
        streamed_rows = streamed.StreamedRows(source, "y", [], options)
        truth = streamed_rows.held_truth.tolist()
        for label, count in counts.items():
            assert truth.count(label) == round(0.3 * count)
        held.add(tuple(streamed_rows.held_out.column("x").to_pylist()))
        assert sum(len(batch[1]) for batch in streamed_rows()) == 1000 - len(truth)
    assert len(held) == 1  # whatever the batches
    path.write_text("x,y\n" + rows + "1,rare\n")
    code, _, err = run("fit", path, "--target", "y", "--batch-rows", 50)
    assert code == 2 and "without one of the classes (rare has 1 of 1001 rows)" in err


def test_a_number_of_rows_is_at_least_one(run):
    code, _, err = run("fit", "a.csv", "--batch-rows", 0)
    assert code == 2 and "'0' is not a number of rows of at least 1" in err


def test_predictions_are_written_a_batch_at_a_time(files, tmp_path, run, fitted):
    fitted(tmp_path / "model", files, "--target", "y", "--batch-rows", 50)
    lines = ["a,b,word", *(f"{k / 1000},{k % 5},red" for k in range(100_000))]
    (tmp_path / "new.csv").write_text("\n".join(lines))
    arguments = ("predict", tmp_path / "model", tmp_path / "new.csv", "--id", "a")
    code, out, _ = run(*arguments)
    assert code == 0 and out.startswith("a,label,score,certainty\n0.0,")
    assert out.count("\n") == 100_001
    code, _, _ = run(*arguments, "--output", tmp_path / "out.csv")
    assert code == 0 and (tmp_path / "out.csv").read_text() == out


def test_where_rows_stand_is_looked_up_for_errors_only(write, run, monkeypatch):
    """A look-up reads the file from its start: one a batch would make a pass quadratic."""
    rows = "".join(f"{i * 7 % 90},{'uv'[i % 2]}\n" for i in range(200))
    arguments = ("--target", "y", "--degree", 1, "--batch-rows", 20, "--holdout", 0)
    places = []
    place = source.Source.place
    monkeypatch.setattr(source.Source, "place", lambda *row: places.append(row) or place(*row))
    assert run("fit", write("x,y\n" + rows), *arguments)[0] == 0 and not places
    code, _, err = run("fit", write("x,y\n" + rows + "3,\n"), *arguments)
    assert code == 2 and "the label is missing in line 202 of" in err and len(places) == 1
