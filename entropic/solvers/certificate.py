"""Proofs about the margin: what coefficients reach, and what none in the box can.

For coefficients w of the box, ``min_i (D_i w - y_i)`` bounds the largest margin from below. For
any multipliers ``lambda >= 0``, not all zero, every w of the box has

    min_i (D_i w - y_i)  <=  (sum_j max(l_j tau_j, u_j tau_j) - <lambda, y>) / sum_i lambda_i

with ``tau = D^T lambda`` (docs/mathematics.md, section 4). Both numbers are computed from the
rows with an allowance for every rounding on the way, so that they are proofs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from entropic.kernels.loss import Loss
from entropic.solvers.primal_dual.margin import margin_path
from entropic.solvers.primal_dual.pair import pairs_fit

from .continuation import posed, solve_with_slack
from .rounding import magnitudes

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
    multipliers : array of shape (n_samples,), not negative
    tolerance : float
        Margins up to this count as none.
    """

    margin: float
    margin_bound: float
    coef: np.ndarray
    multipliers: np.ndarray
    tolerance: float

    @property
    def separable(self):
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
    counted = np.broadcast_to(sweep.target.weights > 0, sweep.n_samples)
    chosen = np.flatnonzero(counted)
    part = sweep if len(chosen) == len(counted) else sweep.take(chosen)
    uniform = np.full(len(chosen), 1 / len(chosen))
    bound, size = proven_bound(part, box, uniform)
    share = max(TOLERANCE, 4 * UNIT * (sweep.n_samples + sweep.n_features))
    # where a mean is subtracted by algebra, `size` holds what cancels; such a column is of size one
    scaled = part.design.mean is not None
    own = min(size, float(np.sum(np.maximum(np.abs(box.lower), box.upper)))) if scaled else size
    tolerance = own * share if size > TINY else TINY
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
    sweep.count += part.count if part is not sweep else 0
    multipliers = np.zeros(len(counted))
    multipliers[chosen] = best.multipliers
    best.multipliers = multipliers
    return best


def _candidates(sweep, box, size, enough, tolerance):
    """Coefficients and multipliers worth a proof, best last."""
    if pairs_fit(sweep):
        with posed(sweep, weights=np.ones(1)):
            yield from margin_path(sweep, box, size, enough, tolerance)
        return
    # No factor fits: the inequality form at a small slack, without the last word on the bound.
    loss = Loss(SLACK * size, inequality=True)
    with posed(sweep, weights=np.ones(1), loss=loss):
        ending = solve_with_slack(sweep, box, tol=SLACK * size)
        multipliers = np.maximum(sweep.multipliers, 0.0)
        total = float(np.sum(multipliers))
        if total > 0:
            yield box.coef(ending.state), multipliers / total


def proven_margin(sweep, coef):
    """The least ``D_i w - y_i``, less what rounding may have added."""
    design, target = sweep.design, sweep.target
    inner = design.to_rows(coef)
    constant = abs(coef[-1]) if design.constant else 0.0
    if design.mean is not None:
        constant += np.abs(design.mean) @ np.abs(inner[:-1])
    allowance = UNIT * (len(inner) + 8)
    least = np.inf
    for start, stop in design.rows.ranges():
        block = design.rows.block(start, stop)
        score = block @ inner[:-1] + inner[-1]
        spread = magnitudes(block) @ np.abs(inner[:-1]) + constant
        sign, offset = (
            np.broadcast_to(values, sweep.n_samples)[start:stop]
            for values in (target.sign, target.offset)
        )
        functional_margins = sign * score - offset - allowance * (spread + np.abs(offset))
        least = min(least, float(np.min(functional_margins)))
    return least


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
    design, target = sweep.design, sweep.target
    pointwise_gradient, spread = np.zeros((2, design.rows.n_columns + 1))
    signed = target.sign * multipliers
    for start, stop in design.rows.ranges():
        block = design.rows.block(start, stop)
        pointwise_gradient[:-1] += block.T @ signed[start:stop]
        spread[:-1] += magnitudes(block).T @ multipliers[start:stop]
    total = float(np.sum(multipliers))
    pointwise_gradient[-1], spread[-1] = float(np.sum(signed)), total
    tau = design.from_rows(pointwise_gradient)
    if design.mean is not None:
        spread[:-1] += np.abs(design.mean) * total
    if design.scale is not None:
        spread[:-1] /= design.scale
    spread = spread if design.constant else spread[:-1]
    largest = np.maximum(np.abs(box.lower), np.abs(box.upper))
    size = float(largest @ spread)
    asked = np.broadcast_to(target.offset, sweep.n_samples)
    value = float(np.sum(np.maximum(box.lower * tau, box.upper * tau)) - multipliers @ asked)
    allowance = UNIT * (sweep.n_samples + sweep.n_features + 8)
    value += allowance * (size + float(multipliers @ np.abs(asked)))
    return value / total + allowance * abs(value / total), size / total
