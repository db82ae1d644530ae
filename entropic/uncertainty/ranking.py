"""Scored observations in rising order: sorted once a fit, for the band and the probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from entropic.kernels.backend import ranking
from entropic.kernels.numpy_ranking import distinct
from entropic.kernels.threads import in_threads


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
    def of(cls, scores, positive, weights, n_threads=1):
        """Rank scores; rows of weight 0 do not count.

        Parameters
        ----------
        scores : array of shape (n_samples,)
        positive : bool array of shape (n_samples,)
            Which samples are of the good class, whose scores should be positive.
        weights : array of shape (n_samples,) or (1,)
        n_threads : int
        """
        least = weights.min()
        if least == 0:
            counted = np.flatnonzero(weights)
            scores, positive, weights = scores[counted], positive[counted], weights[counted]
            least = weights.min(initial=np.inf)
        if least == weights.max(initial=0.0):
            # numbers are sorted many times faster than places
            parted, n_bad = ranking.part_by_class(scores, positive)
            in_threads(n_threads, np.ndarray.sort, (parted[:n_bad], parted[n_bad:]))
            return cls(*ranking.merge_classes(parted, n_bad, weights[0]))
        order = np.argsort(scores)
        weights = weights[order]
        good = weights * positive[order]
        return cls(*distinct(scores[order], weights - good, good))

    def joined(self, other):
        """The ranking of two sets of observations together."""
        if not len(self.values) or not len(other.values):
            return self if len(self.values) else other
        values = np.concatenate([self.values, other.values])
        order = np.argsort(values, kind="stable")  # linear in two sorted runs
        weights = (self.bad, other.bad), (self.good, other.good)
        return Ranking(*distinct(values[order], *(np.concatenate(w)[order] for w in weights)))


def shortened(scores, bits):
    """Scores with so many binary digits: moved towards 0 by less than ``2**-bits`` of themselves.

    A side of 0 is kept, and numbers shortened twice are those shortened to the lesser length.
    """
    kept = np.int64(-1) << np.int64(52 - bits)
    return (np.ascontiguousarray(scores).view(np.int64) & kept).view(np.float64)
