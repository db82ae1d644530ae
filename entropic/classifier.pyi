"""Types of the classifier: its parameters, methods, and what a fit leaves."""

from typing import Any, Literal, Self

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin

from .features.monomials import Monomials
from .features.splines import LinearSplines
from .summary import Summary
from .typing import (
    Batches,
    Callback,
    ClassWeight,
    Constraint,
    Flags,
    Floats,
    Labels,
    Path,
    Rows,
    Solver,
)
from .uncertainty.report import SelectiveReport

class EntropicClassifier(ClassifierMixin, BaseEstimator):
    degree: int
    interaction_only: bool
    n_knots: int
    bound: float
    C: float
    constraint: Constraint
    slack: float
    margin: float
    fit_intercept: bool
    standardize: bool | Literal["auto"]
    monotonic_cst: ArrayLike | None
    class_weight: ClassWeight
    leave_one_out: bool
    certainty: float
    solver: Solver
    tol: float
    max_iter: int | None
    n_jobs: int | None
    warm_start: bool
    verbose: int
    callback: Callback | None

    classes_: Labels
    coef_: Floats
    intercept_: Floats
    scaled_coef_: Floats
    scaled_intercept_: Floats
    monomials_: Monomials
    splines_: LinearSplines | None
    loo_decision_: Floats | None
    band_: Any
    calibration_: Any
    conformal_: Any
    left_out_risk_: Floats
    error_control_: dict[str, Any]
    separation_: Any
    multipliers_: Floats | None
    status_: Any
    converged_: bool
    dual_gap_: Any
    residual_norm_: Any
    objective_: Any
    n_iter_: Any
    n_sweeps_: float
    history_: Any
    n_features_in_: int
    feature_names_in_: Labels

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
    ) -> None: ...
    @property
    def feature_importances_(self) -> Floats: ...
    def fit(self, X: Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self: ...
    def fit_batches(
        self, batches: Batches, classes: ArrayLike | None = None, checkpoint: Path | None = None
    ) -> Self: ...
    def decision_function(self, X: Rows) -> Floats: ...
    def predict(self, X: Rows) -> Labels: ...
    def predict_proba(self, X: Rows) -> Floats: ...
    def predict_log_proba(self, X: Rows) -> Floats: ...
    def score(self, X: Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float: ...
    def in_band(self, X: Rows) -> Flags: ...
    def predict_with_reject(self, X: Rows, reject_label: Any) -> Labels: ...
    def predict_set(self, X: Rows) -> Flags: ...
    def conformalize(self, X: Rows, y: ArrayLike, confidence_level: float = 0.9) -> Self: ...
    def control_error(
        self,
        X: Rows | None = None,
        y: ArrayLike | None = None,
        max_error: float = 0.01,
        confidence_level: float = 0.95,
    ) -> Self: ...
    def selective_report(
        self, X: Rows, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> SelectiveReport: ...
    def summary(self, n_terms: int = 20) -> Summary: ...
    def save(self, path: Path) -> None: ...
