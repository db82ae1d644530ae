"""Refusals by size: what can't be numbered, stored or squared, said before work begins."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from entropic.rows.listing import LARGEST_INDEX, Listing
from entropic.rows.memory import check_memory

# Bytes that an entry of a block of sparse monomials takes while it is made.
SPARSE_ENTRY_BYTES = 64
# Where both degree and features are more, so many doublings are in the number of monomials.
MOST_COUNTED = 2000
# Vectors of one number a column that a fit holds at once.
VECTORS = 16


def listing_of(n_features, degree, interaction_only):
    """The listing of some monomials, unless counting them alone would take long."""
    if min(n_features, degree) > MOST_COUNTED:
        raise ValueError(
            f"degree={degree} of {n_features} features makes more than 2**{MOST_COUNTED} "
            "monomials; lower degree or select features."
        )
    return Listing(n_features, degree, interaction_only)


def _counted(n):
    """A number in full, or its size where nobody would read its digits."""
    return str(n) if n.bit_length() <= 400 else f"over 10**{int((n.bit_length() - 1) * 0.30103)}"


def monomials_called(listing):
    """ "degree=2 of 120006 features makes 7200900020 monomials", for messages."""
    only = " with interaction_only" if listing.interaction_only else ""
    return (
        f"degree={listing.degree}{only} of {listing.n_features} features makes "
        f"{_counted(listing.n_monomials)} monomials"
    )


def check_numbered(listing):
    """Refuse more monomials than 64-bit indices can number."""
    if listing.n_monomials > LARGEST_INDEX:
        raise ValueError(
            f"{monomials_called(listing)}, more than can be numbered; lower degree or select "
            "features."
        )


def check_features(n_features):
    """Refuse features of which a fit could not hold a few numbers each."""
    check_memory(
        8 * VECTORS * n_features,
        f"A fit on the {n_features} columns of X",
        "number the columns in use from 1, or hash them into fewer",
    )


def check_columns(listing, n_columns):
    """Refuse coefficients that do not fit: the vectors of a fit on ``n_columns`` monomials."""
    of_these = "" if n_columns == listing.n_monomials else f"{n_columns} of "
    check_memory(
        8 * VECTORS * n_columns,
        f"{monomials_called(listing)}; a fit on {of_these}them",
        "lower degree or select features",
    )


def check_block(listing, rows, n_rows=1):
    """Refuse blocks of ``n_rows`` rows (of features) whose expansion does not fit."""
    if rows.columns is None:
        needed = 8 * n_rows * listing.n_monomials
    else:
        fullest = int(np.max(np.diff(rows.starts), initial=0))
        needed = SPARSE_ENTRY_BYTES * n_rows * listing.filled(fullest)
    check_memory(
        needed,
        f"{monomials_called(listing)}; a block of {n_rows} row{'s' * (n_rows > 1)}",
        "lower degree or select features",
    )


def stored(X):
    """A sparse matrix with its zeros stored, refused where that does not fit."""
    check_memory(
        X.shape[0] * X.shape[1] * X.dtype.itemsize,
        f"Centring {X.shape[0]} sparse rows of {X.shape[1]} features",
        "give fewer rows at a time, or fit with standardize=False",
    )
    return X.toarray()


def check_powers(X, degree, centre=None, inverse_scale=None, largest=1e150):
    """Refuse entries whose ``degree``-th power is beyond ``largest``.

    The default leaves room for the squares that deviations and curvature are made of.
    """
    limit = math.log10(largest) / degree
    values = X.data if sp.issparse(X) else X
    if not values.size:
        return
    reach = max(abs(float(values.max())), abs(float(values.min())))
    if centre is not None:
        reach += float(np.max(np.abs(centre)))
    if inverse_scale is not None:
        reach *= float(np.max(inverse_scale))
    if reach == 0 or math.log10(reach) <= limit:
        return
    # the bound was too coarse or something is too large: look closer, column by column
    highest, lowest = (_extremes(X, kind) for kind in ("max", "min"))
    if centre is not None:
        highest, lowest = highest - centre, lowest - centre
    reach = np.maximum(np.abs(highest), np.abs(lowest))
    if inverse_scale is not None:
        reach = reach * inverse_scale
    worst = int(np.argmax(reach))
    if math.log10(max(reach[worst], 1.0)) > limit:
        scaled = "" if inverse_scale is None else ", in units of its deviation,"
        raise ValueError(
            f"Column {worst} of X reaches {reach[worst]:.3g}{scaled} and degree={degree} "
            f"raises it beyond {largest:.3g}; scale the column or lower degree."
        )


def _extremes(X, kind):
    """Largest or smallest entry of each column, in double precision."""
    found = getattr(X, kind)(axis=0)
    return (found.toarray().ravel() if sp.issparse(found) else found).astype(np.float64)
