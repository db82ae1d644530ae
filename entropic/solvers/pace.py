"""How fast the gap falls, in seconds of the cost model of rows/work.py."""

from __future__ import annotations

import math
from collections import deque

# Steps that the pace is taken from: one alone may be lucky, or not.
LAST = 4
# Another method is chosen instead once so much of its time has been spent, and if the rest would
# take so many times as long: Newton's method ends faster than it goes on the way.
TRIED, LONGER = 0.5, 2.0
LEAST = 1e-200  # stands for a goal of zero


class Pace:
    """What the last steps have taken and gained, and what the rest will take if it goes on so.

    Attributes
    ----------
    spent : float
        Seconds so far; whoever spends adds to it.
    """

    def __init__(self):
        self.spent = 0.0
        self.points = deque(maxlen=LAST + 1)

    def spend(self, work, reads=0, factors=0):
        """Count reads of all rows, and factors of the features' matrix with its curvature."""
        self.spent += reads * work.sweep + factors * work.cholesky

    def see(self, gap):
        """Be told of the gap from which the next step leads; only the least so far counts."""
        self.points.append((min(gap, self.points[-1][0] if self.points else gap), self.spent))

    def outrun(self, rival, goal):
        """Whether another method, of so many seconds, is the better choice from here."""
        return self.spent >= TRIED * rival and self.left(goal, 0.0) > LONGER * rival

    def left(self, goal, unknown):
        """Seconds from the last point to the goal: inf where the gap does not fall, 0 at the goal.

        Before ``LAST`` steps have been made it is ``unknown``.
        """
        if len(self.points) <= LAST:
            return unknown
        gap, now = self.points[-1]
        if gap <= max(goal, LEAST):
            return 0.0
        # at the pace of all of them, or that of the last, where steps have just become fast
        seconds_a_gain = min(
            (now - then) / math.log(first / gap) if gap < first else math.inf
            for first, then in (self.points[0], self.points[-2])
        )
        return seconds_a_gain * math.log(gap / max(goal, LEAST))
