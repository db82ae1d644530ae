"""EntropicClassifierCV: degree, bound, slack and constraint chosen by leave-one-out, without folds.

Every candidate is fitted once, warm-started from a neighbour in the grid, and judged by the
scores that its training rows get when each is left out, which the fit gives in closed form
(docs/mathematics.md, section 5). The monomials of a degree are made once for all candidates.
"""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
    check_cv,
)

from . import checks
from .classifier import EntropicClassifier
from .features.design import Design
from .features.limits import listing_of
from .model_format import stored
from .rows import rows_of
from .rows.memory import machine_memory
from .rows.monomial_rows import MonomialRows
from .uncertainty.leave_one_out import left_out
from .uncertainty.scoring import SCORINGS

AUTO_DEGREES = (1, 2, 3, 4, 5, 6)
RULES = ("best", "one-standard-error")
# What all candidates have in common with the search itself.
SHARED = (
    "interaction_only",
    "margin",
    "fit_intercept",
    "standardize",
    "monotonic_cst",
    "class_weight",
    "leave_one_out",
    "certainty",
    "solver",
    "tol",
    "max_iter",
    "n_jobs",
    "verbose",
    "callback",
)

# Default degrees stop before the monomials outnumber half the rows: near one a row almost every
# labelling can be separated, left-out scores to first order cannot be trusted (a log-loss of 0.003
# for wine's 1,599 rows and 1,365 columns), and a search would spend nearly all its time.
MONOMIALS_A_ROW = 0.5
# Share of the machine's memory that the monomials of one degree may take when stored.
STORED_SHARE = 8
# A search only ranks its candidates; the one chosen is fitted again to the tolerance asked for.
SEARCH_TOL = 1e-6


# The kinds of folds that a saved search may have been told to use.
for _folds in (
    GroupKFold,
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
):
    stored(_folds.__name__)(_folds)


