"""EntropicClassifierCV: degree, bound, slack and constraint chosen by leave-one-out, without folds.

Every candidate is judged by the scores that its training rows get when each is left out, which
one fit gives in closed form (docs/mathematics.md, section 5.2); expansions.py runs them.
"""

from __future__ import annotations

import copy
import inspect
import warnings
from itertools import product
from math import prod

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
)

from . import checks
from .batch_fit import SAMPLE_ENTRIES, SAMPLE_ROWS
from .candidates import JUDGED, Candidate, by_folds
from .classifier import EntropicClassifier
from .expansions import by_leave_one_out, fit_seconds
from .features.limits import listing_of
from .features.splines import LinearSplines
from .model_format import stored
from .progress import fit_task, log, step_task
from .rollback import all_or_nothing
from .rows.stream import Batches, sample_of
from .uncertainty.leave_one_out import as_observations
from .uncertainty.scoring import SCORINGS
from .uncertainty.several import problems_of

AUTO_KNOTS, AUTO_DEGREES = (0, 6), (1, 2, 3, 4, 5, 6)
RULES = ("best", "one-standard-error")
# What is chosen, and the parameter that lists its values; the last varies fastest.
SEARCHED = {
    "n_knots": "knots",
    "degree": "degrees",
    "constraint": "constraints",
    "slack": "slacks",
    "C": "Cs",
    "bound": "bounds",
}
# What all candidates have in common with the search itself, with its defaults.
SHARED = {
    name: parameter
    for name, parameter in inspect.signature(EntropicClassifier).parameters.items()
    if name not in (*SEARCHED, "warm_start")
}
# Candidates whose accuracy lies within so many standard errors of the best compete by log-loss.
WIDTH = 0.5
# What all rows' log-likelihoods together may lack and still tell nothing: as much as two parameters
# are charged by Akaike's criterion.
HARDLY = 2.0
# Seconds a class that the candidates of a degree may be expected to take for it to be tried by
# default, and seconds a row: few rows cannot tell what so much time would find.
AFFORDABLE, AFFORDABLE_PER_ROW = 10.0, 0.003


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


def _with_shared(signature):
    """A signature with the classifier's other parameters in place of ``**shared``."""
    own = list(signature.parameters.values())[:-1]
    return signature.replace(parameters=[*own, *SHARED.values()])


