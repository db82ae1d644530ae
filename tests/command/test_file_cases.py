"""What users' files look like, and what should come of each, from the first byte to the answer.

Every case went wrong once, here or in a tool like this one; the test is of its kind.
"""

import io
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_files import COMMAND, as_csv, predictions

from entropic import load_model
from entropic.command.main import main


@pytest.fixture
def fitted(run, tmp_path):
    """Fit on a file with all its rows: the report, the model's path, the model."""

    def fitted(path, *options, target="y"):
        place = tmp_path / "model"
        arguments = ["--target", target, "--holdout", 0, "--degree", 1, "--model", place]
        code, out, error = run("fit", path, *arguments, *options)
        assert (code, error) == (0, ""), error
        return out, place, load_model(place)

    return fitted


def numbers(n=300, seed=0, columns=2):
    """Rows of numbers, and the label that their sum gives."""
    X = np.random.default_rng(seed).normal(size=(n, columns)).round(3)
    return [[*map(str, row), "uv"[int(row.sum() > 0)]] for row in X]


def text(rows, header=("a", "b", "y"), separator=","):
    return as_csv(rows, header, separator)


# ----------------------------------------------------------------------- header


def test_a_model_without_header_answers_every_row(run, write, fitted):
    words = [["red", "small", "u"], ["blue", "large", "v"], ["red", "large", "u"]] * 5
    _, model, _ = fitted(write(text(words, ())), "--no-header", target="3")
    for content in ("red,small\nblue,large\n", "blue,large\n", "odd,small\nblue,large\n"):
        code, out, _ = run("predict", model, write(content, "new.csv"))
        assert code == 0 and len(predictions(out)) == content.count("\n")
    rows = numbers()
    _, model, _ = fitted(write(text(rows, ())), target="3")
    code, out, error = run("predict", model, write("n.b.,1\n0.5,1\n", "new.csv"))
    assert (code, out) == (2, "") and "'1' holds 'n.b.' in line 1" in error
    code, out, _ = run("predict", model, write("?,1\n0.5,1\n", "new.csv"))
    assert code == 0 and len(predictions(out)) == 2


def test_one_word_in_the_first_row_makes_no_header(run, write, fitted):
    rows = numbers(120)
    rows[0][1] = "odd"
    path = write(text(rows, ()))
    code, _, error = run("fit", path, "--target", "3")
    assert code == 2 and "column '2' holds 'odd' in line 1 of" in error
    out, *_ = fitted(path, "--missing", "odd", target="3")
    assert "120 to fit" in out and "none: columns are numbered from 1" in out
    out, *_ = fitted(write(text(rows[1:])))
    assert "yes: 'a', 'b', 'y'" in out and "119 to fit" in out


def test_guesses_are_shown(fitted, write):
    rows = [[a, ["red", "blue"][i % 2], y] for i, (a, _, y) in enumerate(numbers())]
    rows[7][0] = "n/a"
    out, *_ = fitted(write(text(rows, separator=";").encode("utf-16")))
    for shown in ("cells between ';'", "utf-16", "yes: 'a', 'b', 'y'", "1 of words ('b')"):
        assert shown in out
    assert "1 of numbers, filled by the median; written 'n/a'" in out


# ------------------------------------------------------------------------ cells


@pytest.mark.parametrize("cell", ["n/a", "-", ".", "None", "#N/A", "<NA>", "", "?", "NULL"])
def test_one_cell_does_not_turn_numbers_into_words(fitted, write, cell):
    rows = numbers()
    whole = fitted(write(text(rows)))[2]
    rows[200][0] = cell
    out, _, model = fitted(write(text(rows)))
    assert "2 of numbers ('a', 'b'), 0 of words" in out
    assert model.coef_ == pytest.approx(whole.coef_, rel=0.05)


def test_any_other_word_among_numbers_is_named(run, write):
    rows = numbers()
    rows[200][0] = "unknown"
    code, out, error = run("fit", write(text(rows)), "--target", "y")
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert "column 'a' holds 'unknown' in line 202 of" in error
    for option in ("--missing 'unknown'", "--words 'a'", "--drop 'a'"):
        assert option in error


