"""The cost model: what it counts, what it chooses, what it refuses."""

import numpy as np
import pytest
import scipy.sparse as sp

from entropic.features.design import Design
from entropic.rows import DenseRows, rows_of
from entropic.rows.listing import Listing
from entropic.rows.monomial_rows import MonomialRows
from entropic.rows.work import Work
from entropic.solvers.cost import check_fits, choose
from entropic.solvers.newton_steps import ConjugateGradientStep

pytestmark = pytest.mark.backend_free

PLENTY = 1 << 40


def test_sparse_sizes_are_counted():
    X = sp.csr_array(np.array([[1.0, 0, 2, 0], [0, 0, 3, 0], [0, 0, 0, 0]]))
    work = Work.of(Design(rows_of(X)))
    assert (work.n_samples, work.n_features, work.entries) == (3, 4, 3)
    assert work.pairs == 3 + 1  # n (n + 1)/2 of rows with 2, 1 and 0 numbers
    assert work.cross == 1 + 3  # of columns with 1, 0, 2 and 0
    assert work.sparse


def test_dense_sizes_never_wrap():
    work = Work.dense(10**9, 10**7)
    assert work.entries == 10**16
    assert work.pairs == 10**9 * 10**7 * (10**7 + 1) // 2
    assert isinstance(work.cholesky_bytes, int)


@pytest.mark.parametrize(
    ("n_samples", "n_features", "kind", "factor"),
    [
        (569, 31, "cholesky", "cholesky"),
        (100_000, 51, "cholesky", "cholesky"),
        (20_000, 501, "cg", "cholesky"),
        (2_000, 5_001, "cg", "dual"),
        (30, 3_000, "dual", "dual"),
        (10**6, 10**6, "cg", None),
    ],
)
def test_dense_choices(n_samples, n_features, kind, factor):
    assert choose(Work.dense(n_samples, n_features), PLENTY) == (kind, factor)


def test_sparse_choices():
    # a9a: 14 of 123 columns a row; text: 78 of 47,236 words
    adult = Work(32_561, 124, 32_561 * 15, 32_561 * 120, 0, sparse=True)
    text = Work(1_000, 47_237, 78_739, 1_000 * 79 * 80 // 2, 3_000_000, sparse=True)
    assert choose(adult, PLENTY) == ("cholesky", "cholesky")
    assert choose(text, PLENTY) == ("cg", "dual")


def test_what_does_not_fit_is_not_chosen():

    work = Work.dense(3_000, 300)
    assert choose(work, work.cholesky_bytes) == ("cg", "cholesky")
    assert choose(work, work.cholesky_bytes - 1) == ("cg", None)
    assert choose(Work.dense(300, 3_000), 16 * 300**2) == ("cg", "dual")


def test_streamed_rows_keep_to_the_features_side():
    work = Work.dense(30, 3_000, random_access=False)
    assert choose(work, PLENTY)[1] == "cholesky"


def test_a_refusal_names_columns_and_bytes():
    columns = 10**20
    with pytest.raises(ValueError, match=rf"{columns} columns would take 9\.6e\+03 EB "):
        choose(Work.dense(10, columns), PLENTY)
    with pytest.raises(ValueError, match="lower degree"):
        check_fits(10**30, 10**31)


def test_monomials_are_priced_as_numbers_that_no_sweep_waits_for():
    rows = MonomialRows(DenseRows(np.zeros((1_000, 20))), Listing(20, 3))
    streamed, stored = Work.of(Design(rows)), Work.dense(*rows.shape)
    assert streamed.curvature == stored.curvature
    assert streamed.sweep < stored.sweep


def test_a_part_of_the_rows_is_priced_as_so_many_rows():
    part, alone = Work.dense(100_000, 100).part(2_000), Work.dense(2_000, 100)
    for name in ("sweep", "curvature", "gram"):
        assert getattr(part, name) == pytest.approx(getattr(alone, name), rel=1e-3)


def test_each_sample_of_rows_must_be_earned_by_more_sweeps_than_the_last():
    step = ConjugateGradientStep(Work.dense(100_000, 1_000), "cholesky")
    first, all_rows = step._price("sample"), step._price("cholesky")
    step.n_samples_taken = 1
    assert step._price("sample") == 4 * first
    assert step._price("cholesky") == all_rows


def test_a_factor_that_takes_no_time_is_not_doubted():
    assert choose(Work.dense(150, 455, streamed=True), PLENTY)[0] != "cg"
