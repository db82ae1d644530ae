"""Scores in order by class, and pools of neighbours whose frequency does not rise: in NumPy.

The compiled twins of the same names are in src/ranking.c.
"""

from __future__ import annotations

import numpy as np


def part_by_class(scores, positive):
    """The scores of the defective class, then those of the good one, and how many come first.

    Parameters
    ----------
    scores : array of shape (n_samples,)
    positive : bool array of shape (n_samples,)
    """
    parts = scores[~positive], scores[positive]
    return np.concatenate(parts), len(parts[0])


def merge_classes(parted, n_bad, unit):
    """Distinct values of two rising runs, and the weight of either run at each.

    Parameters
    ----------
    parted : array of shape (n_samples,)
        As of :func:`part_by_class`, each part in rising order.
    n_bad : int
    unit : float
        The weight of each score.

    Returns
    -------
    values, bad, good : arrays of shape (n_values,)
    """
    order = np.argsort(parted, kind="stable")  # linear in two sorted runs
    good = unit * (order >= n_bad)
    return distinct(parted[order], unit - good, good)


def distinct(values, bad, good):
    """Rising values, each once, and the weights at them."""
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1])[: len(values)])
    if len(starts) == len(values):
        return values, bad, good
    return values[starts], np.add.reduceat(bad, starts), np.add.reduceat(good, starts)


def pools(bad, good):
    """Neighbours pooled as long as the share of the good class does not rise from one to the next.

    Parameters
    ----------
    bad, good : arrays of shape (n_values,)
        Weight of either class at each score; both together are positive.

    Returns
    -------
    starts : int array of shape (n_pools,)
    total, good : arrays of shape (n_pools,)
        Weight of each, and that of the good class.
    middle : array of shape (n_values,)
        The weight below each score and half of its own.
    """
    weight = bad + good
    share = good / weight
    starts = np.flatnonzero(np.append(True, share[1:] > share[:-1]))
    middle = np.cumsum(weight) - weight / 2
    return starts, np.add.reduceat(weight, starts), np.add.reduceat(good, starts), middle
