"""What leave-one-out scores tell, where rows come part by part and no score is kept.

Scores are ranked a part at a time and the rankings joined. Above ``MOST_EXACT`` samples each score
is shortened to ``BITS`` binary digits first, so that the ranking has at most some hundred
thousand places: probabilities and quantiles are then those of scores that are off by less than
``2**-BITS`` of themselves. The extremes, which the band of ``certainty=1`` consists of, are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from entropic.rows.parts import OfSamples

from .leave_one_out import MOST_OBSERVATIONS, ByFeatures, _form, by_features, cost, stiff_root
from .ranking import Ranking, shortened
from .rescaling import depends_on_rows
from .several import ranking_by_sureness

MOST_EXACT = 1 << 19
BITS = 13


@dataclass(frozen=True)
class TrainingScores:
    """A task: the extremes of the training scores, and the sum of the sizes of all shifts.

    Parameters
    ----------
    features : ByFeatures or None
        None wants no shifts.
    """

    features: ByFeatures | None = None

    def __call__(self, sweep, at):
        lowest, size = extremes(sweep, _trained(sweep, at)), np.zeros(1)
        if self.features is not None:
            size += np.sum(np.abs(self.features.influence(sweep, at).whole))
        return lowest, size

    def join(self, one, other):
        return np.minimum(one[0], other[0]), one[1] + other[1]


@dataclass(frozen=True)
class LeftOutScores:
    """A task: the leave-one-out scores of one observation, ranked.

    Parameters
    ----------
    features : ByFeatures
    counts : bool
        Whether weights, before class weights, are whole numbers.
    observation : float
        The weight that one observation has.
    bits : int or None
        Binary digits that are kept of each score; None keeps all.

    Returns
    -------
    values, bad, good : arrays of shape (n_values,)
    lowest : array of shape (2,)
        As of :class:`TrainingScores`, for the leave-one-out scores.
    """

    features: ByFeatures
    counts: bool
    observation: float
    bits: int | None

    def scores(self, sweep, at):
        """The leave-one-out scores of a part."""
        found = self.features.with_effect(sweep, self.features.influence(sweep, at))
        share = 1.0
        if self.counts and sweep.given is not None:
            share = 1 / np.maximum(sweep.given, 1.0)
        return _trained(sweep, at) + sweep.target.sign * found.shift(share)

    def __call__(self, sweep, at):
        scores, target = self.scores(sweep, at), sweep.target
        lowest = extremes(sweep, scores)
        if self.bits is not None:
            scores = shortened(scores, self.bits)
        ranking = Ranking(*np.zeros((3, 0)))
        if np.any(target.weights):
            ranking = Ranking.of(scores, target.sign > 0, target.weights / self.observation)
        return ranking.values, ranking.bad, ranking.good, lowest

    def join(self, one, other):
        ranking = Ranking(*one[:3]).joined(Ranking(*other[:3]))
        return ranking.values, ranking.bad, ranking.good, np.minimum(one[3], other[3])


def _trained(sweep, at):
    return sweep.target.sign * (at.functional_margins + sweep.target.offset)


def extremes(sweep, scores):
    """The lowest score of the good class and minus the highest of the other, of rows of weight."""
    signed = np.where(sweep.counted, sweep.target.sign * scores, np.inf)
    return np.array([np.min(signed, where=sweep.target.sign == sign, initial=np.inf)
                     for sign in (1, -1)])  # fmt: skip


@dataclass(frozen=True)
class LeftOutSureness:
    """A task: how sure the leave-one-out scores of several classes make each row, ranked.

    Parameters
    ----------
    tasks : tuple of OfSamples
        The :class:`LeftOutScores` of each class at its solution.
    curves : sequence of arrays
        As for :func:`several.probabilities`.
    observation : float
        The weight, as the user gave it, that one observation has.

    Returns
    -------
    values, bad, good : arrays of shape (n_values,)
        Good are the rows whose best class is right.
    """

    tasks: tuple
    curves: list
    observation: float

    def encoder(self):
        return self.tasks[0].encoder()

    def with_threads(self, n_threads):
        """The task for whom it is not said how many threads it may take."""
        return replace(self, tasks=tuple(task.with_threads(n_threads) for task in self.tasks))

    def __call__(self, part):
        scores = np.empty((len(self.tasks), len(part.codes)))
        design = self.tasks[0].view.recipe.design(part.X)
        for code, task in enumerate(self.tasks):
            sweep = task.view.sweep(part, design)
            scores[code] = task.task.scores(sweep, sweep.evaluate(task.coef, samples=True))
        if self.tasks[0].task.bits is not None:
            scores = shortened(scores, self.tasks[0].task.bits)
        rows = np.ones(1) if part.given is None else np.asarray(part.given, dtype=float)
        if not np.any(rows):
            return tuple(np.zeros((3, 0)))
        ranking = ranking_by_sureness(scores, part.codes, self.curves, rows / self.observation)
        return ranking.values, ranking.bad, ranking.good

    def join(self, one, other):
        ranking = Ranking(*one).joined(Ranking(*other))
        return ranking.values, ranking.bad, ranking.good


def _counts(found):
    """Whether weights, before class weights, are whole numbers that count observations."""
    weighted, given = found.figures["n_given"] > 0, float(found.weight.sum())
    return weighted and not found.figures["n_broken"] and given < MOST_OBSERVATIONS


def observation_of(found):
    """The weight, as the user gave it, that one observation has."""
    if not found.figures["n_given"] or _counts(found):
        return 1.0
    return float(found.weight.sum() / found.n_counted.sum())


def observed(found):
    """Observations of each class."""
    if not found.figures["n_given"]:
        return found.n_rows.astype(float)
    return found.weight / observation_of(found)


@dataclass(frozen=True)
class LeftOutOfParts:
    """What a fit of rows that come part by part learns of one problem.

    Attributes
    ----------
    separation : float
        Of the training scores (band.py).
    ranking : Ranking or None
        Of the leave-one-out scores; None where they were not wanted or not affordable.
    extremes : pair of float
        The band of ``certainty=1``.
    task : OfSamples
        What gives the leave-one-out scores of a part.
    cost : tuple
        Seconds and bytes that they would have taken.
    """

    separation: float
    ranking: Ranking | None = None
    extremes: tuple = ()
    task: OfSamples | None = None
    cost: tuple = (0.0, 0)

    @classmethod
    def of(cls, sweep, box, outcome, found, wanted=True):
        """From the sweep and its solution.

        Parameters
        ----------
        sweep : PartedSweep
        box : Box
        outcome : Outcome
        found : Found
            Of all rows, their weights before class weights.
        wanted : bool
            Whether leave-one-out scores are.
        """
        at = outcome.evaluation
        if not wanted or _form(sweep, outcome) != "features":
            trained, _ = sweep.over_parts(TrainingScores(), at)
            return cls(float(trained.sum()), cost=cost(sweep, outcome) if wanted else (0.0, 0))
        features = by_features(sweep, stiff_root(box, outcome.state), at)
        scaled = depends_on_rows(sweep)
        trained, size = sweep.over_parts(TrainingScores(features if scaled else None), at)
        if scaled:
            features = features.rescaled(
                sweep, box, outcome.state, float(size[0]) / sweep.n_samples
            )
        counts = _counts(found)
        n_observed = float(found.weight.sum()) if counts else float(sweep.n_counted)
        bits = BITS if sweep.n_samples > MOST_EXACT else None
        task = LeftOutScores(features, counts, sweep.total_weight / n_observed, bits)
        *ranked, lowest = sweep.over_parts(task, at)
        extremes = tuple(sorted((float(lowest[0]), -float(lowest[1]))))
        whole = OfSamples(sweep.view, at.coef, task)
        return cls(float(trained.sum()), Ranking(*ranked), extremes, whole)
