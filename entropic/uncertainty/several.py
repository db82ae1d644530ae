"""Several classes from the scores of one against the rest: which remain possible, how likely each.

The scores of n rows for K classes are a matrix of shape (n, K); two classes are the columns
``(-f, f)`` of their one score (docs/mathematics.md, section 5.8).
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from entropic.kernels.threads import in_threads

from .probability import BARELY, frequency
from .ranking import Ranking

# Rows whose scores, probabilities and what lies between stay in a processor's cache.
BLOCK = 4096


def problems_of(classes):
    """The place in ``classes`` whose rows are of positive sign, of each problem.

    Of two classes the second; of several each in turn, against the rest.
    """
    return [1] if len(classes) == 2 else list(range(len(classes)))


def class_scores(scores):
    """Scores of every class: two classes have one score, of which each takes a sign."""
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def distance(scores):
    """How far each row is from a tie of its two best classes: ``|f|`` for two classes.

    Half of what the best score leads the next by.

    Parameters
    ----------
    scores : array of shape (n_samples, n_classes)

    Returns
    -------
    array of shape (n_samples,)
    """
    best = np.partition(scores, -2, axis=1)[:, -2:]
    return 0.5 * (best[:, 1] - best[:, 0])


def possible(scores, bands):
    """Which classes the bands leave possible.

    A class is confirmed by a score of its band's upper bound or more, and excluded by one of the
    lower bound or less. Confirmed classes are the possible ones; where there is none, those that
    are not excluded.

    Parameters
    ----------
    scores : array of shape (n_samples, n_classes)
    bands : array of shape (n_classes, 2)

    Returns
    -------
    bool array of shape (n_samples, n_classes)
        A row may hold none: unlike every class.
    """
    confirmed = scores >= bands[:, 1]
    remaining = scores > bands[:, 0]
    return np.where(confirmed.any(axis=1)[:, None], confirmed, remaining)


def probabilities(scores, curves):
    """How likely each class is: the frequencies of one against the rest, divided by their sum.

    The likeliest class is always the one of the highest score. Where frequencies say otherwise,
    the classes that are more frequent share what they and it have, but for 1e-9 that it has more.

    Parameters
    ----------
    scores : array of shape (n_samples, n_classes)
    curves : sequence of arrays of shape (2, n_corners), or None
        Of :func:`entropic.uncertainty.probability.frequencies`, one a class. Without them the
        logistic function of a score stands for its frequency.

    Returns
    -------
    array of shape (n_samples, n_classes)
        Rows sum to 1.
    """
    if curves is None:
        found = np.maximum(expit(scores), np.finfo(float).tiny)
    else:
        columns = [frequency(curve, own) for curve, own in zip(curves, scores.T, strict=True)]
        found = np.column_stack(columns)
    found /= found.sum(axis=1)[:, None]
    best = np.argmax(scores, axis=1)
    ahead = found >= np.take_along_axis(found, best[:, None], axis=1)
    contradicted = np.flatnonzero(np.count_nonzero(ahead, axis=1) > 1)
    best, ahead, part = best[contradicted], ahead[contradicted], found[contradicted]
    count = ahead.sum(axis=1)
    shared = np.sum(part, axis=1, where=ahead) / count
    given = BARELY * shared / count
    part = np.where(ahead, (shared - given)[:, None], part)
    part[np.arange(len(part)), best] += given * count
    found[contradicted] = part
    return found


def sureness(scores, chances):
    """How sure the best class of each row is, as one number: its probability.

    Probabilities change in steps. Between rows of one probability the distance d from a tie
    decides, by a billionth of ``d/(1 + d)``.
    """
    apart = distance(scores)
    return chances.max(axis=1, initial=0.0) + BARELY * apart / (1 + apart)


def probable(scores, chances, least):
    """The best class of each row that is surer than ``least``; of others, as many as make it up.

    These are the most probable classes, as few as have a probability above ``least`` together.

    Returns
    -------
    bool array of shape (n_samples, n_classes)
    """
    order = np.argsort(-chances, axis=1, kind="stable")
    rising = np.cumsum(np.take_along_axis(chances, order, axis=1), axis=1)
    wanted = np.ones_like(rising, dtype=bool)
    wanted[:, 1:] = (rising[:, :-1] <= least) & ~(sureness(scores, chances) > least)[:, None]
    chosen = np.empty_like(wanted)
    np.put_along_axis(chosen, order, wanted, axis=1)
    return chosen


def confidence(scores, chances=None):
    """An order of the rows by how sure their best class is, the surest highest.

    Parameters
    ----------
    scores : array of shape (n_samples, n_classes)
    chances : array of shape (n_samples, n_classes) or None
        Probabilities: rows count by that of their best class. Rows of one probability, and all
        rows where there are none, count by the lead of that class.

    Returns
    -------
    int array of shape (n_samples,)
        Equal for rows that tie.
    """
    keys = [distance(scores)]
    if chances is not None:
        keys.append(chances.max(axis=1, initial=0.0))
    order = np.lexsort(keys)
    new = np.any(np.diff(np.array(keys)[:, order], axis=1) != 0, axis=0)
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.concatenate([[0], np.cumsum(new)])
    return place


def ranking_by_sureness(scores, codes, curves, rows, n_threads=1):
    """Rows in the order of how sure they are; good are those whose best class is their own.

    Parameters
    ----------
    scores : sequence of n_classes arrays of shape (n_samples,)
    codes : int array of shape (n_samples,)
    curves
        As for :func:`probabilities`.
    rows : array of shape (n_samples,) or (1,)
        What each row counts as.
    n_threads : int

    Returns
    -------
    Ranking
    """

    def of_some(start):
        some = np.column_stack([own[start : start + BLOCK] for own in scores])
        sure = sureness(some, probabilities(some, curves))
        return sure, np.argmax(some, axis=1) == codes[start : start + BLOCK]

    found = in_threads(n_threads, of_some, range(0, len(codes), BLOCK))
    sure, right = (np.concatenate(each) for each in zip(*found, strict=True))
    return Ranking.of(sure, right, rows)
