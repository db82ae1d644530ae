"""The spectral iteration, step by step: as many as published, the same from every backend."""

import numpy as np
import pytest
import scipy.sparse as sp
from paper_sets import signed_design

from entropic.features.design import Design
from entropic.kernels import backend, numpy_spectral
from entropic.kernels.box import Box
from entropic.kernels.loss import Loss
from entropic.rows import rows_of
from entropic.rows.target import Target
from entropic.solvers import Status
from entropic.solvers.spectral import RULES

STEPS = {"blobs": 213, "circles": 636, "spiral": 183, "moons": 746, "breast cancer": 2297}


def iterate(design, *, loss=None, sign=1, module=None, rule="spectral", **options):
    """The iteration in a box of ±1 from zero; returns its report, history and multipliers."""
    n_samples, n_features = design.n_samples, design.n_features
    record, ratio = np.zeros((options.pop("capacity", 8192), 5)), np.zeros(n_samples)
    given = dict(goal_gap=np.inf, goal_norm=-1.0, max_iter=50_000) | options
    report = (module or backend.spectral).iterate(
        design,
        Target.of(loss or Loss(0.1), sign),
        Box(-np.ones(n_features), np.ones(n_features)),
        ratio,
        np.zeros(n_features),
        np.zeros(n_samples),
        RULES[rule],
        record=record,
        **given,
    )
    return report, record[: report["n_recorded"]], ratio


@pytest.mark.parametrize("name", STEPS)
def test_steps_are_as_few_as_published(name):
    design = Design(rows_of(signed_design(name)))
    goal = 1e-6 * np.sqrt(design.n_samples)
    report, _, _ = iterate(design, goal_norm=goal)
    assert report["status"] == Status.CONVERGED and report["gradient_norm"] <= goal
    # the count of such an iteration moves by a third when a last bit does
    assert 0.5 * STEPS[name] < report["n_iter"] < 1.5 * STEPS[name]
    assert report["n_reads"] == report["n_iter"] + 1


def test_the_papers_rule_takes_more_steps():
    design = Design(rows_of(signed_design("spiral")))
    goal = 1e-4 * np.sqrt(design.n_samples)
    adaptive, _, _ = iterate(design, goal_norm=goal)
    papers, history, _ = iterate(design, goal_norm=goal, rule="spectral-paper", max_iter=5000)
    assert history[1, 4] in 0.5 ** np.arange(30)  # first step 1, halved
    assert papers["n_iter"] > 1.5 * adaptive["n_iter"]
    value = history[:, 1] - history[:, 2]  # gap less the best primal: the dual
    assert np.all(np.diff(value) <= 1e-9 * np.abs(value[1:]))  # monotone


@pytest.mark.parametrize("inequality", [False, True])
@pytest.mark.parametrize("rule", RULES)
def test_compiled_and_numpy_take_the_same_steps(rule, inequality):
    if backend.name != "compiled":
        pytest.skip("the compiled kernels are not built here")
    design = Design(rows_of(signed_design("moons")), constant=False)
    options = dict(loss=Loss(0.1, inequality), rule=rule, max_iter=25)
    _, compiled, _ = iterate(design, **options)
    _, reference, _ = iterate(design, module=numpy_spectral, **options)
    np.testing.assert_allclose(compiled[:, 2:], reference[:, 2:], rtol=1e-7)


def test_scaled_and_signed_designs_take_the_same_steps():
    D = np.random.default_rng(3).standard_normal((200, 6)) * 10.0 ** np.arange(6) + 100
    sign = np.where(np.arange(200) % 3, 1, -1)
    mean, scale = D.mean(axis=0), D.std(axis=0)
    plain = sign[:, None] * np.column_stack([(D - mean) / scale, np.ones(200)])
    designs = [
        (Design(rows_of(plain)), 1),
        (Design(rows_of(D), mean, scale, constant=True), sign),
        (Design(rows_of(sp.csr_array(D)), mean, scale, constant=True), sign),
        (Design(rows_of(D).centred(mean), None, scale, constant=True), sign),
    ]
    histories = [iterate(d, sign=s, max_iter=15)[1][:, 2:] for d, s in designs]
    for history in histories[1:]:
        np.testing.assert_allclose(history, histories[0], rtol=1e-6)


@pytest.mark.parametrize("inequality", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_same_bits_from_every_number_of_threads(sparse, inequality):
    D = np.random.default_rng(0).standard_normal((30_000, 9))
    D[:, 0] += 0.5
    rows = rows_of(sp.csr_array(np.where(np.abs(D) < 0.8, 0, D))) if sparse else rows_of(D)
    options = dict(loss=Loss(0.1, inequality), max_iter=12)
    _, history, ratio = iterate(Design(rows), n_threads=1, **options)
    for n_threads in (2, 3):
        _, again, multipliers = iterate(Design(rows), n_threads=n_threads, **options)
        np.testing.assert_array_equal(again, history)
        np.testing.assert_array_equal(multipliers, ratio)


@pytest.mark.parametrize("module", dict.fromkeys([numpy_spectral, backend.spectral]))
def test_history_is_thinned_when_full(module):
    design = Design(rows_of(signed_design("blobs")))
    report, history, _ = iterate(design, module=module, max_iter=100, capacity=16)
    assert report["n_iter"] == 100
    np.testing.assert_array_equal(history[:, 0], np.arange(0, 101, 8))


def test_an_exception_in_the_callback_comes_through():
    def callback(*figures):
        raise LookupError("from the callback")

    with pytest.raises(LookupError, match="from the callback"):
        iterate(Design(rows_of(signed_design("blobs"))), callback=callback, max_iter=5)
