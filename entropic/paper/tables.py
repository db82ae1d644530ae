"""The tables of the experiments, as text, Markdown and JSON."""

from __future__ import annotations

import json
import textwrap

import numpy as np

from entropic.config import config

from .classifiers import DEGREES
from .printed import PRINTED

HEADS = ("method", "chosen", "accuracy", "precision", "recall", "F1", "confusion", "fit, ms")
PAPER_HEADS = (*HEADS[:3], "printed", *HEADS[3:7], "printed", HEADS[7])
CERTAIN_HEADS = ("set", "method", "certain test rows", "of them wrong")
LEGEND = (
    "The figures are those of the test part: 30% of the rows, which no classifier has seen. Class "
    "0 is the paper's good class; precision, recall and F1 are of class 1. A confusion matrix has "
    "a row a true class and a column a predicted one. Entropic-Linear and Entropic-Polynomial are "
    "the paper's own rule: the exact constraint, at most 5,000 steps of its iteration, its "
    "threshold. Where classes cannot be separated that constraint has no solution, and their rows "
    "are where the steps had led. EntropicClassifier() has its defaults, and "
    "EntropicClassifier(degree) all of them but the degree, which left-out scores choose; "
    "EntropicClassifierCV() chooses by these all that it can."
)


def tables(experiments):
    """Every table as a title, its heads, its rows of words, and a note or None."""
    for name, experiment in experiments.items():
        yield (
            _title(name, experiment),
            PAPER_HEADS,
            [_row(name, experiment, method) for method in experiment.runs],
            _note(experiment),
        )
    rows = [
        [name, method, f"{run.certain[0]} of {np.sum(run.confusion)}", str(run.certain[1])]
        for name, experiment in experiments.items()
        for method in experiment.runs
        if (run := experiment.middle(method)).certain is not None
    ]
    yield (
        "What is certain",
        CERTAIN_HEADS,
        rows,
        ("Certain: no training row, left out, of the other class has such a score."),
    )


def _title(name, experiment):
    X, X_test, _, _ = experiment.parts
    return (
        f"{name.capitalize()}: {len(X)} rows to fit, {len(X_test)} to test, {X.shape[1]} features"
    )


def _row(name, experiment, method):
    run, printed = experiment.middle(method), PRINTED[name].get(method)
    return [
        method,
        run.chosen,
        f"{run.accuracy:.3f}",
        f"{printed.accuracy:.2f}" if printed else "",
        *(f"{figure:.2f}" for figure in (run.precision, run.recall, run.f1)),
        _matrix(run.confusion),
        _matrix(printed.confusion) if printed else "",
        f"{1e3 * run.seconds:.1f}",
    ]


def _matrix(confusion):
    return ", ".join(" ".join(str(count) for count in row) for row in confusion)


def _note(experiment):
    ranges = []
    for method in experiment.runs:
        lowest, *_, highest = experiment.accuracies(method) * 2
        ranges.append(f"{method} {lowest:.3f} to {highest:.3f}")
    n_runs = len(next(iter(experiment.runs.values())))
    if n_runs > 1:
        return (
            f"The authors set no random state here. Each row is the run of median accuracy of "
            f"{n_runs}, random states 0 to {n_runs - 1}; accuracies go from {', '.join(ranges)}."
        )
    if experiment.degrees != DEGREES:
        return (
            "Polynomials are of degree 2, which is what the paper's search chose; degrees 3 and 4 "
            "have 5,455 and 46,375 columns and are tried with --all-degrees."
        )
    return None


# ------------------------------------------------------------------------ forms


def as_text(experiments):
    """The tables for a terminal."""
    parts = []
    for title, heads, rows, note in tables(experiments):
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        lines = [
            "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in (heads, *rows)
        ]
        parts.append("\n".join([title, "", *lines]))
        parts += [textwrap.fill(note, 100)] if note else []
    return "\n\n".join([*parts, textwrap.fill(LEGEND, 100)]) + "\n"


def as_markdown(experiments):
    """The tables as a page."""
    parts = ["# The paper's experiments", LEGEND]
    for title, heads, rows, note in tables(experiments):
        lines = [f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows)]
        parts += [f"## {title}", "\n".join(lines), *([note] if note else [])]
    return "\n\n".join(parts) + "\n"


def as_json(experiments):
    """All figures of all runs, and on what they were found."""
    sets = {}
    for name, experiment in experiments.items():
        X, X_test, _, _ = experiment.parts
        sets[name] = {
            "n_train": len(X),
            "n_test": len(X_test),
            "n_features": X.shape[1],
            "methods": {
                method: {
                    "runs": [_figures(run) for run in runs],
                    "printed": _printed(name, method),
                }
                for method, runs in experiment.runs.items()
            },
        }
    return json.dumps({"installation": config(), "sets": sets}, indent=1) + "\n"


def _figures(run):
    return {
        "chosen": run.chosen,
        "accuracy": run.accuracy,
        "precision": run.precision,
        "recall": run.recall,
        "f1": run.f1,
        "confusion": np.asarray(run.confusion).tolist(),
        "fit_seconds": run.seconds,
        "n_certain": run.certain and run.certain[0],
        "n_certain_wrong": run.certain and run.certain[1],
    }


def _printed(name, method):
    printed = PRINTED[name].get(method)
    return None if printed is None else printed._asdict()
