"""The exact constraint, ``slack = 0``: the paper's Problem 4, or the hard margin.

Pairs of coefficients and multipliers converge without slack where some coefficients separate the
samples strictly. Where none do, the multipliers grow without limit in a direction in which they
move no coefficient; as soon as they prove by that what keeps them from a limit (certificate.py),
or another proof is found, the search ends. What is returned is the solution for a tiny slack.

Where no pair can be kept, proximal steps on the dual take its place: with ``y + slack x_k`` for y,
the problem with slack violates its constraint by ``slack (x - x_k)`` only, which vanishes from
step to step while slack stays where Newton's method is well conditioned
(docs/mathematics.md, section 3.8).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .certificate import TINY, bracket_margin, no_margin, proven_bound
from .continuation import TINY_SLACK, Path, solve_with_slack, told_after
from .outcome import Status
from .primal_dual.system import NewtonSystem, factor_fits

EASY_STEPS = 20  # of a pair, before a proof that it has no limit is looked for in earnest
SMALL_SLACK, MOST_SMALL = 1e-4, 15  # on the way to a tiny slack, and steps there
FLOOR = 1e-8  # of the largest multiplier: less moves with the least of the others
FREE = 1e8  # of the box in units of the margins: so far a projection leaves coefficients alone
ROUNDS = 12
LEAST_PROXIMAL = 1e-11


def solve_exact(sweep, box, *, goal, tol, max_iter=None, start=None, callback=None):
    """Minimise the problem of a sweep whose loss has no slack.

    Stops where the goal's gap and its norm of the residual, ``sqrt(tol M)`` with M the number of
    samples of positive weight, are both reached (docs/mathematics.md, section 4.2).

    Returns
    -------
    Ending
        ``inseparable`` where a bound on the margin proves it.
    """
    path = Path(sweep, box, tol, max_iter, callback, goal)
    if not factor_fits(sweep):
        return _proximal(path, start)
    hopeless = _Hopeless(path)
    pair = path.pair(most=EASY_STEPS, until=hopeless)
    proof = hopeless.proof
    if not proof:
        ending = path.ending_of(pair)
        separated = np.min(ending.evaluation.functional_margins[sweep.counted]) > 0
        if (separated and ending.stopped is Status.CONVERGED) or path.exhausted:
            return ending
        # a proof that nothing separates takes about as long as an easy pair does
        proof = _proof(path)
    if proof:
        pair = hopeless.latest
        if not sweep.target.loss.inequality:
            # nothing keeps x positive there, and at a tiny slack at once steps may be short
            pair = path.pair(SMALL_SLACK, MOST_SMALL, start=pair)
        pair = path.pair(TINY_SLACK, start=pair)
    else:
        pair = path.pair(start=pair)
    ending = path.ending_of(pair)
    return replace(ending if proof else path.bounded(ending), **proof)


def _proof(path):
    """What an ending says where a bound on the margin proves that nothing separates."""
    bracket = bracket_margin(path.sweep, path.box)
    return _inseparable(bracket.margin_bound) if bracket.separable is False else {}


def _inseparable(margin_bound):
    return dict(margin_bound=margin_bound, inseparable=True)


class _Hopeless:
    """Whether the multipliers of a pair prove that nothing separates: asked of each pair.

    Where nothing does, they grow without limit along multipliers that move no coefficient,
    ``D^T lambda = 0``. To these they are projected, in the metric that keeps them positive longest
    (that of affine scaling), and if they stay so they prove it long before growth would. A
    projection takes about as long as a step, and each is tried three steps as far as the last.
    """

    def __init__(self, path):
        self.sweep, self.box = path.sweep, path.box
        self.proof, self.latest, self.size = {}, None, None
        self.seen, self.next = 0, 1

    def __call__(self, pair):
        self.latest, self.seen = pair, self.seen + 1
        # of rows that ask for different margins, a bound this way need not be the best
        alike = np.ptp(self.sweep.target.offset) == 0
        if not alike or self.seen <= self.next or self._separates(pair):
            return False
        self.next *= 3
        sweep, q = self.sweep, self.sweep.target.weights
        multipliers = q * pair.scaled_multipliers
        most = float(np.max(multipliers, initial=0.0))
        if most <= 0:
            return False
        if self.size is None:
            counted = sweep.counted / sweep.n_counted
            _, self.size = proven_bound(sweep, self.box, counted)
        multipliers = np.where(sweep.counted, np.maximum(multipliers / most, FLOOR), 0.0)
        stiffness = np.where(sweep.counted, q / np.maximum(multipliers, FLOOR) ** 2, 1.0)
        root = FREE * self.box.half_width / max(self.size, TINY)
        with np.errstate(all="ignore"):
            system = NewtonSystem(sweep, root, stiffness)
            _, _, move = system.solve(-sweep.rmatvec_signed(multipliers), np.zeros(sweep.n_samples))
        multipliers = np.maximum(multipliers + q * move, 0.0)
        total = float(np.sum(multipliers))
        if 0 < total < np.inf:
            bound, _ = proven_bound(sweep, self.box, multipliers / total)
            if bound <= no_margin(sweep, self.box, self.size):
                self.proof = _inseparable(bound)
        return bool(self.proof)

    def _separates(self, pair):
        """Whether the pair's coefficients do, as the solver knows their margins."""
        margins = pair.primal_residual + pair.margins
        if pair.surplus is not None:
            margins = margins + pair.surplus
        return bool(np.min(margins, where=self.sweep.counted, initial=np.inf) > 0)


def _proximal(path, state):
    """Proximal steps on the dual, each a problem with slack."""
    target = path.sweep.target
    x, slack, best, proof = np.zeros(1), TINY_SLACK, None, None
    counted = path.sweep.counted
    for _ in range(ROUNDS):
        near = target.offset + slack * x
        stage = path.sweep.with_target(loss=replace(target.loss, slack=slack), offset=near)
        reached = solve_with_slack(
            stage,
            path.box,
            tol=0.1 * path.tol,
            max_iter=path.left,
            start=state,
            callback=told_after(path.n_iter, path.told),
        )
        path.n_iter += reached.n_iter
        for name, values in path.history.items():
            values.extend(reached.history[name])
        state, x = reached.state, 0.0 - reached.evaluation.log_margins
        ending = path.ending_at(state, x, reached.solver)
        best = ending if best is None else path.better(ending, best)
        if path.exhausted or best.stopped is Status.CONVERGED:
            break
        if proof is None and np.min(ending.evaluation.functional_margins[counted]) <= 0:
            proof = _proof(path)
            if proof:
                return replace(best, **proof)
        slack = max(0.1 * slack, LEAST_PROXIMAL)
    return best
