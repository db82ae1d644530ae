"""Types of the search: its parameters, and what it leaves beside the best candidate."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from numpy.typing import ArrayLike

from .classifier import EntropicClassifier
from .typing import Callback, ClassWeight, Constraint, Labels, Solver

SEARCHED: dict[str, str]

class EntropicClassifierCV(EntropicClassifier):
    degrees: Sequence[int] | None
    bounds: Sequence[float]
    Cs: Sequence[float]
    slacks: Sequence[float]
    constraints: Sequence[Constraint]
    scoring: str
    rule: Literal["best", "one-standard-error"]
    cv: int | Iterable[Any] | Any | None
    max_seconds: float | None
    knots: Sequence[int] | None

    best_params_: dict[str, Any]
    best_score_: float
    best_index_: int
    results_: dict[str, Labels]

    def __init__(
        self,
        degrees: Sequence[int] | None = None,
        bounds: Sequence[float] = (0.1, 0.3, 1.0, 3.0),
        Cs: Sequence[float] = (1.0,),
        slacks: Sequence[float] = (10.0,),
        constraints: Sequence[Constraint] = ("inequality",),
        *,
        scoring: Literal[
            "accuracy_log_loss", "neg_log_loss", "accuracy", "balanced_accuracy", "roc_auc"
        ] = "accuracy_log_loss",
        rule: Literal["best", "one-standard-error"] = "best",
        cv: int | Iterable[Any] | Any | None = None,
        max_seconds: float | None = None,
        knots: Sequence[int] | None = None,
        interaction_only: bool = False,
        margin: float = 0.0,
        fit_intercept: bool = True,
        standardize: bool | Literal["auto"] = "auto",
        monotonic_cst: ArrayLike | None = None,
        class_weight: ClassWeight = None,
        leave_one_out: bool = True,
        certainty: float = 1.0,
        solver: Solver = "auto",
        tol: float = 1e-8,
        max_iter: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None: ...
    def expected_seconds(self, n_samples: int, n_features: int, n_classes: int = 2) -> float: ...
