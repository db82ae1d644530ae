"""What each training row would score had it not been there: leave-one-out in closed form.

Scores of training rows are optimistic, since each has drawn the surface its own way. Taking
row i away moves the optimum, to first order, by one Newton step from where it is. With the
Newton matrix ``H = alpha diag(h'') + D^T diag(q l'') D`` at the optimum
(docs/mathematics.md, section 5.2)::

    a_i  = D_i^T H^-1 D_i                                    the leverage
    t_i' = t_i + q_i l'_i a_i / (1 - a_i q_i l''_i)          the functional margin without row i

All rows together cost one read and a triangular inverse, in either of two forms:

    features   H = R^-1 K R^-1,  K = I + R D^T diag(c) D R,  c = q l''
               a_i = |D_i R L^-T|^2  with  K = L L^T
    samples    B = I + diag(sqrt c) D R^2 D^T diag(sqrt c)
               1 - a_i c_i = (B^-1)_ii

Rows of no weight, and those on the flat part of the inequality form, move nothing: what they
score is what they would score.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from entropic.kernels.backend import left_out as _kernels
from entropic.kernels.library_threads import one_library_thread
from entropic.rows.memory import memory_limit
from entropic.rows.work import DENSE_PAIR, SPARSE_PAIR, factor_time
from entropic.solvers.factor import Factor

from .ranking import Ranking
from .rescaling import Rescaling, rescaling

# Below this, 1 - a c is mostly rounding where it was computed as a difference.
DOUBTFUL = 1e-6
# And below this it is to be computed from the very curvature of the solution.
RESISTED = 0.1
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
# Seconds of a full factor that are always spent, however short the fit; and those that are spent
# where nothing cheaper would do.
AFFORDABLE = 0.3
# Seconds of the features' form within which it is taken, though the samples' may be faster.
AT_ONCE = 0.01
LONGEST = 60.0
# What a fit by conjugate gradients costs, with its factors and vectors, in units of its sweeps.
FIT_IN_SWEEPS = 3


@dataclass(frozen=True)
class Influence:
    """How much each row has shifted its own score.

    Attributes
    ----------
    first_order : array of shape (n_samples,)
        ``q l' a``: the shift of the functional margin without the row, before the others'
        answer to it.
    left : array of shape (n_samples,)
        ``1 - a q l''`` in (0, 1]: the share of the shift that the others would resist.
    whole : array of shape (n_samples,)
        Change of the functional margin without the row.
    exact : bool
        Whether the leverages come from a full factor, not from an estimate.
    part : array of shape (n_samples,) or (1,)
        The row's part of the total weight.
    rescaled : array of shape (n_samples,)
        What the columns' scaling without the row adds to it, per unit of its weight over
        that of the others (rescaling.py); 0 where it does not matter.
    """

    first_order: np.ndarray
    left: np.ndarray
    whole: np.ndarray
    exact: bool = True
    part: np.ndarray | float = 0.0
    rescaled: np.ndarray | float = 0.0

    def shift(self, share=1.0):
        """Change of the functional margin when a share of the row's weight is taken away.

        Parameters
        ----------
        share : float or array of shape (n_samples,)
            1 takes the whole row; 1/q one of q equal observations that it stands for.
        """
        if np.ndim(share) == 0 and share == 1:
            return self.whole
        taken = share * self.part
        moved = share * self.first_order + taken / (1 - taken) * self.rescaled
        return moved / ((1 - share) + share * self.left)


@one_library_thread
def influence(sweep, box, outcome, rescale=False, always=False, begun=None):
    """Influence of every row on its own score, or None where it would cost too much.

    Parameters
    ----------
    sweep : Sweep
    box : Box
    outcome : Outcome
        The curvature in its evaluation, where the solver left one, saves a read.
    rescale : bool
        Whether a refit would scale the columns anew: the features' form then accounts for it
        where it matters, at the cost of about as much again.
    always : bool
        Whether a factor is made whatever it costs, so long as it fits into memory.
    begun : (ByFeatures, array of shape (n_samples,)) or None
        The features' form and its leverages, where they are known.

    Returns
    -------
    Influence or None
        None where no factor fits into memory, or where a full one would take minutes and there
        are too few rows to sample.
    """
    root = stiff_root(box, outcome.state)
    at, form = outcome.evaluation, _form(sweep, outcome, always)
    weights = at.hessian_weights
    if form == "features":
        features, leverage = begun or (by_features(sweep, root, at), None)
        found = features.influence(sweep, at, leverage)
        if at.curvature is not None and sweep.work.random_access and np.min(found.left) < RESISTED:
            # the solver's curvature is good to four digits, which 1 - a c has lost
            features = by_features(sweep, root, replace(at, curvature=None))
            found = features.influence(sweep, at)
        if rescale and features.effect is None:
            features = features.rescaled(sweep, box, outcome.state, np.mean(np.abs(found.whole)))
        return features.with_effect(sweep, found)
    if form == "samples":
        leverage, left = _by_samples(sweep, weights, root)
    elif form == "projected":
        leverage, left = _guarded(sweep, weights, root, _projected(sweep, weights, root))
    else:
        return None
    first_order = _kernels.shifts(sweep.target, at, leverage, n_threads=sweep.n_threads)[0]
    return Influence(first_order, left, first_order / left, exact=form != "projected")


@dataclass(frozen=True)
class ByFeatures:
    """The features' form, for all samples of a fit or for a part of them.

    Attributes
    ----------
    root : array of shape (n_features,)
        Of the inverse Hessian of the box's entropy, kept off 0.
    inverse_root : array of shape (n_features, n_features)
        ``inverse_root inverse_root^T`` is the inverse of Newton's matrix.
    effect : Rescaling or None
        What scaling the columns anew would add, where it matters.
    total_weight : float
        Of all samples.
    """

    root: np.ndarray
    inverse_root: np.ndarray
    effect: Rescaling | None = None
    total_weight: float = 1.0

    def leverages(self, sweep, at):
        """The leverages of a sweep's samples, of which ``at`` is the evaluation."""
        return sweep.quadratic_forms(self.inverse_root, at.hessian_weights)

    def influence(self, sweep, at, leverage=None):
        """The influence of the same samples, without effect, by their leverages."""
        leverage = self.leverages(sweep, at) if leverage is None else leverage
        *found, least = _kernels.shifts(sweep.target, at, leverage, n_threads=sweep.n_threads)
        if least >= DOUBTFUL:
            return Influence(*found)
        leverage, left = _guarded(sweep, at.hessian_weights, self.root, leverage)
        first_order, *_ = _kernels.shifts(sweep.target, at, leverage, n_threads=sweep.n_threads)
        return Influence(first_order, left, first_order / left)

    def rescaled(self, sweep, box, state, typical):
        """The form with the effect of scaling anew; ``typical`` is the mean size of a shift."""
        effect = rescaling(sweep, box, state, self.root, self.inverse_root, typical)
        return replace(self, effect=effect, total_weight=sweep.total_weight)

    def with_effect(self, sweep, found):
        """An influence of a sweep's samples with that effect."""
        if self.effect is None:
            return found
        effect = self.effect.of(sweep)
        effect *= sweep.target.sign
        part = sweep.target.weights / self.total_weight
        whole = part / (1 - part) * effect
        whole /= found.left
        whole += found.whole
        return replace(found, whole=whole, part=part, rescaled=effect)


