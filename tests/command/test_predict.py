"""``entropic predict``: its output, the files and the models it refuses."""

import json
import zipfile

import numpy as np
from command_files import as_csv, mixed_rows, predictions
from sklearn.datasets import load_breast_cancer

from entropic import EntropicClassifier, load_model
from entropic.command.source import open_source


def test_predictions_equal_the_classifiers(run, write, model, tmp_path):
    path = write(as_csv(mixed_rows(30, 2)), "new.csv")
    code, out, error = run("predict", model, path)
    assert (code, error) == (0, "")
    loaded = load_model(model)
    encoder = loaded.preprocessing_.encoder
    source = open_source([path], encoder.reading, encoder.known)
    encoder.select(source)
    X = encoder.matrix(source.table())
    rows = predictions(out)
    assert [row["label"] for row in rows] == loaded.predict(X).tolist()
    assert [float(row["score"]) for row in rows] == loaded.decision_function(X).tolist()
    assert [row["certainty"] == "uncertain" for row in rows] == loaded.in_band(X).tolist()
    code, nothing, _ = run("predict", model, path, "--output", tmp_path / "out.csv")
    assert (code, nothing) == (0, "") and (tmp_path / "out.csv").read_text() == out


def test_the_label_column_may_be_absent_and_columns_in_another_order(run, write, model):
    rows = mixed_rows(30, 2)
    whole = run("predict", model, write(as_csv(rows), "a.csv"))[1]
    bare = as_csv([row[:2] for row in rows], ("size", "colour"))
    turned = as_csv([row[::-1] for row in rows], ("y", "colour", "size"), ";")
    other = write(turned, "c.csv")
    assert run("predict", model, write(bare, "b.csv"))[1] == whole
    assert run("predict", model, other, "--separator", ";")[1] == whole


def test_columns_without_a_header_may_lack_the_label_in_the_middle(run, write, tmp_path):
    rows = [[row[0], row[2], row[1]] for row in mixed_rows()]
    train = write(as_csv(rows, ()), "train.csv")
    bare = write(as_csv([row[::2] for row in rows], ()), "bare.csv")
    assert run("fit", train, "--target", 2, "--model", tmp_path / "m")[0] == 0
    assert run("predict", tmp_path / "m", train)[1] == run("predict", tmp_path / "m", bare)[1]


def test_models_saved_from_python_predict_files_of_numbers(run, write, tmp_path, fails):
    X, y = load_breast_cancer(return_X_y=True)
    model = EntropicClassifier().fit(X[:, :3], y)
    model.save(tmp_path / "m")
    path = write(as_csv(X[:20, :3], ()), "x.csv")
    scores = [float(row["score"]) for row in predictions(run("predict", tmp_path / "m", path)[1])]
    np.testing.assert_allclose(scores, model.decision_function(X[:20, :3]), rtol=1e-12)
    assert "NaN" in fails("predict", tmp_path / "m", write("1,2,?\n3,4,5\n", "y.csv"))


def test_other_columns_than_those_of_the_fit(fails, write, model):
    def refuse(content):
        return fails("predict", model, write(content, "new.csv"))

    assert "'colour' of the training rows is missing" in refuse("size,hue\n1,red\n")
    assert "is missing" in refuse("1,red\n2,blue\n")
    assert "holds 'big' in line 2" in refuse("size,colour\nbig,red\n")
    assert "LIBSVM" in refuse("1 1:2\n")


def test_models_that_are_none(fails, write, model, tmp_path):
    rows = write(as_csv(mixed_rows()))
    assert "not a model file" in fails("predict", rows, rows)
    assert "there is no file" in fails("predict", tmp_path / "absent", rows)
    damaged = tmp_path / "damaged"
    content = model.read_bytes()
    damaged.write_bytes(content[: len(content) // 2])
    assert "damaged or foreign" in fails("predict", damaged, rows, "--output", tmp_path / "out")


def test_forged_preprocessing_is_one_line_or_predictions(run, write, model, tmp_path):
    rows = write(as_csv(mixed_rows()))
    good, forged = run("predict", model, rows)[1], tmp_path / "forged"
    with zipfile.ZipFile(model) as file:
        entries = {name: file.read(name) for name in file.namelist()}
    schema = json.loads(entries.pop("schema.json"))
    nodes, todo = [], [schema["content"]["content"]["preprocessing_"]]
    while todo:
        node = todo.pop()
        if isinstance(node, list):
            todo += node
        elif isinstance(node, dict):
            todo += node.values()
            nodes += [node] if node.get("__loader__") == "JsonNode" else []
    assert len(nodes) > 10
    codes = set()
    for i, node in enumerate(nodes):
        kept = node["content"]
        node["content"] = ("null", "-1", "1e300", '"x"', "[]", "{}", "true")[i % 7]
        with zipfile.ZipFile(forged, "w") as file:
            for name, entry in entries.items():
                file.writestr(name, entry)
            file.writestr("schema.json", json.dumps(schema))
        node["content"] = kept
        code, out, error = run("predict", forged, rows)
        codes.add(code)
        assert code in (0, 2) and (out == "" and error.count("\n") == 1 if code else not error)
        assert code or out.count("\n") == good.count("\n")
    assert 2 in codes


def test_places_that_cannot_be_written_to(fails, write, model, tmp_path):
    rows = write(as_csv(mixed_rows()))
    for place in (tmp_path, tmp_path / "absent" / "x", "/dev/full"):
        assert "cannot write" in fails("predict", model, rows, "--output", place)
        assert "cannot write" in fails("fit", rows, "--target", "y", "--model", place)


def test_files_folders_and_patterns_are_answered_one_below_the_other(
    run, write, model, tmp_path, fails
):
    rows = mixed_rows(30, 2)
    whole = predictions(run("predict", model, write(as_csv(rows), "whole.csv"))[1])
    scores = [float(row["score"]) for row in whole]
    (tmp_path / "parts").mkdir()
    parts = [write(as_csv(rows[:9]), "parts/a.csv"), write(as_csv(rows[9:]), "parts/b.csv")]
    for files in (parts, [tmp_path / "parts"], [tmp_path / "parts" / "*.csv"]):
        found = predictions(run("predict", model, *files)[1])
        assert [row["label"] for row in found] == [row["label"] for row in whole]
        np.testing.assert_allclose([float(row["score"]) for row in found], scores, rtol=1e-12)
    bad = write(as_csv([["big", "red", "good"]]), "parts/c.csv")
    assert f"'big' in line 2 of {bad!r}" in fails("predict", model, *parts, bad)
    other = write("size,hue\n1,red\n", "parts/c.csv")
    assert f"{other!r} has other columns" in fails("predict", model, *parts, other)
