"""How well classifiers do on the real tables, in five folds each: ours beside scikit-learn's.

    python bench/accuracy.py                            everything, from the cache where it can
    python bench/accuracy.py --sets sonar wine --methods search SVC
    python bench/accuracy.py --again search             measure anew what the cache holds

Every method sees the same rows and folds (data_sets.py; at most 2,000 rows a set, stratified). What
is kept of a fold are its scores, probabilities and time, from which all figures follow; the cache
is forgotten where scikit-learn, or for our own methods the package's source, has changed. On a
busy machine compare the seconds of the processor, with OMP_NUM_THREADS=1 for all methods alike.

Of our own methods it is also kept how often the bands of a certainty err on the rows held out, and
how often their own count says, by left-out scores of the training rows.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn
from data_sets import MOST_ROWS, SOURCES, load
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import entropic
from entropic.uncertainty.band import certainty_band
from entropic.uncertainty.ranking import Ranking

ROOT = Path(__file__).parent.parent
CACHE = ROOT / "bench" / ".accuracy"
N_FOLDS = 5
N_BINS = 10
CERTAINTIES = (0.95, 0.99)


def scaled(model):
    return make_pipeline(StandardScaler(), model)


def tuned_svc():
    grid = {"svc__C": [0.1, 1, 10, 100], "svc__gamma": ["scale", 0.01, 0.1]}
    return GridSearchCV(scaled(SVC()), grid, cv=3)


METHODS = {
    "default": entropic.EntropicClassifier,
    "search": entropic.EntropicClassifierCV,
    "LogisticRegression": lambda: scaled(LogisticRegression(max_iter=1000)),
    "LogisticRegressionCV": lambda: scaled(
        LogisticRegressionCV(
            Cs=10,
            l1_ratios=(0.0,),
            cv=5,
            max_iter=1000,
            scoring="accuracy",
            use_legacy_attributes=False,
        )
    ),
    "LinearSVC": lambda: scaled(LinearSVC()),
    "SVC": tuned_svc,
    "HistGradientBoosting": lambda: HistGradientBoostingClassifier(random_state=0),
}
OURS = ("default", "search")


# ------------------------------------------------------------------- measuring


def measured(name, method, X, y):
    """Held-out scores and probabilities of every row, its fold, and the seconds of each fit."""
    scores, chance = np.full((2, len(y)), np.nan)
    fold, seconds, processor, chosen = np.empty(len(y), dtype=int), [], [], []
    bands = []
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    for number, (train, test) in enumerate(folds.split(X, y)):
        model = METHODS[method]()
        began, busy = time.perf_counter(), time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X[train], y[train])
        seconds.append(time.perf_counter() - began)
        processor.append(time.process_time() - busy)
        fold[test] = number
        if hasattr(model, "decision_function"):
            scores[test] = model.decision_function(X[test])
        if hasattr(model, "predict_proba"):
            chance[test] = model.predict_proba(X[test])[:, 1]
        chosen.append(getattr(model, "best_params_", {}))
        if method in OURS:
            bands.append(outside_bands(model, y[train], scores[test], y[test]))
    return {
        "scores": scores.tolist(),
        "chance": chance.tolist(),
        "fold": fold.tolist(),
        "seconds": seconds,
        "processor": processor,
        "chosen": chosen,
        "bands": bands,
    }


def outside_bands(model, y, new_scores, new_y):
    """Shares of the rows that are wrong outside the band of each certainty: left out, and new."""
    scores = model.loo_decision_
    ranking = Ranking.of(scores, y == 1, np.ones(1))
    shares = []
    for certainty in CERTAINTIES:
        lower, upper = certainty_band(ranking, certainty)
        shares.append(
            [
                np.mean(np.where(truth == 1, of <= lower, of >= upper))
                for of, truth in ((scores, y), (new_scores, new_y))
            ]
        )
    return shares


def cached(name, method, again):
    """What was measured of a method on a set: from the cache, or now."""
    place = CACHE / f"{name} {method}.json"
    version = SOURCE if method in OURS else sklearn.__version__
    if place.exists() and not again:
        kept = json.loads(place.read_text())
        if kept["version"] == version:
            return kept
    kept = {"version": version, **measured(name, method, *load(name))}
    CACHE.mkdir(exist_ok=True)
    place.write_text(json.dumps(kept))
    return kept


def _source_digest():
    digest = hashlib.sha256()
    for folder in ("entropic", "src"):
        for file in sorted((ROOT / folder).rglob("*.*")):
            if file.suffix in (".py", ".c", ".h", ".pyx", ".pxi", ".pxd"):
                digest.update(file.read_bytes())
    return digest.hexdigest()


SOURCE = _source_digest()  # of what was imported, whatever is edited while this runs


# --------------------------------------------------------------------- figures


def figures(kept, y):
    """Accuracy and the like over all rows; the area under the curve as the mean of the folds'."""
    scores, chance, fold = (np.array(kept[name]) for name in ("scores", "chance", "fold"))
    said = scores > 0 if np.all(np.isfinite(scores)) else chance > 0.5
    order = scores if np.all(np.isfinite(scores)) else chance
    sure = np.all(np.isfinite(chance))
    return {
        "accuracy": np.mean(said == y),
        "balanced": balanced_accuracy_score(y, said),
        "log-loss": log_loss(y, chance) if sure else np.nan,
        "AUC": np.mean([roc_auc_score(y[fold == k], order[fold == k]) for k in range(N_FOLDS)]),
        "ECE": calibration_error(chance, y) if sure else np.nan,
        "seconds": np.mean(kept["seconds"]),
        "processor": np.mean(kept["processor"]),
        **band_figures(kept),
    }


