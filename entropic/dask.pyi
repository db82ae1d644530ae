"""Types of the classifier of rows on a cluster; of dask collections it gives dask collections."""

from typing import Any, Literal, Self

from numpy.typing import ArrayLike

from .classifier import EntropicClassifier
from .typing import Callback, ClassWeight, Constraint, Path, Solver

class DaskEntropicClassifier(EntropicClassifier):
    client: Any

    def __init__(
        self,
        degree: int = 1,
        *,
        interaction_only: bool = False,
        n_knots: int = 0,
        bound: float = 2.0,
        C: float = 1.0,
        constraint: Constraint = "inequality",
        slack: float = 10.0,
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
        warm_start: bool = False,
        verbose: int = 0,
        callback: Callback | None = None,
        client: Any = None,
    ) -> None: ...
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, checkpoint: Path | None = None
    ) -> Self: ...
    def decision_function(self, X: Any) -> Any: ...
    def predict(self, X: Any) -> Any: ...
    def predict_proba(self, X: Any) -> Any: ...
    def predict_log_proba(self, X: Any) -> Any: ...
    def in_band(self, X: Any) -> Any: ...
    def predict_set(self, X: Any) -> Any: ...
