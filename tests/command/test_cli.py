"""The command, as a user meets it: its report, its predictions, its refusals."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest
import real_data
from sklearn.datasets import dump_svmlight_file, load_breast_cancer

from entropic import EntropicClassifier, checks, load_model
from entropic.command import options
from entropic.command.fit import _forewarned
from entropic.command.main import main
from entropic.command.source import open_source

COMMAND = [sys.executable, "-m", "entropic"]


@pytest.fixture
def write(tmp_path):
    def write(content, name="rows.csv"):
        path = tmp_path / name
        path.write_text(content)
        return str(path)

    return write


@pytest.fixture
def run(capsys):
    """Run the command in this process: exit code, output, error output."""

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def fails(run, tmp_path):
    """Run what must fail: exit code 2, one line, nothing printed, nothing written."""

    def fails(*arguments):
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        code, out, error = run(*arguments)
        assert (code, out) == (2, "")
        assert error.startswith("entropic: ") and error.count("\n") == 1 and error[-1] == "\n"
        after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        assert before == after
        return error

    return fails


def mixed_rows(n=60, seed=0):
    """Rows with a number, a word, missing cells, and labels that depend on both."""
    rng = np.random.default_rng(seed)
    size, colour = rng.normal(size=n), rng.choice(["red", "blue", "?"], n)
    good = size + (colour == "red") + rng.normal(size=n) > 0.5
    cells = np.where(rng.random(n) < 0.1, "NA", np.round(size, 3).astype(str))
    return [
        [cell, word, "good" if label else "bad"]
        for cell, word, label in zip(cells, colour, good, strict=True)
    ]


def as_csv(rows, header=("size", "colour", "y"), separator=","):
    return "".join(separator.join(map(str, row)) + "\n" for row in [header, *rows] if len(row))


def predictions(out):
    return list(csv.DictReader(io.StringIO(out)))


def said(out, label):
    return next(line for line in out.splitlines() if line.strip().startswith(label)).split(None, 1)


# ------------------------------------------------------------------------- fit


def test_the_report_says_what_the_classifier_found(run):
    code, out, error = run("fit", "sklearn:breast_cancer", "--holdout", 0, "--no-search")
    assert (code, error) == (0, "")
    X, y = load_breast_cancer(return_X_y=True)
    model = EntropicClassifier().fit(X, y)
    assert said(out, "rows")[1] == "569 to fit, 0 held out"
    assert said(out, "classes")[1] == "benign: 357, malignant: 212 (positive)"
    assert said(out, "steps")[1].startswith(f"{model.n_iter_} ")
    assert said(out, "status")[1].startswith("converged")
    assert "accuracy" not in out


def test_the_figures_on_held_out_rows_are_right(run, write, tmp_path):
    train = write(as_csv(mixed_rows()), "train.csv")
    test = write(as_csv(mixed_rows(40, 1)), "test.csv")
    code, out, _ = run("fit", train, "--target", "y", "--test", test, "--model", tmp_path / "m")
    assert code == 0
    _, predicted, _ = run("predict", tmp_path / "m", test)
    rows = predictions(predicted)
    truth = np.array([row[2] for row in mixed_rows(40, 1)])
    label = np.array([row["label"] for row in rows])
    certain = np.array([row["certainty"] == "certain" for row in rows])
    score = np.array([float(row["score"]) for row in rows])
    assert ((score > 0) == (label == "good")).all()
    right, hit = np.mean(truth == label), np.sum((truth == "good") & (label == "good"))
    assert said(out, "accuracy")[1].startswith(f"{right:.4f} ")
    assert said(out, "precision")[1] == f"{hit / np.sum(label == 'good'):.4f}"
    assert said(out, "recall")[1] == f"{hit / np.sum(truth == 'good'):.4f}"
    both = np.sum(label == "good") + np.sum(truth == "good")
    assert said(out, "F1")[1] == f"{2 * hit / both:.4f}"
    assert said(out, "certain")[1].startswith(f"{certain.sum()} of 40 ")
    if certain.any():
        assert f"{np.mean((truth == label)[certain]):.4f} are right" in out
    table = [
        line.split() for line in out.splitlines() if line.strip().startswith(("bad ", "good "))
    ]
    counts = [[int(cell) for cell in line[1:]] for line in table]
    assert counts == [
        [np.sum((truth == a) & (label == b)) for b in ("bad", "good")] for a in ("bad", "good")
    ]


def test_missing_cells_are_counted(run, write):
    rows = mixed_rows()
    path = write(as_csv(rows))
    _, out, _ = run("fit", path, "--target", "y", "--holdout", 0)
    numbers = sum(row[0] == "NA" for row in rows)
    words = sum(row[1] == "?" for row in rows)
    assert f"{numbers} of numbers, filled by the median; {words} of words" in out


def test_the_same_command_prints_the_same_report(run, write):
    path = write(as_csv(mixed_rows()))
    one, two, other = (run("fit", path, "--target", "y", "--seed", seed)[1] for seed in (0, 0, 5))
    assert one == two != other


def test_without_rich_the_same_words_are_printed(run, write, monkeypatch):
    pytest.importorskip("rich")
    path = write(as_csv(mixed_rows()))
    rich = run("fit", path, "--target", "y")[1]
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert run("fit", path, "--target", "y")[1] == rich


@pytest.mark.parametrize("absent", ["pyarrow", "clevercsv"])
def test_what_is_missing_is_one_line_that_says_what_brings_it(write, absent):
    path = write(as_csv(mixed_rows()))
    program = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(name, *_):\n"
        f"        if name.split('.')[0] in ({absent!r}, 'pandas'):\n"
        "            raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Absent)\n"
        "from entropic.command.main import main\n"
        f"sys.exit(main(['fit', {path!r}, '--target', 'y']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith(f"entropic: {absent}") and done.stderr.count("\n") == 1
    assert "pip install 'entropic-classifier[cli]'" in done.stderr


def test_positive_turns_the_scores_and_the_figures_around(run, write, tmp_path):
    path = write(as_csv(mixed_rows()))
    scores = {}
    for label in ("bad", "good"):
        model = tmp_path / label
        run("fit", path, "--target", "y", "--positive", label, "--holdout", 0, "--model", model)
        rows = predictions(run("predict", model, path)[1])
        scores[label] = np.array([float(row["score"]) for row in rows])
        assert {row["label"] for row in rows if float(row["score"]) > 0} == {label}
    np.testing.assert_array_equal(scores["bad"], -scores["good"])


def test_labels_against_all_others(run, write, tmp_path, fails):
    rows = [[i, i % 4] for i in range(40)]
    path = write(as_csv(rows, ("x", "y")))
    assert "--positive LABEL" in fails("fit", path, "--target", "y", "--model", tmp_path / "m")
    code, out, _ = run(
        "fit", path, "--target", "y", "--positive", 1, "--positive", 2, "--model", tmp_path / "m"
    )
    assert code == 0 and "not 1 or 2: 20, 1 or 2: 20 (positive)" in out
    assert predictions(run("predict", tmp_path / "m", path)[1])[0]["label"] in (
        "1 or 2",
        "not 1 or 2",
    )


def test_parameters_reach_the_classifier(run, write, tmp_path):
    path = write(as_csv(mixed_rows()))
    code, out, _ = run(
        "fit", path, "--target", "y", "--model", tmp_path / "m", "--degree", 2,
        "--interaction-only", "--bound", 2, "--C", 3, "--constraint", "inequality",
        "--slack", 0.5, "--margin", 0.25, "--no-intercept", "--standardize", "no",
        "--class-weight", "bad=1,good=2.5", "--solver", "newton",
        "--tol", 1e-6, "--max-iter", 50, "--n-jobs", 1,
    )  # fmt: skip
    assert code == 0
    expected = EntropicClassifier(
        degree=2, interaction_only=True, bound=2, C=3, constraint="inequality", slack=0.5,
        margin=0.25, fit_intercept=False, standardize=False,
        class_weight={"bad": 1.0, "good": 2.5}, solver="newton", tol=1e-6, max_iter=50, n_jobs=1,
    )  # fmt: skip
    assert load_model(tmp_path / "m").get_params() == expected.get_params()
    n_monomials = load_model(tmp_path / "m").coef_.shape[1]
    assert said(out, "surface")[1] == f"degree 2, {n_monomials} monomials"


def test_an_unfinished_fit_is_noted(run, write):
    code, out, error = run(
        "fit", write(as_csv(mixed_rows())), "--target", "y", "--max-iter", 1, "--tol", 1e-12
    )
    assert code == 0 and error == ""
    assert said(out, "status")[1].startswith("max_iter")
    assert "raise max_iter" in out.replace("\n", " ")


def test_steps_are_shown_on_standard_error_when_asked(run, write):
    command = ["fit", write(as_csv(mixed_rows())), "--target", "y", "--degree", 1]
    code, out, error = run(*command, "--verbose")
    assert code == 0 and "gap" in error.splitlines()[0]
    assert out == run(*command)[1]


def test_files_are_read_one_below_the_other(run, write):
    rows = mixed_rows()
    whole = write(as_csv(rows), "whole.csv")
    parts = [write(as_csv(rows[:20]), "a.csv"), write(as_csv(rows[20:], separator=";"), "b.csv")]
    one = run("fit", whole, "--target", "y")[1].split("\n", 2)[2]
    two = run("fit", *parts, "--target", "y")[1].split("\n", 2)[2]
    assert one == two


def test_libsvm_with_a_narrower_and_a_wider_test_file(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) * (rng.random((60, 5)) < 0.6)
    y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    names = [str(tmp_path / name) for name in ("train", "narrow", "wide")]
    wide = np.hstack([X, np.ones((60, 3))])
    for name, rows in zip(names, (X, X[:, :3], wide), strict=True):
        dump_svmlight_file(rows, y, name, zero_based=False)
    model = tmp_path / "m"
    for test in names[1:]:
        code, out, error = run("fit", names[0], "--test", test, "--model", model)
        assert (code, error) == (0, "")
    assert "180 cells of the held-out rows hold what no training row has; ignored" in out
    direct = load_model(model).decision_function(X)
    scores = [float(row["score"]) for row in predictions(run("predict", model, names[2])[1])]
    np.testing.assert_allclose(scores, direct, rtol=1e-12)


def test_trailing_dots_in_test_labels_are_reported(run, write):
    train = write(as_csv(mixed_rows()), "train.csv")
    dotted = [[*row[:2], row[2] + "."] for row in mixed_rows(40, 1)]
    test = write(as_csv(dotted), "test.csv")
    plain = write(as_csv(mixed_rows(40, 1)), "plain.csv")
    out = run("fit", train, "--target", "y", "--test", test)[1]
    assert "end in a dot, which was taken off" in out
    reference = run("fit", train, "--target", "y", "--test", plain)[1]
    assert said(out, "accuracy") == said(reference, "accuracy")


def test_identifiers_among_the_words_are_noted(run, write):
    rows = [[f"id{i}", *row] for i, row in enumerate(mixed_rows())]
    path = write(as_csv(rows, ("name", "size", "colour", "y")))
    assert "column name has 42 different words" in run("fit", path, "--target", "y")[1]
    assert "different words" not in run("fit", path, "--target", "y", "--drop", "name")[1]


# --------------------------------------------------------------------- predict


@pytest.fixture
def model(run, write, tmp_path):
    path = tmp_path / "model"
    code, *_ = run("fit", write(as_csv(mixed_rows())), "--target", "y", "--model", path)
    assert code == 0
    return path


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


# ------------------------------------------------------------------- bad input


def test_bad_rows(fails, write, tmp_path):
    model = tmp_path / "m"

    def refuse(content, *options):
        return fails("fit", write(content), "--target", "y", "--model", model, *options)

    good = as_csv(mixed_rows())
    assert "no file 'absent.csv'" in fails("fit", "absent.csv", "--target", "y")
    assert "is empty" in refuse("")
    assert "no rows" in refuse("size,y\n")
    assert "line 4: 2 cells where 3" in refuse("a,b,y\n1,2,u\n3,4,v\n5,6\n")
    assert "all rows have the label u" in refuse("a,y\n1,u\n2,u\n")
    assert "infinity in line 3" in refuse("a,y\n1,u\ninf,v\n2,u\n3,v\n", "--holdout", 0)
    assert "label is missing in line 3" in refuse("a,y\n1,u\n2,\n3,v\n")
    assert "'hue' is not a column" in refuse(good, "--drop", "hue")
    assert "is the column of labels" in refuse(good, "--drop", "y")
    assert "not a label" in refuse(good, "--positive", "ugly")
    assert "give the column of labels" in fails("fit", write(good))
    assert "'hue' is not a column" in fails("fit", write(good), "--target", "hue")
    assert "no column is left" in refuse(good, "--drop", "size", "--drop", "colour")
    assert "--holdout" in refuse("a,y\n1,u\n2,u\n3,u\n4,v\n")
    test = write("size,colour,y\n1,red,ugly\n", "t.csv")
    assert "label ugly is not one of" in refuse(good, "--test", test)
    assert "'y', is missing" in refuse(good, "--test", write("size,colour\n1,red\n", "t.csv"))


@pytest.mark.parametrize(
    "options, message",
    [
        (["--C", "-1"], "C=-1.0 is out of range"),
        (["--C", "nan"], "C=nan is out of range"),
        (["--C", "much"], "invalid float value"),
        (["--degree", "0"], "degree must be an integer of at least 1"),
        (["--degree", "1.5"], "invalid int value"),
        (["--solver", "magic"], "invalid choice"),
        (["--constraint", "none"], "invalid choice"),
        (["--standardize", "maybe"], "none of auto, yes, no"),
        (["--slack", "-1"], "slack=-1.0"),
        (["--tol", "-1"], "tol=-1.0"),
        (["--max-iter", "0"], "max_iter must be an integer of at least 1"),
        (["--certainty", "2"], "certainty=2.0"),
        (["--class-weight", "heavy"], "neither balanced nor LABEL=WEIGHT"),
        (["--class-weight", "bad=-1"], "-1"),
        (["--holdout", "1"], "--holdout 1 is not a share"),
        (["--holdout", "nan"], "--holdout nan is not a share"),
        (["--holdout", "0.2", "--test", "x"], "not allowed with"),
        (["--seed", "-1"], "--seed -1"),
        (["--separator", "ab"], "single character"),
        (["--bogus"], "unrecognized arguments: --bogus"),
        (["--targ", "y"], "unrecognized arguments"),
    ],
)  # fmt: skip
def test_unknown_options_and_values(fails, write, tmp_path, options, message):
    path = write(as_csv(mixed_rows()))
    error = fails("fit", path, "--target", "y", "--model", tmp_path / "m", *options)
    assert message in error


def test_commands_that_are_none(fails):
    assert "COMMAND" in fails()
    assert "invalid choice: 'train'" in fails("train")
    assert "required: FILE" in fails("fit")
    assert "required: FILE" in fails("predict", "model")


def test_help_and_version_are_no_failures(run):
    for arguments in (["--help"], ["fit", "--help"], ["predict", "--help"], ["--version"]):
        code, out, error = run(*arguments)
        assert (code, error) == (0, "") and out


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


# ------------------------------------------------------------------- processes


def test_the_process_fails_with_one_line(model):
    done = subprocess.run([*COMMAND, "predict", model, "absent"], capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1


def test_a_reader_that_leaves_is_no_error(write, model):
    rows = write(as_csv(mixed_rows()))
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*COMMAND, "predict", model, rows], stdout=writer, stderr=subprocess.PIPE, text=True
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_full_device_is_one_line(write, model):
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full here")
    rows = write(as_csv(mixed_rows()))
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "predict", model, rows], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert done.stderr.startswith("entropic: ") and done.stderr.count("\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
def test_an_interruption_is_answered_and_leaves_nothing(write, tmp_path):
    rng = np.random.default_rng(0)
    rows = [[*row, int(label)] for row, label in zip(
        rng.normal(size=(4000, 40)).round(3), rng.random(4000) < 0.5, strict=True
    )]  # fmt: skip
    path = write(as_csv(rows, [f"x{j}" for j in range(40)] + ["y"]))
    model = tmp_path / "m"
    process = subprocess.Popen(
        [*COMMAND, "fit", path, "--target", "y", "--degree", "2", "--verbose", "--tol", "0",
         "--max-iter", "1000000", "--solver", "spectral", "--model", str(model)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    process.stderr.readline()  # the first step: the fit is under way
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    answered = time.monotonic() - sent
    assert process.returncode == 130 and out == ""
    assert error.splitlines()[-1] == "entropic: interrupted"
    assert not model.exists() and len(list(tmp_path.iterdir())) == 1
    assert answered < 10  # a second on a quiet machine


# Says when the first of its imports begins.
ENDLESS = """
import sys
from entropic.command.main import main

