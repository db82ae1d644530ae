"""Types of the compiled kernels (src/_compiled.pyx)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..typing import Floats

class RowView:
    @staticmethod
    def dense(values: NDArray[Any], centre: Floats | None = None) -> RowView: ...
    @staticmethod
    def sparse(
        values: NDArray[Any], columns: NDArray[Any], starts: NDArray[Any], n_columns: int
    ) -> RowView: ...
    @staticmethod
    def monomials(
        features: RowView,
        starts: ArrayLike,
        offsets: ArrayLike,
        shift: int,
        factor: Floats | None = None,
    ) -> RowView: ...

class BoxView:
    def __init__(
        self,
        lower: Floats,
        upper: Floats,
        centre: Floats,
        half_width: Floats,
        entropy_weight: float,
    ) -> None: ...
    def coef(self, state: Floats) -> Floats: ...
    def inverse_hessian_root(self, state: Floats) -> Floats: ...
    def value(self, state: Floats) -> float: ...
    def moved(self, state: Floats, move: Floats, straight: float) -> Floats: ...
    def gap(self, state: Floats, tau: Floats) -> float: ...

def simd_levels() -> list[str]: ...
def simd_level() -> str: ...
def set_simd_level(name: str) -> None: ...
def each_call(
    function: Callable[..., Any], arguments: list[tuple[Any, ...]], n_threads: int
) -> list[Any]: ...
def shifts(
    target_: Any, at: Any, leverage: Floats, n_threads: int = 1
) -> tuple[Floats, Floats, Floats, float]: ...
def left_out_scores_of(
    target_: Any, functional_margins: Floats, shift: Floats | None = None, n_threads: int = 1
) -> tuple[Floats | None, float]: ...
def left_out_scores_by(
    target_: Any, at: Any, leverage: Floats, n_threads: int = 1
) -> tuple[Floats, float, float, float]: ...
def part_by_class(scores: ArrayLike, positive: ArrayLike) -> tuple[Floats, int]: ...
def merge_classes(parted: Floats, n_bad: int, unit: float) -> tuple[Floats, Floats, Floats]: ...
def pools(bad: Floats, good: Floats) -> tuple[NDArray[np.int64], Floats, Floats, Floats]: ...
def scores(view: RowView, coef: ArrayLike, n_threads: int = 1) -> Floats: ...
def scores_each(view: RowView, coefs: Sequence[ArrayLike], n_threads: int = 1) -> Floats: ...
def evaluate(
    view: RowView,
    coef: ArrayLike,
    target_: Any,
    curvature: bool = False,
    n_threads: int = 1,
    functional_margins: Floats | None = None,
    log_margins: Floats | None = None,
    hessian_weights: Floats | None = None,
) -> tuple[float, Floats, Floats | None]: ...
def evaluate_each(
    view: RowView, each: list[tuple[Any, ...]], n_threads: int = 1
) -> list[tuple[float, Floats, Floats | None]]: ...
def hessp(
    view: RowView, hessian_weights: ArrayLike, vector: ArrayLike, n_threads: int = 1
) -> Floats: ...
def hessp_each(
    view: RowView, each: list[tuple[ArrayLike, ArrayLike]], n_threads: int = 1
) -> list[Floats]: ...
def rmatvec(view: RowView, pointwise_gradient: ArrayLike, n_threads: int = 1) -> Floats: ...
def curvature(view: RowView, hessian_weights: ArrayLike, n_threads: int = 1) -> Floats: ...
def curvature_each(view: RowView, each: list[ArrayLike], n_threads: int = 1) -> list[Floats]: ...
def gram(view: RowView, scale: ArrayLike, n_threads: int = 1) -> Floats: ...
def quadratic_forms(
    view: RowView, factor: ArrayLike, weights: ArrayLike | None = None, n_threads: int = 1
) -> Floats: ...
def quadratic_forms_each(
    view: RowView, each: Sequence[tuple[ArrayLike, ArrayLike | None]], n_threads: int = 1
) -> list[Floats]: ...
def cubic_forms(
    view: RowView,
    mean: Floats | None,
    scale: Floats,
    factor: Floats,
    squares: Floats,
    slope: float,
    n_threads: int = 1,
) -> Floats | None: ...
def moments(view: RowView, weights: ArrayLike, n_threads: int = 1) -> tuple[Floats, Floats]: ...
def changed(
    before: ArrayLike, after: ArrayLike, share: float, most: int
) -> NDArray[np.int64] | None: ...
def losses(
    slack: float, inequality: bool, functional_margins: ArrayLike, weights: ArrayLike
) -> tuple[float, Floats, Floats]: ...
def sample_sums(
    target_: Any, functional_margins: ArrayLike, log_margins: ArrayLike, n_threads: int = 1
) -> tuple[float, ...]: ...
def iterate(
    view: RowView,
    design: Any,
    target: Any,
    box: Any,
    scaled_multipliers: Floats,
    tau: Floats,
    primal_residual: Floats,
    rule: Any,
    *,
    goal_gap: float,
    goal_norm: float,
    max_iter: int,
    record: Floats,
    n_threads: int = 1,
    callback: Callable[..., Any] | None = None,
) -> dict[str, Any]: ...
def newton_steps(
    view: RowView,
    design: tuple[Floats | None, Floats | None, bool],
    box: BoxView,
    target_: Any,
    state: ArrayLike,
    rules: tuple[Any, ...],
    told: Callable[..., Any],
) -> tuple[Any, ...] | None: ...
