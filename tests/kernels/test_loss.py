"""The loss of a sample: the NumPy formulas against their equation, the kernel against NumPy."""

import numpy as np
import pytest

from entropic.kernels.backend import name as backend
from entropic.kernels.loss import Loss

if backend == "compiled":
    from entropic.kernels import _compiled

pytestmark = pytest.mark.usefixtures("every_level")

SLACKS = 10.0 ** np.arange(-12, 13, 2)
FAR = np.geomspace(1e-300, 1e300, 1501)
REACH = np.concatenate([np.linspace(-60, 60, 2401), FAR, -FAR, [0.0, 1.0, np.nextafter(1, 0)]])


@pytest.mark.parametrize("slack", SLACKS)
def test_log_margin_solves_its_equation(slack):
    x = Loss(slack).log_margin(REACH).astype(np.longdouble)
    assert np.all(np.isfinite(x))
    inside = -1e307 * min(slack, 1.0) < REACH
    size = np.maximum(np.maximum(np.exp(x), np.abs(slack * x)), np.abs(REACH))
    residual = np.abs(np.exp(x) + np.longdouble(slack) * x - REACH) / size
    # rounding ln b alone changes b by eps |ln b|
    assert np.all(residual[inside] <= 1e-15 * (4 + np.abs(x[inside])))


@pytest.mark.skipif(backend != "compiled", reason="tests the compiled kernel")
@pytest.mark.parametrize("inequality", [False, True])
@pytest.mark.parametrize("slack", SLACKS)
def test_kernel_agrees_with_numpy(slack, inequality):

    loss = Loss(slack, inequality)
    expected = loss.log_margin(REACH)
    zeros = np.zeros(len(REACH))
    total, found, _ = _compiled.losses(slack, inequality, REACH, zeros)
    assert total == 0
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-15)
    # values and bends where ln b says how exact they can be
    moderate = np.abs(REACH) < 1e3
    ones = np.ones(moderate.sum())
    total, found, hessian_weights = _compiled.losses(slack, inequality, REACH[moderate], ones)
    flat = found >= -1e-15 if inequality else np.zeros(len(ones), bool)
    np.testing.assert_allclose(
        hessian_weights[~flat], loss.second_derivative(found)[~flat], rtol=1e-14
    )
    assert total == pytest.approx(float(np.sum(loss.value(found))), rel=1e-13)


@pytest.mark.skipif(backend != "compiled", reason="tests the compiled kernel")
@pytest.mark.parametrize("functional_margins", [np.inf, -np.inf, np.nan, 1.7e308, -1.7e308, 5e-324])
def test_kernel_survives_anything(functional_margins):

    for slack in SLACKS:
        for inequality in (False, True):
            total, log_margin, hessian_weights = _compiled.losses(
                slack, inequality, [functional_margins], [0.0]
            )
            assert total == 0 and np.isfinite(log_margin[0]) and hessian_weights[0] == 0