class Watch:
    def find_spec(self, name, *_):
        if name == "entropic.command.options":
            print("under way", flush=True)

sys.meta_path.insert(0, Watch())
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.2, 0.5, 1.0, 1.5, 4.0])
def test_an_interruption_while_libraries_load_is_one_line(write, seconds):
    X = np.random.default_rng(0).normal(size=(20000, 20)).round(2)
    names = [*(f"x{column}" for column in range(20)), "y"]
    path = write(as_csv([[*row, index % 2] for index, row in enumerate(X)], names))
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS, "fit", path, "--target", "-1", "--degree", "3",
         "--tol", "0", "--max-iter", "1000000", "--solver", "spectral"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    process.stdout.readline()
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert (process.returncode, out, error) == (130, "", "entropic: interrupted\n")


# ------------------------------------------------------------------ arguments


@pytest.mark.parametrize(
    "arguments", [["--version"], ["fit", "--help"], ["fit"], ["fit", "x", "--degree", "one"]]
)
def test_arguments_are_answered_before_any_library_is_loaded(arguments):
    script = (
        "import sys; from entropic.command.main import main; main(sys.argv[1:]); "
        "sys.exit(str(set(sys.modules) & {'numpy', 'scipy', 'sklearn'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True
    )
    assert done.stderr.splitlines()[-1] == "set()"


