"""Secant steps: one sweep each, to the optimum of the other steps, and left in time."""

import numpy as np
import pytest
import real_data
from numpy.testing import assert_allclose
from sklearn.datasets import load_svmlight_file

from entropic import EntropicClassifier
from entropic.features.design import Design
from entropic.kernels.backend import Box
from entropic.kernels.loss import Loss
from entropic.rows import rows_of
from entropic.rows.sweep import Sweep
from entropic.rows.target import Target
from entropic.rows.work import Work
from entropic.solvers.continuation import start_of_sample
from entropic.solvers.cost import SAMPLE_SHARE, curvature_sample, secant_sample
from entropic.solvers.newton import newton
from entropic.solvers.newton_steps import CholeskyStep, ConjugateGradientStep, choose_step
from entropic.solvers.outcome import Status
from entropic.solvers.problem import minimise
from entropic.solvers.secant import SecantStep


def problem(n_samples, n_features, slack=10.0, inequality=True, weights=1.0, bound=2.0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, n_features))
    coef = 3 * rng.normal(size=n_features) / np.sqrt(n_features)
    sign = np.where(X @ coef + rng.logistic(size=n_samples) > 0, 1, -1)
    target = Target.of(Loss(slack, inequality), sign, weights)
    box = Box(np.full(n_features, -bound), np.full(n_features, bound))
    return Sweep(Design(rows_of(X)), target), box


def steps_alone(monkeypatch):
    """All steps as they were without secant steps before them."""
    monkeypatch.setattr("entropic.solvers.newton_steps.secant_sample", lambda work, kind: 0)


@pytest.mark.parametrize("shape", [(60_000, 8), (12_000, 120)])
@pytest.mark.parametrize("inequality", [False, True])
@pytest.mark.parametrize(("slack", "bound"), [(10.0, 2.0), (0.1, 0.3)])
def test_the_optimum_is_that_of_the_other_steps(monkeypatch, shape, inequality, slack, bound):
    sweep, box = problem(*shape, slack, inequality, bound=bound)
    found = minimise(sweep, box)
    assert "secant" in found.history["linear"]
    steps_alone(monkeypatch)
    sweep, box = problem(*shape, slack, inequality, bound=bound)
    expected = minimise(sweep, box)
    assert "secant" not in expected.history["linear"]
    assert found.converged and expected.converged
    difference = abs(found.objective - expected.objective)
    assert difference <= found.dual_gap + expected.dual_gap + 1e-12 * abs(expected.objective)
    assert_allclose(found.coef, expected.coef, rtol=0, atol=2e-4)


def test_a_step_is_one_sweep():
    sweep, box = problem(20_000, 100)
    step = SecantStep(ConjugateGradientStep(sweep.work, None), 1000)
    ending = newton(sweep, box, step, tol=1e-8, max_iter=50)
    assert ending.stopped is Status.CONVERGED
    assert set(ending.history["linear"]) == {"", "secant"}
    # the one at the start, and a curvature of a twentieth of the rows
    assert sweep.reads.count == pytest.approx(ending.n_iter + 1 + 0.05)


def test_many_rows_are_begun_by_a_sample_and_read_fewer_times(monkeypatch):
    # where a step's curvature is a read of its own, as with more rows
    monkeypatch.setattr("entropic.solvers.newton.QUICK", 0.0)
    reads = []
    for _ in range(2):
        sweep, box = problem(60_000, 8)
        minimise(sweep, box)
        reads.append(sweep.reads.count)
        steps_alone(monkeypatch)
    assert reads[0] <= 0.7 * reads[1]


def test_a_sample_that_says_nothing_of_the_other_rows_begins_nothing():
    """Columns that are seldom filled: the sample's own solution is far from that of all rows."""
    rng = np.random.default_rng(1)
    X = (rng.random((4000, 60)) < 0.01) * 1.0
    sign = np.where(rng.random(4000) < 0.5, 1, -1)
    sweep = Sweep(Design(rows_of(X)), Target.of(Loss(0.1, True), sign))
    box = Box(np.full(60, -10.0), np.full(60, 10.0))
    start, promised = start_of_sample(sweep, box, 200)
    step = CholeskyStep()
    ending = newton(sweep, box, step, tol=1e-8, max_iter=50, start=start, promised=promised)
    begun = newton(sweep, box, CholeskyStep(), tol=1e-8, max_iter=50)
    assert ending.history["objective"][0] == begun.history["objective"][0]  # from zero
    assert ending.stopped is Status.CONVERGED


def test_rows_without_weight_are_not_drawn():
    weights = np.zeros(5000)
    weights[::7] = 1.0
    sweep, _ = problem(5000, 4, weights=weights)
    sample = sweep.sample(100)
    assert len(np.unique(sample.indices)) == 100
    assert np.all(weights[sample.indices] == 1)
    assert sample.factor == np.count_nonzero(weights) / 100


@pytest.mark.parametrize("n_features", [1, 10, 100, 1000])
@pytest.mark.parametrize("n_samples", [100, 10_000, 1_000_000])
def test_a_sample_is_small_or_not_taken(n_samples, n_features):
    for kind in ("cholesky", "cg"):
        work = Work.dense(n_samples, n_features)
        size = secant_sample(work, kind)
        assert size == 0 or 10 * n_features <= size <= n_samples / SAMPLE_SHARE
        larger = curvature_sample(work, size)
        assert (
            larger == size or (larger / n_samples) * (work.sweep + work.curvature) < work.sweep / 3
        )


def test_small_data_have_no_use_for_a_sample():
    sweep, _ = problem(500, 3)
    assert type(choose_step(sweep)) is CholeskyStep


@pytest.mark.parametrize("bound", [0.3, 2.0, 10.0])
@pytest.mark.parametrize("slack", [0.1, 10.0])
def test_a_set_whose_rows_crowd_at_the_kink_takes_few_steps(bound, slack):
    """Of the real sets here the one that took most: 27 steps, before steps began at a sample."""
    X, y = load_svmlight_file(str(real_data.path("agaricus_libsvm/agaricus.txt.train")))
    fitted = EntropicClassifier(bound=bound, slack=slack, leave_one_out=False).fit(X, y)
    assert fitted.converged_
    gaps = np.array(fitted.history_["gap"])
    assert np.sum(gaps > 1e-8 * len(y)) <= 15  # those at the goal only sharpen the solution
