"""The search by leave-one-out: candidates by the expansion of the features that they share.

An expansion is a number of knots and a degree: what the features become before box, slack and
constraint are chosen. Its candidates share its rows and start from each other. Wider boxes and
higher degrees are tried until they do worse.
"""

from __future__ import annotations

from itertools import groupby

import numpy as np

from .candidates import DROPPED, SKIPPED, UNJUDGED, Progress, for_search
from .rows.memory import machine_memory
from .rows.work import Work
from .uncertainty.leave_one_out import LeftOut, observations
from .uncertainty.several import problems_of

# Share of the machine's memory that the monomials of one expansion may take when stored.
STORED_SHARE = 8
# What a fit and its left-out scores take from a start near by, in factors and in sweeps.
USUAL_FACTORS, USUAL_SWEEPS = 4, 50


def fit_seconds(n_samples, n_columns):
    """What a candidate is expected to take."""
    work = Work.dense(n_samples, n_columns)
    return USUAL_FACTORS * min(work.cholesky, work.dual) + USUAL_SWEEPS * work.sweep


def by_leave_one_out(search, candidates, X, classes, codes, weights, sample_weight):
    """Judge the candidates by the scores that rows get when they are left out.

    Parameters
    ----------
    search : EntropicClassifierCV
    candidates : list of Candidate
        By knots and degree; within these neighbours follow each other.
    X : float array or CSR matrix of shape (n_samples, n_features)
    classes : array of shape (n_classes,)
    codes : int array of shape (n_samples,)
        The place of each row's class.
    weights : array of shape (n_samples,) or (1,)
    sample_weight : array or None
        The weights before class weights.
    """
    progress = Progress(search, candidates)
    for n_knots, of_knots in groupby(candidates, lambda candidate: candidate.chosen["n_knots"]):
        best = []  # of each degree so far
        for degree, group in groupby(of_knots, lambda candidate: candidate.chosen["degree"]):
            group = list(group)
            if search.degrees is None and falling(best):
                for candidate in group:
                    candidate.status = SKIPPED
            elif not progress.time_is_up():
                model = search._candidate(n_knots=n_knots, degree=degree)
                design = model._design(X, weights)
                expansion = Expansion(search, design, classes, codes, weights, sample_weight)
                expansion.run(group, progress)
                best.append(expansion.best)


def falling(figures):
    """Whether the last of some pairs of score and log-loss is worse than the one before in both."""
    if len(figures) < 2:
        return False
    (score, loss), (last_score, last_loss) = figures[-2:]
    return last_score < score and last_loss > loss


class Expansion:
    """The rows as the candidates of one expansion see them."""

    def __init__(self, search, design, classes, codes, weights, sample_weight):
        # a number and, where they are sparse, its column
        most = machine_memory() // (16 * STORED_SHARE)
        self.search, self.design, self.classes = search, design.stored(most), classes
        self.codes, self.weights, self.sample_weight = codes, weights, sample_weight
        self.counts = observations(sample_weight, weights, design.n_samples)[1]
        self.judged = []

    def run(self, group, progress):
        """Judge candidates as long as there is time, wider boxes until they do worse."""
        for _, line in groupby(group, _but_for_bound):
            figures = []  # of each bound so far
            for candidate in line:
                if falling(figures):
                    candidate.status = DROPPED
                    continue
                if progress.time_is_up():
                    return
                self.judge(candidate)
                progress.tell(candidate)
                figures.append((candidate.score, candidate.log_loss))

    def judge(self, candidate):
        """Fit a candidate and judge it by the scores of rows that are left out."""
        model = self.search._candidate(**candidate.chosen, **for_search(self.search))
        model.classes_ = self.classes
        near = self._neighbour(candidate)
        if near is None:
            starts = [None] * len(problems_of(self.classes))
        else:
            box = model._box(self.design.rows.n_columns)
            starts = [box.state(coef) for coef in near]
        fits, n_sweeps = model._fit_each(
            self.design,
            self.codes,
            self.weights,
            starts,
            None,
            lambda *fit: LeftOut.of(*fit, self.sample_weight, rescale=False, always=True),
        )
        outcomes, learned = zip(*fits, strict=True)
        self.judged.append(candidate)
        candidate.coef = [outcome.coef for outcome in outcomes]
        candidate.figures = {
            "n_columns": self.design.n_features,
            "n_iter": max(outcome.n_iter for outcome in outcomes),
            "n_sweeps": n_sweeps,
            "dual_gap": max(outcome.dual_gap for outcome in outcomes),
            "converged": all(outcome.converged for outcome in outcomes),
        }
        if any(one.whole is None for one in learned):
            candidate.status = UNJUDGED  # training scores flatter the most flexible candidates
            return
        scores = np.transpose([one.scores for one in learned])
        scores = scores[:, 0] if len(learned) == 1 else scores
        candidate.judge(scores, self.codes, self.counts, self.search.scoring)

    def _neighbour(self, candidate):
        """Coefficients of a candidate near by that was fitted before, or None.

        More slack, else the other constraint, else a narrower box: each is close, and its
        coefficients lie inside the box of the one to be solved.
        """
        for name in ("slack", "constraint", "bound"):
            same = {key: value for key, value in candidate.chosen.items() if key != name}
            for other in reversed(self.judged):
                if same.items() <= other.chosen.items():
                    return other.coef
        return None

    @property
    def best(self):
        """The highest score and the least log-loss of its candidates."""
        figures = np.array([(c.score, -c.log_loss) for c in self.judged]).reshape(-1, 2)
        score, loss = np.fmax.reduce(figures, axis=0, initial=-np.inf)
        return score, -loss


def _but_for_bound(candidate):
    return {name: value for name, value in candidate.chosen.items() if name != "bound"}
