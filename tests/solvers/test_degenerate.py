"""Degenerate problems: each ends finite and certified, or with an error that names the cause."""

import warnings

import certificate
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from entropic import EntropicClassifier, solve
from entropic.solvers.outcome import Status

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 3))
POSITIVE = X[:, 0] + RNG.standard_normal(30) > 0
D = np.where(POSITIVE, 1.0, -1.0)[:, None] * np.c_[X, np.ones(30)]
ALMOST_NOTHING = np.zeros((30, 2))
ALMOST_NOTHING[7, 1] = 3.7e-208


def full(value):
    return np.full(30, value)


CASES = {
    "one sample": (np.array([[1.0, -2.0, 3.0]]), {}),
    "one feature": (D[:, :1], {}),
    "one number": (np.array([[2.0]]), {}),
    "one number on the wrong side": (np.array([[-2.0]]), dict(lower=0.5)),
    "duplicate columns": (np.c_[D, D], {}),
    "a constant column": (np.c_[D, full(5.0)], {}),
    "a column of zeros": (np.c_[D, full(0.0)], {}),
    "nothing but zeros": (np.zeros((10, 3)), {}),
    "collinear columns": (np.c_[D, 2 * D[:, 0] - D[:, 1]], {}),
    "a point with both labels": (np.array([[1.0, 2.0], [-1.0, -2.0], [0.5, 1.0]]), {}),
    "3.7e-208": (ALMOST_NOTHING, {}),
    "entries of 1e-150": (D * 1e-150, {}),
    "subnormal entries": (D * 5e-324, {}),
    "subnormal columns": (D * [1e-310, 1.0, 1e-320, 1.0], {}),
    "entries of a thousand": (D * 875, {}),
    "entries of a million": (D * 1e6, {}),
    "columns far apart": (D * [1e9, 1e-150, 1.0, 1e-310], {}),
    "weights far apart": (D, dict(weights=np.logspace(-3, 3, 30))),
    "weights of 1e-300": (D, dict(weights=full(1e-300))),
    "weights of 1e300": (D, dict(weights=full(1e300))),
    "weights and entropy of 1e300": (D, dict(weights=full(1e300), entropy_weight=1e300)),
    "some weights zero": (D, dict(weights=np.repeat([0.0, 1.0], 15))),
    "bound of 1e6": (D, dict(lower=-1e6, upper=1e6)),
    "bound of 1e-6": (D, dict(lower=-1e-6, upper=1e-6)),
    "a box far from zero": (D, dict(lower=3.0, upper=4.0)),
    "offset above": (D, dict(offset=3.0)),
    "offset below": (D, dict(offset=-3.0)),
    "offset far below": (D, dict(offset=-1e6)),
    "little entropy": (D, dict(entropy_weight=1e-9)),
    "no entropy to speak of": (D, dict(entropy_weight=1e-300)),
    "far less entropy than weights": (D, dict(weights=full(1e300), entropy_weight=1e-300)),
    "far more entropy than weights": (D, dict(weights=full(5e-320), entropy_weight=1e300)),
    "all entropy": (D, dict(entropy_weight=1e12)),
    "empty sparse rows": (sp.csr_array(np.r_[D, np.zeros((3, 4))]), {}),
}
# Asking 3 of margins where none is left: at 1e-12 the multipliers are 3e12, and so their rounding.
# So it is where the box is as wide, for the little entropy in it, as it is for 1e-9.
HARDER = {("offset above", 1e-12), ("little entropy", 1e-12)}


@pytest.mark.parametrize("constraint", ["equality", "inequality"])
@pytest.mark.parametrize("slack", [1e-12, 1e-4, 0.1, 1e12])
@pytest.mark.parametrize("case", CASES)
def test_with_slack(case, slack, constraint):
    rows, options = CASES[case]
    options = dict(slack=slack, constraint=constraint) | options
    outcome = solve(rows, **options)
    if (case, slack) in HARDER and not outcome.converged:
        assert outcome.status is Status.PRECISION and f"{outcome.dual_gap:.1e}" in outcome.message
        assert np.all(np.isfinite(outcome.coef))
        return
    certificate.check(certificate.Problem.of(rows, **options), outcome, 1e-8)


# What gradient steps do not reach in 400.
HARD_BY_GRADIENTS = {
    "columns far apart",
    "weights far apart",
    "entries of a thousand",
    "entries of a million",
    "weights of 1e300",
    "far less entropy than weights",
    "bound of 1e6",
    "little entropy",
    "no entropy to speak of",
}


@pytest.mark.parametrize("constraint", ["equality", "inequality"])
@pytest.mark.parametrize("slack", [1e-12, 0.1, 1e12])
@pytest.mark.parametrize("case", CASES)
def test_gradient_steps(case, slack, constraint):
    rows, options = CASES[case]
    options = dict(slack=slack, constraint=constraint) | options
    outcome = solve(rows, **options, solver="spectral", max_iter=400)
    for values in (outcome.coef, outcome.margins, outcome.multipliers):
        assert np.all(np.isfinite(values))
    assert np.isfinite(outcome.objective) and 0 <= outcome.dual_gap < np.inf
    if outcome.converged or not (slack == 1e-12 or case in HARD_BY_GRADIENTS):
        certificate.check(certificate.Problem.of(rows, **options), outcome, 1e-8)