def by_features(sweep, root, at):
    """The features' form at the evaluation of a solution, without the effect of scaling anew."""
    made = at.curvature is None  # and then of no further use
    curvature = sweep.curvature(at.hessian_weights) if made else at.curvature
    return ByFeatures(root, Factor(curvature, root, overwrite=made).inverse_root(root))


def stiff_root(box, state):
    """The root of the inverse Hessian of the box's entropy, kept off 0."""
    stiffest = STIFFEST * box.half_width / np.sqrt(box.entropy_weight)
    return np.maximum(box.inverse_hessian_root(state), stiffest)


@one_library_thread
def left_out(sweep, box, outcome, sample_weight=None, rescale=False, always=False):
    """What the training rows score when one observation of each is left out.

    Parameters
    ----------
    sweep, box, outcome
        As for :func:`influence`.
    sample_weight : array of shape (n_samples,), (1,) or None
        Before class weights.
    rescale, always : bool
        As for :func:`influence`.

    Returns
    -------
    scores : array of shape (n_samples,)
        Without one observation of the row; the plain training scores where no influence was
        affordable.
    rows : array of shape (n_samples,), or (1,) where all are alike
        Weights in units of one observation.
    whole : array of shape (n_samples,) or None
        Scores without the whole row; None where no influence was affordable.
    separation : float
        Of the training scores (band.py).
    """
    target, at, begun = sweep.target, outcome.evaluation, None
    share, rows = observations(sample_weight, target.weights, sweep.n_samples)
    if np.ndim(share) == 0 and _form(sweep, outcome, always) == "features":
        # mostly nothing but the scores is wanted, in one pass over the samples
        features = by_features(sweep, stiff_root(box, outcome.state), at)
        begun = features, features.leverages(sweep, at)
        *scores, least, moved = _kernels.left_out_scores_by(target, at, begun[1], sweep.n_threads)
        if least >= RESISTED:
            if rescale:
                typical = moved / sweep.n_samples
                features = features.rescaled(sweep, box, outcome.state, typical)
            if features.effect is None:
                whole, separation = scores
                return whole, rows, whole, separation
            begun = features, begun[1]
    found = influence(sweep, box, outcome, rescale, always, begun)
    shift = None if found is None else found.whole
    margins = at.functional_margins
    whole, separation = _kernels.left_out_scores_of(target, margins, shift, sweep.n_threads)
    if found is None:
        return target.sign * (margins + target.offset), rows, None, separation
    if np.ndim(share) == 0:
        return whole, rows, whole, separation
    shift = found.shift(share)
    scores, _ = _kernels.left_out_scores_of(target, margins, shift, sweep.n_threads)
    return scores, rows, whole, separation


