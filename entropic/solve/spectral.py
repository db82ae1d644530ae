"""The face of the spectral gradient solver: scaling, starting point, and what its end proves.

The iteration itself is compiled (src/spectral.c) or NumPy (numpy_spectral.py). It minimises the
dual, so it ends with multipliers and the coefficients they imply. The gap it reports lies
between these two, and is computed for every sample on its own, without cancellation.
"""

from __future__ import annotations

import math

import numpy as np

from . import backend
from .entropy import Box
from .numpy_spectral import FIGURES, Rule
from .outcome import MESSAGES, Outcome
from .target import Target

STEPS = 50_000
RECORDED = 8192
RULES = {
    # ABBmin with a non-monotone search, and the paper's own rule
    "spectral": Rule(adaptive=True, memory=10, first=0.0),
    "spectral-paper": Rule(adaptive=False, memory=1, first=1.0),
}


def spectral(sweep, box, *, solver="spectral", tol=1e-8, max_iter=None, start=None, callback=None):
    """Minimise the dual by gradient steps of Barzilai and Borwein's length.

    Parameters
    ----------
    sweep : Sweep
        Over rows in memory. Its per-sample arrays are filled for the returned coefficients.
    box : Box
    solver : {"spectral", "spectral-paper"}
        The adaptive step (ABBmin) with the non-monotone line search of Grippo, Lampariello and
        Lucidi; or the rule of the paper, section 4: the long step, first 1, with a monotone
        Armijo search that halves it.
    tol : float
        Stops at a duality gap of ``tol * sweep.total_weight``; without slack, where the primal
        is feasible in the limit only, also at a residual of ``sqrt(tol * n_samples)``.
    max_iter : int or None
        None is 50,000 steps.
    start : array of shape (n_features,) or None
        State to start from; the multipliers are those that its margins imply.
    callback : callable or None
        Called with a dict of the step's figures; returning True stops.

    Returns
    -------
    Outcome
        With the multipliers that the iteration reached, and the margins that are best for its
        coefficients: ``multipliers == -weights * log(margins)`` holds to the gap only.

    Raises
    ------
    ValueError
        If the rows are not in memory.
    """
    if not hasattr(sweep, "design"):
        raise ValueError(
            f"solver={solver!r} keeps one multiplier a sample and needs all rows in memory; "
            "use solver='newton' for rows in batches."
        )
    target, unit = sweep.target, float(np.max(sweep.target.weights))
    # Weights and entropy divided by one number change no step, and keep their sums in range.
    scaled = Target(target.sign, target.weights / unit, target.offset, target.loss)
    scaled_box = Box(box.lower, box.upper, box.entropy_weight / unit)
    ratio, tau = _start(sweep, box, scaled, start)
    weighted = np.broadcast_to(target.weights > 0, ratio.shape)
    goal = tol * sweep.total_weight
    record, residual = np.empty((RECORDED, len(FIGURES))), np.zeros_like(ratio)
    report = backend.spectral.iterate(
        sweep.design,
        scaled,
        scaled_box,
        ratio,
        tau,
        residual,
        RULES[solver],
        goal_gap=goal / unit,
        goal_norm=-1.0 if target.loss.slack > 0 else math.sqrt(tol * np.count_nonzero(weighted)),
        max_iter=STEPS if max_iter is None else max_iter,
        record=record,
        n_threads=sweep.n_threads,
        callback=_in_units(callback, unit),
    )
    sweep.count += math.ceil(report["n_reads"])
    state, multipliers = scaled_box.state_of_tau(tau), 0.0 + target.weights * ratio
    gap, objective = report["gap"] * unit, report["objective"] * unit
    violation = _details(sweep, ratio, residual)
    if gap == math.inf:
        # Without slack, and a hair outside: the optimum of a constraint that is off by the
        # residual, which the multipliers price.
        gap = float(np.abs(multipliers) @ np.abs(residual))
        objective = box.value(state) - float(
            np.sum(target.weights * np.exp(-ratio) * (1 + ratio), where=weighted)
        )
    return Outcome(
        coef=box.coef(state),
        margins=np.exp(sweep.log_margins),
        multipliers=multipliers,
        objective=objective,
        gap=gap,
        residual_norm=float(np.linalg.norm(violation[weighted])),
        separation=float(np.min(sweep.reach + target.offset)),
        status=report["status"],
        solver=solver,
        n_iter=report["n_iter"],
        n_sweeps=sweep.count,
        history=_history(record[: report["n_recorded"]], unit),
        state=state,
        message=MESSAGES[report["status"]].format(goal=goal, gap=gap, n_iter=report["n_iter"]),
    )


def _start(sweep, box, scaled, start):
    """Multipliers over weights, and ``tau`` in scaled weights, to start from."""
    if start is None:
        return np.zeros(sweep.n_samples), np.zeros(sweep.n_features)
    loss = scaled.loss
    reach = scaled.sign * sweep.scores(box.coef(start)) - scaled.offset
    if loss.slack > 0:
        ratio = -loss.log_margin(reach)
    else:
        # where the start violates the constraint it says nothing about the margin
        ratio = -np.log(np.where(reach > 0, reach, 1.0))
    if loss.inequality:
        ratio = np.maximum(ratio, 0.0)
    pull = scaled.sign * scaled.weights * ratio
    sweep.count += 1
    tau = backend.sweeps.adjoint(sweep.design.rows, pull, sweep.n_threads)
    return ratio, sweep.design.from_rows(tau)


def _details(sweep, ratio, residual):
    """Fill the sweep's per-sample arrays without another read; returns the violation."""
    target, loss = sweep.target, sweep.target.loss
    with np.errstate(over="ignore", divide="ignore"):
        margins = np.exp(-ratio)
        sweep.reach = residual + margins - loss.slack * ratio
        if loss.slack > 0:
            sweep.log_margins = loss.log_margin(sweep.reach)
            margins = np.exp(sweep.log_margins)
        else:
            sweep.log_margins = 0.0 - ratio
        sweep.bend = target.weights * loss.bend(sweep.log_margins)
    violation = sweep.reach - margins
    return np.minimum(violation, 0.0) if loss.inequality else violation


def _in_units(callback, unit):
    """The callback, told gap and objective in the caller's weights."""
    if callback is None:
        return None

    def scaled(figures):
        figures["gap"] *= unit
        figures["objective"] *= unit
        return callback(figures)

    return scaled


def _history(entries, unit):
    history = {name: entries[:, k].tolist() for k, name in enumerate(FIGURES)}
    history["iteration"] = [int(k) for k in history["iteration"]]
    for name in ("gap", "objective"):
        history[name] = [value * unit for value in history[name]]
    return history
