"""The way to a solution where no factor fits, and where several stages share a budget."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from entropic.features.design import Design
from entropic.kernels.backend import Box
from entropic.kernels.loss import Loss
from entropic.rows import rows_of
from entropic.rows.sweep import Sweep
from entropic.rows.target import Target
from entropic.solvers import continuation, exact
from entropic.solvers.outcome import Status
from entropic.solvers.problem import minimise


def problem(slack, inequality=False, separable=True, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 4))
    sign = np.where(X[:, 0] + (not separable) * rng.normal(size=90) > 0, 1, -1)
    sweep = Sweep(Design(rows_of(X)), Target.of(Loss(slack, inequality), sign))
    return sweep, Box(-np.ones(4), np.ones(4))


@pytest.fixture
def no_factor_fits(monkeypatch):
    for module in (continuation, exact):
        monkeypatch.setattr(module, "factor_fits", lambda sweep: False)


@pytest.mark.parametrize("inequality", [False, True])
@pytest.mark.parametrize("slack", [1e-6, 1e-3, 0.1])
def test_slack_is_followed_down_where_no_factor_fits(slack, inequality, no_factor_fits):
    outcome = minimise(*problem(slack, inequality), tol=1e-12)
    assert outcome.converged and outcome.solver != "newton-pair"
    reference = minimise(*problem(slack, inequality), tol=1e-12, solver="spectral")
    assert reference.converged
    assert_allclose(outcome.coef, reference.coef, atol=1e-4)
    assert abs(outcome.objective - reference.objective) <= 3e-12 * 90


@pytest.mark.parametrize("inequality", [False, True])
def test_the_exact_constraint_where_no_factor_fits(inequality, monkeypatch):
    reference = minimise(*problem(0.0, inequality), tol=1e-8)
    for module in (continuation, exact):
        monkeypatch.setattr(module, "factor_fits", lambda sweep: False)
    outcome = minimise(*problem(0.0, inequality), tol=1e-8)
    assert reference.converged and outcome.converged
    assert outcome.solver != "newton-pair"
    assert abs(outcome.objective - reference.objective) <= 3e-8 * 90


def test_inseparable_samples_are_proved_so_where_no_factor_fits(no_factor_fits):
    outcome = minimise(*problem(0.0, separable=False))
    assert outcome.status is Status.NOT_SEPARABLE and outcome.margin_bound < 1e-6


@pytest.mark.parametrize("slack", [0.0, 1e-6, 0.1])
@pytest.mark.parametrize("most", [1, 3, 6])
def test_all_stages_share_one_budget_and_one_callback(slack, most):
    seen = []
    outcome = minimise(*problem(slack), max_iter=most, callback=lambda f: seen.append(f) or False)
    assert outcome.n_iter <= most
    steps = [figures["iteration"] for figures in seen]
    assert steps == sorted(steps) and steps[-1] <= most
    assert outcome.converged or outcome.status is Status.MAX_ITER


@pytest.mark.parametrize("inequality", [False, True])
@pytest.mark.parametrize("separable", [False, True])
@pytest.mark.parametrize("slack", [0.0, 1e-6, 1e-3, 0.1])
@pytest.mark.parametrize("way", ["pair", "newton", "spectral"])
def test_a_stop_is_heeded_at_once_at_every_step(way, slack, separable, inequality, monkeypatch):
    """Also by the stages that would follow, and where the step has reached the goal."""
    if way == "newton":
        for module in (continuation, exact):
            monkeypatch.setattr(module, "factor_fits", lambda sweep: False)

    def run(stop):
        seen = []
        outcome = minimise(
            *problem(slack, inequality, separable),
            solver="spectral" if way == "spectral" else "auto",
            callback=lambda figures: seen.append(figures["iteration"]) or len(seen) == stop,
        )
        assert seen == sorted(seen) and seen[-1] == outcome.n_iter
        return len(seen), outcome.status

    whole, status = run(None)
    assert status in ("converged", "not_separable")
    stops = range(1, whole + 1)
    if way == "spectral":  # and where a pair follows, in its steps
        stops = [1, whole // 2, whole - 9, whole - 1, whole]
    assert [run(stop) for stop in stops] == [(stop, "interrupted") for stop in stops]
