"""``entropic fit``, as a user meets it: its report, its options, its refusals."""

import sys

import numpy as np
import pytest
import real_data
from command_files import as_csv, mixed_rows, predictions, said
from sklearn.datasets import dump_svmlight_file, load_breast_cancer

from entropic import EntropicClassifier, checks, load_model
from entropic.command import options
from entropic.command.fit import _forewarned


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
    _, out, _ = run("fit", "--no-search", path, "--target", "y", "--holdout", 0)
    numbers = sum(row[0] == "NA" for row in rows)
    words = sum(row[1] == "?" for row in rows)
    assert f"{numbers} of numbers, filled by the median; {words} of words" in out


def test_the_same_command_prints_the_same_report(run, write):
    path = write(as_csv(mixed_rows()))
    one, two, other = (
        run("fit", "--no-search", path, "--target", "y", "--seed", seed)[1] for seed in (0, 0, 5)
    )
    assert one == two != other


def test_without_rich_the_same_words_are_printed(run, write, monkeypatch):
    pytest.importorskip("rich")
    path = write(as_csv(mixed_rows()))
    rich = run("fit", "--no-search", path, "--target", "y")[1]
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert run("fit", "--no-search", path, "--target", "y")[1] == rich


def test_positive_turns_the_scores_and_the_figures_around(run, write, tmp_path):
    path = write(as_csv(mixed_rows()))
    scores = {}
    for label in ("bad", "good"):
        model = tmp_path / label
        run(
            "fit",
            "--no-search",
            path,
            "--target",
            "y",
            "--positive",
            label,
            "--holdout",
            0,
            "--model",
            model,
        )
        rows = predictions(run("predict", model, path)[1])
        scores[label] = np.array([float(row["score"]) for row in rows])
        assert {row["label"] for row in rows if float(row["score"]) > 0} == {label}
    np.testing.assert_array_equal(scores["bad"], -scores["good"])


def test_labels_against_all_others(run, write, tmp_path):
    rows = [[i, i % 4] for i in range(40)]
    path = write(as_csv(rows, ("x", "y")))
    code, out, _ = run(
        "fit",
        "--no-search",
        path,
        "--target",
        "y",
        "--positive",
        1,
        "--positive",
        2,
        "--model",
        tmp_path / "m",
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
    one = run("fit", "--no-search", whole, "--target", "y")[1].split("\n", 2)[2]
    two = run("fit", "--no-search", *parts, "--target", "y")[1].split("\n", 2)[2]
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
        code, out, error = run("fit", "--no-search", names[0], "--test", test, "--model", model)
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
    out = run("fit", "--no-search", train, "--target", "y", "--test", test)[1]
    assert "end in a dot, which was taken off" in out
    reference = run("fit", "--no-search", train, "--target", "y", "--test", plain)[1]
    assert said(out, "accuracy") == said(reference, "accuracy")


def test_identifiers_among_the_words_are_noted(run, write):
    rows = [[f"id{i}", *row] for i, row in enumerate(mixed_rows())]
    path = write(as_csv(rows, ("name", "size", "colour", "y")))
    assert (
        "column name has 42 different words" in run("fit", "--no-search", path, "--target", "y")[1]
    )
    assert (
        "different words"
        not in run("fit", "--no-search", path, "--target", "y", "--drop", "name")[1]
    )


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
        (["--bogus"], "unrecognized arguments: --bogus (see entropic fit --help)"),
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


def test_options_are_the_classifiers_own():
    ours = EntropicClassifier().get_params()
    assert {name: ours[name] for name in options.DEFAULTS} == options.DEFAULTS
    # code, an array by feature, and what only a second fit could use
    assert set(ours) - set(options.DEFAULTS) == {
        "callback", "monotonic_cst", "verbose", "warm_start",
    }  # fmt: skip
    assert (options.SOLVERS, options.CONSTRAINTS) == (checks.SOLVERS, checks.CONSTRAINTS)


@pytest.mark.one_backend
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
    files = [real_data.path(name) for name in files]
    code, out, error = run("fit", "--no-search", *files, *options)
    assert (code, error) == (0, "")
    assert said(out, "status")[1].startswith("converged")
    assert float(said(out, "accuracy")[1].split()[0]) >= least


@pytest.mark.one_backend
def test_adult_and_a9a_with_their_test_files(run):
    adult = [real_data.path(f"adult/adult.{part}") for part in ("data", "test")]
    code, out, _ = run("fit", "--no-search", adult[0], "--target", 15, "--test", adult[1])
    assert code == 0 and float(said(out, "accuracy")[1].split()[0]) > 0.845
    assert "4,262 of words" in out and "taken off" in out
    a9a = [real_data.path(f"a9a/{name}") for name in ("a9a", "a9a.t")]
    code, out, _ = run("fit", "--no-search", a9a[0], "--test", a9a[1])
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
