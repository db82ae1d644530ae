"""Error among the certain: the promise over many samples of known truth, and the classifier."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import binom

from entropic import EntropicClassifier, load_model
from entropic.uncertainty.error_control import (
    left_out_region,
    left_out_risk,
    p_value,
    proved_region,
    rows_needed,
)
from entropic.uncertainty.ranking import Ranking


class Truth:
    """Normal scores about a mean for each class, some labels flipped, perhaps rounded to a grid."""

    def __init__(self, share=0.5, means=(-1.0, 1.0), flipped=0.0, grid=None):
        self.share, self.means, self.flipped, self.grid = share, means, flipped, grid

    def draw(self, rng, n):
        positive = rng.random(n) < self.share
        scores = rng.normal(size=n) + np.where(positive, self.means[1], self.means[0])
        if self.grid:
            scores = np.round(scores / self.grid) * self.grid
        return scores, positive ^ (rng.random(n) < self.flipped)

    def beyond(self, distance):
        """Share of all rows farther than a distance from 0, and the error among them."""
        edge = max(distance, 0.0) + (self.grid / 2 if self.grid and distance >= 0 else 0.0)
        low, high = ndtr(-edge - np.array(self.means)), ndtr(np.array(self.means) - edge)
        weights = np.array([1 - self.share, self.share])
        covered = weights @ (low + high)
        wrong = weights @ [high[0], low[1]]
        return covered, (wrong + self.flipped * (covered - 2 * wrong)) / covered

    def risk(self, rng, n=600):
        scores, positive = self.draw(rng, n)
        ranking = Ranking.of(scores, positive, np.ones(1))
        return left_out_risk(ranking, (np.sum(~positive), np.sum(positive)))

    def best_coverage(self, rate):
        """Coverage of the widest region that keeps to the rate."""
        if self.beyond(0.0)[1] <= rate:
            return 1.0
        return self.beyond(brentq(lambda d: self.beyond(d)[1] - rate, 0.0, 6.0))[0]


def trials(truth, n, rate, informed=True, count=300):
    """How often the error among the certain was too high, and the mean coverage."""
    too_high, coverage = 0, 0.0
    for seed in range(count):
        rng = np.random.default_rng(seed)
        risk = truth.risk(rng) if informed else None
        scores, positive = truth.draw(rng, n)
        found = proved_region(scores, (scores > 0) != positive, rate, 0.95, risk)
        if found.passed:
            covered, error = truth.beyond(found.distance)
            too_high += error > rate
            coverage += covered
    return too_high, coverage / count


RARE = {"share": 0.04, "means": (-2.6, 0.4)}


@pytest.mark.parametrize("rate", [0.01, 0.05])
@pytest.mark.parametrize("n", [100, 1000, 5000])
@pytest.mark.parametrize(
    "truth",
    [
        Truth(),
        Truth(**RARE),
        Truth(means=(-1.5, 1.5), flipped=0.004),
        Truth(means=(-0.8, 0.8), grid=0.5),
        Truth(**RARE, grid=1.0),
    ],
    ids=["even", "rare", "flipped", "ties", "rare ties"],
)
def test_the_error_among_the_certain_is_rarely_above_what_was_asked(truth, n, rate):
    too_high, _ = trials(truth, n, rate)
    assert too_high <= binom.ppf(0.999, 300, 0.05)
    if n == 1000:  # neither where nothing says where to begin
        too_high, _ = trials(truth, n, rate, informed=False)
        assert too_high <= binom.ppf(0.999, 300, 0.05)


@pytest.mark.parametrize(("rate", "n"), [(0.01, 1000), (0.05, 100), (0.05, 5000)])
def test_where_the_score_says_nothing_the_level_is_used_and_kept(rate, n):
    """The hardest case: every region errs a little too often, so that any that passes is wrong."""
    for informed in (False, True):
        truth = Truth(means=(-9.0, 9.0), flipped=rate * 1.0001)
        too_high, _ = trials(truth, n, rate, informed, 1000)
        assert binom.ppf(0.001, 1000, 0.01) <= too_high <= binom.ppf(0.999, 1000, 0.05)


@pytest.mark.parametrize(
    ("truth", "n", "rate", "part"),
    [
        (Truth(), 1000, 0.05, 0.6),
        (Truth(), 5000, 0.05, 0.85),
        (Truth(**RARE), 5000, 0.01, 0.8),
        (Truth(**RARE), 1000, 0.05, 0.95),
        (Truth(means=(-1.5, 1.5), flipped=0.004), 1000, 0.05, 0.9),
        (Truth(means=(-1.5, 1.5), flipped=0.004), 5000, 0.05, 0.95),
    ],
)
def test_coverage_is_a_good_part_of_that_of_the_best_threshold_in_hindsight(truth, n, rate, part):
    _, coverage = trials(truth, n, rate, count=100)
    assert coverage >= part * truth.best_coverage(rate)


def test_left_out_errors_say_where_to_begin():
    """A strict start fails by one flipped label though looser regions would pass."""
    truth = Truth(means=(-1.5, 1.5), flipped=0.02)
    _, blind = trials(truth, 5000, 0.05, informed=False, count=100)
    _, informed = trials(truth, 5000, 0.05, count=100)
    assert informed > 0.8 * truth.best_coverage(0.05) > 1.5 * blind


@pytest.mark.parametrize(
    ("rate", "level", "expected"),
    [(0.01, 0.95, 299), (0.05, 0.95, 59), (0.5, 0.75, 2), (0.1, 0.9, 22), (0.9, 0.5, 1)],
)
def test_the_fewest_rows(rate, level, expected):
    assert rows_needed(rate, level) == expected
    right = np.zeros(expected, bool)
    scores = np.linspace(1, 2, expected)
    found = proved_region(scores, right, rate, level)
    assert found.passed and found.n_certain == expected and found.distance < 0
    assert not proved_region(scores, ~right, rate, level).passed
    assert not proved_region(scores[1:], right[1:], rate, level).passed


@given(st.integers(1, 3000), st.floats(0, 1), st.floats(0.001, 0.999))
def test_the_p_value_is_the_binomial_tail(n, part, rate):
    wrong = int(part * n)
    assert_allclose(p_value(wrong, n, rate), binom.cdf(wrong, n, rate), rtol=1e-7, atol=1e-12)


def test_rows_of_one_score_stand_or_fall_together():
    scores, wrong = np.repeat([3.0, -1.0], [400, 600]), np.zeros(1000, bool)
    wrong[-50:] = True
    found = proved_region(scores, wrong, 0.01, 0.95)
    assert (found.distance, found.n_certain, found.n_wrong) == (1.0, 400, 0)
    found = proved_region(np.ones(1000), wrong, 0.01, 0.95)
    assert not found.passed and found.n_certain == 1000 and found.n_wrong == 50


@given(
    st.lists(
        st.tuples(st.integers(-4, 4), st.booleans(), st.integers(0, 3)), min_size=1, max_size=30
    )
)
def test_the_risk_of_left_out_scores_is_counted(rows):
    scores, positive, counts = map(np.array, zip(*rows, (1, True, 1), (0, False, 1), strict=True))
    scores = scores / 2.0
    # class weights of 3 and 1 do not change what was observed
    weights = counts * np.where(positive, 3.0, 1.0)
    observed = (np.sum(counts[~positive]), np.sum(counts[positive]))
    risk = left_out_risk(Ranking.of(scores, positive, weights), observed)
    assert risk[0, -1] < 0 and np.all(np.diff(risk[0]) < 0)
    for distance, total, errors in risk.T:
        beyond = counts * (np.abs(scores) > distance)
        assert_allclose(total, np.sum(beyond))
        assert_allclose(errors, np.sum(beyond * ((scores > 0) != positive)), atol=1e-9)


def test_many_left_out_scores_are_kept_in_few_steps():
    rng = np.random.default_rng(0)
    risk = Truth().risk(rng, 100_000)
    assert risk.shape[1] <= 1101 and np.max(np.diff(risk[1])) < 1000
    found = left_out_region(risk, 0.05, 0.95)
    covered, error = Truth().beyond(found.distance)
    assert error < 0.051 and covered > 0.95 * Truth().best_coverage(0.05)


# ---------------------------------------------------------------------- the classifier


def rows(n, seed, share=0.5):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < share
    X = rng.normal(size=(n, 3))
    X[:, 0] += np.where(positive, 1.2, -1.2)
    return X, np.where(positive, "yes", "no")


@pytest.fixture
def model():
    return EntropicClassifier().fit(*rows(400, 0))


def test_everything_follows_the_region(model, tmp_path):
    X, y = rows(3000, 1)
    assert model.control_error(X, y, max_error=0.05) is model
    record = model.error_control_
    certain = ~model.in_band(X)
    wrong = model.predict(X) != y
    assert record["guaranteed"] and record["n_rows"] == 3000
    assert record["n_certain"] == certain.sum() and record["n_wrong"] == wrong[certain].sum()
    assert p_value(record["n_wrong"], record["n_certain"], 0.05) <= 0.05
    # one step wider would not pass, or would be everything
    assert 0.5 < certain.mean() < 1
    new, truth = rows(100_000, 2)
    certain = ~model.in_band(new)
    said = model.predict_with_reject(new, "?")
    assert_array_equal(said[certain], model.predict(new)[certain])
    assert_array_equal(said == "?", ~certain)
    assert np.mean(said[certain] != truth[certain]) <= 0.05
    sets = model.predict_set(new)
    assert_array_equal(sets.sum(axis=1) == 2, ~certain)
    assert_array_equal(sets[certain, 1], said[certain] == "yes")
    assert_allclose(model.selective_report(new, truth).coverage, certain.mean())
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.band_ == model.band_ and loaded.error_control_ == record
    assert_array_equal(loaded.left_out_risk_, model.left_out_risk_)


def test_the_latest_guarantee_holds(model):
    X, y = rows(3000, 1)
    model.control_error(X, y, 0.05)
    controlled = model.band_
    model.conformalize(X, y, 0.99)
    assert not hasattr(model, "error_control_") and model.band_ != controlled
    model.control_error(X, y, 0.05)
    assert not hasattr(model, "conformal_") and model.band_ == controlled
    model.fit(X, y)
    assert not hasattr(model, "error_control_")


def test_too_few_rows_leave_everything_uncertain(model):
    X, y = rows(100, 1)
    with pytest.warns(UserWarning, match=r"100 rows; .* at least 299 certain rows"):
        model.control_error(X, y)
    assert model.in_band(X).all() and model.predict_set(X).all()
    assert model.error_control_["n_certain"] == 0


def test_too_many_errors_leave_everything_uncertain():
    X, y = rows(2000, 0)
    y = np.where(np.random.default_rng(0).random(2000) < 0.2, "yes", y)
    model = EntropicClassifier().fit(X[:500], y[:500])
    with pytest.warns(UserWarning, match=r"surest of 1,500 rows \d+ are wrong; .* least 299"):
        model.control_error(X[500:], y[500:])
    assert model.in_band(X).all()


def test_everything_can_be_certain():
    X, y = rows(2000, 0)
    X[:, 0] *= 20
    model = EntropicClassifier().fit(X[:100], y[:100]).control_error(X[100:], y[100:], 0.2)
    assert not model.in_band(np.r_[X, np.zeros((1, 3))]).any()
    model.coef_, model.intercept_ = model.coef_ * 0, model.intercept_ * 0
    assert_array_equal(model.predict_with_reject(X, "?"), model.predict(X))


def test_left_out_scores_promise_nothing_and_say_so(model):
    with pytest.warns(UserWarning, match="estimate without guarantee"):
        model.control_error(max_error=0.1)
    _, y = rows(400, 0)
    certain = np.abs(model.loo_decision_) >= model.band_[1]
    wrong = (model.loo_decision_ > 0) != (y == "yes")
    record = model.error_control_
    assert not record["guaranteed"] and record["n_rows"] == 400
    assert record["n_certain"] == certain.sum() and record["n_wrong"] == wrong[certain].sum()
    assert p_value(record["n_wrong"], record["n_certain"], 0.1) <= 0.05


def test_left_out_counts_are_repeated_rows():
    X, y = rows(300, 0)
    counts = np.random.default_rng(0).integers(0, 4, 300)
    counts[:20] = 1
    balanced = dict(class_weight="balanced", tol=1e-12)
    weighted = EntropicClassifier(**balanced).fit(X, y, counts)
    repeated = EntropicClassifier(**balanced).fit(np.repeat(X, counts, 0), np.repeat(y, counts))
    assert_allclose(weighted.left_out_risk_, repeated.left_out_risk_, atol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weighted.control_error(max_error=0.1), repeated.control_error(max_error=0.1)
    assert_allclose(weighted.band_, repeated.band_, atol=1e-6)


def test_a_class_that_is_absent_is_named(model):
    X, y = rows(400, 1)
    with pytest.warns(UserWarning, match="no row of yes"):
        model.control_error(X[y == "no"], y[y == "no"], 0.2)
    assert_array_equal(model.classes_, ["no", "yes"])


def test_what_does_not_fit_is_refused(model):
    X, y = rows(400, 1)
    for bad in (0, 1, -0.1, np.nan, "0.1", None):
        with pytest.raises(ValueError, match="max_error"):
            model.control_error(X, y, bad)
        with pytest.raises(ValueError, match="confidence_level"):
            model.control_error(X, y, 0.1, bad)
    with pytest.raises(ValueError, match="y is missing"):
        model.control_error(X)
    with pytest.raises(ValueError, match="X is missing"):
        model.control_error(y=y)
    before = model.band_
    with pytest.raises(ValueError, match="maybe in row 4"):
        model.control_error(X, np.where(np.arange(400) == 4, "maybe", y))
    assert model.band_ == before
