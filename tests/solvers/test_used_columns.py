"""Columns that no row fills: found, left out, and put back."""

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from entropic.features.design import Design
from entropic.kernels.backend import Box
from entropic.kernels.loss import Loss
from entropic.rows import rows_of
from entropic.rows.sweep import Sweep
from entropic.rows.target import Target
from entropic.solvers.used_columns import restricted, used_columns


def sweep_of(X, **design):
    return Sweep(Design(rows_of(X), **design), Target.of(Loss(0.1)))


def sparse(n_columns=50, filled=(3, 7, 20)):
    rng = np.random.default_rng(0)
    X = np.zeros((30, n_columns))
    X[:, filled] = rng.normal(size=(30, len(filled)))
    return sp.csr_array(X)


def test_they_are_found_only_where_it_pays():
    assert_array_equal(used_columns(sweep_of(sparse())), [3, 7, 20])
    assert_array_equal(used_columns(sweep_of(sparse(), constant=True)), [3, 7, 20, 50])
    assert used_columns(sweep_of(sparse(4, (0, 1, 2)))) is None
    assert used_columns(sweep_of(np.ones((3, 40)))) is None
    assert used_columns(sweep_of(sp.csr_array((3, 40)))) is None


def test_the_restricted_sweep_is_the_whole_one_on_those_columns():
    mean, scale = np.linspace(0, 1, 50), np.linspace(1, 2, 50)
    whole = sweep_of(sparse(), mean=mean, scale=scale, constant=True)
    used = used_columns(whole)
    box = Box(-np.arange(1.0, 52), np.arange(1.0, 52))
    part, small = restricted(whole, box, used)
    coef = np.zeros(51)
    coef[used] = np.random.default_rng(1).normal(size=4)
    assert_array_equal(small.upper, used + 1.0)
    # a centred empty column is a constant, so that its coefficient would matter: it is zero here
    assert_allclose(part.scores(coef[used]), whole.scores(coef), rtol=1e-13)
    assert part.reads is whole.reads and whole.reads.count == 2
