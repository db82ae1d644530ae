"""How much of a duality gap rounding may hide.

The gap is computed from ``D w`` and ``D^T lambda``, which carry the rounding of their sums, and
from a state whose coefficients are rounded to doubles. Each moves the gap by its square::

    1/2 sum_j S_j dtau_j^2       dtau_j = eps (|D|^T |lambda|)_j
    1/2 sum_i q_i dt_i^2/slack   dt_i = eps ((|D| |w|)_i + |y_i|)

(docs/mathematics.md, sections 2 and 4). The two sums are bounded without a read of the rows
where their size is known: a standardised column has mean square one, so that no sum with it
passes that of Cauchy and Schwarz, and of other rows the largest entry is known. Only where that
says too little are they summed up.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from .outcome import Status

EPS = np.finfo(np.float64).eps
LARGEST = np.finfo(np.float64).max
# Solvers that carry D^T lambda along from step to step, and its rounding with it.
CARRYING = ("spectral", "spectral-paper", "newton-pair")
CLOSER = 1e-3  # of gap or goal: from here on it is worth a read of the rows


def with_rounding(sweep, box, outcome, tol, entry):
    """The outcome with the gap that is certain, and the status and message that follow from it.

    Parameters
    ----------
    entry : float or None
        No stored number is larger; None where that is not known.
    """
    exact = sweep.target.loss.slack == 0
    goal = tol * sweep.total_weight
    counted = np.count_nonzero(np.broadcast_to(sweep.target.weights > 0, sweep.n_samples))
    goal_norm = math.sqrt(tol * counted) if exact else math.inf
    design = getattr(sweep, "design", None)
    with np.errstate(over="ignore", invalid="ignore"):
        if outcome.solver in CARRYING:
            pointwise_gradient = np.ascontiguousarray(sweep.target.sign * outcome.multipliers)
            outcome.gap = _joined(
                outcome.gap, box.gap(outcome.state, sweep.rmatvec(pointwise_gradient))
            )
            outcome.n_sweeps += 1
        tau, samples = _bounds(sweep, outcome, entry)
        coefs = _of_coefficients(box, outcome, tau)
        if not samples + coefs <= CLOSER * max(goal, outcome.gap) and hasattr(design, "rows"):
            tau, samples = _sums(sweep, outcome)
            coefs = _of_coefficients(box, outcome, tau)
        if exact:
            outcome.gap = _joined(outcome.gap, coefs) + samples
        else:
            outcome.gap = _joined(outcome.gap, coefs + samples)
        outcome.gap = min(outcome.gap, LARGEST)
    if outcome.solver not in CARRYING and not exact and outcome.history["gap"]:
        outcome.history["gap"][-1] = outcome.gap
    reached = outcome.gap <= goal and outcome.residual_norm <= goal_norm
    if outcome.status is Status.CONVERGED and not reached:
        outcome.status = Status.PRECISION
    elif outcome.status in (Status.MAX_ITER, Status.PRECISION) and reached:
        outcome.status = Status.CONVERGED
    outcome.describe(goal, goal_norm)
    return outcome


def _joined(gap, more):
    """The gap of a point whose distance to the optimum is the sum of two, in the gap's norm."""
    gap = (math.sqrt(gap) + math.sqrt(more)) ** 2
    return min(gap, LARGEST) if gap == gap else LARGEST


def _of_coefficients(box, outcome, tau):
    """What is hidden in ``D^T lambda``, with sums of sizes ``tau``, and in the coefficients."""
    moved = EPS * tau
    if np.max(box.state_of_tau(moved), initial=0.0) > 0.1:
        slope = box.slope(outcome.state)
        hidden = max(box.gap(outcome.state, slope + moved), box.gap(outcome.state, slope - moved))
    else:
        hidden = 0.6 * float(np.sum((box.inverse_hessian_root(outcome.state) * moved) ** 2))
    # a coefficient next to its bound loses no more than what kept it off
    decay = np.exp(-2 * np.abs(outcome.state))
    share = decay / (1 + decay)
    width = EPS * np.maximum(np.abs(outcome.coef), np.abs(box.centre)) / (2 * box.half_width)
    lost = np.minimum(width**2 / np.maximum(share, 1e-300), share)
    return hidden + box.entropy_weight * float(np.sum(lost))


