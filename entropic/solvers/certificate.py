"""Proofs about the margin: what coefficients reach, and what none in the box can.

For coefficients w of the box, ``min_i (D_i w - y_i)`` bounds the largest margin from below. For
any multipliers ``lambda >= 0``, not all zero, every w of the box has

    min_i (D_i w - y_i)  <=  (sum_j max(l_j tau_j, u_j tau_j) - <lambda, y>) / sum_i lambda_i

with ``tau = D^T lambda`` (docs/mathematics.md, section 4.4). Both numbers are computed from the
rows with an allowance for every rounding on the way, so that they are proofs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from entropic.kernels.loss import Loss

from .continuation import solve_with_slack
from .primal_dual.margin import margin_path
from .primal_dual.system import factor_fits

UNIT = np.finfo(np.float64).eps
TOLERANCE = 1e-9  # of the size of the design rows in the box
NARROW = 1e-7  # of the same size
TINY = 1e-250  # margins that no float can tell from none: products with them underflow
SLACK = 1e-4  # of the same size


@dataclass
class Bracket:
    """The largest margin of the box, proved from both sides.

    Attributes
    ----------
    margin : float
        Reached by ``coef``.
    margin_bound : float
        Passed by no coefficients of the box, as ``multipliers`` prove.
    coef : array of shape (n_features,)
        In the units of the scaled columns, the constant last.
    multipliers : array of shape (n_samples,), not negative
        One a row, of any unit.
    tolerance : float
        Margins up to this count as none.
    """

    margin: float
    margin_bound: float
    coef: np.ndarray
    multipliers: np.ndarray = field(repr=False)
    tolerance: float

    @property
    def separable(self) -> bool | None:
        """True, False, or None where neither is proved."""
        if self.margin > 0:
            return True
        return False if self.margin_bound <= self.tolerance else None


def bracket_margin(sweep, box, *, narrow=False):
    """Bracket the largest margin that coefficients of the box reach.

    Parameters
    ----------
    sweep : Sweep
        Of rows in memory. Samples of weight 0 do not count.
    box : Box
    narrow : bool
        Go on until the bracket is narrow; else until the question of separability is decided.

    Returns
    -------
    Bracket
    """
    chosen = np.flatnonzero(sweep.counted)
    part = sweep if len(chosen) == sweep.n_samples else sweep.take(chosen)
    part = part.with_target(weights=np.ones(1))
    uniform = np.full(len(chosen), 1 / len(chosen))
    bound, size = proven_bound(part, box, uniform)
    tolerance = no_margin(sweep, box, size) if size > TINY else TINY
    best = Bracket(proven_margin(part, box.centre), bound, box.centre, uniform, tolerance)
    asked = np.broadcast_to(part.target.offset, part.n_samples)
    if np.ptp(asked) > 0:
        # one row may ask for more than the box holds
        alone = np.zeros(part.n_samples)
        alone[np.argmax(asked)] = 1.0
        bound, _ = proven_bound(part, box, alone)
        if bound < best.margin_bound:
            best.margin_bound, best.multipliers = bound, alone
    if size > TINY:
        enough = NARROW * size if narrow else np.inf
        for coef, multipliers in _candidates(part, box, size, enough, tolerance):
            margin = proven_margin(part, coef)
            if margin > best.margin:
                best.margin, best.coef = margin, coef
            bound, _ = proven_bound(part, box, multipliers)
            if bound < best.margin_bound:
                best.margin_bound, best.multipliers = bound, multipliers
    multipliers = np.zeros(sweep.n_samples)
    multipliers[chosen] = best.multipliers
    best.multipliers = multipliers
    return best


def _candidates(sweep, box, size, enough, tolerance):
    """Coefficients and multipliers worth a proof, best last."""
    if factor_fits(sweep):
        yield from margin_path(sweep, box, size, enough, tolerance)
        return
    # No factor fits: the inequality form at a small slack, without the last word on the bound.
    near = sweep.with_target(loss=Loss(SLACK * size, inequality=True))
    evaluation = solve_with_slack(near, box, tol=SLACK * size).evaluation
    multipliers = np.maximum(0.0 - evaluation.log_margins, 0.0)
    total = float(np.sum(multipliers))
    if total > 0:
        yield evaluation.coef, multipliers / total


def proven_margin(sweep, coef):
    """The least ``D_i w - y_i``, less what rounding may have added."""
    offset = sweep.target.offset
    none = np.zeros(sweep.n_samples)
    spread, _ = sweep.design.absolute_products(np.abs(coef), none)
    allowance = UNIT * (sweep.n_features + 9)
    margins = sweep.matvec_signed(coef) - offset - allowance * (spread + np.abs(offset))
    return float(np.min(margins))


def proven_bound(sweep, box, multipliers):
    """An upper bound on every margin in the box, rounding allowed for, and the rows' size there.

    Parameters
    ----------
    multipliers : array of shape (n_samples,), not negative, with sum one

    Returns
    -------
    bound, size : float
        ``size`` is the weighted mean of ``sum_j |D_ij| max(|l_j|, |u_j|)``.
    """
    return bound_of(box, bound_sums(sweep, multipliers), sweep.n_samples)


def bound_sums(sweep, multipliers):
    """What a bound takes of the samples: ``D^T lambda``, ``|D|^T lambda``, and three numbers.

    They are the sums of ``lambda``, of ``lambda y`` and of ``lambda |y|``.
    """
    asked = np.broadcast_to(sweep.target.offset, sweep.n_samples)
    _, spread = sweep.design.absolute_products(np.zeros(sweep.n_features), multipliers)
    numbers = np.sum(multipliers), multipliers @ asked, multipliers @ np.abs(asked)
    return sweep.rmatvec_signed(multipliers), spread, np.array(numbers)


@dataclass(frozen=True)
class BoundSums:
    """The sums of a bound for the multipliers of an evaluation's margins, those below 0 left out.

    A task on the samples of a sweep or of its parts.
    """

    def __call__(self, sweep, evaluation):
        multipliers = np.maximum(0.0 - sweep.target.weights * evaluation.log_margins, 0.0)
        return bound_sums(sweep, multipliers)


def bound_of(box, sums, n_samples):
    """An upper bound on every margin in the box from the sums of multipliers, and the rows' size.

    Parameters
    ----------
    sums
        Of :func:`bound_sums`; not all multipliers are 0.

    Returns
    -------
    bound, size : float
        As of :func:`proven_bound`.
    """
    tau, spread, (total, asked, asked_size) = sums
    largest = np.maximum(np.abs(box.lower), np.abs(box.upper))
    size = float(largest @ spread)
    value = float(np.sum(np.maximum(box.lower * tau, box.upper * tau)) - asked)
    allowance = UNIT * (n_samples + len(tau) + 8)
    value += allowance * (size + float(asked_size))
    return float(value / total + allowance * abs(value / total)), float(size / total)


def no_margin(sweep, box, size):
    """Margins up to this count as none, for rows of a size."""
    share = max(TOLERANCE, 4 * UNIT * (sweep.n_samples + sweep.n_features))
    # where a mean is subtracted by algebra, `size` holds what cancels; such a column is of size one
    if sweep.design.mean is not None:
        size = min(size, float(np.sum(np.maximum(np.abs(box.lower), box.upper))))
    return size * share
