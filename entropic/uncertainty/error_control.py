"""Of the rows called certain at most a given share is wrong: the widest region that proves it.

Rows count as certain beyond a distance from the surface. Of n labelled rows beyond it that had no
part in the fit, e are wrong; if the error among such rows were above r, so few would be seen with
a probability of at most ``P[Bin(n, r) <= e]``. Distances are tried from a strict one to looser
ones, each at the whole level, until one fails; the last that passed is the region
(docs/mathematics.md, section 5.6).

References
----------
Y. Geifman, R. El-Yaniv, "Selective classification for deep neural networks", 2017, section 3.
A. Angelopoulos, S. Bates, E. Candès, M. Jordan, L. Lei, "Learn then test: calibrating predictive
algorithms to achieve risk control", 2021, section 2.3 (tests in a fixed sequence).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtrik, betainc

# Distances tried, equally spaced in rows.
STEPS = 50
# Distances at which the errors of left-out scores are kept.
KEPT = 1000
# A level that is met but for rounding counts as met.
ROUNDING = 1 + 1e-12


@dataclass(frozen=True)
class Region:
    """The widest region that passed, or what kept all from passing.

    Attributes
    ----------
    n_rows : int or float
        Labelled rows.
    distance : float
        Scores farther than this from 0 are certain; infinite where no region passed.
    n_certain, n_wrong : int or float
        Rows in the region and errors among them; where none passed, of the one tried first.
    """

    n_rows: float
    distance: float = math.inf
    n_certain: float = 0
    n_wrong: float = 0

    @property
    def passed(self):
        return self.distance < math.inf

    def why_nothing_passed(self, max_error, level):
        """What was found, how many rows it takes, and what helps."""
        needed = rows_needed(max_error, level)
        if self.n_rows < needed:
            found = f"There are {self.n_rows:,.6g} rows"
        elif not self.n_certain:
            found = f"Too many of the {self.n_rows:,.6g} rows have the same score"
        else:
            found = (
                f"Of the {self.n_certain:,.6g} surest of {self.n_rows:,.6g} rows "
                f"{self.n_wrong:,.6g} are wrong"
            )
        return (
            f"{found}; a max_error of {max_error:g} at a confidence_level of {level:g} takes at "
            f"least {needed:,} certain rows, and so few only where all of them are right. Keep "
            "more rows aside, raise max_error or lower confidence_level."
        )


def rows_needed(max_error, level):
    """The fewest rows, all of them right, that prove an error of at most ``max_error``."""
    alpha = (1 - level) * ROUNDING
    n_rows = max(1, math.ceil(math.log(alpha) / math.log1p(-max_error)) - 1)
    while p_value(0, n_rows, max_error) > alpha:
        n_rows += 1
    return n_rows


def p_value(n_wrong, n_rows, rate):
    """``P[Bin(n_rows, rate) <= n_wrong]``; parts of rows count as parts."""
    n_right = np.maximum(np.subtract(n_rows, n_wrong), 0)
    return np.where(n_right > 0, betainc(np.maximum(n_right, 1e-9), n_wrong + 1, 1 - rate), 1.0)


def proved_region(scores, wrong, max_error, level, risk=None):
    """The widest region whose error is at most ``max_error``, by rows kept aside.

    Parameters
    ----------
    scores : array of shape (n_samples,)
        Of rows that had no part in the fit.
    wrong : bool array of shape (n_samples,)
        Rows that lie on the other class's side of 0.
    max_error, level : float
        In (0, 1).
    risk : array of shape (3, n_steps) or None
        Of :func:`left_out_risk`: says where the sequence of tests had best begin. Without it, it
        begins with the fewest rows that can pass.

    Returns
    -------
    Region
    """
    needed, n_rows = rows_needed(max_error, level), len(scores)
    if n_rows < needed:
        return Region(n_rows)
    distance = np.abs(scores)
    order = np.argsort(-distance)
    rising = distance[order[::-1]]
    errors = np.concatenate([[0], np.cumsum(wrong[order])])
    counts = np.unique(np.rint(np.linspace(needed, n_rows, STEPS)).astype(int))
    counts = counts[_start(counts, n_rows, max_error, level, risk) :]
    # The row that gives the distance is not beyond it: given the distance, those that are beyond
    # are as any rows there. Fewer are where it ties with others.
    bounds = np.append(rising, -1.0)[n_rows - 1 - counts]
    beyond = n_rows - np.searchsorted(rising, bounds, side="right")
    tried = beyond >= needed
    bounds, beyond = bounds[tried], beyond[tried]
    return _in_sequence(n_rows, bounds, beyond, errors[beyond], max_error, level)


def left_out_region(risk, max_error, level):
    """The same rule by the left-out scores of the training rows, which prove nothing.

    Parameters
    ----------
    risk : array of shape (3, n_steps)
        Of :func:`left_out_risk`.
    max_error, level : float
        In (0, 1).

    Returns
    -------
    Region
    """
    needed, total = rows_needed(max_error, level), float(risk[1, -1])
    if total < needed:
        return Region(total)
    # counts are sums that may be off by rounding
    steps = np.searchsorted(risk[1] * (1 + 1e-9), np.linspace(needed, total, STEPS))
    steps = np.unique(np.minimum(steps, risk.shape[1] - 1))
    steps = steps[_start(risk[1, steps], total, max_error, level, risk) :]
    return _in_sequence(total, *risk[:, steps], max_error, level)


def left_out_risk(ranking, observed):
    """How many left-out scores lie beyond a distance from 0, and how many of them err.

    Parameters
    ----------
    ranking : Ranking
    observed : pair of float
        Observations of the defective and of the good class. The ranking's weights may be
        others, those of class weights.

    Returns
    -------
    array of shape (3, n_steps)
        Falling distances, the last below 0; observations beyond each; errors among these.
    """
    values = ranking.values
    step = max(1, len(values) // KEPT)
    distance = np.unique(np.abs(values[::step]))[::-1]
    # everything is divided at 0, and a score of 0 is of the defective class
    middle = np.searchsorted(values, 0.0, side="right")
    low = np.append(np.searchsorted(values, -distance, side="left"), middle)
    high = np.append(np.searchsorted(values, distance, side="right"), middle)
    (bad_low, bad_high), (good_low, good_high) = (
        _beside(weight, total, low, high)
        for weight, total in zip((ranking.bad, ranking.good), observed, strict=True)
    )
    errors = bad_high + good_low
    rows = errors + good_high + bad_low
    filled = rows > 0
    return np.array([np.append(distance, -1.0), rows, errors])[:, filled]


def _beside(weight, total, low, high):
    """Observations of a class below the places ``low``, and from the places ``high`` on."""
    below = np.append(0.0, np.cumsum(weight))
    scale = total / below[-1] if below[-1] else 0.0
    return below[low] * scale, (below[-1] - below[high]) * scale


def band(distance):
    """The band of the scores up to a distance from 0, as ``in_band`` has it: open at both ends."""
    if distance < 0:
        return 0.0, math.nextafter(0.0, 1.0)
    upper = math.nextafter(distance, math.inf)
    return -upper, upper


def _start(counts, total, max_error, level, risk):
    """Where to begin: at the region that is likeliest to pass, by what is known beforehand.

    A strict region has few rows and may fail by one error, though looser ones would pass; a loose
    one errs too often. The errors of the left-out scores, at the same share of the rows, say how
    likely each is to pass. They and the number of rows are known before any row kept aside is seen.
    """
    if risk is None:
        return 0
    alpha = (1 - level) * ROUNDING
    allowed = np.floor(np.maximum(bdtrik(alpha, counts, max_error), 0.0)) + 1
    for _ in range(2):  # the inverse is good to one error
        allowed -= p_value(allowed, counts, max_error) > alpha
    rows = counts * (risk[1, -1] / total)
    errors = np.interp(rows, np.append(0.0, risk[1]), np.append(0.0, risk[2]))
    rate = np.minimum((errors + 0.5) / rows, 1.0)
    chance = np.where(allowed < 0, 0.0, p_value(np.maximum(allowed, 0), counts, rate))
    return int(np.argmax(chance))


def _in_sequence(total, distance, rows, wrong, max_error, level):
    """The last region before the first that fails."""
    passed = p_value(wrong, rows, max_error) <= (1 - level) * ROUNDING
    last = int(np.argmin(np.append(passed, False))) - 1
    if last >= 0:
        return Region(total, float(distance[last]), rows[last].item(), wrong[last].item())
    if len(rows):
        return Region(total, n_certain=rows[0].item(), n_wrong=wrong[0].item())
    return Region(total)
