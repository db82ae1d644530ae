"""The certificate of a solution, recomputed from the raw arrays by formulas of its own.

Nothing of entropic.solve is imported. The margin of a sample is found by bisection on its
defining equation, entropies from their definition in terms of probabilities, and the dual from
docs/mathematics.md, section 2.1. The sums are carried by numpy's longdouble, which is wider than
float64 on most platforms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

WIDE = np.longdouble


@dataclass
class Problem:
    """The arrays of one problem, for rows already signed."""

    D: np.ndarray
    weights: np.ndarray
    offset: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    entropy_weight: float = 1.0
    constraint: str = "equality"
    slack: float = 0.1

    @classmethod
    def of(cls, D, weights=None, offset=0.0, lower=-1.0, upper=1.0, **rest):
        D = np.asarray(D.toarray() if hasattr(D, "toarray") else D, dtype=WIDE)
        m, n = D.shape

        def full(values, size):
            return np.broadcast_to(np.asarray(values, dtype=WIDE), size)

        weights = full(1.0 if weights is None else weights, m)
        return cls(D, weights, full(offset, m), full(lower, n), full(upper, n), **rest)

    @property
    def inequality(self):
        return self.constraint == "inequality"


def log_margin(functional_margins, slack):
    """ln b with ``b + slack ln b = reach``, by bisection on ``x + softly``: 200 halvings."""
    functional_margins = np.asarray(functional_margins, dtype=WIDE)
    # exp(x) + slack x = reach has its root between the two bounds
    high = np.maximum(np.log(np.maximum(functional_margins, 1)), 1) + 1
    low = np.minimum((functional_margins - 3) / slack, -1) - 2 * abs(np.log(WIDE(slack))) - 2
    for _ in range(200):
        middle = (low + high) / 2
        above = np.exp(middle) + slack * middle > functional_margins
        high, low = np.where(above, middle, high), np.where(above, low, middle)
    return (low + high) / 2


def entropy(coef, lower, upper):
    """``p ln p + (1-p) ln(1-p)`` of every coefficient."""
    p = (np.asarray(coef, dtype=WIDE) - lower) / (upper - lower)
    total = np.zeros_like(p)
    for share in (p, 1 - p):
        inside = share > 0
        total[inside] += share[inside] * np.log(share[inside])
    return total


def primal(problem, coef):
    """F(w): what is left of the objective when margins and violations are at their best."""
    coef = np.asarray(coef, dtype=WIDE)
    functional_margins = problem.D @ coef - problem.offset
    x = log_margin(functional_margins, WIDE(problem.slack))
    if problem.inequality:
        x = np.where(functional_margins >= 1, 0, x)
    b = np.exp(x)
    losses = b * x - b + WIDE(problem.slack) / 2 * x**2
    entropies = entropy(coef, problem.lower, problem.upper)
    return problem.entropy_weight * entropies.sum() + (problem.weights * losses).sum()


def dual(problem, multipliers):
    """G(lambda), the negative of a lower bound on every primal value."""
    multipliers = np.asarray(multipliers, dtype=WIDE)
    alpha, counted = WIDE(problem.entropy_weight), problem.weights > 0
    tau = problem.D.T @ multipliers
    ratio = np.zeros_like(multipliers)
    ratio[counted] = multipliers[counted] / problem.weights[counted]
    # max over w of tau w - alpha h(w), from the larger end of the box
    t = (problem.upper - problem.lower) * np.abs(tau) / alpha
    best = np.where(tau > 0, problem.upper, problem.lower)
    conjugate = tau * best + alpha * np.log1p(np.exp(-t))
    samples = problem.weights * (np.exp(-ratio) + WIDE(problem.slack) / 2 * ratio**2)
    return conjugate.sum() + samples.sum() - multipliers @ problem.offset


def gap(problem, coef, multipliers):
    """``F(w) + G(lambda)``: never negative but for rounding, zero at the optimum."""
    return float(primal(problem, coef) + dual(problem, multipliers))


def exact_distance(problem, coef, margins, multipliers):
    """``|Psi(w, b) + G(lambda)|`` without slack, where b may miss its constraint by a residual."""
    b, counted = np.asarray(margins, dtype=WIDE), problem.weights > 0
    logs = np.log(np.where(b > 0, b, 1))
    value = (problem.weights * (b * logs - b))[counted].sum()
    value += problem.entropy_weight * entropy(coef, problem.lower, problem.upper).sum()
    return abs(float(value + dual(problem, multipliers)))


def residual(problem, coef, margins):
    """``D w - b - y``, of the inequality form the violated part only; samples of weight 0 out."""
    out = problem.D @ np.asarray(coef, dtype=WIDE) - np.asarray(margins, dtype=WIDE)
    out = (out - problem.offset) * (problem.weights > 0)
    return np.minimum(out, 0) if problem.inequality else out


def check(problem, outcome, tol):
    """Assert what a converged outcome claims, for a problem with or without slack."""
    coef, multipliers = outcome.coef, outcome.multipliers
    total, counted = float(problem.weights.sum()), problem.weights > 0
    assert outcome.converged, outcome.message
    for array in (coef, multipliers, outcome.margins):
        assert np.all(np.isfinite(array))
    assert np.all((coef >= problem.lower) & (coef <= problem.upper))
    assert np.all(outcome.margins >= 0)
    assert np.all(multipliers[~counted] == 0)
    if problem.inequality:
        assert np.all(multipliers >= 0)
    # the reported gap is true, and within tol; what rounding leaves of the sums is allowed
    scale = abs(float(primal_scale(problem, coef, multipliers)))
    if problem.slack == 0:
        found = exact_distance(problem, coef, outcome.margins, multipliers)
    else:
        found = gap(problem, coef, multipliers)
        value = float(primal(problem, coef))
        assert abs(outcome.objective - value) <= 1e-9 * (1 + abs(value))
    rounding = 1e-13 * scale
    assert found >= -rounding
    assert found <= tol * total + rounding
    assert found <= 1.1 * outcome.dual_gap + rounding
    left = residual(problem, coef, outcome.margins)
    norm = float(np.sqrt(left @ left))
    assert abs(outcome.residual_norm - norm) <= 1e-7 * (1 + norm)
    if problem.slack == 0:
        assert norm <= np.sqrt(tol * counted.sum()) + 1e-12 * scale
    reached = float(np.min((problem.D @ np.asarray(coef, dtype=WIDE))[counted]))
    assert outcome.separation <= reached + 1e-9 * (1 + abs(reached))


def primal_scale(problem, coef, multipliers):
    """Size of the terms whose difference the gap is."""
    size = np.abs(problem.D) @ np.abs(coef) + np.abs(problem.offset) + 1
    entropies = problem.entropy_weight * len(coef)
    return (problem.weights * 2).sum() + np.abs(multipliers) @ size + entropies
