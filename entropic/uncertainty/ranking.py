"""Scored observations in rising order: sorted once a fit, for the band and the probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Ranking:
    """How much of each class lies at every score.

    Attributes
    ----------
    values : array of shape (n_values,)
        The distinct scores of observations with weight, rising.
    bad, good : arrays of shape (n_values,)
        Weight of the defective and of the good class at each of them.
    """

    values: np.ndarray
    bad: np.ndarray
    good: np.ndarray

    @classmethod
    def of(cls, scores, positive, weights):
        """Rank scores; rows of weight 0 do not count.

        Parameters
        ----------
        scores : array of shape (n_samples,)
        positive : bool array of shape (n_samples,)
            Which samples are of the good class, whose scores should be positive.
        weights : array of shape (n_samples,) or (1,)
        """
        least = weights.min()
        if least == 0:
            counted = np.flatnonzero(weights)
            scores, positive, weights = scores[counted], positive[counted], weights[counted]
        values = _sorted_with_class(scores, positive) if least == weights.max() else None
        if values is not None:
            values, good = values
            good, weights = weights[0] * good, weights[:1]
        else:
            order = np.argsort(scores)
            values, weights = scores[order], weights[order] if len(weights) > 1 else weights
            good = weights * positive[order]
        bad = weights - good
        new = values[1:] != values[:-1]
        if not np.all(new):
            starts = np.concatenate([[0], np.flatnonzero(new) + 1])
            values = values[starts]
            bad, good = np.add.reduceat(bad, starts), np.add.reduceat(good, starts)
        return cls(values, bad, good)

    def joined(self, other):
        """The ranking of two sets of observations together."""
        if not len(self.values) or not len(other.values):
            return self if len(self.values) else other
        values = np.concatenate([self.values, other.values])
        order = np.argsort(values, kind="stable")  # linear in two sorted runs
        values = values[order]
        starts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
        bad, good = (
            np.add.reduceat(np.concatenate(weights)[order], starts)
            for weights in ((self.bad, other.bad), (self.good, other.good))
        )
        return Ranking(values[starts], bad, good)


def _sorted_with_class(scores, positive):
    """Rising scores, and 1 where one is of the good class.

    Numbers are sorted many times faster than places: once as they are, and once with the class in
    the last bit. Returns None where scores differ in nothing but that bit.
    """
    values = np.sort(scores)
    bits = values.view(np.int64)
    if np.any(bits[1:] ^ bits[:-1] == 1):
        return None
    tagged = np.sort((scores.view(np.int64) & -2 | positive).view(np.float64))
    return values, tagged.view(np.int64) & 1


def shortened(scores, bits):
    """Scores with so many binary digits: moved towards 0 by less than ``2**-bits`` of themselves.

    A side of 0 is kept, and numbers shortened twice are those shortened to the lesser length.
    """
    kept = np.int64(-1) << np.int64(52 - bits)
    return (np.ascontiguousarray(scores).view(np.int64) & kept).view(np.float64)