def test_decimal_commas_are_numbers(run, write, fitted):
    rows = numbers()
    commas = [[cell.replace(".", ",") for cell in row] for row in rows]
    whole = fitted(write(text(rows)))[2]
    out, place, model = fitted(write(text(commas, separator=";")))
    assert "decimal commas" in out and "2 of numbers ('a', 'b'), 0 of words" in out
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    # and predict does not guess: one that looks like thousands is a decimal comma too
    scores = [
        predictions(run("predict", place, write(content, "new.csv"))[1])[0]["score"]
        for content in ("a;b\n1,234;2\n", "a;b\n1,2340;2\n")
    ]
    assert scores[0] == scores[1]
    groups = [[str(int(float(a) * 1e6)), b, y] for a, b, y in rows]
    plain = fitted(write(text(groups)))[2]
    grouped = fitted(write(text([[f'"{int(a):,}"', b, y] for a, b, y in groups])))[2]
    np.testing.assert_array_equal(grouped.coef_, plain.coef_)


# ------------------------------------------------------------------ row numbers


@pytest.mark.parametrize("name", ["", '""', "Unnamed: 0", "index"])
def test_row_numbers_of_sorted_classes_are_no_feature(fitted, write, name):
    noise = np.random.default_rng(1).normal(size=400).round(3)
    rows = [[str(i + 1), str(x), "uv"[i >= 200]] for i, x in enumerate(noise)]
    out, _, model = fitted(write(text(rows, (name, "x", "y"))))
    assert model.n_features_in_ == 1 and "left out" in out and "--keep" in out
    out, _, model = fitted(write(text(rows, (name, "x", "y"))), "--keep", 1)
    assert model.n_features_in_ == 2 and "note" not in out


# ------------------------------------------------------------------------- ARFF


ARFF = "@relation r\n@attribute a real\n@attribute b real\n@attribute y {n, p}\n@data\n"


def test_sparse_arff_is_what_its_dense_form_is(fitted, write):
    rows = [[a if i % 3 else "0", b, "np"[y == "v"]] for i, (a, b, y) in enumerate(numbers())]
    dense = fitted(write(ARFF + text(rows, ())))[2]
    sparse = [
        "{" + ", ".join(f"{j} {cell}" for j, cell in enumerate(row) if cell not in "0n") + "}\n"
        for row in rows
    ]
    model = fitted(write(ARFF + "".join(sparse)))[2]
    np.testing.assert_array_equal(model.coef_, dense.coef_)
    assert model.classes_.tolist() == ["n", "p"]


def test_arff_comments_and_quotes_are_no_part_of_labels(fitted, write):
    content = (
        "@relation r\n@attribute a real\n@attribute y {'x, one', 'it\\'s'}\n@data\n"
        "% first\n" + "   % indented\n1,\"x, one\" % said so\n2\t'it\\'s'\n" * 10
    )
    assert fitted(write(content))[2].classes_.tolist() == ["it's", "x, one"]


# ---------------------------------------------------------------------- Parquet


