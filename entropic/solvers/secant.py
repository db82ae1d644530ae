"""Steps by the curvature of a sample of the rows, corrected by what the steps before have shown.

The curvature of all rows takes many times as long as a sweep over them; that of some hundred or
thousand rows does not. A factor of it, made once, gives the direction, and the changes of the
gradient along the steps already made (secant pairs, as in L-BFGS) correct it: each step is one
sweep, and divides the gap by about ten (docs/mathematics.md, section 3.6).
"""

from __future__ import annotations

import math

import numpy as np

from .factor import LastingFactor
from .step import Step

# The gap a unit of weight from which the curvature of all rows, once, leads to the solution.
CLOSE = 1e-6
# Steps bring the gap about so many times nearer, so that the next point may be close, or the goal.
NEARER = 30
# Steps after which that is made in any case, where it is affordable; what two steps may leave of
# the gap where it is, and where conjugate gradients come next.
MOST_STEPS, LEFT, LEFT_TO_CG = 9, 0.3, 0.5
# Pairs are left out where s and y, which convexity keeps within a right angle, are nearer to it.
LEAST_COSINE = 1e-8


class SecantStep(Step):
    """Directions by the sample and the pairs, as long as they serve; then those of another step.

    With ``H0 = r (I + r B r)^-1 r``, B the sample's curvature, and the pairs ``s = dw``,
    ``y = d gamma`` of the steps so far, the direction is that of L-BFGS.

    Parameters
    ----------
    then : CholeskyStep or ConjugateGradientStep
        Takes over near the goal, if it ends with full curvature, and where the gap stops falling.
    n_rows : int
        Of the sample.
    n_begun : int or None
        Of the sample whose solution is where to start; None is as many.
    """

    def __init__(self, then, n_rows, n_begun=None):
        self.then, self.n_rows, self.n_begun = then, n_rows, n_begun or n_rows
        self.tentative, self.soon = True, False
        self.factor = self.last = None
        self.pairs, self.gaps = [], []
        self.own = {"linear": "secant", "inner": 0}

    name = property(lambda self: self.then.name)
    needs_curvature = property(lambda self: self.then.needs_curvature)
    polishes = property(lambda self: self.then.polishes)
    figures = property(lambda self: self.own if self.tentative else self.then.figures)
    takes_samples = property(lambda self: not self.tentative)
    keeps = property(lambda self: self.takes_samples or self.soon)

    def curvature_at(self, sweep, hessian_weights):
        return self.then.curvature_at(sweep, hessian_weights)

    def give_up(self):
        """Leave the rest to the other step."""
        self.tentative = False

    def see(self, sweep, gap, goal, pace):
        """Give up where the point is close enough, or where steps bring too little."""
        self.then.see(sweep, gap, goal, pace)
        self.gaps.append(gap)
        close = CLOSE * sweep.total_weight if self.polishes else 0.0
        late = len(self.gaps) - MOST_STEPS if self.polishes else -1
        left = LEFT if self.polishes else LEFT_TO_CG
        stuck = len(self.gaps) > 3 and gap > left * self.gaps[-3]
        self.soon = gap <= NEARER * max(close, goal) or late >= 0
        if gap <= close or late > 0 or stuck:
            self.give_up()

    def direction(self, sweep, model, gap, goal):
        if not self.tentative:
            return self.then.direction(sweep, model, gap, goal)
        if self.factor is None:
            curvature = sweep.sample(self.n_rows).curvature_at(model.coef)
            self.factor = LastingFactor(curvature, model.root)
        elif not self.factor.serves(model.root):
            self.factor = self.factor.at(model.root)
        self._see(model)
        dw, counts = self._descend(model), model.root > 1e-100
        p = np.divide(dw, model.root, out=np.zeros_like(dw), where=counts)
        return p, 0.0 if np.all(counts) else self.factor.matrix @ dw

    def _see(self, model):
        """Keep what the last step has shown."""
        if self.last is not None:
            s, y = model.coef - self.last.coef, model.gamma - self.last.gamma
            along = float(s @ y)
            if along > LEAST_COSINE * math.sqrt(s @ s) * math.sqrt(y @ y):
                self.pairs.append((s, y, 1 / along))
        self.last = model

    def _descend(self, model):
        """``-H gamma`` with the inverse H of L-BFGS (Nocedal and Wright, algorithm 7.4)."""
        q, shares = -model.gamma, []
        for s, y, inverse in reversed(self.pairs):
            shares.append(inverse * (s @ q))
            q = q - shares[-1] * y
        q = self.factor.solve_in_w(q)
        for (s, y, inverse), share in zip(self.pairs, reversed(shares), strict=True):
            q = q + (share - inverse * (y @ q)) * s
        return q
