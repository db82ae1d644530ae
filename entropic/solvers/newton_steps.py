"""The linear algebra of a Newton step: ways to solve ``(I + r H r) p = -r gamma``.

``H`` is the curvature ``D^T diag(c) D`` of the samples, c their Hessian weights, ``r = sqrt(S)``
the root of the inverse Hessian of the coefficients' entropy (docs/mathematics.md, sections 3.5 and
3.6). It is a :class:`Step`, chosen by :func:`choose_step` from the costs in cost.py.
"""

from __future__ import annotations

import numpy as np

from entropic.kernels.backend import sweeps
from entropic.rows.work import factor_time

from .cost import ROWS_A_COLUMN, SAMPLE_SHARE, choose, curvature_sample, is_cheap, secant_sample
from .factor import Factor, LastingFactor
from .row_products import ROUNDS, SETTLED, RowProducts, made
from .secant import SecantStep
from .step import Step

# Rows whose Hessian weight has changed by less than this share count as they did: so do leverages
# then. A curvature is brought up to date by the others where they are no more than this share.
SAME, FEW = 1e-4, 0.05
# The first sample is taken at this share of its price: what has already run for so long without
# any factor will go on for longer. A later one, of the curvature as it has changed since, saves
# few iterations; the sweeps before each must have cost this many times those before the last.
FIRST_SAMPLE, LATER_SAMPLES = 0.5, 4.0
# A factor of all rows is made anew in a step where iterations with the last one have taken more
# than this part of what it takes.
STALE = 0.25
# Part of the gap that conjugate gradients leave at the goal.
LEFT_AT_GOAL = 1e-4
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
    if kind == "dual":
        return DualStep()
    step = CholeskyStep() if kind == "cholesky" else ConjugateGradientStep(work, factor)
    n_rows = secant_sample(work, kind) if factor == "cholesky" else 0
    return SecantStep(step, curvature_sample(work, n_rows), n_rows) if n_rows else step


class CholeskyStep(Step):
    """Directions by a factor of the n_features × n_features matrix.

    It is new in every step, but for the first at the goal, where that of the step before serves.
    """

    name = "newton-cholesky"
    needs_curvature = polishes = True

    def __init__(self):
        super().__init__()
        self.curvature = self.weights = None

    def direction(self, sweep, model, gap, goal):
        # rows that are only streamed have given the curvature with the read
        fresh = model.curvature is not None or self.figures.get("linear") == "chord"
        known = gap <= goal and self.curvature is not None and not fresh
        if not known:
            self.curvature, self.weights = model.curvature, model.hessian_weights
            if self.curvature is None:
                self.curvature = sweep.curvature(model.hessian_weights)
            self.pace.spend(sweep.work, factors=1)
        self.figures = {"linear": "chord" if known else "cholesky", "inner": 0}
        p = Factor(self.curvature, model.root).solve(-model.root * model.gamma)
        return p, self.curvature @ (model.root * p)

    def curvature_at(self, sweep, hessian_weights):
        """The last curvature, brought up to date by the rows whose weights have changed since."""
        if self.curvature is None:
            return None
        most = int(FEW * len(hessian_weights))
        changed = sweeps.changed(self.weights, hessian_weights, SAME, most)
        if changed is None:
            return None
        change, matrix = hessian_weights[changed] - self.weights[changed], self.curvature
        for sign in (1, -1):
            chosen = sign * change > 0
            if np.any(chosen):
                part = sweep.take(changed[chosen])
                matrix = matrix + sign * part.curvature(sign * change[chosen])
        return matrix


