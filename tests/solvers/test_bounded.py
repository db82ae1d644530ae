"""Pairs with multipliers of the bounds: weak entropy, and columns that nearly cancel."""

import certificate
import numpy as np
import pytest
from numpy.testing import assert_allclose

from entropic import solve
from entropic.features.design import Design
from entropic.kernels.box import Box
from entropic.kernels.loss import Loss
from entropic.rows import rows_of
from entropic.rows.sweep import Sweep
from entropic.rows.target import Target
from entropic.solvers.outcome import Status
from entropic.solvers.primal_dual.bounded import solve_bounded_pair
from entropic.solvers.primal_dual.kkt import solve_pair
from entropic.solvers.problem import minimise

WEAK = dict(entropy_weight=1e-4, lower=-1e3, upper=1e3)


def nearly_collinear(noise):
    """Signed rows of 100 standard columns that all but lie in a space of three dimensions."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 100))
    X += noise * rng.normal(size=X.shape)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    sign = np.where(X[:, 0] + rng.normal(size=200) > 0, 1.0, -1.0)
    return sign[:, None] * np.c_[X, np.ones(200)]


@pytest.mark.parametrize("noise", [1e-7, 1e-3])
@pytest.mark.parametrize("constraint", ["equality", "inequality"])
@pytest.mark.parametrize("slack", [1e-3, 0.1, 1.0, 10.0])
def test_weak_entropy_on_columns_that_nearly_cancel(slack, constraint, noise):
    """Nine of these the other stages together do not solve in 400 steps."""
    D, settings = nearly_collinear(noise), dict(slack=slack, constraint=constraint, **WEAK)
    outcome = solve(D, **settings)
    assert outcome.n_iter <= 100
    certificate.check(certificate.Problem.of(D, **settings), outcome, 1e-8)


@pytest.mark.parametrize("weights", ["one", "many"])
@pytest.mark.parametrize("constraint", ["equality", "inequality"])
@pytest.mark.parametrize("slack", [0.0, 1e-3, 1.0])
def test_both_pairs_meet(slack, constraint, weights):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 4))
    sign = np.where(X[:, 0] + 0.1 > 0, 1.0, -1.0)
    rows = np.c_[X, np.ones(60)] * sign[:, None]
    weights = np.ones(1) if weights == "one" else rng.uniform(0.5, 2.0, 60)
    target = Target.of(Loss(slack, constraint == "inequality"), 1, weights, np.zeros(1))
    sweep = Sweep(Design(rows_of(rows)), target)
    box = Box(-np.ones(5), np.array([1, 2, 1, 1, 0.01]))
    settings = dict(tol=1e-12, goal_norm=1e-7)
    one = solve_pair(sweep, box, **settings)
    other = solve_bounded_pair(sweep, box, max_iter=60, **settings)
    assert other.gap <= 1e-12 * sweep.total_weight
    assert_allclose(box.coef(other.state), box.coef(one.state), atol=1e-5)


LATE = 25  # steps after which bounds have multipliers


def test_steps_are_counted_in_all_stages():
    D = nearly_collinear(1e-7)
    whole = solve(D, slack=0.1, **WEAK)
    cut = solve(D, max_iter=LATE, slack=0.1, **WEAK)
    assert cut.status is Status.MAX_ITER and cut.n_iter == LATE < whole.n_iter
    assert cut.history["gap"] == whole.history["gap"][: len(cut.history["gap"])]


def test_a_stop_is_heeded_there_at_once():
    seen = []
    sweep = Sweep(Design(rows_of(nearly_collinear(1e-7))), Target.of(Loss(0.1)))
    box = Box(np.full(101, -1e3), np.full(101, 1e3), 1e-4)
    outcome = minimise(sweep, box, callback=lambda step: seen.append(step) or len(seen) == LATE)
    assert outcome.status is Status.INTERRUPTED
    assert len(seen) == len(outcome.history["gap"]) == LATE
