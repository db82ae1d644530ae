"""The candidates of a search: fitted, judged by left-out scores, dropped once they cannot win.

Where a fit is not cheap, all candidates of a degree are first fitted on a sample of the rows. Rows
of the sample are judged by leave-one-out, all others by the scores of a fit that has not seen them,
so that each candidate is judged on every row. Few go on to a fit on all rows.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv

from .checks import check_per_sample
from .features.design import Design
from .kernels.threads import effective_threads
from .rows import rows_of
from .rows.memory import machine_memory
from .rows.monomial_rows import MonomialRows
from .rows.sweep import sweeps
from .rows.work import Work
from .uncertainty.leave_one_out import LeftOut, observations
from .uncertainty.scoring import SCORINGS, neg_log_loss
from .uncertainty.several import problems_of

# What became of a candidate, as its row of the table says.
JUDGED = "judged"  # on all rows
DROPPED = "dropped"  # after a fit on a sample, by which or by whose like it could not win
SAMPLED = "judged on a sample"  # the time was up before its fit on all rows
SKIPPED = "skipped"  # lower degrees did worse and worse on the sample
UNJUDGED = "not judged"  # it has no left-out scores: no factor fits into memory
UNTRIED = "not tried"  # the time was up before

# Share of the machine's memory that the monomials of one degree may take when stored.
STORED_SHARE = 8
# A search only ranks its candidates; the one chosen is fitted again to the tolerance asked for.
SEARCH_TOL = 1e-6
# Expected seconds a row from which a fit is worth a sample before it. The sample is a third of few
# rows, an eighth of many: what does best on far fewer is too simple for all.
WORTH_SAMPLING = 1e-5
FEWEST, ENOUGH, SHARES = 100, 200, (3, 8)
# So many of a degree and of all go on. What lies within so many standard errors of the best on the
# sample is not told from it.
FINALISTS, MOST_FINALISTS, REACH = 3, 6, 2.0
USUAL_STEPS = 6


@dataclass
class Candidate:
    """One row of the table: what was chosen, what became of it, and what its fit took."""

    chosen: dict
    status: str = UNTRIED
    score: float = np.nan
    standard_error: float = np.nan
    log_loss: float = np.nan
    loss_error: float = np.nan
    n_rows: int = 0
    figures: dict = field(
        default_factory=lambda: {
            "n_columns": 0,
            "n_iter": 0,
            "n_sweeps": 0,
            "dual_gap": np.nan,
            "converged": False,
        }
    )
    coef: np.ndarray | None = None

    @property
    def freedom(self):
        """How far the data may move the coefficients: equal on the plateaus of slack and bound."""
        chosen = self.chosen
        return chosen["C"] * chosen["bound"] ** 2 / max(chosen["slack"], 1e-300)

    def row(self):
        """The candidate's row of ``results_``."""
        names = ("status", "score", "standard_error", "log_loss", "n_rows")
        return {**self.chosen, **{name: getattr(self, name) for name in names}, **self.figures}

    def described(self):
        """One line on the candidate and its figures."""
        shown = ", ".join(f"{name} {value}" for name, value in self.chosen.items())
        return (
            f"{shown}: {self.score:.4f}, log-loss {self.log_loss:.4f} "
            f"({self.status}, {self.n_rows} rows)"
        )

    def judge(self, status, scores, codes, rows, scoring):
        """Keep what held-out scores say; rows without weight have no say."""
        self.status = status
        counted = rows > 0
        state = scores[counted], codes[counted], rows[counted]
        self.score, self.standard_error = SCORINGS[scoring](*state)
        value, self.loss_error = neg_log_loss(*state)
        self.log_loss = -value


def expected_seconds(n_samples, n_features, n_candidates):
    """What the candidates of one degree are expected to take together."""
    size = sample_size(n_samples, n_features)
    if size is None:
        return n_candidates * _seconds(n_samples, n_features)
    first = n_candidates * _seconds(size, n_features)
    return first + min(FINALISTS, n_candidates) * _seconds(n_samples, n_features)


