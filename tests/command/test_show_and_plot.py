"""``entropic show`` and ``entropic plot``: what they print and draw, and what they lack."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons

from entropic import EntropicClassifier, load_model
from entropic.command.main import main

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.one_backend


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of three columns with its model, and one of two without a name."""
    place = tmp_path_factory.mktemp("models")
    X, y = make_moons(120, noise=0.2, random_state=0)
    colour = np.where(X[:, 0] > 0.5, "red", "blue")
    with open(place / "table.csv", "w") as file:
        file.write("east,north,colour,side\n")
        for (a, b), word, label in zip(X, colour, y, strict=True):
            file.write(f"{a:.4f},{b:.4f},{word},{'up' if label else 'down'}\n")
    np.savetxt(place / "plain.csv", np.column_stack([X, y]), delimiter=",", fmt="%.4f")
    fit = ["--degree", "2", "--holdout", "0"]
    assert run("fit", place / "table.csv", "--target", "side", "--positive", "down", *fit,
               "--model", place / "table.entropic") == 0  # fmt: skip
    assert run("fit", place / "plain.csv", "--target", "3", *fit,
               "--model", place / "plain.entropic") == 0  # fmt: skip
    return place


def run(*arguments):
    return main([str(argument) for argument in arguments])


def test_show_names_the_largest_terms_towards_the_positive_label(folder, capsys):
    assert run("show", folder / "table.entropic", "--terms", 2) == 0
    out = capsys.readouterr().out
    model = load_model(folder / "table.entropic")
    frame = model.summary().to_frame()
    assert (
        "up, down (positive)" in out
        and "2 of numbers ('east', 'north'), 1 of words ('colour')" in out
    )
    assert f"Terms towards down, the 2 largest of {model.coef_.shape[1]}" in out
    names = model.monomials_.get_feature_names_out(model.preprocessing_.encoder.feature_names())
    largest = np.argsort(-np.abs(model.scaled_coef_[0]))[:2]  # those that follow are tied
    for place in largest:
        line = next(line for line in out.splitlines() if line.startswith(f"  {names[place]}  "))
        assert f"{-model.scaled_coef_[0, place]:.5g}" in line  # positive scores mean "up" inside
    assert len(frame) == model.coef_.shape[1] + 1
    lower, upper = model.band_
    assert f"scores between {-upper:.6g} and {-lower:.6g}" in out
    assert "120 rows" in out


def test_show_names_the_columns_of_splines(folder, tmp_path, capsys):
    rows, model = folder / "table.csv", tmp_path / "model"
    fit = ("fit", rows, "--target", "side", "--knots", 5, "--holdout", 0, "--model", model)
    assert run(*fit) == 0
    names = load_model(model).splines_.names(["east", "north", "colour=blue", "colour=red"])
    capsys.readouterr()
    assert run("show", model) == 0
    out = capsys.readouterr().out
    assert len(names) == 12 and all(f"  {name} " in out for name in names)


def test_show_of_a_model_that_python_saved(tmp_path, capsys):
    X, y = make_moons(60, noise=0.2, random_state=0)
    EntropicClassifier().fit(X, y).save(tmp_path / "model")
    assert run("show", tmp_path / "model") == 0
    assert "Terms towards 1\n" in capsys.readouterr().out
    assert run("show", tmp_path / "absent") == 2
    assert run("show", tmp_path / "model", "--terms", "-1") == 2
    assert "'-1' is not a number of terms" in capsys.readouterr().err


def test_plot_writes_every_display_as_png_and_svg(folder, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "all.png"
    assert run("plot", folder / "plain.entropic", folder / "plain.csv", "--output", picture) == 0
    captured = capsys.readouterr()
    assert captured.out == (
        f"surface, scores, risk, reliability, convergence of 120 rows: saved in {picture}\n"
    )
    assert captured.err == ""
    from matplotlib.image import imread

    image = imread(picture)
    height, width, _ = image.shape
    assert height == 1260 and width in (2519, 2520) and 0.3 < image.mean() < 0.99
    drawing = tmp_path / "surface.svg"
    assert run("plot", folder / "table.entropic", folder / "table.csv", "--output", drawing,
               "--display", "surface", "--features", "east", "2") == 0  # fmt: skip
    text = drawing.read_text()
    assert "<svg" in text and "<!-- east -->" in text and "<!-- north -->" in text
    assert "<!-- surface, other features at their medians -->" in text


def test_three_labels_are_shown_and_drawn(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    X, y = load_iris(return_X_y=True)
    table, model, drawing = (tmp_path / name for name in ("table.csv", "model", "all.svg"))
    words = np.array(["setosa", "versicolor", "virginica"])[y]
    lines = [f"{a},{b},{word}" for (a, b), word in zip(X[:, 2:], words, strict=True)]
    table.write_text("length,width,kind\n" + "\n".join(lines))
    assert run("fit", table, "--target", "kind", "--degree", "1", "--model", model) == 0
    assert run("show", model) == 0
    out = capsys.readouterr().out
    for label in np.unique(words):
        assert f"Terms towards {label} (uncertain between" in out
    assert run("plot", model, table, "--output", drawing) == 0
    assert capsys.readouterr().err == ""
    text = drawing.read_text()
    for said in (*words[::50], "score of the class", "probability of the predicted class"):
        assert f"<!-- {said} -->" in text
    of_one = ("--display", "scores", "--display", "reliability", "--class", "virginica")
    assert run("plot", model, table, "--output", drawing, *of_one) == 0
    text = drawing.read_text()
    assert "<!-- predicted probability of virginica -->" in text and "setosa" not in text


def test_plot_says_what_it_leaves_out_and_why(folder, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    unlabelled = tmp_path / "unlabelled.csv"
    lines = (folder / "table.csv").read_text().splitlines()
    unlabelled.write_text("\n".join(line.rpartition(",")[0] for line in lines))
    assert run("plot", folder / "table.entropic", unlabelled, "--output", tmp_path / "a.png") == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("convergence of 120 rows")
    assert "no surface: name the two features of its axes with --features" in captured.err
    assert "no scores: it needs the column of labels" in captured.err


BAD = [
    (
        ["--class", "up", "--display", "convergence"],
        "--class is for the displays scores and reliability",
    ),
    (["--class", "blue"], "--class 'blue' is none of the classes; they are '"),
    (["--display", "scores"], "--display scores cannot be drawn: it needs the column of labels"),
    (["--output", "picture.bmp"], "--output 'picture.bmp' must end in one of png, svg, pdf."),
    (["--output", "absent/picture.png"], "there is no directory"),
    (["--features", "east", "east"], "--features names the column 'east' twice"),
    (["--features", "east", "height"], "--features 'height' is no column of numbers"),
    (["--display", "boundary"], "invalid choice: 'boundary'"),
]


@pytest.mark.parametrize("options, message", BAD, ids=[message for _, message in BAD])
def test_plot_refuses_in_one_line_and_leaves_no_file(
    folder, tmp_path, monkeypatch, capsys, options, message
):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("east,north,colour\n0.1,0.2,red\n")
    assert run("plot", folder / "table.entropic", "rows.csv", *options) == 2
    captured = capsys.readouterr()
    assert message in captured.err and captured.err.count("\n") == 1 and not captured.out
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


def test_plot_without_matplotlib_names_the_extra(folder, tmp_path):
    script = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from entropic.command.main import main; sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "plot", folder / "table.entropic", folder / "table.csv"],
        capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == (
        "entropic: matplotlib is missing; pip install 'entropic-classifier[plot]' brings it.\n"
    )