@stored("EntropicClassifierCV")
class EntropicClassifierCV(EntropicClassifier):
    """An EntropicClassifier that chooses its own degree, bound, C, slack and constraint.

    Once fitted it *is* the best candidate, fitted on all rows: every method and attribute of
    :class:`EntropicClassifier` is there.

    Parameters
    ----------
    degrees : sequence of int or None
        None tries 1 to 6, stopping where the monomials would outnumber half the rows, and 1
        alone with ``monotonic_cst``.
    bounds, Cs, slacks : sequences of float
    constraints : sequence of {"equality", "inequality"}
    scoring : {"neg_log_loss", "accuracy", "balanced_accuracy", "roc_auc"}
        How the left-out scores are judged; higher is better. The log-loss is that of the
        empirical probabilities, the ones that ``predict_proba`` gives.
    rule : {"best", "one-standard-error"}
        Whether the candidate of the best score is taken, or the simplest one within one standard
        error of it. Simpler is a lower degree, then a smaller bound, then more slack.
    cv : int, splitter, iterable or None
        None judges by leave-one-out in closed form; anything else asks for ordinary folds,
        whose held-out scores are judged together. Groups come as an iterable of their splits.
    interaction_only, margin, fit_intercept, standardize, monotonic_cst, class_weight, \
leave_one_out, certainty, solver, tol, max_iter, n_jobs
        As in :class:`EntropicClassifier`, for all candidates.
    verbose : int
        Above 0 prints the score of every candidate, and then the steps of the last fit.
    callback : callable or None
        As in :class:`EntropicClassifier`, for the last fit.

    Attributes
    ----------
    best_params_ : dict
        "degree", "bound", "C", "slack" and "constraint" of the candidate taken.
    best_score_ : float
    best_index_ : int
        Its place in ``results_``.
    results_ : dict of arrays
        One entry a candidate: the five parameters, "score", "standard_error", "n_columns",
        "n_iter", "n_sweeps", "dual_gap", "converged". ``pandas.DataFrame(results_)`` makes a table.

    References
    ----------
    The rule of one standard error: L. Breiman, J. Friedman, R. Olshen, C. Stone,
    "Classification and Regression Trees", section 3.4.3.
    """

    def __init__(
        self,
        degrees=None,
        bounds=(0.1, 0.3, 1.0, 3.0),
        Cs=(1.0,),
        slacks=(1e-3, 0.1, 10.0),
        constraints=("equality", "inequality"),
        *,
        scoring="neg_log_loss",
        rule="best",
        cv=None,
        interaction_only=False,
        margin=0.0,
        fit_intercept=True,
        standardize="auto",
        monotonic_cst=None,
        class_weight=None,
        leave_one_out=True,
        certainty=1.0,
        solver="auto",
        tol=1e-8,
        max_iter=None,
        n_jobs=None,
        verbose=0,
        callback=None,
    ):
        self.degrees = degrees
        self.bounds = bounds
        self.Cs = Cs
        self.slacks = slacks
        self.constraints = constraints
        self.scoring = scoring
        self.rule = rule
        self.cv = cv
        self.interaction_only = interaction_only
        self.margin = margin
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.monotonic_cst = monotonic_cst
        self.class_weight = class_weight
        self.leave_one_out = leave_one_out
        self.certainty = certainty
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    # ---------------------------------------------------------------- fitting

    def fit(self, X, y, sample_weight=None):
        """Score every candidate and become the one chosen, fitted on all rows.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`EntropicClassifier.fit`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If X, y, weights, a parameter or a list of candidates cannot be used.
        """
        grid = self._grid()
        judge = SCORINGS[self.scoring]
        search = self._left_out if self.cv is None else self._held_out
        candidates, rows = [], []
        for candidate, scores, positive, weights, figures in search(grid, X, y, sample_weight):
            # a row without weight has no say, and its scores may lie anywhere
            counted = weights > 0
            value, error = judge(scores[counted], positive[counted], weights[counted])
            candidates.append(candidate)
            rows.append({**candidate, "score": value, "standard_error": error, **figures})
            if self.verbose:
                shown = ", ".join(f"{name} {value}" for name, value in candidate.items())
                print(f"[{type(self).__name__}] {shown}: {self.scoring} {rows[-1]['score']:.4f}")
        self.results_ = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        self.best_index_ = self._choice()
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = float(self.results_["score"][self.best_index_])
        best = self._candidate(**self.best_params_).fit(X, y, sample_weight)
        parameters = best.get_params()
        vars(self).update({k: v for k, v in vars(best).items() if k not in parameters})
        return self

    def _candidate(self, **chosen):
        """An EntropicClassifier with our own settings and those of a candidate."""
        ours = {name: getattr(self, name) for name in SHARED}
        return EntropicClassifier(**{**ours, **chosen})

    def _check_parameters(self):
        self._grid()

    def _grid(self):
        """Candidates' values by parameter, checked, from the simplest to the most flexible."""
        checks.check_choice(self.scoring, "scoring", tuple(SCORINGS))
        checks.check_choice(self.rule, "rule", RULES)
        # a hyperplane alone can be held to directions
        auto = AUTO_DEGREES if self.monotonic_cst is None else AUTO_DEGREES[:1]
        degrees = auto if self.degrees is None else self.degrees
        grid = {
            "degree": checks.check_list(degrees, "degrees"),
            "constraint": checks.check_list(self.constraints, "constraints"),
            "slack": checks.check_list(self.slacks, "slacks"),
            "C": checks.check_list(self.Cs, "Cs"),
            "bound": checks.check_list(self.bounds, "bounds"),
        }
        for values in product(*grid.values()):
            self._candidate(**dict(zip(grid, values, strict=True)))._check_parameters()
        for name in ("degree", "slack", "C", "bound"):
            grid[name] = sorted(grid[name], reverse=name == "slack")
        return grid

    def _choice(self):
        """Index of the candidate that the rule takes, among those that reached their optimum.

        Left-out scores are those of an optimum; elsewhere they mean little. Where no candidate
        reached its own, all are judged.
        """
        score, error = self.results_["score"], self.results_["standard_error"]
        if np.any(self.results_["converged"]):
            score = np.where(self.results_["converged"], score, -np.inf)
        best = int(np.argmax(score))
        if self.rule == "best":
            return best
        near = np.flatnonzero(score >= score[best] - error[best])
        order = [self.results_[name] for name in ("degree", "bound", "C", "slack", "constraint")]
        order[3] = -order[3]
        return min(near, key=lambda index: tuple(column[index] for column in order))

    # ---------------------------------------------------------- leave-one-out

    def _left_out(self, grid, X, y, sample_weight):
        """Each candidate with the scores that its training rows get when left out."""
        template = self._candidate(**{name: values[0] for name, values in grid.items()})
        X, positive, weights = template._prepare(X, y, sample_weight)
        tails = {name: grid[name] for name in ("constraint", "slack", "C", "bound")}
        for degree in self._degrees(grid["degree"], X):
            design = _stored(self._candidate(degree=degree)._design(X, weights))
            solved = {}
            for values in product(*tails.values()):
                candidate = dict(zip(tails, values, strict=True))
                near = _neighbour(candidate, tails)
                candidate = {"degree": degree, **candidate}
                model = self._candidate(**candidate, tol=max(SEARCH_TOL, self.tol))
                start = solved.get(near)
                if start is not None:
                    start = model._box(design.rows.n_columns).state(start)
                sweep, box, outcome = model._solve(design, positive, weights, start)
                solved[values] = outcome.coef
                scores, rows, _ = left_out(sweep, box, outcome, sample_weight)
                yield candidate, scores, positive, rows, _figures(design, outcome)

    def _degrees(self, degrees, X):
        """The degrees to try: all that were named, or those of a sensible size."""
        if self.degrees is not None:
            return degrees
        n_samples, n_features = X.shape
        only = self.interaction_only
        return [
            degree
            for degree in degrees
            if degree == degrees[0]
            or listing_of(n_features, degree, only).n_monomials <= MONOMIALS_A_ROW * n_samples
        ]

    # ------------------------------------------------------------------ folds

    def _held_out(self, grid, X, y, sample_weight):
        """Each candidate with the scores of rows held out of its fits, fold by fold."""
        template = self._candidate(**{name: values[0] for name, values in grid.items()})
        X, positive, weights = template._prepare(X, y, sample_weight)
        labels = template.classes_[positive.astype(int)]
        given = checks.check_per_sample(sample_weight, len(labels), "sample_weight", default=1.0)
        given = np.broadcast_to(given, len(labels))
        weights = np.broadcast_to(weights, len(labels))
        folds = list(check_cv(self.cv, labels, classifier=True).split(X, labels))
        tested = np.concatenate([np.arange(len(labels))[test] for _, test in folds])
        for label, members in zip(template.classes_, (~positive, positive), strict=True):
            if not np.any(weights[tested][members[tested]] > 0):
                raise ValueError(
                    f"No fold of cv holds out a row of weight with the label {label}; "
                    "give folds that judge both classes."
                )
        grid = {**grid, "degree": self._degrees(grid["degree"], X)}
        for values in product(*grid.values()):
            candidate = dict(zip(grid, values, strict=True))
            model = self._candidate(
                **candidate, tol=max(SEARCH_TOL, self.tol), verbose=0, callback=None
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
            worst = {
                name: (min if name == "converged" else max)(part[name] for part in figures)
                for name in figures[0]
            }
            yield candidate, np.concatenate(scores), positive[tested], weights[tested], worst


def _neighbour(candidate, grid):
    """Values of a candidate near by that came before, or None.

    More slack, else the other constraint, else a narrower box: each is close, and its
    coefficients lie inside the box of the one to be solved.
    """
    for name in ("slack", "constraint", "bound"):
        place = grid[name].index(candidate[name])
        if place:
            return tuple({**candidate, name: grid[name][place - 1]}.values())
    return None


def _stored(design):
    """The design with its monomials made once, where they take little of the memory."""
    rows = design.rows
    n_bytes = 16 * rows.n_entries  # a number and, where they are sparse, its column
    if not isinstance(rows, MonomialRows) or n_bytes > machine_memory() // STORED_SHARE:
        return design
    stored = rows_of(rows.block(0, rows.n_samples))
    return Design(stored, design.mean, design.scale, design.constant)


def _figures(design, outcome):
    """What the table says of a candidate's fit."""
    return {
        "n_columns": design.n_features,
        "n_iter": outcome.n_iter,
        "n_sweeps": outcome.n_sweeps,
        "dual_gap": outcome.dual_gap,
        "converged": outcome.converged,
    }


def _fitted_figures(model):
    """The same of a fitted classifier."""
    n_columns = model.coef_.shape[1] + model.fit_intercept
    figures = {name: getattr(model, f"{name}_") for name in ("n_iter", "n_sweeps", "dual_gap")}
    return {"n_columns": n_columns, **figures, "converged": model.converged_}