def band_figures(kept):
    """The means of those shares over the folds."""
    if not kept.get("bands"):
        return {}
    counted, found = np.mean(kept["bands"], axis=0).T
    named = {}
    for certainty, one, other in zip(CERTAINTIES, counted, found, strict=True):
        named |= {f"counted {certainty:g}": one, f"found {certainty:g}": other}
    return named


def calibration_error(chance, y):
    """Expected calibration error over bins of equal width of the positive class's probability."""
    bins = np.minimum((chance * N_BINS).astype(int), N_BINS - 1)
    gap = np.bincount(bins, chance - y, minlength=N_BINS)
    return float(np.abs(gap).sum() / len(y))


def summary(table, against):
    """Means over the sets, ranks, and wins and losses of ``against`` over each other method."""
    accuracy = table["accuracy"].unstack("method")
    methods = accuracy.columns
    means = table.groupby("method").mean().loc[methods]
    for certainty in CERTAINTIES:  # how often bands err, in units of what their count says
        found, counted = (means.pop(f"{name} {certainty:g}") for name in ("found", "counted"))
        means[f"band {certainty:g}"] = found / counted
    for name in ("seconds", "processor"):  # of all fits together
        means[f"{name}, total"] = table[name].groupby("method").sum() * N_FOLDS
    means["rank"] = accuracy.rank(axis=1, ascending=False).mean()
    means["rank, log-loss"] = table["log-loss"].unstack("method").rank(axis=1).mean()
    for name in against:
        if name in methods:
            ahead = accuracy[name].to_numpy()[:, None] - accuracy.to_numpy()
            won, lost = (ahead > 1e-9).sum(axis=0), (ahead < -1e-9).sum(axis=0)
            means[f"{name} won-lost"] = [f"{w}-{worse}" for w, worse in zip(won, lost, strict=True)]
    return means


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", choices=SOURCES, default=list(SOURCES), metavar="SET")
    parser.add_argument(
        "--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="METHOD"
    )
    parser.add_argument("--again", nargs="*", choices=METHODS, default=[], metavar="METHOD")
    parser.add_argument("--quiet", action="store_true", help="the summary alone")
    options = parser.parse_args()
    rows = {}
    for name in options.sets:
        _, y = load(name)
        for method in options.methods:
            kept = cached(name, method, method in options.again)
            rows[name, method] = figures(kept, y)
            if not options.quiet:
                shown = "  ".join(f"{k} {v:.4f}" for k, v in rows[name, method].items())
                print(f"{name:26}{method:22}{shown}", flush=True)
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = pd.MultiIndex.from_tuples(table.index, names=["set", "method"])
    print(f"\nAccuracy; {len(options.sets)} sets, {N_FOLDS} folds, at most {MOST_ROWS} rows\n")
    accuracy = table["accuracy"].unstack("method")[options.methods]
    print(accuracy.loc[options.sets].to_string(float_format="{:.4f}".format))
    print("\nMeans over the sets\n")
    with pd.option_context("display.width", 200, "display.max_columns", 20):
        print(summary(table, OURS).loc[options.methods].to_string(float_format="{:.4f}".format))


if __name__ == "__main__":
    main()