def test_parquet_columns_that_are_no_features_can_be_dropped(run, fitted, tmp_path):
    rows = numbers()
    a, _, y = (list(column) for column in zip(*rows, strict=True))
    table = pa.table(
        {
            "a": list(map(float, a)),
            "list": [[1]] * 300,
            "bytes": [b"x"] * 300,
            "span": pa.array([5] * 300, pa.duration("s")),
            "day": pa.array(range(300), pa.date32()),
            "view": pa.array(["r", "s", "s"] * 100, pa.string_view()),
            "y": y,
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    code, _, error = run("fit", tmp_path / "t.parquet", "--target", "y")
    assert code == 2 and "'list' of" in error and "holds list" in error and "--drop" in error
    drops = [option for name in ("list", "bytes", "span", "day") for option in ("--drop", name)]
    out, *_ = fitted(tmp_path / "t.parquet", *drops)
    assert "1 of numbers ('a'), 1 of words ('view')" in out
    out, *_ = fitted(tmp_path / "t.parquet", *drops[:4])
    assert "3 of numbers" in out and "days since 1970" in out


# ---------------------------------------------------------------------- predict


def test_predict_drops_copies_and_ignores_columns(run, write, fitted):
    _, model, _ = fitted(write(text(numbers())))
    rows = [[f"00{i}", a, b, "9"] for i, (a, b, _) in enumerate(numbers(5))]
    path = write(text(rows, ("key", "a", "b", "extra")), "new.csv")
    code, out, error = run("predict", model, path, "--id", "key")
    assert code == 0 and [row["key"] for row in predictions(out)] == [
        "000",
        "001",
        "002",
        "003",
        "004",
    ]
    assert out.startswith("key,label,") and error.count("\n") == 1 and "'extra'" in error
    code, again, error = run("predict", model, path, "--id", "key", "--drop", "extra")
    assert (code, again, error) == (0, out, "")
    code, out, error = run("predict", model, path, "--drop", "a")
    assert (code, out) == (2, "") and "'a' of the training rows is missing" in error
    # a feature may be copied too
    out = run("predict", model, path, "--id", "a", "--drop", "extra", "--drop", "key")[1]
    assert [row["a"] for row in predictions(out)] == [row[1] for row in rows]


def test_predict_drops_and_copies_columns_without_header(run, write, fitted):
    _, model, _ = fitted(write(text(numbers(), ())), target="3")
    rows = [[f"k{i}", a, b] for i, (a, b, _) in enumerate(numbers(5))]
    path = write(text(rows, ()), "new.csv")
    code, out, _ = run("predict", model, path, "--id", 1)
    assert code == 0 and [row["1"] for row in predictions(out)] == [row[0] for row in rows]
    dropped = run("predict", model, path, "--drop", 1)[1]
    assert [row["score"] for row in predictions(dropped)] == [
        row["score"] for row in predictions(out)
    ]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_answers_are_utf_8_wherever_they_go(run, write, fitted, tmp_path, monkeypatch, encoding):
    rows = [[a, b, "oui é" if y == "v" else "non"] for a, b, y in numbers()]
    path = write(text(rows))
    _, model, _ = fitted(path)
    run("predict", model, path, "--output", tmp_path / "o")
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", out)
    assert main(["predict", str(model), path]) == 0
    assert out.buffer.getvalue() == (tmp_path / "o").read_bytes()
    assert "oui é" in out.buffer.getvalue().decode()


@pytest.mark.one_backend
def test_standard_input(run, write, fitted, monkeypatch):
    rows = [[a, b, "oui é" if y == "v" else "non"] for a, b, y in numbers()]
    path = write(text(rows))
    _, model, _ = fitted(path)
    with open(path, "rb") as given:
        piped = subprocess.run(
            [*COMMAND, "predict", model, "-"],
            stdin=given, capture_output=True, env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
    assert (piped.returncode, piped.stderr) == (0, b"")
    assert piped.stdout.decode() == run("predict", model, path)[1]
    with open(path, encoding="utf-8") as given:
        monkeypatch.setattr(sys, "stdin", given)
        code, out, _ = run("fit", "-", "--target", "y", "--no-search")
    assert code == 0 and "210 to fit, 90 held out" in out


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.encode("utf-16"),
        lambda content: content.encode("utf-16-le"),
        lambda content: "sep=;\n" + content.replace(",", ";"),
        lambda content: content + ",,\n" * 3,
        lambda content: "\ufeff" + content.replace("\n", "\r\n"),
    ],
)
def test_other_ways_to_write_the_same_table(fitted, write, change):
    content = text(numbers())
    model = fitted(write(content))[2]
    out, _, other = fitted(write(change(content)))
    np.testing.assert_array_equal(model.coef_, other.coef_)
    assert "300 to fit" in out
    assert ("rows of empty cells" in out) == (change(content)[-3:] == ",,\n")