class DualStep(Step):
    """Directions by a factor of the n_samples × n_samples matrix, for more columns than rows.

    With ``A = diag(sqrt c) D diag(r)``, of which only the rows with c > 0 matter::

        (I + A^T A)^-1 y = y - A^T (I + A A^T)^-1 A y

    The rows' products are kept from step to step (row_products.py).
    """

    name = "newton-dual"
    polishes = True

    def __init__(self):
        super().__init__()
        self.figures = {"linear": "dual", "inner": 0}
        self.products = RowProducts()

    def direction(self, sweep, model, gap, goal):
        # flat rows of the inequality form and rows of no weight leave the system
        active = np.flatnonzero(model.hessian_weights)
        part = sweep if len(active) == sweep.n_samples else sweep.take(active)
        weights = np.sqrt(model.hessian_weights[active])
        gram, exact, seconds = self.products.of(sweep, model.root, active)
        factor = Factor(gram, weights, overwrite=True)
        self.pace.spent += seconds + factor_time(len(active))
        right = -model.root * model.gamma
        p, bent, inner = right, np.zeros_like(right), np.zeros(len(active))
        # The difference cancels where A A^T is large; a second round restores what it lost, and
        # further ones what the products of a root near by lack.
        for _ in range(2 if exact else ROUNDS):
            change = factor.solve(weights * part.scores(model.root * p) - inner)
            inner = inner + change
            bent = part.rmatvec(weights * inner)
            p = right - model.root * bent
            if change @ change <= SETTLED**2 * (inner @ inner):
                break
        return p, bent


