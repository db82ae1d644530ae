"""What each training row would score had it not been there: leave-one-out in closed form.

Scores of training rows are optimistic, since each has pulled the surface its own way. Taking
row i away moves the optimum, to first order, by one Newton step from where it is. With the
Newton matrix ``H = alpha diag(h'') + D^T diag(q l'') D`` at the optimum
(docs/mathematics.md, section 5)::

    a_i  = D_i^T H^-1 D_i                                    the leverage
    t_i' = t_i + q_i l'_i a_i / (1 - a_i q_i l''_i)          the reach without row i

All rows together cost one read and a triangular inverse, in either of two forms:

    features   H = R^-1 K R^-1,  K = I + R D^T diag(c) D R,  c = q l''
               a_i = |D_i R L^-T|^2  with  K = L L^T
    samples    B = I + diag(sqrt c) D R^2 D^T diag(sqrt c)
               1 - a_i c_i = (B^-1)_ii

Rows of no weight, and those on the flat part of the inequality form, exert no pull: what they
score is what they would score.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from entropic.kernels.threads import library
from entropic.rows.memory import memory_limit
from entropic.rows.work import DENSE_PAIR, SPARSE_PAIR, factor_time
from entropic.solvers.factor import Factor

from .rescaling import relative_weights, rescaling

# Below this, 1 - a c is mostly rounding where it was computed as a difference.
DOUBTFUL = 1e-6
# A coefficient nearer to its bound than this, in half-widths, moves as if it were so near: not at
# all, but by an amount whose inverse is still a number.
STIFFEST = 1e-8
# Columns of the random projection that estimates leverages where no full factor is affordable:
# a relative standard error of sqrt(2/128), 12 percent, of each shift.
PROJECTIONS = 128
# Rows of the sample whose curvature stands for that of all.
ROWS_A_COLUMN = 10
# Above so many, whole numbers are no counts: one observation would be lost in rounding.
MOST_OBSERVATIONS = 1e12
# Seconds of a full factor that are always spent, however short the fit.
AFFORDABLE = 0.3
# What a fit by conjugate gradients costs, with its factors and vectors, in units of its sweeps.
FIT_IN_SWEEPS = 3


@dataclass(frozen=True)
class Influence:
    """How much each row has pulled its own score.

    Attributes
    ----------
    pull : array of shape (n_samples,)
        ``q l' a``: the shift of the reach without the row, before the others' answer to it.
    left : array of shape (n_samples,)
        ``1 - a q l''`` in (0, 1]: the share of the shift that the others would resist.
    exact : bool
        Whether the leverages come from a full factor, not from an estimate.
    part : array of shape (n_samples,)
        The row's part of the total weight.
    rescaled : array of shape (n_samples,)
        What the columns' scaling without the row adds to the pull, per unit of its weight over
        that of the others (rescaling.py); 0 where it does not matter.
    """

    pointwise_gradient: np.ndarray
    left: np.ndarray
    exact: bool = True
    part: np.ndarray | float = 0.0
    rescaled: np.ndarray | float = 0.0

    def shift(self, share=1.0):
        """Change of the reach when a share of the row's weight is taken away.

        Parameters
        ----------
        share : float or array of shape (n_samples,)
            1 takes the whole row; 1/q one of q equal observations that it stands for.
        """
        taken = share * self.part
        pointwise_gradient = share * self.pointwise_gradient + taken / (1 - taken) * self.rescaled
        return pointwise_gradient / ((1 - share) + share * self.left)


@library.beside_sweeps()
def influence(sweep, box, outcome, rescale=False):
    """Influence of every row on its own score, or None where it would cost too much.

    Parameters
    ----------
    sweep : Sweep
        Its last evaluation, with details, is at the outcome's coefficients.
    box : Box
    outcome : Outcome
        Its ``curvature``, where the solver left one, saves a read.
    rescale : bool
        Whether a refit would scale the columns anew: the features' form then accounts for it
        where it matters, at the cost of about as much again.

    Returns
    -------
    Influence or None
        None where no factor fits into memory, or where a full one would cost more than the
        fit and there are too few rows to sample.
    """
    stiffest = STIFFEST * box.half_width / np.sqrt(box.entropy_weight)
    scale = np.maximum(box.inverse_hessian_root(outcome.state), stiffest)
    hessian_weights = sweep.hessian_weights
    form = _form(sweep, outcome)
    if form == "features":
        curvature = sweep.curvature() if outcome.curvature is None else outcome.curvature
        root = scale[:, None] * Factor(curvature, scale).inverse_root()
        leverage = sweep.quadratic_forms(root)
        leverage, left = _guarded(sweep, scale, leverage)
    elif form == "samples":
        leverage, left = _by_samples(sweep, scale)
    elif form == "projected":
        leverage, left = _guarded(sweep, scale, _projected(sweep, scale))
    else:
        return None
    pointwise_gradient = np.where(
        hessian_weights > 0, sweep.target.weights * sweep.log_margins * leverage, 0.0
    )
    found = Influence(pointwise_gradient, left, exact=form != "projected")
    if rescale and form == "features":
        effect = rescaling(sweep, box, outcome.state, scale, root, found.shift())
        if effect is not None:
            part = relative_weights(sweep)
            found = replace(found, part=part, rescaled=sweep.target.sign * effect)
    return found


def left_out(sweep, box, outcome, sample_weight=None, rescale=False):
    """What the training rows score when one observation of each is left out.

    Parameters
    ----------
    sweep, box, outcome
        As for :func:`influence`.
    sample_weight : array of shape (n_samples,), (1,) or None
        Before class weights.
    rescale : bool
        As for :func:`influence`.

    Returns
    -------
    scores : array of shape (n_samples,)
        Without one observation of the row; the plain training scores where no influence was
        affordable.
    rows : array of shape (n_samples,)
        Weights in units of one observation.
    whole : array of shape (n_samples,) or None
        Scores without the whole row; None where no influence was affordable.
    """
    target = sweep.target
    share, rows = observations(sample_weight, target.weights, sweep.n_samples)
    functional_margins = sweep.functional_margins + target.offset
    found = influence(sweep, box, outcome, rescale)
    if found is None:
        return target.sign * functional_margins, rows, None
    one, whole = (target.sign * (functional_margins + found.shift(part)) for part in (share, 1.0))
    return one, rows, whole


def observations(sample_weight, weights, n_samples):
    """What one observation is where rows have weights.

    Whole numbers are counts of equal observations: one of them is left out, so that weights say
    what repeated rows say. Other numbers are shares of attention: the whole row is left out,
    and a row of mean weight is one observation.

    Parameters
    ----------
    sample_weight : array of shape (n_samples,), (1,) or None
        Before class weights.
    weights : array of shape (n_samples,) or (1,)
        After class weights.

    Returns
    -------
    share : float or array of shape (n_samples,)
        The part of a row's weight that one observation makes up.
    rows : array of shape (n_samples,)
        Weights in units of one observation.
    """
    weights = np.broadcast_to(weights, n_samples)
    weights = weights / weights.max()
    share, total = 1.0, np.count_nonzero(weights)
    if sample_weight is not None:
        counts = np.broadcast_to(np.asarray(sample_weight, dtype=np.float64), n_samples)
        if np.all(counts == np.floor(counts)) and counts.sum() < MOST_OBSERVATIONS:
            share, total = 1 / np.maximum(counts, 1.0), counts.sum()
    return share, weights * (total / weights.sum())


def class_totals(positive, sample_weight):
    """Observations of the defective and of the good class, as :func:`observations` counts them."""
    if sample_weight is None:
        n_good = np.count_nonzero(positive)
        return np.array([len(positive) - n_good, n_good], dtype=float)
    _, rows = observations(sample_weight, np.asarray(sample_weight, dtype=float), len(positive))
    return np.bincount(positive, rows, minlength=2)


def _full(work):
    """Seconds that each form with a full factor takes, and its bytes."""
    pair = SPARSE_PAIR if work.sparse else DENSE_PAIR
    through = work.entries * work.n_features * pair
    seconds = work.curvature + 3 * factor_time(work.n_features) + through
    forms = {"features": (seconds, work.cholesky_bytes)}
    if work.random_access:
        seconds = work.outer + 4 * factor_time(work.n_samples)
        forms["samples"] = (seconds, 2 * work.dual_bytes)
    return forms


def cost(sweep):
    """Seconds and bytes that leave-one-out scores would take, whatever there is of them."""
    return min(_full(sweep.work).values())


def _form(sweep, outcome):
    """The cheapest form that fits into memory and costs little beside the fit.

    The curvature at hand, the features' form is taken as it is: its cost is about that of one
    step. Otherwise a full factor may cost about as much as the fit did, its own factors included;
    an estimate costs a part of it.
    """
    if outcome.curvature is not None:
        return "features"
    work, room = sweep.work, memory_limit()
    full = {form: time for form, (time, n_bytes) in _full(work).items() if n_bytes <= room}
    if not full:
        return None
    form = min(full, key=full.get)
    if full[form] <= max(AFFORDABLE, FIT_IN_SWEEPS * outcome.n_sweeps * work.sweep):
        return form
    sampled = ROWS_A_COLUMN * work.n_features
    if "features" in full and work.random_access and 3 * sampled <= work.n_samples:
        return "projected"
    return None


def _guarded(sweep, scale, leverage):
    """Leverages of the features' form with ``1 - a c``, kept off what rounding makes of it.

    Without row i the leverage ``a/(1 - a c)`` is at most the one in no data's presence,
    ``s_i = D_i R^2 D_i``, so that ``1 - a c >= 1/(1 + c s)``. Only rows that the fit all but
    interpolates come near; one more read serves them.
    """
    hessian_weights = sweep.hessian_weights
    left = 1 - leverage * hessian_weights
    doubtful = left < DOUBTFUL
    if np.any(doubtful):
        free = sweep.quadratic_forms(np.diag(scale))[doubtful]
        lowest = 1 / (1 + hessian_weights[doubtful] * free)
        left[doubtful] = np.clip(left[doubtful], lowest, 1.0)
        leverage[doubtful] = np.minimum(leverage[doubtful], free)
    return leverage, left


def _by_samples(sweep, scale):
    """Leverages of the rows with ``c > 0`` from the M × M form, which needs no guard."""
    active = np.flatnonzero(sweep.hessian_weights)
    if not len(active):
        return np.zeros(sweep.n_samples), np.ones(sweep.n_samples)
    part = sweep if len(active) == sweep.n_samples else sweep.take(active)
    hessian_weights, product = sweep.hessian_weights[active], part.gram(scale**2)
    own = product.diagonal().copy()
    used, remaining = Factor(product, np.sqrt(hessian_weights), overwrite=True).used_and_left()
    leverage, left = np.zeros(sweep.n_samples), np.ones(sweep.n_samples)
    left[active] = remaining
    # the direct difference where little was used up, the other where nearly all of it was
    with np.errstate(over="ignore", invalid="ignore"):
        leverage[active] = np.where(
            hessian_weights * own < 1,
            own - used / hessian_weights,
            (1 - remaining) / hessian_weights,
        )
    return leverage, left


def _projected(sweep, scale):
    """Estimated leverages: the curvature of a sample of rows, its root randomly projected.

    The inverse of a sample's curvature is too large on average. But ``sum_i c_i a_i`` is
    ``N - trace(K^-1)``, the number of coefficients that the data determine, which is read off
    the sample's factor; the leverages are brought to that sum.
    """
    generator = np.random.default_rng(0)
    n_sampled = ROWS_A_COLUMN * sweep.n_features
    chosen = np.sort(generator.choice(sweep.n_samples, n_sampled, replace=False))
    part = sweep.take(chosen)
    part.hessian_weights = sweep.hessian_weights[chosen] * (sweep.n_samples / n_sampled)
    root = Factor(part.curvature(), scale).inverse_root()
    signs = generator.choice([-1.0, 1.0], (sweep.n_features, PROJECTIONS))
    projected = root @ (signs / np.sqrt(PROJECTIONS))
    leverage = sweep.quadratic_forms(scale[:, None] * projected)
    determined = sweep.n_features - np.sum(root**2)
    return leverage * (determined / max(float(leverage @ sweep.hessian_weights), 1e-300))