def test_options_are_the_classifiers_own():
    ours = EntropicClassifier().get_params()
    assert {name: ours[name] for name in options.DEFAULTS} == options.DEFAULTS
    # code, an array by feature, and what only a second fit could use
    assert set(ours) - set(options.DEFAULTS) == {
        "callback", "monotonic_cst", "verbose", "warm_start",
    }  # fmt: skip
    assert (options.SOLVERS, options.CONSTRAINTS) == (checks.SOLVERS, checks.CONSTRAINTS)


# ------------------------------------------------------------------- real data


@pytest.mark.parametrize(
    "files, options, least",
    [
        (["spambase/spambase.data"], ["--target", "58", "--no-header"], 0.89),
        (["mushroom/agaricus-lepiota.data"], ["--target", "1"], 0.998),
        (["oil_spill/oil-spill.csv"], ["--target", "-1"], 0.95),
        (["transfusion/transfusion.data"], ["--target", "response"], 0.75),
        (["breast_cancer_wisconsin_original/breast-cancer-wisconsin.data"],
         ["--target", "11", "--drop", "1"], 0.94),
        (["wine_quality/winequality-red.csv"],
         ["--target", "quality", "--positive", "6", "--positive", "7", "--positive", "8"], 0.73),
        (["german_numeric/german.data-numeric"], ["--target", "-1"], 0.74),
        (["letter/letter.arff"], ["--target", "class", "--positive", "A"], 0.98),
    ],
    ids=lambda value: value[0].split("/")[0] if isinstance(value, list) else None,
)  # fmt: skip
def test_real_files(run, files, options, least):
    code, out, error = run("fit", *(real_data.path(name) for name in files), *options)
    assert (code, error) == (0, "")
    assert said(out, "status")[1].startswith("converged")
    assert float(said(out, "accuracy")[1].split()[0]) >= least


def test_adult_and_a9a_with_their_test_files(run):
    adult = [real_data.path(f"adult/adult.{part}") for part in ("data", "test")]
    code, out, _ = run("fit", adult[0], "--target", 15, "--test", adult[1])
    assert code == 0 and float(said(out, "accuracy")[1].split()[0]) > 0.845
    assert "4,262 of words" in out and "taken off" in out
    a9a = [real_data.path(f"a9a/{name}") for name in ("a9a", "a9a.t")]
    code, out, _ = run("fit", a9a[0], "--test", a9a[1])
    assert code == 0 and float(said(out, "accuracy")[1].split()[0]) > 0.845
    assert said(out, "features")[1] == "123"


def test_a_long_fit_says_what_it_costs_before_it_begins(capsys):
    X = np.zeros((3_000, 57))
    assert not _forewarned(X, EntropicClassifier(2))
    assert capsys.readouterr().err == ""
    assert _forewarned(X, EntropicClassifier(6, n_jobs=1))
    said = capsys.readouterr().err
    assert "makes 67945520 monomials" in said and "minutes" in said
    assert not _forewarned(X, EntropicClassifier(40))  # the fit refuses what cannot be numbered