@dataclass(frozen=True)
class LeftOut:
    """What a fit keeps of its rows once it has been made: the scores and what they rest on.

    Attributes
    ----------
    separation : float
        Of the training scores (band.py).
    scores, rows, whole : arrays of shape (n_samples,) or None
        As of :func:`left_out`, where they were wanted.
    cost : tuple
        Seconds and bytes that they would have taken, where they were not affordable.
    """

    separation: float
    scores: np.ndarray | None = None
    rows: np.ndarray | None = None
    whole: np.ndarray | None = None
    cost: tuple = (0.0, 0)

    @classmethod
    def of(cls, sweep, box, outcome, sample_weight, wanted=True, rescale=True, always=False):
        """Of a fit; the arguments are those of :func:`left_out`."""
        if not wanted:
            margins = outcome.evaluation.functional_margins
            _, apart = _kernels.left_out_scores_of(sweep.target, margins, None, sweep.n_threads)
            return cls(apart)
        scores, rows, whole, apart = left_out(sweep, box, outcome, sample_weight, rescale, always)
        return cls(apart, scores, rows, whole, cost(sweep, outcome) if whole is None else (0.0, 0))

    def ranking(self, positive, n_threads=1):
        """The scores in order, for the rows of positive sign."""
        return Ranking.of(self.scores, positive, self.rows, n_threads)


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
    rows : array of shape (n_samples,), or (1,) where all are alike
        Weights in units of one observation.
    """
    if sample_weight is None and len(weights) == 1:
        return 1.0, np.ones(1)
    weights = np.broadcast_to(weights, n_samples)
    weights = weights / weights.max()
    share, total = 1.0, np.count_nonzero(weights)
    if sample_weight is not None:
        counts = np.broadcast_to(np.asarray(sample_weight, dtype=np.float64), n_samples)
        if np.all(counts == np.floor(counts)) and counts.sum() < MOST_OBSERVATIONS:
            share, total = 1 / np.maximum(counts, 1.0), counts.sum()
    return share, weights * (total / weights.sum())


def as_observations(codes, sample_weight):
    """What each row counts as, class weights left out: an array of shape (n_samples,) or (1,)."""
    if sample_weight is None:
        return np.ones(1)
    given = np.atleast_1d(np.asarray(sample_weight, dtype=float))
    return observations(given, given, len(codes))[1]


def _full(sweep, outcome):
    """Seconds that each form with a full factor takes, and its bytes."""
    work = sweep.work
    pair = SPARSE_PAIR if work.sparse else DENSE_PAIR
    through = work.entries * work.n_features * pair
    seconds = work.curvature + 3 * factor_time(work.n_features) + through
    forms = {"features": (seconds, 2 * work.cholesky_bytes)}
    if work.random_access:
        # rows on the flat part have no share in it
        active = np.count_nonzero(outcome.evaluation.hessian_weights)
        part = (active / work.n_samples) ** 2
        seconds = work.gram * part + 4 * factor_time(active)
        forms["samples"] = (seconds, int(2 * work.dual_bytes * part))
    return forms


def cost(sweep, outcome):
    """Seconds and bytes that the leave-one-out scores would take."""
    return min(_full(sweep, outcome).values())


def _form(sweep, outcome, always=False):
    """The cheapest form that fits into memory and does not take minutes.

    The curvature at hand, the features' form is taken as it is: its cost is about that of one
    step. Otherwise a full factor may cost about as much as the fit did, its own factors included;
    where it costs more, an estimate will do, which takes a part of it, or else the factor is
    made all the same: a model without these scores cannot say what is certain.
    """
    if outcome.evaluation.curvature is not None:
        return "features"
    work, room = sweep.work, memory_limit()
    costs = _full(sweep, outcome)
    full = {form: seconds for form, (seconds, n_bytes) in costs.items() if n_bytes <= room}
    if not full:
        return None
    # it alone knows what becomes of the scaling
    if full.get("features", np.inf) <= AT_ONCE:
        return "features"
    form = min(full, key=full.get)
    if always or full[form] <= max(AFFORDABLE, FIT_IN_SWEEPS * outcome.n_sweeps * work.sweep):
        return form
    sampled = ROWS_A_COLUMN * work.n_features
    if "features" in full and work.random_access and 3 * sampled <= work.n_samples:
        return "projected"
    return form if full[form] <= LONGEST else None


def _guarded(sweep, weights, root, leverage):
    """Leverages of the features' form with ``1 - a c``, kept off what rounding makes of it.

    Without row i the leverage ``a/(1 - a c)`` is at most the one in no data's presence,
    ``s_i = D_i R^2 D_i``, so that ``1 - a c >= 1/(1 + c s)``. Only rows that the fit all but
    interpolates come near; one more read serves them.
    """
    left = 1 - leverage * weights
    doubtful = left < DOUBTFUL
    if np.any(doubtful):
        free = sweep.quadratic_forms(np.diag(root), doubtful)[doubtful]
        lowest = 1 / (1 + weights[doubtful] * free)
        left[doubtful] = np.clip(left[doubtful], lowest, 1.0)
        leverage[doubtful] = np.minimum(leverage[doubtful], free)
    return leverage, left


def _by_samples(sweep, weights, root):
    """Leverages of the rows with ``c > 0`` from the M × M form, which needs no guard."""
    active = np.flatnonzero(weights)
    leverage, left = np.zeros(sweep.n_samples), np.ones(sweep.n_samples)
    if not len(active):
        return leverage, left
    part = sweep if len(active) == sweep.n_samples else sweep.take(active)
    weights, gram = weights[active], part.gram(root**2)
    own = gram.diagonal().copy()
    used, remaining = Factor(gram, np.sqrt(weights), overwrite=True).used_and_left()
    left[active] = remaining
    # the direct difference where little was used up, the other where nearly all of it was
    with np.errstate(over="ignore", invalid="ignore"):
        direct, other = own - used / weights, (1 - remaining) / weights
        leverage[active] = np.where(weights * own < 1, direct, other)
    return leverage, left


def _projected(sweep, weights, root):
    """Estimated leverages: the curvature of a sample of rows, its root randomly projected.

    The inverse of a sample's curvature is too large on average. But ``sum_i c_i a_i`` is
    ``N - trace(K^-1)``, the number of coefficients that the data determine, which is read off
    the sample's factor; the leverages are brought to that sum.
    """
    curvature = sweep.sample(ROWS_A_COLUMN * sweep.n_features).curvature(weights)
    inverse_root = Factor(curvature, root).inverse_root()
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (sweep.n_features, PROJECTIONS))
    projected = inverse_root @ (signs / np.sqrt(PROJECTIONS))
    leverage = sweep.quadratic_forms(root[:, None] * projected, weights)
    determined = sweep.n_features - np.sum(inverse_root**2)
    return leverage * (determined / max(float(leverage @ weights), 1e-300))
