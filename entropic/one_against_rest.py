"""Several classes as problems of one against the rest, solved side by side."""

from __future__ import annotations

from .rows.lockstep import Call, in_lockstep

# Problems solved side by side: more would keep more matrices at once, and share no more.
TOGETHER = 32


def side_by_side(n_problems, fit_one, answer, n_awake=1):
    """Fit every problem, the reads of up to ``TOGETHER`` of them made together.

    Parameters
    ----------
    n_problems : int
    fit_one : callable
        Of the place of a problem and of ``ask`` (rows/lockstep.py), which takes its reads.
    answer, n_awake
        As for :func:`in_lockstep`.

    Returns
    -------
    list
        What ``fit_one`` returns of each.
    """
    found = []
    for start in range(0, n_problems, TOGETHER):
        places = range(start, min(start + TOGETHER, n_problems))
        bodies = [lambda ask, at=at: fit_one(at, ask) for at in places]
        found += in_lockstep(bodies, answer, n_awake)
    return found


class Watch:
    """A callback that is told of which class each step is; once it asks to stop, all problems do.

    Parameters
    ----------
    callback : callable or None
    classes : array of shape (n_classes,)
    """

    def __init__(self, callback, classes):
        self.callback, self.labels, self.stopped = callback, classes.tolist(), False

    def of(self, place, ask):
        """The callback of one problem; of those in step, by what takes their requests."""
        if len(self.labels) == 2 or self.callback is None:
            return self.callback

        def told(figures):
            if not self.stopped:
                self.stopped = bool(self.callback({"class": self.labels[place], **figures}))
            return self.stopped

        return told if ask is None else lambda figures: ask(Call(told, figures))
