"""The exact constraint, ``slack = 0``: the paper's Problem 4, or the hard margin.

Pairs of coefficients and multipliers converge without slack where some coefficients separate the
samples strictly. Where none do, the multipliers have no limit; then a proof of that
(certificate.py) ends the search, and what is returned is the solution for a tiny slack.

Where no pair can be kept, proximal steps on the dual take its place: with ``y + slack x_k`` for y,
the problem with slack violates its constraint by ``slack (x - x_k)`` only, which vanishes from
step to step while slack stays where Newton's method is well conditioned
(docs/mathematics.md, section 3.8).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .certificate import bracket_margin
from .continuation import TINY_SLACK, Path, solve_with_slack
from .outcome import Status
from .primal_dual.system import factor_fits

EASY_STEPS = 20  # of a pair, before a proof that it has no limit is looked for
ROUNDS = 12
LEAST_SLACK = 1e-11


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
    pair = path.pair(most=EASY_STEPS)
    ending = path.ending_of(pair)
    separated = np.min(ending.evaluation.functional_margins[sweep.counted]) > 0
    if (separated and ending.stopped is Status.CONVERGED) or path.exhausted:
        return ending
    # a proof that nothing separates takes about as long as an easy pair does
    proof = _proof(path)
    pair = path.pair(TINY_SLACK) if proof else path.pair(start=pair)
    return replace(path.ending_of(pair), **proof)


def _proof(path):
    """What an ending says where a bound on the margin proves that nothing separates."""
    bracket = bracket_margin(path.sweep, path.box)
    if bracket.separable is not False:
        return {}
    return dict(margin_bound=bracket.margin_bound, inseparable=True)


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
            callback=path.callback,
        )
        path.n_iter += reached.n_iter
        path.interrupted |= reached.stopped is Status.INTERRUPTED
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
        slack = max(0.1 * slack, LEAST_SLACK)
    return best
