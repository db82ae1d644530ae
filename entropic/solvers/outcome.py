"""What a solver reports: an honest record of where it ended and what that proves."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

EPS = np.finfo(np.float64).eps


class Status(str, Enum):
    """How a solver ended."""

    CONVERGED = "converged"
    MAX_ITER = "max_iter"  # the budget of steps was used up before the gap reached tol
    PRECISION = "precision"  # rounding allows no further progress and the gap is above tol
    NOT_SEPARABLE = "not_separable"  # slack=0, and no admissible hyperplane separates
    INTERRUPTED = "interrupted"  # the callback asked to stop

    def __str__(self):
        return self.value


@dataclass
class Outcome:
    """Solution of the entropy problem and its certificate.

    Attributes
    ----------
    coef : array of shape (n_features,)
        Minimiser w, in the units of the design.
    margins : array of shape (n_samples,)
        b, always positive; may underflow to 0 where ``multipliers`` exceeds about 745.
    multipliers : array of shape (n_samples,)
        Dual variables; ``multipliers == -weights * log(margins)``, to the gap where the dual
        was solved.
    objective : float
        Psi(w, b), the value minimised.
    gap : float
        Duality gap, at least the distance of ``objective`` to the optimum.
    residual_norm : float
        ``||D w - b - y||_2``, for the inequality form of its violated part only.
    separation : float
        ``min_i D_i w``: positive proves that the classes are separated.
    margin_bound : float
        With ``status`` NOT_SEPARABLE: no coefficients in the box have a larger margin
        ``min_i (D_i w - y_i)``, as ``multipliers`` of the proof showed. NaN elsewhere.
    status : Status
    solver : str
        What was run: "newton-cholesky", "newton-dual", "newton-cg", "spectral", ...
    n_iter, n_sweeps : int
        Steps, and reads of all rows.
    history : dict of lists
        One entry a step, and one where each stage of a path starts: "gap", "objective", "step"
        and what the solver adds. Without slack they are those of the problems on the way.
    message : str
        One sentence on the ending.
    state : array of shape (n_features,)
        The solver's own variable u, for warm starts.
    curvature : array of shape (n_features, n_features) or None
        That of the samples at the solution, where the solver formed it and kept it.
    """

    coef: np.ndarray
    margins: np.ndarray
    multipliers: np.ndarray
    objective: float
    gap: float
    residual_norm: float
    status: Status
    solver: str
    n_iter: int
    n_sweeps: int
    history: dict = field(repr=False)
    message: str = ""
    state: np.ndarray | None = field(default=None, repr=False)
    separation: float = float("nan")
    curvature: np.ndarray | None = field(default=None, repr=False)
    margin_bound: float = float("nan")

    @property
    def converged(self):
        return self.status is Status.CONVERGED

    def describe(self, goal, goal_norm):
        """Put status and figures into ``message``; a proof keeps its own words."""
        if self.status is Status.NOT_SEPARABLE:
            return
        figures = dict(gap=self.gap, goal=goal, n_iter=self.n_iter)
        self.message = MESSAGES[self.status].format(**figures)
        if goal_norm < math.inf:
            self.message += (
                f" The residual is {self.residual_norm:.1e}, for a goal of {goal_norm:.1e}."
            )


def norm(values):
    """The Euclidean norm of numbers whose squares may leave the range of doubles."""
    largest = float(np.max(np.abs(values), initial=0.0))
    return largest * float(np.linalg.norm(values / largest)) if largest > 0 else 0.0


def least_score(functional_margins, offset):
    """``min_i D_i w`` from ``D_i w - y_i``, less what rounding may have added to it."""
    lost = np.where(offset == 0, 0.0, EPS * (np.abs(functional_margins) + np.abs(offset)))
    return float(np.min(functional_margins + offset - lost))


# One sentence an ending; filled with the figures of a solver's report and the goal.
MESSAGES = {
    Status.CONVERGED: "The duality gap {gap:.1e} is within the goal {goal:.1e}.",
    Status.MAX_ITER: (
        "After {n_iter} steps the duality gap is {gap:.1e}, above the goal {goal:.1e}; "
        "raise max_iter or tol, or raise slack."
    ),
    Status.PRECISION: (
        "Rounding ended the descent at a duality gap of {gap:.1e}, above the goal {goal:.1e}; "
        "raise tol, raise slack, or scale the columns."
    ),
    Status.INTERRUPTED: (
        "The callback stopped the solver after {n_iter} steps at a duality gap of {gap:.1e}; "
        "the goal was {goal:.1e}."
    ),
}
