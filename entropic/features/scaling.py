"""From raw rows to a design: columns standardised, expanded and standardised again by algebra.

At degree 1 each column is scaled by its training mean and deviation. Above, the features are
scaled first and then each monomial by its own mean and deviation, found in streamed sweeps; the
data are never copied, but for sparse rows, which centring fills (docs/mathematics.md, sections 6.2
and 6.3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from entropic import checks
from entropic.kernels.backend import sweeps
from entropic.kernels.threads import effective_threads
from entropic.rows import rows_of
from entropic.rows.monomial_rows import MonomialRows

from . import limits
from .design import Design
from .monomials import Monomials

ROUNDING = 10  # a deviation within so many units of rounding of the mean is none
FEW_COLUMNS = 1 << 16  # so many coefficients are kept even if no row fills their monomial


@dataclass(frozen=True)
class Recipe:
    """How raw rows become a design: what was learned of the training rows, and nothing of them.

    Attributes
    ----------
    monomials : Monomials
        Fitted.
    centre : array of shape (n_features,) or None
        Subtracted from each dense row as it is read, at degree 1.
    mean, scale : arrays of shape (n_columns,) or None
        As for :class:`Design`.
    constant : bool
    """

    monomials: Monomials
    centre: np.ndarray | None
    mean: np.ndarray | None
    scale: np.ndarray | None
    constant: bool

    def design(self, X):
        """The design of a checked float array or CSR matrix."""
        rows = self.monomials.rows(X)
        if self.centre is not None:
            rows = rows.centred(self.centre)
        return Design(rows, self.mean, self.scale, self.constant)


class StoredRows:
    """What :func:`recipe_of` asks of training rows, for rows in memory.

    Parameters
    ----------
    X : float array or CSR matrix of shape (n_samples, n_features)
    weights : array of shape (n_samples,) or (1,)
    n_jobs : int or None
        Threads, as the classifier's.
    names : array of str or None
        Of the features, for messages.

    Attributes
    ----------
    example : array or CSR matrix
        Of the rows' kind and width; its fullest row is as full as theirs.
    precision : float
        The unit of rounding in which the rows are stored.
    """

    def __init__(self, X, weights, n_jobs=None, names=None):
        self.example, self.weights, self.n_jobs, self.names = X, weights, n_jobs, names
        self.precision = np.finfo(X.dtype).eps

    def moments(self, monomials=None):
        """Weighted mean and variance of every feature, or of every monomial."""
        rows = rows_of(self.example) if monomials is None else monomials.rows(self.example)
        found = sweeps.moments(rows, self.weights, effective_threads(self.n_jobs, rows.n_entries))
        if monomials is None and not np.all(np.isfinite(found)):
            checks.check_finite(self.example, "X", self.names)
        return found

    def products(self, listing):
        """How many products sparse rows have in all, as a float."""
        return float(np.sum(MonomialRows(rows_of(self.example), listing).entries_per_row()))

    def occupied(self, listing):
        """The monomials that some sparse row fills, in rising order."""
        return MonomialRows(rows_of(self.example), listing).occupied()


def design_of(X, weights, monomials, *, scaled, constant, n_jobs=None, names=None):
    """The design of checked training rows, with the monomials' fitted attributes set.

    Parameters
    ----------
    X : float array or CSR matrix of shape (n_samples, n_features)
    weights : array of shape (n_samples,) or (1,)
    monomials, scaled, constant, names
        As for :func:`recipe_of`.
    n_jobs : int or None
        Threads, as the classifier's.

    Returns
    -------
    Design
    """
    if scaled and monomials.degree > 1 and sp.issparse(X):
        X = limits.stored(X)  # the same model as of dense rows: centred features have no zeros
    source = StoredRows(X, weights, n_jobs, names)
    return recipe_of(source, monomials, scaled=scaled, constant=constant, names=names).design(X)


def recipe_of(source, monomials, *, scaled, constant, names=None):
    """How the rows of a source become a design, with the monomials' fitted attributes set.

    Parameters
    ----------
    source : StoredRows or another object with its members
    monomials : Monomials
        Its fitted attributes are set here.
    scaled : bool
        Whether to standardise.
    constant : bool
        Whether the design has the constant monomial.
    names : array of str or None
        Of the features, for messages.

    Returns
    -------
    Recipe

    Raises
    ------
    ValueError
        If the monomials are too many, or their values too large.
    """
    example, dense = source.example, not sp.issparse(source.example)
    n_features = example.shape[1]
    limits.check_features(n_features)
    mean = scale = centre = inverse_scale = None
    if scaled:
        mean, scale, still = _standards(source, names)
    if monomials.degree == 1:
        monomials._describe(n_features)
        if scaled and dense:
            return Recipe(monomials, mean, None, scale, constant)
        return Recipe(monomials, None, mean, scale, constant)
    if scaled:
        # what is left of a centred constant is rounding: no products of it
        centre, inverse_scale = mean, np.where(still, 0.0, 1 / scale)
    listing = limits.listing_of(n_features, monomials.degree, monomials.interaction_only)
    limits.check_numbered(listing)
    limits.check_block(listing, rows_of(example))
    columns = None if dense else _filled_columns(source, listing)
    limits.check_columns(listing, listing.n_monomials if columns is None else len(columns))
    monomials._describe(n_features, centre, inverse_scale, columns)
    mean, scale = _monomial_standards(source, monomials) if scaled else (None, None)
    return Recipe(monomials, None, mean, scale, constant)


def _standards(source, names):
    """Mean and deviation of the features, and which are constant (their deviation being 1)."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean, variance = source.moments()
    scale = np.sqrt(variance)
    checks.check_deviations(scale, names)
    still = scale <= ROUNDING * source.precision * np.abs(mean)
    still |= scale < checks.SMALLEST_DEVIATION
    return mean, np.where(still, 1.0, scale), still


def _monomial_standards(source, monomials):
    """Mean and deviation of the monomials; the deviation of a constant one is 1.

    A standardised feature carries the rounding of its centre, ``1 + |centre| * inverse_scale``
    units of it, and a product the sum of its factors': a deviation within that is a constant's (the
    square of a feature with two values, say).
    """
    mean, variance = source.moments(monomials)
    scale = np.sqrt(variance)
    units = monomials.degree
    if monomials.centre_ is not None:
        shifts = 1 + np.abs(monomials.centre_) * monomials.inverse_scale_
        units = monomials._listing.expand(shifts[:, None], np.add)[:, 0]
    still = scale <= ROUNDING * np.finfo(np.float64).eps * units * np.abs(mean)
    still |= scale < checks.SMALLEST_DEVIATION
    scale[still] = 1.0
    return mean, scale


def _filled_columns(source, listing):
    """The monomials that some sparse row fills, where these are few among very many; else None.

    The others are zero in every row, so that their coefficients rest at the centre of the box.
    """
    if listing.n_monomials <= max(FEW_COLUMNS, 2 * source.products(listing)):
        return None
    return source.occupied(listing)
