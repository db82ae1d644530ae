"""What a design is learned from, where rows come part by part."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from entropic.rows.parts import ColumnMoments, Occupied, Products
from entropic.rows.survey import MOSTS, SUMS, merged
from entropic.rows.work import Work

from .scaling import Recipe


@dataclass(frozen=True)
class Found:
    """What the survey of all rows has found, its labels in the order of the classes.

    Attributes
    ----------
    labels : array of shape (n_labels,)
    figures : dict
    n_rows, n_counted, weight, least, most : arrays of shape (n_labels,)
        Of each label: rows, rows of weight, their weight, the least above 0 and the largest.
    moments : array of shape (n_sets, 2 * n_features + 1)
    n_features : int
    """

    labels: np.ndarray
    figures: dict
    n_rows: np.ndarray
    n_counted: np.ndarray
    weight: np.ndarray
    least: np.ndarray
    most: np.ndarray
    moments: np.ndarray
    n_features: int

    @classmethod
    def of(cls, survey):
        labels, figures, by_label, moments = survey
        order = np.argsort(labels)
        if len(moments) == len(labels) > 1:
            moments = moments[order]
        n_features = (moments.shape[1] - 1) // 2
        named = dict(zip((*SUMS, *MOSTS), figures.tolist(), strict=True))
        return cls(labels[order], named, *by_label[:, order], moments, n_features)


class PartedRows:
    """What :func:`recipe_of` asks of training rows, for rows that come part by part.

    Parameters
    ----------
    parts : object with ``run`` (rows/parts.py)
    found : Found
    view : View
        Without a recipe.
    sparse : bool
        Whether they stay sparse.

    Attributes
    ----------
    example : array or CSR matrix of shape (1, n_features)
        As full as the fullest row, of the largest number there is.
    precision : float
    """

    def __init__(self, parts, found, view, sparse):
        self.parts, self.found, self.view, self.sparse = parts, found, view, sparse
        figures, n_features = found.figures, found.n_features
        self.precision = figures["precision"]
        self.example = np.full((1, n_features), figures["largest"])
        if sparse:
            filled = int(figures["widest"])
            # repeated indices are as good as others
            columns = np.arange(filled) % n_features
            entries = (np.full(filled, figures["largest"]), columns, np.array([0, filled]))
            self.example = sp.csr_array(entries, shape=(1, n_features))

    def moments(self, monomials=None):
        """Weighted mean and variance of every feature, or of every monomial."""
        if monomials is None:
            sets, half = self.found.moments.copy(), 1 + self.found.n_features
            if len(sets) > 1:
                sets[:, 0] *= self.view.factors
                sets[:, half:] *= self.view.factors[:, None]
            total = sets[0]
            for other in sets[1:]:
                total = merged(total, other)
        else:
            recipe = Recipe(monomials, None, None, None, False)
            (total,) = self.parts.run(ColumnMoments(replace(self.view, recipe=recipe)))
        half = 1 + len(total) // 2
        return total[1:half], total[half:] / total[0]

    def products(self, listing):
        """How many products sparse rows have in all."""
        return float(self.parts.run(Products(self.view, listing))[0][0])

    def occupied(self, listing):
        """The monomials that some sparse row fills, in rising order."""
        return self.parts.run(Occupied(self.view, listing))[0]

    def work(self, design):
        """Sizes of the rows' design, from which the cost of each kind of step follows."""
        figures, n_features = self.found.figures, design.n_features
        n_samples = int(figures["n_samples"])
        rows = design.rows
        if not self.sparse:
            streamed = hasattr(rows, "listing")
            return Work.dense(n_samples, n_features, random_access=False, streamed=streamed)
        entries, squares = figures["entries"], figures["squares"]
        if hasattr(rows, "listing"):
            entries, squares = self.parts.run(Products(self.view, rows.listing))[0].tolist()
        if design.constant:
            entries, squares = entries + n_samples, squares + 2 * entries + n_samples
        pairs = (squares + entries) / 2
        return Work(n_samples, n_features, int(entries), int(pairs), 0, True, random_access=False)
