"""What leave-one-out scores tell, where rows come part by part and no score is kept.

Scores are ranked a part at a time and the rankings joined. Above ``MOST_EXACT`` samples each score
is shortened to ``BITS`` binary digits first, so that the ranking has at most some hundred
thousand places: probabilities and quantiles are then those of scores that are off by less than
``2**-BITS`` of themselves. The extremes, which the band of ``certainty=1`` consists of, are exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .leave_one_out import MOST_OBSERVATIONS, ByFeatures, _form, by_features, stiff_root
from .ranking import Ranking, shortened
from .rescaling import depends_on_rows

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
            size += np.sum(np.abs(self.features.influence(sweep, at).shift()))
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

    def __call__(self, sweep, at):
        features, target = self.features, sweep.target
        found = features.with_effect(sweep, features.influence(sweep, at))
        share = 1.0
        if self.counts and sweep.given is not None:
            share = 1 / np.maximum(sweep.given, 1.0)
        scores = _trained(sweep, at) + target.sign * found.shift(share)
        lowest = extremes(sweep, scores)
        if self.bits is not None:
            scores = shortened(scores, self.bits)
        chosen = slice(None) if np.all(sweep.counted) else sweep.counted
        weights = target.weights if len(target.weights) == 1 else target.weights[chosen]
        ranking = Ranking(*np.zeros((3, 0)))
        if np.any(weights):
            positive = (target.sign > 0)[chosen]
            ranking = Ranking.of(scores[chosen], positive, weights / self.observation)
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


def left_out_ranking(sweep, box, outcome, found):
    """The leave-one-out scores of rows that come part by part, ranked.

    Parameters
    ----------
    sweep : PartedSweep
    box : Box
    outcome : Outcome
    found : Found
        Of all rows, their weights before class weights.

    Returns
    -------
    trained : array of shape (2,)
        The lowest training score of the good class, and minus the highest of the other.
    ranking : Ranking or None
        None where no factor was affordable.
    lowest : array of shape (2,)
        As ``trained``, of the leave-one-out scores.
    totals : array of shape (2,)
        Observations of each class.
    """
    at = outcome.evaluation
    if _form(sweep, outcome) != "features":
        return sweep.over_parts(TrainingScores(), at)[0], None, None, None
    features = by_features(sweep, stiff_root(box, outcome.state), at)
    scaled = depends_on_rows(sweep)
    trained, size = sweep.over_parts(TrainingScores(features if scaled else None), at)
    if scaled:
        features = features.rescaled(sweep, box, outcome.state, float(size[0]) / sweep.n_samples)
    weighted = found.figures["n_given"] > 0
    given = float(found.weight.sum())
    counts = weighted and not found.figures["n_broken"] and given < MOST_OBSERVATIONS
    n_observed = given if counts else float(sweep.n_counted)
    bits = BITS if sweep.n_samples > MOST_EXACT else None
    task = LeftOutScores(features, counts, sweep.total_weight / n_observed, bits)
    *ranked, lowest = sweep.over_parts(task, at)
    totals = found.n_rows.astype(float)
    if weighted:
        totals = found.weight * ((given if counts else found.n_counted.sum()) / given)
    return trained, Ranking(*ranked), lowest, totals