class ConjugateGradientStep(Step):
    """Directions by conjugate gradients, and by factors once these have become the cheaper.

    Iterations stop at ``|residual|^2 / 2``, which is what the linear system contributes to the
    duality gap of the next step, a little below the goal or a small part of the present gap.

    A better preconditioner is made once the sweeps since the last one have cost as much as it
    does: first a factor of the curvature of a sample of rows, then of that of all rows. A factor
    stays in use in later steps, with the current root r. A full factor at the present state
    solves the system outright; while it is so fresh that one iteration suffices, the step is a
    chord step, which takes the factor's answer unchecked and no sweep but the one that evaluates
    it. Where so few rows have a Hessian weight that a full factor is cheap, every step makes one.
    The samples' M × M form has no use for a stale factor; once a step's iterations have cost
    more than it, it is used directly.

    Parameters
    ----------
    work : Work
    factor : {"cholesky", "dual", None}
        The full factor that may be made.
    """

    name = "newton-cg"
    # with rows' products at hand a step is a factor of few rows, and tells which are beyond a kink
    polishes = property(lambda self: self.level == "dual")

    def __init__(self, work, factor):
        super().__init__()
        self.work = work
        self.levels = [] if factor is None else [factor]
        self.n_sampled = ROWS_A_COLUMN * work.n_features
        few = self.n_sampled * SAMPLE_SHARE <= work.n_samples
        if factor == "cholesky" and few and work.random_access:
            self.levels.insert(0, "sample")
        self.level = None  # of the present preconditioner
        self.factor = self.root = self.p = None
        self.spent, self.n_samples_taken = 0.0, 0
        self.chord, self.last_gap, self.last_iterations = False, np.inf, 0.0
        self.active = work  # that of the rows with a Hessian weight: factors are made of these
        self.dual = DualStep()

    def direction(self, sweep, model, gap, goal):
        if self.level == "dual":
            return self._dual(sweep, model, gap, goal)
        root, right = model.root, -model.root * model.gamma
        self.figures = {"linear": "cg", "inner": 0}
        if self.work.random_access:
            self.active = self.work.part(np.count_nonzero(model.hessian_weights))
        near, self.last_gap = gap <= 0.1 * self.last_gap, gap
        self.chord = self.chord and near and gap > goal
        if "cholesky" in self.levels and not self.chord:
            price = self._price("cholesky")
            stale = self.level == "cholesky" and self.root is not root and not near
            if is_cheap(self.work, price) or (stale and self.last_iterations > STALE * price):
                self._make("cholesky", sweep, model)
                return self._by_factor("cholesky", root, right)
        if self.factor is not None and (self.chord or not self.factor.serves(root)):
            self.factor = self.factor.at(root)
        if self.chord:
            return self._by_factor("chord", root, right)
        present = 0.5 * float(right @ right)
        if gap > goal:
            stop = max(present * 0.01 * np.sqrt(gap / sweep.total_weight), 0.3 * goal)
        else:
            stop = present * LEFT_AT_GOAL
        # Far out on the bounds the gap is more than the residual shows: something must be done.
        stop = min(stop, 0.1 * present)
        left, begun = self.pace.left(goal, np.inf), self.pace.spent
        p, bent, residual = self._begin(sweep, model, right)
        fresh = set()  # levels made at this very state
        z = self._precondition(root, residual)
        search, slope = z, float(residual @ z)
        while 0.5 * float(residual @ residual) > stop and slope > 0:
            level = self._next_level(fresh, max(left, self.pace.spent - begun))
            if level is not None:
                fresh.add(level)
                self._make(level, sweep, model)
                if level == "dual":
                    return self._dual(sweep, model, gap, goal)
                if level == "cholesky":
                    return self._by_factor("cholesky", root, right)
                z = self._precondition(root, residual)
                search, slope = z, float(residual @ z)
            image_in_w = sweep.hessp(model.hessian_weights, root * search)
            image = search + root * image_in_w
            length = slope / float(search @ image)
            p += length * search
            bent += length * image_in_w
            residual = residual - length * image
            z = self._precondition(root, residual)
            slope, before = float(residual @ z), slope
            search = z + (slope / before) * search
            self._count()
            if self.figures["inner"] >= min(20 + 2 * len(right), MOST_INNER):
                break  # exact arithmetic would have ended; any truncation is a descent
        self.chord = self.level == "cholesky" and self.figures["inner"] <= 1
        self.root, self.p, self.last_iterations = root, p, self.pace.spent - begun
        return p, bent

    def _by_factor(self, linear, root, right):
        """The factor's answer, unchecked."""
        self.figures["linear"] = linear
        p = self.factor.solve(root, right)
        return p, self.factor.matrix @ (root * p)

    def _begin(self, sweep, model, right):
        """Where iterations start: at the answer to another system of the same point, or at zero."""
        if self.root is model.root:
            bent = sweep.hessp(model.hessian_weights, model.root * self.p)
            residual = right - self.p - model.root * bent
            self._count()
            if residual @ residual < right @ right:
                return self.p.copy(), bent, residual
        return np.zeros_like(right), np.zeros_like(right), right.copy()

    def _count(self):
        """One iteration more."""
        seconds = self.work.sweep + (0.0 if self.factor is None else self.work.solve)
        self.spent += seconds
        self.pace.spent += seconds
        self.figures["inner"] += 1

    def _precondition(self, root, residual):
        return residual if self.factor is None else self.factor.solve(root, residual)

    def _price(self, level):
        """Seconds that a level takes to make."""
        if level == "sample":
            share = self.n_sampled / self.work.n_samples
            price = share * self.work.curvature + factor_time(self.work.n_features)
            return FIRST_SAMPLE * LATER_SAMPLES**self.n_samples_taken * price
        if level == "dual":
            n_active = self.active.n_samples
            gram = self.work.part(made(n_active, self.work.n_samples)).gram
            return gram + factor_time(n_active) + 2 * self.work.sweep
        return self.active.cholesky

    def _next_level(self, fresh, left):
        """The next level to make, if the sweeps so far have cost as much, and those left will."""
        for level in self.levels:
            if level not in fresh and min(self.spent, left) >= self._price(level):
                if self.level == "cholesky" and level == "sample":
                    continue
                return level
        return None

    def _make(self, level, sweep, model):
        self.level, self.spent = level, 0.0
        if level == "sample":
            self.n_samples_taken += 1
            curvature = sweep.sample(self.n_sampled).curvature(model.hessian_weights)
        elif level == "cholesky":
            curvature = sweep.curvature(model.hessian_weights)
        if level != "dual":
            self.pace.spent += self._price(level)
            self.factor = LastingFactor(curvature, model.root)

    def _dual(self, sweep, model, gap, goal):
        self.dual.pace = self.pace
        answer = self.dual.direction(sweep, model, gap, goal)
        self.figures = {"linear": "dual", "inner": self.figures.get("inner", 0)}
        return answer
