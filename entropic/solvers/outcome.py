"""What a solver reports: an honest record of where it ended and what that proves."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from entropic.kernels.cached import cached_property
from entropic.rows.sweep import Evaluation


class Status(str, Enum):
    """How a solver ended."""

    CONVERGED = "converged"
    MAX_ITER = "max_iter"  # the budget of steps was used up before the gap reached tol
    PRECISION = "precision"  # rounding allows no further progress and the gap is above tol
    NOT_SEPARABLE = "not_separable"  # slack=0, and no admissible hyperplane separates
    INTERRUPTED = "interrupted"  # the callback asked to stop

    def __str__(self) -> str:
        return self.value


@dataclass
class Outcome:
    """Solution of the entropy problem and its certificate.

    Attributes
    ----------
    coef : array of shape (n_features,)
        Minimiser w, in the units of the design.
    log_margins : array of shape (n_samples,)
        ln b.
    margins : array of shape (n_samples,)
        b, always positive; may underflow to 0 where ``multipliers`` exceeds about 745.
    multipliers : array of shape (n_samples,)
        Dual variables; ``multipliers == -weights * log(margins)``, to the gap where the dual
        was solved.
    objective : float
        Psi(w, b), the value minimised.
    dual_gap : float
        Duality gap with what rounding may hide in it: no less than the distance of ``objective``
        to the optimum; with ``slack=0``, where margins miss their constraint by the residual, to
        first order (docs/mathematics.md, section 4.2).
    residual_norm : float
        ``||D w - b - y||_2``, for the inequality form of its violated part only.
    separation : float
        ``min_i D_i w``: positive proves that the classes are separated.
    margin_bound : float
        With ``status`` NOT_SEPARABLE: no coefficients in the box have a larger margin
        ``min_i (D_i w - y_i)``, as ``multipliers`` of the proof showed. NaN elsewhere.
    status : Status
        A str: "converged", "max_iter", "precision", "not_separable" or "interrupted".
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
    evaluation : Evaluation
        The last sweep, at ``coef``, with its per-sample arrays; with the curvature where the
        solver formed it.
    """

    coef: np.ndarray
    log_margins: np.ndarray = field(repr=False)
    multipliers: np.ndarray = field(repr=False)
    objective: float
    dual_gap: float
    residual_norm: float
    status: Status
    solver: str
    n_iter: int
    n_sweeps: int
    history: dict = field(repr=False)
    message: str = ""
    state: np.ndarray | None = field(default=None, repr=False)
    separation: float = float("nan")
    evaluation: Evaluation | None = field(default=None, repr=False)
    margin_bound: float = float("nan")

    @cached_property
    def margins(self) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.exp(self.log_margins)

    @property
    def converged(self) -> bool:
        return self.status is Status.CONVERGED


def norm(values):
    """The Euclidean norm of numbers whose squares may leave the range of doubles."""
    with np.errstate(over="ignore"):
        squares = float(values @ values)
    if 1e-280 < squares < 1e280 or not len(values):
        return math.sqrt(squares)
    largest = float(np.max(np.abs(values)))
    return largest * float(np.linalg.norm(values / largest)) if largest > 0 else 0.0