def _ratio(sweep, outcome):
    weights = np.broadcast_to(sweep.target.weights, outcome.multipliers.shape)
    return np.divide(outcome.multipliers, weights, out=np.zeros(len(weights)), where=weights > 0)


def _bounds(sweep, outcome, entry):
    """Bounds of ``|D|^T |lambda|``, and of what is hidden in ``D w``."""
    design, target, coef = getattr(sweep, "design", None), sweep.target, np.abs(outcome.coef)
    scale, mean = getattr(design, "scale", None), getattr(design, "mean", None)
    asked = float(np.max(np.abs(target.offset)))
    squares = float(np.sum(target.weights * _ratio(sweep, outcome) ** 2))
    if scale is not None:
        size = np.ones(len(coef))
        if mean is not None:
            size[: len(mean)] += 2 * np.abs(mean) / scale
        tau = size * math.sqrt(sweep.total_weight * squares)
    else:
        # streamed rows, of which nothing is known, are taken to be of size one
        size = np.full(len(coef), 1.0 if entry is None else max(entry, 1e-300))
        if getattr(design, "constant", False):
            size[-1] = 1.0
        tau = size * float(np.sum(np.abs(outcome.multipliers)))
    norm = EPS * math.sqrt(sweep.total_weight) * (float(size @ coef) + asked)
    slack = target.loss.slack
    return tau, norm * math.sqrt(squares) if slack == 0 else norm**2 / (2 * slack)


def _sums(sweep, outcome):
    """The same two, summed up over the rows."""
    design, target, slack = sweep.design, sweep.target, sweep.target.loss.slack
    coef, pointwise_gradient = np.abs(outcome.coef), np.abs(outcome.multipliers)
    columns = coef[: design.rows.n_columns]
    if design.scale is not None:
        columns = columns / design.scale
    constant = coef[-1] if design.constant else 0.0
    if design.mean is not None:
        constant = constant + np.abs(design.mean) @ columns
    tau, moved = np.zeros(design.rows.n_columns), np.empty(sweep.n_samples)
    for start, stop in design.rows.ranges():
        block = magnitudes(design.rows.block(start, stop))
        tau += block.T @ pointwise_gradient[start:stop]
        moved[start:stop] = EPS * (block @ columns + constant)
    moved += EPS * np.abs(target.offset)
    total = float(np.sum(pointwise_gradient))
    if design.mean is not None:
        tau += np.abs(design.mean) * total
    if design.scale is not None:
        tau /= design.scale
    if slack == 0:
        # the multipliers charge for every bit of the constraint, up or down
        samples = math.sqrt(float(np.sum((pointwise_gradient * moved) ** 2)))
    else:
        stiffness = np.maximum(outcome.margins - moved, 0.0) + slack
        samples = float(np.sum(target.weights * moved**2 / (2 * stiffness)))
    return (np.append(tau, total) if design.constant else tau), samples


def largest_entry(rows):
    """A bound on the size of the numbers in rows in memory; None for others."""
    base = getattr(rows, "base", rows)
    values = getattr(base, "values", None)
    if values is None:
        return None
    largest = max(float(values.max()), -float(values.min())) if values.size else 0.0
    if base is rows:
        return largest
    # monomials: none of a row is larger than the power of its largest feature
    if base.centre is not None:
        largest += float(np.max(np.abs(base.centre)))
    if rows.factor is not None:
        largest *= float(np.max(rows.factor))
    return max(largest, 1.0) ** rows.listing.degree


def magnitudes(block):
    """``|block|``, or more: scipy's ``abs`` adds up repeated indices in the caller's arrays."""
    if not sp.issparse(block):
        return np.abs(block)
    return sp.csr_array((np.abs(block.data), block.indices, block.indptr), shape=block.shape)
