"""From raw rows to a design: columns standardised, expanded and standardised again by algebra.

At degree 1 each column is scaled by its training mean and deviation. Above, the features are
scaled first (dense) or divided by their deviation (sparse, where centring would fill them), and
then each monomial by its own mean and deviation, found in streamed sweeps; the data are never
copied (docs/mathematics.md, section 6).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from entropic import checks
from entropic.kernels.backend import sweeps
from entropic.kernels.threads import effective_threads
from entropic.rows import rows_of
from entropic.rows.monomial_rows import MonomialRows

from . import limits
from .design import Design

ROUNDING = 10  # a deviation within so many units of rounding of the mean is none
FEW_COLUMNS = 1 << 16  # so many coefficients are kept even if no row fills their monomial


def design_of(X, weights, monomials, *, scaled, constant, n_jobs=None, names=None):
    """The design of checked training rows, with the monomials' fitted attributes set.

    Parameters
    ----------
    X : float array or CSR matrix of shape (n_samples, n_features)
    weights : array of shape (n_samples,) or (1,)
    monomials : Monomials
        Its fitted attributes are set here.
    scaled : bool
        Whether to standardise.
    constant : bool
        Whether the design has the constant monomial.
    n_jobs : int or None
        Threads, as the classifier's.
    names : array of str or None
        Of the features, for messages.

    Returns
    -------
    Design

    Raises
    ------
    ValueError
        If the monomials are too many, or their values too large.
    """
    rows, dense = rows_of(X), not sp.issparse(X)
    n_features = X.shape[1]
    limits.check_features(n_features)
    mean = scale = centre = factor = None
    if scaled:
        mean, scale, still = _standards(rows, weights, n_jobs, names)
    if monomials.degree == 1:
        monomials._describe(n_features)
        if scaled and dense:
            return Design(rows.centred(mean), None, scale, constant)
        return Design(rows, mean, scale, constant)
    if scaled and dense:
        # what is left of a centred constant is rounding: no products of it
        centre, factor = mean, np.where(still, 0.0, 1 / scale)
    elif scaled:
        factor = 1 / scale
    listing = limits.listing_of(n_features, monomials.degree, monomials.interaction_only)
    limits.check_numbered(listing)
    limits.check_block(listing, rows)
    columns = None if dense else _filled_columns(rows, listing)
    limits.check_columns(listing, listing.n_monomials if columns is None else len(columns))
    monomials._describe(n_features, centre, factor, columns)
    rows = monomials.rows(X)
    if not scaled:
        return Design(rows, constant=constant)
    mean, scale = _monomial_standards(rows, weights, n_jobs)
    return Design(rows, mean, scale, constant)


def _standards(rows, weights, n_jobs, names):
    """Mean and deviation of the features, and which are constant (their deviation being 1)."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean, variance = sweeps.moments(rows, weights, effective_threads(n_jobs, rows.n_entries))
    scale = np.sqrt(variance)
    checks.check_deviations(scale, names)
    still = scale <= ROUNDING * np.finfo(rows.values.dtype).eps * np.abs(mean)
    still |= scale < checks.SMALLEST_DEVIATION
    return mean, np.where(still, 1.0, scale), still


def _monomial_standards(rows, weights, n_jobs):
    """Mean and deviation of the monomials; the deviation of a constant one is 1.

    A standardised feature carries the rounding of its centre, ``1 + |centre| * factor`` units of
    it, and a product the sum of its factors': a deviation within that is a constant's (the
    square of a feature with two values, say).
    """
    mean, variance = sweeps.moments(rows, weights, effective_threads(n_jobs, rows.n_entries))
    scale = np.sqrt(variance)
    units, base = rows.listing.degree, rows.base
    if base.centre is not None:
        shifts = 1 + np.abs(base.centre) * rows.factor
        units = rows.listing.expand(shifts[:, None], np.add)[:, 0]
    still = scale <= ROUNDING * np.finfo(np.float64).eps * units * np.abs(mean)
    still |= scale < checks.SMALLEST_DEVIATION
    scale[still] = 1.0
    return mean, scale


def _filled_columns(rows, listing):
    """The monomials that some sparse row fills, where these are few among very many; else None.

    The others are zero in every row, so that their coefficients rest at the centre of the box.
    """
    whole = MonomialRows(rows, listing)
    products = float(np.sum(whole.entries_per_row()))
    if listing.n_monomials <= max(FEW_COLUMNS, 2 * products):
        return None
    return whole.occupied()
