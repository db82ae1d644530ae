"""bench/README.md from the timings: the machine, the aims, tables of ratios, plots.

    python bench/report.py                       run every suite, then write the page
    python bench/report.py --only fit solver     run these, and take what is kept of the others
    python bench/report.py RESULTS.json ...      write it from what pytest-benchmark has kept

What each suite finds is kept in bench/results. What was not measured is left out, and is said to be
where an aim rests on it. notes.md is included as it is.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # where Python is told not to add it itself
from dot_plot import dot_plot  # noqa: E402

RESULTS = HERE / "results"
# Two threads are compared with one by test_threads.py alone, and keep nothing.
SUITES = sorted(
    path.stem.removeprefix("test_")
    for path in HERE.glob("test_*.py")
    if path.stem != "test_threads"
)
# In the order of the page: a topic's question, and the method that all are divided by.
TOPICS = {
    "gradient sweep": (
        "Value and gradient of the loss in one read of the rows, beside a pure read of the same "
        "bytes and NumPy's `X @ w, X.T @ r`",
        "pure read, 1 thread",
    ),
    "other sweeps": ("Curvature, Hessian products and scores", "entropic, 1 thread"),
    "sweeps for several problems": (
        "One class against the rest for ten classes: one read of the rows, and one for each",
        "ten reads",
    ),
    "curvature": ("The curvature matrix alone, weighting included, on one thread", "BLAS dsyrk"),
    "quadratic forms": ("One number a row from a factor, on one thread", "NumPy"),
    "monomial sweep": (
        "A sweep over monomials made as they are read, beside one over stored columns",
        "stored monomials",
    ),
    "solver": ("Solvers of the bare problem on the paper's sets, to one duality gap", "entropic"),
    "exact constraint": (
        "The constraint without slack, on classes that can be separated",
        "entropic",
    ),
    "fit": ("Whole fits in one process, leave-one-out scores and band included", "entropic"),
    "whole fit": ("The same as processes of their own, for their memory", "entropic"),
    "polynomial fit": ("Polynomial fits as processes of their own", "entropic"),
    "predict": ("Scores of new rows", "entropic"),
    "predict, whole process": ("Scores of the training rows, after the fits above", "entropic"),
    "search": ("Choosing a model, beside a grid search with folds", "entropic"),
    "several classes": ("Fits of more than two classes, one against the rest", "entropic"),
    "batches": ("Fits on rows in files, as processes of their own", "entropic"),
    "pass over batches": ("One pass of a fit on files, beside reading and summing", "read and sum"),
    "Dask": ("Fits on rows that lie on workers", "entropic"),
    "Dask step": ("One step of such a fit, beside the slower worker's own sums", "a step"),
    "reading": ("The command's reading of CSV", "pyarrow.csv"),
    "start": ("How soon the command answers, and imports", "import numpy"),
    "import": ("What the classifier's import costs on top of scikit-learn's", "entropic"),
}
SCIKIT_LEARN = (
    "LinearSVC",
    "SGDClassifier",
    "LogisticRegression, lbfgs",
    "LogisticRegression, newton-cholesky",
    "LogisticRegression, liblinear",
)
EQUAL = 0.005  # of accuracy
# What is shown besides times, and the heads of these columns.
EXTRA = {
    "accuracy": "accuracy",
    "megabytes": "megabytes in all",
    "added": "by the fit",
    "steps": "steps",
}


@dataclass(frozen=True)
class Record:
    """One method on one problem: seconds with their quartiles, and what else is known."""

    least: float
    low: float
    high: float
    info: dict

    @classmethod
    def of_seconds(cls, seconds, info):
        if len(seconds) < 2:
            return cls(*[seconds[0]] * 3, info)
        low, _, high = statistics.quantiles(seconds, n=4, method="inclusive")
        return cls(min(seconds), low, high, info)

    def over(self, other):
        """Ratio of the least times, and the range that the quartiles give it."""
        return self.least / other.least, self.low / other.high, self.high / other.low


@dataclass(frozen=True)
class Aim:
    """A ratio that is to stay below a bound.

    Parameters
    ----------
    text : str
    topic : str
    most : float or dict
        Bound on the time of ``of`` divided by that of ``against``; by problem where they differ.
    against : str or None
        None is scikit-learn's fastest method of equal accuracy.
    what : {"seconds", "added"}
        The latter are megabytes on top of libraries and rows.
    """

    text: str
    topic: str
    most: object
    against: str | None = None
    of: str = "entropic"
    what: str = "seconds"


_FITS = dict.fromkeys(["100,000 × 10", "100,000 × 50", "1,000,000 × 20", "a9a", "w8a"], 0.4)
_PIPELINE = "logistic regression on monomials"
AIMS = (
    Aim("the paper's iteration to the same gap", "solver", 1 / 100, "paper's in NumPy"),
    Aim("its printed protocol", "solver", 1 / 1000, "paper's printed protocol in NumPy"),
    Aim("Clarabel", "exact constraint", 1 / 100, "cvxpy, Clarabel"),
    Aim(
        "scikit-learn's fastest of equal accuracy",
        "fit",
        _FITS | {"20,000 × 500": 0.6, "rcv1": 1.0},
    ),
    Aim("the pipeline", "polynomial fit", 1 / 5, _PIPELINE),
    Aim("the pipeline, memory", "polynomial fit", 1 / 20, _PIPELINE, what="added"),
    Aim("XGBoost's external memory", "batches", 1.0, "XGBoost, external memory"),
    Aim("SGD in batches", "batches", 1.0, "SGDClassifier"),
    Aim("dask-ml", "Dask", 1 / 5, "dask-ml, LogisticRegression"),
    Aim("stored columns", "monomial sweep", 0.3, "stored monomials", "streamed monomials"),
    Aim(
        "a pure read",
        "gradient sweep",
        {
            "20,000 × 1,000 float64": 1.15,
            "200,000 × 50 float64": 1.7,
            "2,000,000 × 10 float64": 1.7,
        },
        "pure read, 1 thread",
        "entropic, 1 thread",
    ),
    Aim("reading and summing", "pass over batches", 2.0, "read and sum"),
    Aim("pyarrow alone", "reading", 1 / 0.7, "pyarrow.csv"),
)
IMPORT_MS = 60


# ----------------------------------------------------------------------- reading


def read(paths):
    """Records by topic, problem and method; the last file's machine; all loads and commits."""
    records, about = {}, {"loads": [], "commits": []}
    for path in paths:
        kept = json.loads(Path(path).read_text())
        machine, commit = kept["machine_info"], kept["commit_info"]
        about["machine"] = machine
        about["smoke"] = about.get("smoke") or machine.get("smoke")
        about["loads"].append(machine.get("load", 0.0))
        changed = " and changes" if commit.get("dirty") else ""
        about["commits"].append(commit.get("id", "unknown")[:12] + changed)
        for one in kept["benchmarks"]:
            info, stats = one["extra_info"], one["stats"]
            if "topic" not in info:
                continue
            place = records.setdefault(info["topic"], {}).setdefault(info["problem"], {})
            if "seconds" in info:
                place[info["method"]] = Record.of_seconds(info["seconds"], info)
            else:
                place[info["method"]] = Record(stats["min"], stats["q1"], stats["q3"], info)
            if info["topic"] == "polynomial fit":
                topic = records.setdefault("predict, whole process", {})
                place = topic.setdefault(info["problem"], {})
                place[info["method"]] = Record.of_seconds(info["predict_seconds"], {})
    return records, about


