"""The compiled box against its formulas in NumPy, over the whole range of states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from entropic.kernels.backend import Box as Chosen
from entropic.kernels.backend import name as backend
from entropic.kernels.box import Box

pytestmark = [
    pytest.mark.skipif(backend != "compiled", reason="NumPy's box is the specification"),
    pytest.mark.usefixtures("every_level"),
]

SIZES = [1e-300, 1e-9, 1e-3, 0.3, 3.0, 30.0, 700.0, 1e6, 1e200]


def boxes(alpha, n=600):
    rng = np.random.default_rng(0)
    bounds = -rng.uniform(0.1, 3, n), rng.uniform(-0.05, 3, n)
    return Chosen(*bounds, alpha), Box(*bounds, alpha), rng


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 50.0])
@pytest.mark.parametrize("size", SIZES)
def test_what_a_state_means(alpha, size):
    ours, formulas, rng = boxes(alpha)
    state = size * rng.normal(size=600)
    assert_allclose(ours.coef(state), formulas.coef(state), rtol=0, atol=1e-15)
    assert_allclose(
        ours.inverse_hessian_root(state), formulas.inverse_hessian_root(state), rtol=2e-15
    )
    assert_allclose(ours.value(state), formulas.value(state), rtol=1e-14)
    coef = ours.coef(state)
    assert np.all((coef >= ours.lower) & (coef <= ours.upper))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("length", [1e-9, 1e-2, 1.0, 1e3, 1e300])
def test_where_a_move_leads(size, length):
    ours, formulas, rng = boxes(1.0)
    state, move = size * rng.normal(size=600), length * rng.normal(size=600)
    found, wanted = ours.moved(state, move), formulas.moved(state, move)
    # near 0.99 of the half-width the inverse of tanh makes 50 times as much of a rounding; and a
    # state that all but returns to 0 keeps the rounding of where it came from
    room = np.minimum(np.abs(state), 1.0) + np.minimum(np.abs(wanted), 3.0)
    near = np.abs(found - wanted) <= 1e-14 * room + 1e-15 * np.abs(wanted)
    # either side of the last straight place is right
    ratio = np.abs(np.tanh(state) + move / np.cosh(np.minimum(np.abs(state), 300)) ** 2)
    assert np.all(near | (np.abs(ratio - 0.99) < 1e-14))


@pytest.mark.parametrize("size", SIZES[:-1])
@pytest.mark.parametrize("distance", [0.0, 1e-12, 1e-6, 1e-4, 1e-2, 1.0, 29.0, 100.0, 1e5])
def test_the_gap_of_states_near_and_far(size, distance):
    ours, formulas, rng = boxes(0.7)
    state = size * rng.normal(size=600)
    tau = formulas.slope(state + distance * rng.normal(size=600))
    wanted = formulas.gap(state, tau)
    # beyond 1e-4 the formula itself has lost what 1 + p (e^d - 1) rounds off
    assert_allclose(ours.gap(state, tau), wanted, rtol=1e-11)
    assert ours.gap(state, formulas.slope(state)) <= 1e-20


@pytest.mark.parametrize("state", [1e8, 1e16, 1e20, 1e200])
@pytest.mark.parametrize("asked", [-5.0, 0.0, 20.0])
def test_the_gap_from_far_out_on_a_bound(state, asked):
    # all weight on one side, so that the gap is what the other distribution says of that side
    for sign in (-1.0, 1.0):
        for box in (
            Chosen(np.array([-1.0]), np.array([1.0]), 1.0),
            Box(np.array([-1.0]), np.array([1.0]), 1.0),
        ):
            gap = box.gap(np.array([sign * state]), np.array([sign * asked]))
            assert_allclose(gap, np.log1p(np.exp(-2 * asked)), rtol=1e-12)


def test_what_is_no_number_is_no_gap_of_zero():
    ours, _, _ = boxes(1.0, 5)
    state, tau = np.zeros(5), np.zeros(5)
    assert ours.gap(state, tau) == 0
    for worst in (np.nan, np.inf, -np.inf):
        tau[3] = worst
        assert not ours.gap(state, tau) <= 1e250
    state[2] = np.nan
    assert np.isnan(ours.value(state))
    assert_array_equal(np.isnan(ours.coef(state)), np.isnan(state))
    assert_array_equal(np.isnan(ours.moved(state, np.ones(5))), np.isnan(state))


def test_a_state_of_another_length_is_refused():
    ours, _, _ = boxes(1.0, 5)
    with pytest.raises(ValueError, match="state has 4 numbers; 5 are needed"):
        ours.value(np.zeros(4))
