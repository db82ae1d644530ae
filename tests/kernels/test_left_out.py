"""Left-out scores from leverages: the kernels against their twins, for every number of threads."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from entropic.kernels import numpy_left_out
from entropic.kernels.backend import left_out
from entropic.kernels.loss import Loss
from entropic.rows.target import Target


@pytest.mark.parametrize("n_samples", [1, 40_000])
@pytest.mark.parametrize("shared", [True, False])
def test_kernels_match_their_twins_on_every_number_of_threads(n_samples, shared):
    rng = np.random.default_rng(0)
    leverage, margins, log_margins = rng.normal(size=(3, n_samples))
    leverage, weights = np.abs(leverage), 0.3 * rng.random(n_samples)
    at = SimpleNamespace(log_margins=log_margins, hessian_weights=weights)
    at.functional_margins = margins
    each = rng.choice([-1, 1], n_samples), rng.integers(0, 3, n_samples), rng.random(n_samples)
    target = Target.of(Loss(1.0), *(column[:1] if shared else column for column in each))
    shifts = numpy_left_out.shifts(target, at, leverage)
    scores = numpy_left_out.left_out_scores_of(target, margins, shifts[2])
    for n_threads in (1, 2, 3, 8):
        found = left_out.shifts(target, at, leverage, n_threads)
        for values, twin in zip(found, shifts, strict=True):
            assert_allclose(values, twin, rtol=1e-13, atol=1e-15)
        found = left_out.left_out_scores_of(target, margins, shifts[2], n_threads)
        assert_allclose(found[0], scores[0], rtol=1e-13, atol=1e-15)
        assert found[1] == scores[1]
        alone = left_out.left_out_scores_of(target, margins, None, n_threads)
        assert alone == (None, scores[1])
        found = left_out.left_out_scores_by(target, at, leverage, n_threads)
        twin = (*scores, shifts[3], np.sum(np.abs(shifts[2])))
        for values, expected in zip(found, twin, strict=True):
            assert_allclose(values, expected, rtol=1e-13, atol=1e-15)


def test_bits_do_not_depend_on_threads():
    rng = np.random.default_rng(1)
    leverage, log_margins = rng.random((2, 100_000))
    at = SimpleNamespace(log_margins=log_margins, hessian_weights=0.9 * rng.random(100_000))
    at.functional_margins = rng.normal(size=100_000)
    target = Target.of(Loss(1.0))
    for kernel in (left_out.shifts, left_out.left_out_scores_by):
        one = kernel(target, at, leverage)
        for n_threads in (2, 3, 8):
            for found, expected in zip(kernel(target, at, leverage, n_threads), one, strict=True):
                assert_array_equal(found, expected)