# ----------------------------------------------------------------------- writing


def page(records, about):
    """The whole page."""
    smoke = about["smoke"]
    parts = [
        "# Timings",
        "Made by `python bench/report.py`; not to be edited (the text at the end is notes.md).",
        *(["**Small sizes, a round each: this says nothing of speed.**"] if smoke else []),
        *machine_lines(about),
        "## Aims",
        "Times of ours divided by those of the peer named, in one run.",
        table(["ours beside", "problem", "aim", "ratio", "met"], aim_rows(records)),
    ]
    for topic, (question, base) in TOPICS.items():
        if topic in records:
            parts += [f"## {topic[0].upper()}{topic[1:]}", f"{question}. {ratios_of(base)}"]
            if plotted(records[topic]):
                parts.append(f"![{topic}](plots/{file_name(topic)})")
            parts += topic_tables(records[topic], base)
    return "\n\n".join([*parts, (HERE / "notes.md").read_text().strip()]) + "\n"


def ratios_of(base):
    return (
        f"Least time of each, and in brackets its ratio to *{base}* with the range that the "
        "quartiles of both give it."
    )


def machine_lines(about):
    machine = about["machine"]
    ours = machine.get("entropic", {})
    known = {
        "processor": machine.get("cpu", {}).get("brand_raw", "unknown"),
        "CPUs": machine.get("cpu", {}).get("count", "unknown"),
        "load as suites began": f"{min(about['loads']):.1f} to {max(about['loads']):.1f}",
        "commit": ", ".join(dict.fromkeys(about["commits"])),
        "BLAS threads": machine.get("blas_threads", "as the library chooses"),
        **{name: value for name, value in ours.items() if name != "location"},
        **machine.get("peers", {}),
    }
    yield table(["", ""], [[name, str(value)] for name, value in known.items()])
    if machine.get("missing"):
        yield "Not installed, and so left out: " + ", ".join(machine["missing"]) + "."


def aim_rows(records):
    for aim in AIMS:
        problems = records.get(aim.topic, {})
        bounds = aim.most if isinstance(aim.most, dict) else dict.fromkeys(problems, aim.most)
        for problem, most in bounds.items():
            ratio, peer = _ratio(problems.get(problem, {}), aim)
            named = f"{aim.topic}: {aim.text}" + (f" ({peer})" if peer else "")
            if ratio is None:
                yield [named, problem, bound(most), "not measured", ""]
                continue
            met = "yes" if ratio <= most else "**no**"
            yield [named, problem, bound(most), bound(ratio), met]
        if not bounds:
            yield [f"{aim.topic}: {aim.text}", "", bound(aim.most), "not measured", ""]
    for problems in records.get("import", {}).values():
        least = 1e3 * problems["entropic"].least
        said = "yes" if least <= IMPORT_MS else "**no**"
        yield ["import, on top of scikit-learn's", "", f"{IMPORT_MS} ms", f"{least:.0f} ms", said]


