"""The candidates of a search: what each is, how it is judged, and the search by folds."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv

from .checks import check_per_sample
from .uncertainty.scoring import SCORINGS, neg_log_loss

# What became of a candidate, as its row of the table says.
JUDGED = "judged"
DROPPED = "dropped"  # narrower boxes had begun to do worse
SKIPPED = "skipped"  # lower degrees had begun to do worse
UNJUDGED = "not judged"  # it has no left-out scores: no factor fits into memory
UNTRIED = "not tried"  # the time was up before

# A search only ranks its candidates; the one chosen is fitted again to the tolerance asked for.
SEARCH_TOL = 1e-5


@dataclass
class Candidate:
    """One row of the table: what was chosen, what became of it, and what its fit took."""

    chosen: dict
    status: str = UNTRIED
    score: float = np.nan
    standard_error: float = np.nan
    log_loss: float = np.nan
    figures: dict = field(
        default_factory=lambda: {
            "n_columns": 0,
            "n_iter": 0,
            "n_sweeps": 0,
            "dual_gap": np.nan,
            "converged": False,
        }
    )
    coef: list | None = None  # of each surface

    def row(self):
        """The candidate's row of ``results_``."""
        names = ("status", "score", "standard_error", "log_loss")
        return {**self.chosen, **{name: getattr(self, name) for name in names}, **self.figures}

    def described(self):
        """One line on the candidate and its figures."""
        shown = ", ".join(f"{name} {value}" for name, value in self.chosen.items())
        return f"{shown}: {self.score:.4f}, log-loss {self.log_loss:.4f} ({self.status})"

    def judge(self, scores, codes, rows, scoring):
        """Keep what held-out scores say; rows without weight have no say."""
        self.status = JUDGED
        rows = np.broadcast_to(rows, len(codes))
        counted = rows > 0
        state = scores[counted], codes[counted], rows[counted]
        self.score, self.standard_error = SCORINGS[scoring](*state)
        self.log_loss = -neg_log_loss(*state)[0]


class Progress:
    """How far a search has come, and whether its time is up.

    Parameters
    ----------
    search : EntropicClassifierCV
    candidates : list of Candidate
    """

    def __init__(self, search, candidates):
        self.search, self.candidates = search, candidates
        self.deadline = np.inf
        if search.max_seconds is not None:
            self.deadline = time.monotonic() + search.max_seconds

    def time_is_up(self):
        """Whether nothing more should begin; something is always tried."""
        tried = self.candidates[0].status != UNTRIED
        return tried and time.monotonic() >= self.deadline

    def tell(self, candidate):
        """Show what became of a candidate, when asked to."""
        done = sum(other.status != UNTRIED for other in self.candidates)
        self.search._tell(candidate, done / len(self.candidates))


def by_folds(search, candidates, X, classes, codes, weights, sample_weight):
    """Judge the candidates by the scores of rows held out of their fits, fold by fold."""
    labels = classes[codes]
    given = check_per_sample(sample_weight, len(labels), "sample_weight", default=1.0)
    given = np.broadcast_to(given, len(labels))
    weights = np.broadcast_to(weights, len(labels))
    folds = list(check_cv(search.cv, labels, classifier=True).split(X, labels))
    tested = np.concatenate([np.arange(len(labels))[test] for _, test in folds])
    for code, label in enumerate(classes):
        if not np.any(weights[tested][codes[tested] == code] > 0):
            raise ValueError(
                f"No fold of cv holds out a row of weight with the label {label}; "
                "give folds that judge every class."
            )
    progress = Progress(search, candidates)
    for candidate in candidates:
        if progress.time_is_up():
            return
        model = search._candidate(**candidate.chosen, **for_search(search))
        scores, figures = [], []
        for number, (train, test) in enumerate(folds, 1):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                try:
                    model.fit(X[train], labels[train], given[train])
                except ValueError as error:
                    raise ValueError(f"Fold {number} of {len(folds)}: {error}") from error
            scores.append(model.decision_function(X[test]))
            figures.append(_figures(model))
        candidate.figures = {
            name: (min if name == "converged" else max)(part[name] for part in figures)
            for name in figures[0]
        }
        scores = np.concatenate(scores)
        candidate.judge(scores, codes[tested], weights[tested], search.scoring)
        progress.tell(candidate)


def for_search(search):
    """Settings of a fit that is only to be ranked."""
    return {"tol": max(SEARCH_TOL, search.tol), "verbose": 0, "callback": None}


def _figures(model):
    """What the table says of a fitted classifier's fit."""
    return {
        "n_columns": model.coef_.shape[1] + model.fit_intercept,
        "n_iter": int(np.max(model.n_iter_)),
        "n_sweeps": model.n_sweeps_,
        "dual_gap": float(np.max(model.dual_gap_)),
        "converged": model.converged_,
    }
