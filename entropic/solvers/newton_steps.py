"""The linear algebra of a Newton step: three ways to solve ``(I + r H r) p = -r gamma``.

``H`` is the curvature ``D^T diag(h) D`` of the samples and ``r = sqrt(S)`` the scale of the box
(docs/mathematics.md, section 3). A step object offers

    name              what ``Outcome.solver`` reports
    needs_curvature   whether every evaluation should bring its curvature along
    needs_details     whether every evaluation should keep the per-sample arrays
    polishes          whether its directions are cheap enough for one more at the goal
    direction(...)    p and H dw for dw = r p
    figures           what the last direction took, for the history

and is chosen by :func:`choose_step` from the costs in cost.py.
"""

from __future__ import annotations

import numpy as np

from entropic.rows.work import factor_time

from .cost import choose
from .factor import Factor

# A sample of about this many rows a column makes a factor so like the full one that each
# preconditioned sweep divides the gap by as much.
ROWS_A_COLUMN = 10
# The sample must be this much smaller than the data to be worth its trouble.
SAMPLE_SHARE = 3
# The first sample is taken at this share of its price: what has already run for so long without
# any factor will go on for longer. A later one, of the curvature as it has changed since, saves
# few iterations; each must have been earned by this many times as much as the one before.
FIRST_SAMPLE, LATER_SAMPLES = 0.5, 4.0
# Iterations of conjugate gradients in one step, so that no step goes long without a word.
MOST_INNER = 1000


def choose_step(sweep, limit=None):
    """The step that is fastest for a sweep's data and fits into memory.

    Parameters
    ----------
    sweep : Sweep
    limit : int or None
        Bytes; None is what the machine has.

    Raises
    ------
    ValueError
        If nothing fits, naming the number of columns and the bytes.
    """
    work = sweep.work
    kind, factor = choose(work, limit)
    if kind == "cholesky":
        return CholeskyStep()
    if kind == "dual":
        return DualStep()
    return ConjugateGradientStep(work, factor)


class CholeskyStep:
    """Directions by a factor of the n_features × n_features matrix, new in every step."""

    name = "newton-cholesky"
    needs_curvature = True
    needs_details = False
    polishes = True

    def __init__(self):
        self.figures = {"linear": "cholesky", "inner": 0}

    def direction(self, sweep, evaluation, scale, gamma, gap, goal):
        """Returns ``p`` and ``H dw`` for ``dw = r p``."""
        p = Factor(evaluation.curvature, scale).solve(-scale * gamma)
        return p, evaluation.curvature @ (scale * p)


class DualStep:
    """Directions by a factor of the n_samples × n_samples matrix, for more columns than rows.

    With ``A = diag(sqrt h) D diag(r)``, of which only the rows with h > 0 matter::

        (I + A^T A)^-1 y = y - A^T (I + A A^T)^-1 A y
    """

    name = "newton-dual"
    needs_curvature = False
    needs_details = True
    polishes = False

    def __init__(self):
        self.figures = {"linear": "dual", "inner": 0}

    def direction(self, sweep, evaluation, scale, gamma, gap, goal):
        """Returns ``p`` and ``H dw`` for ``dw = r p``."""
        root = np.sqrt(sweep.hessian_weights)
        # flat rows of the inequality form and rows of no weight leave the system
        active = np.flatnonzero(root)
        part = sweep if len(active) == len(root) else sweep.take(active)
        root = root[active]
        factor = Factor(part.gram(scale**2), root, overwrite=True)
        y = -scale * gamma
        p, bent, inner = y, np.zeros_like(y), np.zeros(len(active))
        # The difference cancels where A A^T is large; a second round restores what it lost.
        for _ in range(2):
            inner = inner + factor.solve(root * part.scores(scale * p) - inner)
            bent = part.rmatvec(root * inner)
            p = y - scale * bent
        return p, bent


