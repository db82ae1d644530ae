"""A Newton step as the descent sees it: the model it is made of, and what finds its direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .pace import Pace


@dataclass(frozen=True)
class Model:
    """The quadratic model of a Newton step.

    Attributes
    ----------
    root : array of shape (n_features,)
        r.
    gamma : array of shape (n_features,)
        The gradient by w.
    hessian_weights : array of shape (n_samples,) or Recomputed
        c.
    curvature : array of shape (n_features, n_features) or None
        H, where the evaluation brought it along.
    coef : array of shape (n_features,)
        w.
    """

    root: np.ndarray
    gamma: np.ndarray
    hessian_weights: np.ndarray
    curvature: np.ndarray | None
    coef: np.ndarray


class Step:
    """A way to find directions, which remembers what it has found out on the way.

    Attributes
    ----------
    name : str
        What ``Outcome.solver`` reports.
    needs_curvature : bool
        Whether a read of rows that are only streamed should bring its curvature.
    polishes : bool
        Whether directions are cheap enough for one more at the goal.
    tentative : bool
        Whether a direction is given up for another way where it fails.
    takes_samples, keeps : bool
        Whether the next direction takes the Hessian weights of all samples; whether it or the one
        after it does, so that reads should keep them.
    figures : dict
        What the last direction took, for the history.
    """

    name: str
    needs_curvature = polishes = tentative = False
    takes_samples = keeps = True

    def __init__(self):
        self.figures = {}
        self.pace = Pace()

    def see(self, sweep, gap, goal, pace):
        """Be told of the gap from which the next direction leads, of the goal, and of the pace.

        What directions take is added to ``pace.spent``.
        """
        self.pace = pace

    def direction(self, sweep, model, gap, goal):
        """``p`` and ``H dw`` for ``dw = r p``."""
        raise NotImplementedError

    def curvature_at(self, sweep, hessian_weights):
        """The curvature for other Hessian weights, where the last one is near it; else None."""
        return None  # noqa: RET501