def sample_size(n_samples, n_features):
    """Rows that a degree's candidates are first fitted on; None where all are no dearer."""
    large, small = (n_samples // share for share in SHARES)
    size = max(min(max(large, FEWEST), ENOUGH), small)
    dear = _seconds(n_samples, n_features) > WORTH_SAMPLING * n_samples
    return size if dear and 2 * size <= n_samples else None


def _seconds(n_samples, n_features):
    """One fit with its left-out scores: some Newton steps, and factors worth four more."""
    work = Work.dense(n_samples, n_features)
    factor = min(work.cholesky, work.dual)
    return USUAL_STEPS * (factor + work.sweep) + 4 * factor


class Race:
    """The candidates of a search on their way to a table of left-out scores.

    Parameters
    ----------
    search : EntropicClassifierCV
    candidates : list of Candidate
        By degree; within a degree neighbours follow each other.
    """

    def __init__(self, search, candidates):
        self.search, self.candidates = search, candidates
        self.by_loss = search.scoring == "accuracy_log_loss"
        self.n_fits, self.n_expected = 0, len(candidates)
        self.deadline = np.inf
        if search.max_seconds is not None:
            self.deadline = time.monotonic() + search.max_seconds

    def time_is_up(self):
        """Whether nothing more should begin; something is always tried."""
        tried = self.candidates[0].status != UNTRIED
        return tried and time.monotonic() >= self.deadline

    def _tell(self, candidate):
        self.n_fits += 1
        self.search._tell(candidate, self.n_fits / self.n_expected)

    # ---------------------------------------------------------- leave-one-out

    def by_leave_one_out(self, X, classes, codes, weights, sample_weight):
        """Judge the candidates by the scores that rows get when they are left out."""
        degrees = {}
        for candidate in self.candidates:
            degrees.setdefault(candidate.chosen["degree"], []).append(candidate)
        sampled = []
        for degree, group in degrees.items():
            if self.search.degrees is None and _falling([group for _, group in sampled]):
                for candidate in group:
                    candidate.status = SKIPPED
                continue
            heat = _Heat(self, degree, X, classes, codes, weights, sample_weight)
            if heat.sample is not None:
                self.n_expected += min(FINALISTS, len(group))
                sampled.append((heat, group))
            self._run(heat, group, heat.sample)
        if self.time_is_up():
            return
        finals = [
            (candidate, heat) for heat, group in sampled for candidate in self._finalists(group)
        ]
        finals = sorted(finals, key=lambda final: self._rank(final[0]))[:MOST_FINALISTS]
        for _, group in sampled:
            for candidate in group:
                if candidate.status == SAMPLED:
                    candidate.status = DROPPED
        for candidate, _ in finals:
            candidate.status = SAMPLED
        for candidate, heat in finals:
            if self._beaten(candidate.chosen["degree"]):
                candidate.status = DROPPED
            else:
                self._run(heat, [candidate], None)

    def _run(self, heat, group, sample):
        for candidate in group:
            if self.time_is_up():
                return
            heat.judge(candidate, group, sample)
            self._tell(candidate)

    def _beaten(self, degree):
        """Whether a degree's best fit on all rows is behind that of another in every respect."""
        judged = [candidate for candidate in self.candidates if candidate.status == JUDGED]
        own = [candidate for candidate in judged if candidate.chosen["degree"] == degree]
        if not own:
            return False
        best = max(judged, key=lambda candidate: candidate.score)
        return (
            max(candidate.score for candidate in own) < best.score - best.standard_error
            and min(candidate.log_loss for candidate in own) > best.log_loss
        )

    def _rank(self, candidate):
        """What the most promising candidate has least of."""
        return candidate.log_loss if self.by_loss else -candidate.score

    def _finalists(self, group):
        """The candidates of a degree that a fit on all rows is worth.

        The best on the sample by either measure, then the freest of those that it cannot tell
        from the best: more rows allow more freedom. Some of each degree for the same reason.
        """
        group = [candidate for candidate in group if candidate.status == SAMPLED]
        if not group:
            return []
        most = max(group, key=lambda candidate: candidate.score)
        best = min(group, key=self._rank)
        error = best.loss_error if self.by_loss else best.standard_error
        level = [c for c in group if self._rank(c) <= self._rank(best) + REACH * error]
        level.sort(key=lambda candidate: -candidate.freedom)
        chosen = []
        for candidate in (best, most, *level):
            if not any(candidate is other for other in chosen):
                chosen.append(candidate)
        return chosen[:FINALISTS]

    # ------------------------------------------------------------------ folds

    def by_folds(self, X, classes, codes, weights, sample_weight):
        """Judge the candidates by the scores of rows held out of their fits, fold by fold."""
        labels = classes[codes]
        given = check_per_sample(sample_weight, len(labels), "sample_weight", default=1.0)
        given = np.broadcast_to(given, len(labels))
        weights = np.broadcast_to(weights, len(labels))
        folds = list(check_cv(self.search.cv, labels, classifier=True).split(X, labels))
        tested = np.concatenate([np.arange(len(labels))[test] for _, test in folds])
        for code, label in enumerate(classes):
            if not np.any(weights[tested][codes[tested] == code] > 0):
                raise ValueError(
                    f"No fold of cv holds out a row of weight with the label {label}; "
                    "give folds that judge every class."
                )
        for candidate in self.candidates:
            if self.time_is_up():
                return
            model = self.search._candidate(
                **candidate.chosen,
                tol=max(SEARCH_TOL, self.search.tol),
                verbose=0,
                callback=None,
            )
            scores, figures = [], []
            for number, (train, test) in enumerate(folds, 1):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    try:
                        model.fit(X[train], labels[train], given[train])
                    except ValueError as error:
                        raise ValueError(f"Fold {number} of {len(folds)}: {error}") from error
                scores.append(model.decision_function(X[test]))
                figures.append(_fitted_figures(model))
            candidate.n_rows = len(labels)
            candidate.figures = {
                name: (min if name == "converged" else max)(part[name] for part in figures)
                for name in figures[0]
            }
            scores = np.concatenate(scores)
            candidate.judge(JUDGED, scores, codes[tested], weights[tested], self.search.scoring)
            self._tell(candidate)


@dataclass
class _Rows:
    """What a fit takes: a design, classes, weights, and those of them that the user gave."""

    design: Design
    codes: np.ndarray
    weights: np.ndarray
    sample_weight: np.ndarray | None

    def take(self, indices):
        """The same of some rows."""
        given = self.sample_weight
        if np.size(given) > 1:
            given = np.asarray(given)[indices]
        weights = self.weights if len(self.weights) == 1 else self.weights[indices]
        return _Rows(self.design.take(indices), self.codes[indices], weights, given)


class _Heat:
    """The rows as one degree sees them, all of them and those of the sample."""

    def __init__(self, race, degree, X, classes, codes, weights, sample_weight):
        self.search, self.classes = race.search, classes
        design = _stored(self.search._candidate(degree=degree)._design(X, weights))
        self.whole = _Rows(design, codes, weights, sample_weight)
        self.counts = observations(sample_weight, weights, design.n_samples)[1]
        size = sample_size(design.n_samples, design.rows.n_columns)
        self.sample = None
        if size is not None:
            self.sample = _sample(codes, self.counts, size)
            self.part = self.whole.take(self.sample)

    def judge(self, candidate, group, sample):
        """Fit a candidate, on a sample if there is one, and judge it on all rows."""
        model = self.search._candidate(
            **candidate.chosen, tol=max(SEARCH_TOL, self.search.tol), verbose=0, callback=None
        )
        fitted = self.whole if sample is None else self.part
        design = fitted.design
        model.classes_ = self.classes
        box = model._box(design.rows.n_columns)
        start = candidate.coef
        if start is None:
            start = _neighbour(candidate, group)
        starts = [None] * len(problems_of(self.classes))
        if start is not None:
            starts = [box.state(coef) for coef in start]
        fits, n_sweeps = model._fit_each(
            design,
            fitted.codes,
            fitted.weights,
            starts,
            None,
            lambda *fit: LeftOut.of(*fit, fitted.sample_weight, rescale=False, always=True),
        )
        outcomes, learned = zip(*fits, strict=True)
        candidate.coef = np.array([outcome.coef for outcome in outcomes])
        candidate.n_rows = design.n_samples
        candidate.figures = {
            "n_columns": design.n_features,
            "n_iter": max(outcome.n_iter for outcome in outcomes),
            "n_sweeps": n_sweeps,
            "dual_gap": max(outcome.dual_gap for outcome in outcomes),
            "converged": all(outcome.converged for outcome in outcomes),
        }
        if any(one.whole is None for one in learned):
            candidate.status = UNJUDGED  # training scores flatter the most flexible candidates
            return
        status, scores = JUDGED, [one.scores for one in learned]
        if sample is not None:
            status, rows = SAMPLED, self.whole.design.rows
            threads = effective_threads(self.search.n_jobs, rows.n_entries)
            coef = design.matrix_to_rows(candidate.coef.T).T
            everywhere = sweeps.scores_each(rows, coef, threads)
            everywhere[:, sample] = scores
            scores = everywhere
        scores = scores[0] if len(scores) == 1 else np.transpose(scores)
        candidate.judge(status, scores, self.whole.codes, self.counts, self.search.scoring)


def _falling(groups):
    """Whether the last degree that began on a sample did worse there than the one before."""
    if len(groups) < 2:
        return False
    before, last = ([c for c in group if np.isfinite(c.score)] for group in groups[-2:])
    return bool(before and last) and (
        max(c.score for c in last) < max(c.score for c in before)
        and min(c.log_loss for c in last) > min(c.log_loss for c in before)
    )


def _sample(codes, rows, size):
    """Rows of weight, the classes in proportion, but a few of each at least."""
    generator = np.random.default_rng(0)
    chosen = []
    for code in range(int(codes.max()), -1, -1):
        members = np.flatnonzero((codes == code) & (rows > 0))
        share = max(round(size * len(members) / len(codes)), min(len(members), FEWEST // 4))
        chosen.append(generator.choice(members, min(share, len(members)), replace=False))
    return np.sort(np.concatenate(chosen))


def _neighbour(candidate, group):
    """Coefficients of a candidate near by that was fitted before, or None.

    More slack, else the other constraint, else a narrower box: each is close, and its
    coefficients lie inside the box of the one to be solved.
    """
    before = group[: next(i for i, other in enumerate(group) if other is candidate)]
    for name in ("slack", "constraint", "bound"):
        same = {key: value for key, value in candidate.chosen.items() if key != name}
        near = [
            other
            for other in before
            if other.coef is not None and same.items() <= other.chosen.items()
        ]
        if near:
            return near[-1].coef
    return None


def _stored(design):
    """The design with its monomials made once, where they take little of the memory."""
    rows = design.rows
    n_bytes = 16 * rows.n_entries  # a number and, where they are sparse, its column
    if not isinstance(rows, MonomialRows) or n_bytes > machine_memory() // STORED_SHARE:
        return design
    stored = rows_of(rows.block(0, rows.n_samples))
    return Design(stored, design.mean, design.scale, design.constant)


def _fitted_figures(model):
    """What the table says of a fitted classifier's fit."""
    return {
        "n_columns": model.coef_.shape[1] + model.fit_intercept,
        "n_iter": int(np.max(model.n_iter_)),
        "n_sweeps": model.n_sweeps_,
        "dual_gap": float(np.max(model.dual_gap_)),
        "converged": model.converged_,
    }
