"""Scores ranked by class: the kernels against their twins and against counting."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from entropic.kernels import numpy_ranking
from entropic.kernels.backend import ranking
from entropic.uncertainty.ranking import Ranking


@pytest.mark.parametrize("n_bad", [0, 1, 60, 119, 120])
def test_kernels_match_their_twins_and_counting(n_bad):
    rng = np.random.default_rng(n_bad)
    scores = rng.integers(-20, 20, 120) / 7  # many ties, within a class and across
    positive = rng.permutation(120) >= n_bad
    parted, count = ranking.part_by_class(scores, positive)
    assert count == n_bad
    assert_array_equal(np.sort(parted[:n_bad]), np.sort(scores[~positive]))
    parted[:n_bad].sort()
    parted[n_bad:].sort()
    found = ranking.merge_classes(parted, n_bad, 0.5)
    twin = numpy_ranking.merge_classes(parted, n_bad, 0.5)
    values, places = np.unique(scores, return_inverse=True)
    counted = [0.5 * np.bincount(places, own) for own in (~positive, positive)]
    for each, other, expected in zip(found, twin, (values, *counted), strict=True):
        assert_array_equal(each, expected)
        assert_array_equal(other, expected)
    for each, other in zip(ranking.pools(*found[1:]), numpy_ranking.pools(*found[1:]), strict=True):
        assert_array_equal(each, other)


def test_no_scores():
    parted, n_bad = ranking.part_by_class(np.zeros(0), np.zeros(0, dtype=bool))
    assert n_bad == 0
    assert [len(each) for each in ranking.merge_classes(parted, 0, 1.0)] == [0, 0, 0]


def test_a_value_without_weight_stays_within_the_arrays():
    with np.errstate(invalid="ignore"):
        starts, total, good, middle = ranking.pools(np.zeros(1), np.zeros(1))
    assert (starts, total, good, middle) == (0, 0, 0, 0)


def test_every_number_of_threads_ranks_alike():
    rng = np.random.default_rng(0)
    scores, positive = rng.normal(size=50_000).round(4), rng.random(50_000) < 0.3
    one = Ranking.of(scores, positive, np.ones(1))
    for n_threads in (2, 3, 8):
        many = Ranking.of(scores, positive, np.ones(1), n_threads)
        assert_array_equal([many.values, many.bad, many.good], [one.values, one.bad, one.good])
