"""Arguments of every type and shape: what solve takes, and what it refuses by name."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from entropic import solve

RNG = np.random.default_rng(0)
D = RNG.standard_normal((20, 3))
FINE = solve(D, slack=0.1).coef
WIDE = np.finfo(np.longdouble).max > np.finfo(np.float64).max
BEYOND = np.longdouble(2.0) ** 2000 if WIDE else np.inf


@pytest.mark.parametrize(
    "rows",
    [
        D.tolist(),
        np.asfortranarray(D),
        D[::-1, ::-1][::-1, ::-1],
        D.astype(">f8"),
        D.astype(np.longdouble),
        sp.coo_array(D),
        sp.csc_matrix(D),
        sp.dok_array(D),
        sp.bsr_array(D),
        np.ma.masked_array(D),
    ],
)
def test_rows_of_any_kind(rows):
    np.testing.assert_allclose(solve(rows, slack=0.1).coef, FINE, atol=1e-9)


@pytest.mark.parametrize("number", [np.float32(0.5), np.longdouble("0.5"), Fraction(1, 2)])
@pytest.mark.parametrize("name", ["slack", "entropy_weight", "tol"])
def test_numbers_of_any_kind(name, number):
    options = dict(slack=0.1) | {name: 0.5}
    expected = solve(D, **options).coef
    np.testing.assert_array_equal(solve(D, **options | {name: number}).coef, expected)


MASKED = np.ma.masked_greater(np.arange(20.0), 15)


@pytest.mark.parametrize(
    ("rows", "options", "named"),
    [
        (np.ma.masked_greater(D, 1), {}, "D has masked entries"),
        (np.full((3, 2), BEYOND), {}, "D contains infinity in row 0, column 0"),
        ([[1, 2], [3]], {}, "D must be a matrix"),
        (sp.coo_array(D[0]), {}, "D must have two dimensions"),
        (D + 0j, {}, "D holds complex"),
        (D, dict(weights=MASKED), "weights has masked entries"),
        (D, dict(weights=[[1], [2, 3]]), "weights must be"),
        (D, dict(weights=1.7e308), "weights has an infinite sum"),
        (D, dict(weights=BEYOND), "weights is not finite"),
        (D, dict(offset=MASKED), "offset has masked entries"),
        (D, dict(offset=np.full(20, BEYOND)), "offset is not finite"),
        (D, dict(upper=MASKED[-3:]), "upper has masked entries"),
        (D, dict(upper=BEYOND), "upper must be finite"),
        (D, dict(upper=10**400), "upper must be"),
        (D, dict(upper=1 + 1j), "upper must be"),
        (D, dict(lower="low"), "lower must be"),
        (D, dict(lower={"a": 1}), "lower must be"),
        (D, dict(lower=sp.csr_array(D)), "lower must be"),
        (D, dict(slack=10**400), "slack=1000"),
        (D, dict(slack=5e-324), "slack=5e-324 is so small.*or 0"),
        (D, dict(tol=10**400), "tol=1000"),
        (D, dict(entropy_weight=10**400), "entropy_weight=1000"),
        (D, dict(entropy_weight=1 / BEYOND), "entropy_weight=.* is out of range"),
    ],
)
def test_what_cannot_be_used_is_named(rows, options, named):
    with pytest.raises(ValueError, match=named):
        solve(rows, **dict(slack=0.1) | options)