@stored("EntropicClassifierCV")
class EntropicClassifierCV(EntropicClassifier):
    """An EntropicClassifier that chooses its own knots, degree, bound, C, slack and constraint.

    Once fitted it *is* the best candidate, fitted on all rows: every method and attribute of
    :class:`EntropicClassifier` is there. The rule is that of docs/mathematics.md, section 5.7.

    Parameters
    ----------
    degrees : sequence of int or None
        None tries 1 to 6, stopping where one would take more than some seconds or the last
        did worse than the one before; and 1 alone with ``monotonic_cst``.
    knots : sequence of int or None
        Values of ``n_knots``. None tries 0, features as they are, and 6; 0 alone for sparse rows
        and with ``monotonic_cst``.
    bounds : sequence of float
        Values of ``bound``.
    Cs : sequence of float
        Values of ``C``.
    slacks : sequence of float
        Values of ``slack``.
    constraints : sequence of {"equality", "inequality"}
        Values of ``constraint``.
    scoring : {"accuracy_log_loss", "neg_log_loss", "accuracy", "balanced_accuracy", "roc_auc"}
        How the left-out scores are judged; higher is better. The first looks, among the
        candidates whose accuracy lies within half a standard error of the best, for the least
        log-loss, and takes the one of fewest columns whose log-likelihood, of all rows together,
        is at most 2 below that. The log-loss is that of a sigmoid of two parameters through the
        left-out scores.
    rule : {"best", "one-standard-error"}
        Whether the candidate of the best score is taken, or the simplest one within one standard
        error of it. Simpler is a lower degree, then fewer knots, a smaller bound, more slack.
    cv : int, splitter, iterable or None
        None judges by leave-one-out in closed form; anything else asks for ordinary folds,
        whose held-out scores are judged together. Groups come as an iterable of their splits.
    max_seconds : float or None
        Time after which no further candidate is tried: the best so far is taken, and
        ``results_`` says what was not tried. Its fit on all rows comes on top.
    **shared
        The other parameters of :class:`EntropicClassifier`, for all candidates; but ``verbose``
        above 0 prints the score of every candidate and then the steps of the last fit, and
        ``callback`` is told of the last fit alone.

    Attributes
    ----------
    best_params_ : dict
        "n_knots", "degree", "bound", "C", "slack" and "constraint" of the candidate taken.
    best_score_ : float
        By ``scoring``, on the left-out rows; with "accuracy_log_loss" the accuracy.
    best_index_ : int
        Its place in ``results_``.
    results_ : dict of arrays
        One entry a candidate: the six parameters, "status", "score", "standard_error",
        "log_loss", "n_columns", "n_iter", "n_sweeps", "dual_gap", "converged".
        ``pandas.DataFrame(results_)`` makes a table. The status is "judged" after a fit;
        "dropped" where those of the same knots and degree and more slack did worse than those of
        others; "skipped" where degrees had begun to do worse; "not judged" where left-out scores
        could not be had; "not tried" where ``max_seconds`` were over. Only the judged compete.

    Notes
    -----
    The scores by which a candidate was chosen are those that its band rests on. After a search
    bands of certainty 0.95 and 0.99 were seen to err 1.10 and 1.46 times as often as their count
    says, on 22 data sets; those of the default classifier did 1.04 and 1.29 times. Rows kept
    aside know nothing of the choice: see ``control_error`` and ``conformalize``.

    References
    ----------
    The rule of one standard error: L. Breiman, J. Friedman, R. Olshen, C. Stone,
    "Classification and Regression Trees", section 3.4.3. The sigmoid: J. Platt, "Probabilistic
    outputs for support vector machines" (1999).
    """

    def __init__(
        self,
        degrees=None,
        bounds=(0.1, 0.3, 1.0, 3.0),
        Cs=(1.0,),
        slacks=(10.0,),
        constraints=("inequality",),
        *,
        scoring="accuracy_log_loss",
        rule="best",
        cv=None,
        max_seconds=None,
        knots=None,
        **shared,
    ):
        unknown = sorted(set(shared) - set(SHARED))
        if unknown:
            raise TypeError(f"{type(self).__name__} has no parameter {unknown[0]!r}")
        self.degrees = degrees
        self.bounds = bounds
        self.Cs = Cs
        self.slacks = slacks
        self.constraints = constraints
        self.scoring = scoring
        self.rule = rule
        self.cv = cv
        self.max_seconds = max_seconds
        self.knots = knots
        for name, parameter in SHARED.items():
            setattr(self, name, shared.get(name, parameter.default))

    # scikit-learn reads the names of the parameters here
    __init__.__signature__ = _with_shared(  # type: ignore[attr-defined]
        inspect.signature(__init__)
    )

    # Told of every candidate and of the share of the search that is done.
    _on_candidate = None

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
        with all_or_nothing(self), fit_task(self, X, y, sample_weight):
            self._search(X, y, sample_weight)
            self._become(self._candidate(**self.best_params_).fit(X, y, sample_weight))
        return self

    def fit_batches(self, batches, classes=None, checkpoint=None):
        """Score every candidate on a sample of the rows and become the best, fitted on all rows.

        The sample is drawn evenly at random, the same in every call: 20,000 rows, or fewer where
        these have more than 20 million numbers.

        Parameters
        ----------
        batches, classes, checkpoint
            As for :meth:`EntropicClassifier.fit_batches`; the search itself is made anew.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As for :meth:`EntropicClassifier.fit_batches` and :meth:`fit`.
        """
        with all_or_nothing(self), fit_task(self):
            self._search(*sample_of(Batches(batches), SAMPLE_ROWS, SAMPLE_ENTRIES))
            best = self._candidate(**self.best_params_)
            self._become(best.fit_batches(batches, classes, checkpoint))
        return self

    def _search(self, X, y, sample_weight):
        """Score every candidate and set what is known of the best."""
        grid = self._grid()
        template = self._candidate(**{name: values[0] for name, values in grid.items()})
        rows, codes, weights = template._prepare(X, y, sample_weight)
        widths = {0: rows.shape[1]}
        if self.knots is not None or not sp.issparse(rows):
            for n_knots in filter(None, grid["n_knots"]):
                widths[n_knots] = LinearSplines.of(rows, weights, n_knots).n_columns
        if self.knots is None:  # splines are tried where some feature has them
            grid["n_knots"] = [k for k, width in widths.items() if k == 0 or width > widths[0]]
        candidates = [
            Candidate(dict(zip(grid, (*expansion, *values), strict=True)))
            for expansion in self._expansions(grid, widths, rows.shape[0])
            for values in product(*list(grid.values())[2:])
        ]
        if self.cv is None:
            by_leave_one_out(
                self, candidates, rows, template.classes_, codes, weights, sample_weight
            )
        else:
            by_folds(self, candidates, rows, template.classes_, codes, weights, sample_weight)
        self.results_ = self._table(candidates)
        n_rows = np.sum(np.broadcast_to(as_observations(codes, sample_weight), len(codes)))
        self.best_index_ = self._choice(self.results_, n_rows)
        self.best_params_ = candidates[self.best_index_].chosen
        self.best_score_ = float(self.results_["score"][self.best_index_])

    def _become(self, best):
        """Take over what a fitted candidate has learned."""
        parameters = best.get_params()
        self._forget_uncertainty()
        vars(self).update({k: v for k, v in vars(best).items() if k not in parameters})

    def _candidate(self, **chosen):
        """An EntropicClassifier with our own settings and those of a candidate."""
        ours = {name: getattr(self, name) for name in SHARED}
        return EntropicClassifier(**{**ours, **chosen})

    def save(self, path):
        """As :meth:`EntropicClassifier.save`; a ``cv`` that is code is not kept, with a warning."""
        try:
            super().save(path)
        except ValueError:
            if self.cv is None:
                raise
            kept = copy.copy(self)
            kept.cv = None
            super(EntropicClassifierCV, kept).save(path)
            warnings.warn(
                f"cv, of type {type(self.cv).__name__}, is no plain data and was not saved: "
                "predictions do not need it; a fit of the loaded model judges by leave-one-out.",
                UserWarning,
                stacklevel=2,
            )

    def _half_widths(self):
        return self._candidate(**self.best_params_)._half_widths()

    def _check_parameters(self):
        self._grid()

    def _grid(self):
        """Candidates' values by parameter, checked, from the simplest to the most flexible."""
        checks.check_choice(self.scoring, "scoring", tuple(SCORINGS))
        checks.check_choice(self.rule, "rule", RULES)
        if self.max_seconds is not None:
            checks.check_number(self.max_seconds, "max_seconds", 0.0, above=True)
        lists = {name: getattr(self, many) for name, many in SEARCHED.items()}
        # a hyperplane of plain features alone can be held to directions
        most = None if self.monotonic_cst is None else 1
        for name, auto in (("n_knots", AUTO_KNOTS), ("degree", AUTO_DEGREES)):
            if lists[name] is None:
                lists[name] = auto[:most]
        grid = {name: checks.check_list(lists[name], many) for name, many in SEARCHED.items()}
        for values in product(*grid.values()):
            self._candidate(**dict(zip(grid, values, strict=True)))._check_parameters()
        for name in ("n_knots", "degree", "slack", "C", "bound"):
            grid[name] = sorted(grid[name], reverse=name == "slack")
        return grid

    def _table(self, candidates):
        """What is known of the candidates, as ``results_``."""
        rows = [candidate.row() for candidate in candidates]
        return {name: np.array([row[name] for row in rows]) for name in rows[0]}

    def _choice(self, table, n_rows):
        """Index of the candidate that the rule takes, among those that reached their optimum.

        Left-out scores are those of an optimum; elsewhere they mean little. Where no candidate
        reached its own, all that were judged compete.
        """
        judged = table["status"] == JUDGED
        if not np.any(judged):
            raise ValueError(
                "No candidate's left-out scores can be had: its factor does not fit into memory. "
                "Give lower degrees, or folds by cv."
            )
        if np.any(judged & table["converged"]):
            judged &= table["converged"]
        score = np.where(judged, table["score"], -np.inf)
        best = int(np.argmax(score))
        if self.rule == "one-standard-error":
            near = np.flatnonzero(score >= score[best] - table["standard_error"][best])
            names = ("degree", "n_knots", "bound", "C", "slack", "constraint")
            order = [-table[name] if name == "slack" else table[name] for name in names]
            return min(near, key=lambda index: tuple(column[index] for column in order))
        if self.scoring == "accuracy_log_loss":
            near = np.flatnonzero(score >= score[best] - WIDTH * table["standard_error"][best])
            loss = n_rows * table["log_loss"]
            near = near[loss[near] <= np.min(loss[near]) + HARDLY]
            # of equal width the least log-loss
            best = int(near[np.lexsort((loss[near], table["n_columns"][near]))[0]])
        return best

    def _expansions(self, grid, widths, n_samples):
        """Knots and degrees to try: all that were named, or those that can be afforded.

        Parameters
        ----------
        grid : dict of lists
        widths : dict
            From a number of knots to the columns that the features become.
        n_samples : int
        """
        most = min(AFFORDABLE, AFFORDABLE_PER_ROW * n_samples)
        chosen = []
        for n_knots in grid["n_knots"]:
            for degree in grid["degree"]:
                seconds = self._seconds(grid, widths[n_knots], degree, n_samples)
                if self.degrees is None and degree > grid["degree"][0] and seconds > most:
                    break
                chosen.append((n_knots, degree))
        return chosen

    def _seconds(self, grid, width, degree, n_samples):
        """What the candidates of a number of knots and a degree are expected to take."""
        n_columns = listing_of(width, degree, self.interaction_only).n_monomials
        names = ("constraint", "slack", "C", "bound")
        return fit_seconds(n_samples, n_columns) * prod(len(grid[name]) for name in names)

    def expected_seconds(self, n_samples, n_features, n_classes=2):
        """What a search by leave-one-out on dense rows is expected to take.

        Parameters
        ----------
        n_samples, n_features, n_classes : int
            Of the rows to come.

        Returns
        -------
        float
            Seconds, by the number of multiplications: right to about a factor of three.
        """
        grid = self._grid()
        widths = {n_knots: n_features * max(n_knots, 1) for n_knots in grid["n_knots"]}
        return len(problems_of(range(n_classes))) * sum(
            self._seconds(grid, widths[n_knots], degree, n_samples)
            for n_knots, degree in self._expansions(grid, widths, n_samples)
        )

    def _tell(self, candidate, share):
        """Show what became of a candidate, when asked to."""
        if self.verbose:
            print(f"[{type(self).__name__}] {self.scoring} of {candidate.described()}")
        log.info("%s: %s of %s", type(self).__name__, self.scoring, candidate.described())
        step_task(self, "candidate")
        if self._on_candidate is not None:
            self._on_candidate(candidate, share)