def _ratio(methods, aim):
    """The ratio, and the name of the peer where it had to be found."""
    if aim.of not in methods:
        return None, None
    ours, peer = methods[aim.of], aim.against
    if peer is None:
        equal = [
            name
            for name in SCIKIT_LEARN
            if name in methods and methods[name].info["accuracy"] >= ours.info["accuracy"] - EQUAL
        ]
        peer = min(equal, key=lambda name: methods[name].least, default=None)
    if peer not in methods:
        return None, None
    found = peer if aim.against is None else None
    if aim.what == "added":
        return ours.info["added"] / methods[peer].info["added"], found
    return ours.least / methods[peer].least, found


def bound(ratio):
    return f"1/{1 / ratio:,.0f}" if ratio < 0.045 else f"{ratio:.2f}"


def names_of(problems):
    """The methods of a topic, in the order in which they were measured."""
    return list(dict.fromkeys(name for methods in problems.values() for name in methods))


def plotted(problems):
    """Whether a topic has a plot: of two methods a column of ratios says as much."""
    return len(names_of(problems)) > 2


def topic_tables(problems, base):
    """One table of all problems; or one each where methods are many, or more is known of them."""
    names = names_of(problems)
    known = {
        key
        for methods in problems.values()
        for record in methods.values()
        for key in EXTRA
        if key in record.info
    }
    if len(names) <= 6 and not known:
        rows = [
            [problem, *(cell(methods.get(name), methods.get(base)) for name in names)]
            for problem, methods in problems.items()
        ]
        yield table(["", *names], rows)
        return
    extra = [key for key in EXTRA if key in known]
    for problem, methods in problems.items():
        rows = [
            [
                name,
                cell(record, methods.get(base)),
                *(str(record.info.get(key, "")) for key in extra),
            ]
            for name, record in sorted(methods.items(), key=lambda pair: pair[1].least)
        ]
        yield table([problem, "time", *(EXTRA[key] for key in extra)], rows)


def cell(record, base):
    if record is None:
        return ""
    shown = in_words(record.least)
    if base is None or base is record:
        return shown
    ratio, low, high = record.over(base)
    spread = f"; {low:.3g} to {high:.3g}" if low < high else ""
    return f"{shown} ({ratio:.3g}{spread})"


def in_words(seconds):
    units = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}
    unit, size = next((pair for pair in units.items() if seconds >= pair[1]), ("µs", 1e-6))
    return f"{seconds / size:.3g} {unit}"


def table(heads, rows):
    lines = [f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows)]
    return "\n".join(lines)


# ------------------------------------------------------------------------- plots


def file_name(topic):
    return topic.replace(", ", "_").replace(" ", "_").lower() + ".svg"


def plot(problems, topic, base):
    """Ratios to the yardstick, a line a problem."""
    rows = {
        problem: {name: record.least / methods[base].least for name, record in methods.items()}
        for problem, methods in problems.items()
        if base in methods
    }
    return dot_plot(topic, f"time, as a multiple of: {base}", rows)


def run(suite, smoke, quick):
    """Run a suite in a process of its own, and keep what it finds."""
    RESULTS.mkdir(exist_ok=True)
    command = [sys.executable, "-P", "-m", "pytest", str(HERE / f"test_{suite}.py"), "-q"]
    command += ["--benchmark-only", f"--benchmark-json={RESULTS / suite}.json"]
    command += [*(["--smoke"] if smoke else []), *(["-m", "not slow"] if quick else [])]
    subprocess.run(command)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", nargs="*", metavar="RESULTS.json")
    parser.add_argument("--only", nargs="+", choices=SUITES, default=SUITES, metavar="SUITE")
    parser.add_argument("--quick", action="store_true", help="leave out what takes minutes")
    parser.add_argument("--smoke", action="store_true", help="run the small sizes")
    parser.add_argument("--output", type=Path, default=HERE, metavar="DIR", help="of README.md")
    options = parser.parse_args()
    if not options.results:
        for suite in options.only:
            run(suite, options.smoke, options.quick)
    kept = options.results or sorted(RESULTS.glob("*.json"))
    if not kept:
        sys.exit("no suite has kept anything")
    records, about = read(kept)
    plots = options.output / "plots"
    plots.mkdir(parents=True, exist_ok=True)
    for old in plots.glob("*.svg"):
        old.unlink()
    for topic, (_, base) in TOPICS.items():
        if plotted(records.get(topic, {})):
            (plots / file_name(topic)).write_text(plot(records[topic], topic, base))
    (options.output / "README.md").write_text(page(records, about))


if __name__ == "__main__":
    main()