@pytest.mark.parametrize("constraint", ["equality", "inequality"])
@pytest.mark.parametrize("case", CASES)
def test_the_exact_constraint(case, constraint):
    rows, options = CASES[case]
    options = dict(slack=0.0, constraint=constraint) | options
    outcome = solve(rows, **options)
    for values in (outcome.coef, outcome.margins, outcome.multipliers):
        assert np.all(np.isfinite(values))
    if outcome.converged:
        certificate.check(certificate.Problem.of(rows, **options), outcome, 1e-8)
    else:
        assert outcome.status is Status.NOT_SEPARABLE, outcome.message
        problem = certificate.Problem.of(rows, **options)
        size = np.max(np.abs(problem.D) @ np.maximum(np.abs(problem.lower), problem.upper))
        assert outcome.margin_bound <= max(2e-8 * float(size), 1e-250)


@pytest.mark.parametrize(
    ("rows", "options", "named"),
    [
        (D * 1e150, {}, "The rows hold an entry of size .*divide the columns"),
        (D, dict(lower=-1e100, upper=1e100), "The rows hold an entry of size .*the bounds"),
        (D, dict(offset=1e150), "offset holds an entry"),
        (np.where(D > 2, np.nan, D), {}, "D contains NaN in row"),
        (D, dict(weights=full(0.0)), "weights is zero for every row"),
        (D, dict(weights=full(1e308)), "weights has an infinite sum"),
        (D, dict(weights=np.logspace(-290, 290, 30)), "set the smallest to 0"),
        (D, dict(lower=1.0, upper=1.0), "lower must be below upper"),
        (D, dict(slack=-1.0), "slack"),
        (np.zeros((0, 3)), {}, "at least one row"),
    ],
)
def test_what_has_no_answer_is_named(rows, options, named):
    with pytest.raises(ValueError, match=named):
        solve(rows, **dict(slack=0.1) | options)


@pytest.mark.parametrize("slack", [0.0, 1e-12, 0.1])
def test_sparse_indices_in_any_order(slack):
    order = RNG.permutation(4)
    values = np.c_[D[:, order] / 2, D[:, order] / 2].ravel()
    indices = np.tile(np.r_[order, order], 30)
    matrix = sp.csr_array((values, indices, np.arange(0, 241, 8)), shape=(30, 4))
    before = matrix.data.copy(), matrix.indices.copy(), matrix.indptr.copy()
    outcome = solve(matrix, slack=slack)
    np.testing.assert_allclose(outcome.coef, solve(D, slack=slack).coef, atol=1e-6)
    for part, whole in zip(before, (matrix.data, matrix.indices, matrix.indptr), strict=True):
        np.testing.assert_array_equal(part, whole)


@pytest.mark.parametrize("constraint", ["equality", "inequality"])
@pytest.mark.parametrize("slack", [1e-12, 0.1, 1e12])
@pytest.mark.parametrize("bound", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(
    "data",
    [X, X * [1e100, 1e-100, 1.0], ALMOST_NOTHING, X[:, :1], np.c_[X, X, full(2.0)], 750 + 9 * X],
    ids=["plain", "far apart", "3.7e-208", "one feature", "duplicate", "shifted"],
)
def test_the_estimator(data, bound, slack, constraint):
    model = EntropicClassifier(bound=bound, slack=slack, constraint=constraint)
    with warnings.catch_warnings():
        if slack == 1e-12:
            warnings.simplefilter("ignore", ConvergenceWarning)  # rounding may end it, and says so
        model.fit(data, POSITIVE)
    assert model.status_ in ("converged", "precision")
    assert model.converged_ or slack == 1e-12
    assert np.all(np.isfinite(model.decision_function(data)))


def test_labels_that_contradict_each_other():
    model = EntropicClassifier(constraint="equality", slack=1e-6)
    model.fit([[0.0], [0.0], [1.0], [1.0]], [0, 1, 0, 1])
    assert model.converged_ and np.all(np.abs(model.decision_function([[0.0], [1.0]])) < 1e-9)


def test_the_margins_path_ends_quietly_with_a_coefficient_on_its_bound():
    """A few rows of very unlike weight push coefficients onto the box, where no room is left."""
    for seed in (218, 232, 255, 256):
        rng = np.random.default_rng(seed)
        rows, weights = rng.normal(size=(4, 3)), 10.0 ** rng.integers(-6, 6, 4)
        model = EntropicClassifier(bound=1.0, constraint="equality", slack=0.0)
        model.fit(rows, [0, 1, 1, 0], weights)
        assert np.all(np.isfinite(model.decision_function(rows)))


@pytest.mark.parametrize("weight", [0.3, 1.0, 1e6])
def test_the_message_tells_the_gap_in_the_callers_weights(weight):
    outcome = solve(D, slack=0.1, weights=full(weight), max_iter=1)
    assert outcome.status is Status.MAX_ITER
    for figure in (outcome.dual_gap, 1e-8 * 30 * weight):
        assert f" {figure:.1e}" in outcome.message


@pytest.mark.parametrize("rows", [[62, 27, 12, 715], [38, 63, 883, 9], [19, 14, 11, 292, 11]])
def test_steps_below_the_goal_do_not_lose_it(rows):
    """Raw monomials reach 1e11: to tell the sides of all rows leads where rounding decides."""
    settings = dict(degree=4, standardize=False, bound=1e4, C=1e4, slack=1e-4)
    model = EntropicClassifier(**settings).fit(np.array(rows)[:, None], np.arange(len(rows)) % 2)
    assert model.converged_