class ConjugateGradientStep:
    """Directions by conjugate gradients, and by factors once these have become the cheaper.

    Iterations stop at ``|residual|^2 / 2``, which is what the linear system contributes to the
    duality gap of the next step, a little below the goal or a small part of the present gap.

    The preconditioner is bought like skis. Sweeps are rented until, since the last purchase,
    they have earned the next factor: first of the curvature of a sample of rows, then of that
    of all rows. A factor stays in use in later steps, with the current scale r.
    A full factor at the present state solves the system outright; while a full factor is so
    fresh that one iteration suffices, the step is a chord step, which takes the factor's
    answer unchecked and no sweep but the one that evaluates it. The samples' M × M form has no
    use for a stale factor; once a step's iterations have cost more than it, it is used directly.

    Parameters
    ----------
    work : Work
    factor : {"cholesky", "dual", None}
        What may be bought.
    """

    name = "newton-cg"
    needs_curvature = False
    needs_details = True
    polishes = False

    def __init__(self, work, factor):
        self.work = work
        self.ladder = [] if factor is None else [factor]
        self.n_sampled = ROWS_A_COLUMN * work.n_features
        if factor == "cholesky" and self.n_sampled * SAMPLE_SHARE <= work.n_samples:
            self.ladder.insert(0, "sample")
        self.rung = None  # what the present preconditioner is
        self.curvature = self.factor = self.sampled = None
        self.bill, self.n_samples_taken = 0.0, 0
        self.chord, self.last_gap = False, np.inf
        self.figures = {}

    def direction(self, sweep, evaluation, scale, gamma, gap, goal):
        """Returns ``p`` and ``H dw`` for ``dw = r p``."""
        if self.rung == "dual":
            return self._dual(sweep, evaluation, scale, gamma, gap, goal)
        right = -scale * gamma
        self.figures = {"linear": "cg", "inner": 0}
        if self.curvature is not None:
            self.factor = Factor(self.curvature, scale)
        if self.chord:
            self.chord = gap <= 0.1 * self.last_gap
        self.last_gap = gap
        if self.chord:
            self.figures["linear"] = "chord"
            p = self.factor.solve(right)
            return p, self.curvature @ (scale * p)
        present = 0.5 * float(right @ right)
        stop = max(present * 0.01 * np.sqrt(gap / sweep.total_weight), 0.3 * goal)
        # Far out on the bounds the gap is more than the residual shows: something must be done.
        stop = min(stop, 0.1 * present)
        p, bent, residual = np.zeros_like(right), np.zeros_like(right), right.copy()
        fresh = set()  # factors bought at this very state
        z = self._precondition(residual)
        search, slope = z, float(residual @ z)
        while 0.5 * float(residual @ residual) > stop and slope > 0:
            offer = self._offer(fresh)
            if offer is not None:
                fresh.add(offer)
                self._buy(offer, sweep, scale)
                if offer == "dual":
                    return self._dual(sweep, evaluation, scale, gamma, gap, goal)
                if offer == "cholesky":
                    self.figures["linear"] = "cholesky"
                    p = self.factor.solve(right)
                    return p, self.curvature @ (scale * p)
                z = self._precondition(residual)
                search, slope = z, float(residual @ z)
            hessian_weights = sweep.hessp(scale * search)
            image = search + scale * hessian_weights
            length = slope / float(search @ image)
            p += length * search
            bent += length * hessian_weights
            residual = residual - length * image
            z = self._precondition(residual)
            slope, before = float(residual @ z), slope
            search = z + (slope / before) * search
            self.bill += self.work.sweep
            self.figures["inner"] += 1
            if self.figures["inner"] >= min(20 + 2 * len(right), MOST_INNER):
                break  # exact arithmetic would have ended; any truncation is a descent
        self.chord = self.rung == "cholesky" and self.figures["inner"] <= 1
        return p, bent

    def _precondition(self, residual):
        return residual if self.factor is None else self.factor.solve(residual)

    def _price(self, rung):
        if rung == "sample":
            share = self.n_sampled / self.work.n_samples
            price = share * self.work.curvature + factor_time(self.work.n_features)
            return FIRST_SAMPLE * LATER_SAMPLES**self.n_samples_taken * price
        return getattr(self.work, rung)

    def _offer(self, fresh):
        """The next factor to buy, if the sweeps paid so far have earned it."""
        for rung in self.ladder:
            if rung not in fresh and self.bill >= self._price(rung):
                if self.rung == "cholesky" and rung == "sample":
                    continue
                return rung
        return None

    def _buy(self, rung, sweep, scale):
        self.rung, self.bill = rung, 0.0
        if rung == "sample":
            if self.sampled is None:
                generator = np.random.default_rng(0)
                chosen = generator.choice(sweep.n_samples, self.n_sampled, replace=False)
                self.sampled = sweep.take(np.sort(chosen)), np.sort(chosen)
            self.n_samples_taken += 1
            part, chosen = self.sampled
            part.hessian_weights = sweep.hessian_weights[chosen] * (
                sweep.n_samples / self.n_sampled
            )
            self.curvature = part.curvature()
        elif rung == "cholesky":
            self.curvature = sweep.curvature()
        if rung != "dual":
            self.factor = Factor(self.curvature, scale)

    def _dual(self, *state):
        step = DualStep()
        answer = step.direction(*state)
        self.figures = {"linear": "dual", "inner": self.figures.get("inner", 0)}
        return answer
