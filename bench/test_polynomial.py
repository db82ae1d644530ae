"""Polynomial fits and predictions as whole processes, and one sweep over monomials.

Each fit runs in a process of its own beside its peers' on the same rows in the same run. The
kernel machine gets 5,000 rows.
"""

import numpy as np
import pytest
from problems import POLYNOMIALS, SMOKE
from whole_process import methods

from entropic.kernels.backend import sweeps
from entropic.kernels.loss import Loss
from entropic.rows import DenseRows
from entropic.rows.listing import Listing
from entropic.rows.monomial_rows import MonomialRows
from entropic.rows.target import Target

N_ROWS, N_FEATURES, DEGREE = (2_000, 8, 3) if SMOKE else (100_000, 20, 3)


@pytest.mark.slow
@pytest.mark.parametrize("problem", POLYNOMIALS)
@pytest.mark.parametrize("method", methods("polynomial fit", next(iter(POLYNOMIALS))))
def test_whole_process(measure_process, problem, method):
    _, n_features, degree = POLYNOMIALS[problem]
    columns = Listing(n_features, degree).n_monomials
    measure_process("polynomial fit", problem, method, monomials=columns)


@pytest.fixture(scope="module")
def rows():
    """Rows of monomials, made as they are read and stored."""
    rng = np.random.default_rng(0)
    streamed = MonomialRows(
        DenseRows(rng.normal(size=(N_ROWS, N_FEATURES))), Listing(N_FEATURES, DEGREE)
    )
    values = np.empty(streamed.shape)
    for start, stop in streamed.ranges():
        values[start:stop] = streamed.block(start, stop)
    return {"streamed": streamed, "stored": DenseRows(values)}


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("kind", ["stored", "streamed"])
def test_sweep(measure, rows, kind, n_threads):
    """The aim: at most 0.3 of the time of a sweep over stored columns."""
    chosen = rows[kind]
    rng = np.random.default_rng(1)
    coef = rng.normal(size=chosen.n_columns + 1) / chosen.n_columns
    target = Target.of(Loss(0.1), rng.choice([-1, 1], N_ROWS))
    problem = f"{N_ROWS:,} × {chosen.n_columns:,} of degree {DEGREE}, {n_threads} threads"
    run = sweeps.evaluate
    measure(
        "monomial sweep", problem, f"{kind} monomials",
        lambda: run(chosen, coef, target, False, n_threads), rounds=7,
    )  # fmt: skip
