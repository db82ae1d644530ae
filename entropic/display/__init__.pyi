"""Types of the displays."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from ..typing import Flags, Floats, Labels, Rows

__all__ = [
    "BoundaryDisplay",
    "ConvergenceDisplay",
    "ReliabilityDisplay",
    "RiskCoverageDisplay",
    "ScoreHistogramDisplay",
]

class _Display:
    ax_: Axes
    figure_: Figure

class BoundaryDisplay(_Display):
    first: Floats
    second: Floats
    scores: Floats
    band: tuple[float, float] | None
    labels: tuple[str, str]
    points: Floats | None
    codes: Labels | None
    classes: Sequence[Any] | Labels | None
    uncertain: Flags | None
    def __init__(
        self,
        first: Floats,
        second: Floats,
        scores: Floats,
        band: tuple[float, float] | None,
        labels: tuple[str, str],
        points: Floats | None = None,
        codes: Labels | None = None,
        classes: Sequence[Any] | Labels | None = None,
        uncertain: Flags | None = None,
    ) -> None: ...
    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        features: Sequence[int | str] | None = None,
        fixed: Mapping[Any, Any] | None = None,
        grid_resolution: int = 200,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self: ...
    def plot(
        self,
        ax: Axes | None = None,
        *,
        alpha: float | None = None,
        legend: bool = True,
        **kwargs: Any,
    ) -> Self: ...

class ScoreHistogramDisplay(_Display):
    scores: Floats
    codes: Labels
    band: Any
    classes: Sequence[Any] | Labels
    class_label: Any
    def __init__(
        self,
        scores: ArrayLike,
        codes: ArrayLike,
        band: Any = None,
        classes: Sequence[Any] | Labels = (0, 1),
        class_label: Any = None,
    ) -> None: ...
    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Rows,
        y: ArrayLike,
        *,
        class_label: Any = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self: ...
    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        scores: ArrayLike,
        *,
        band: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        class_label: Any = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self: ...
    def plot(self, ax: Axes | None = None, *, bins: Any = 40, **kwargs: Any) -> Self: ...

class RiskCoverageDisplay(_Display):
    coverage: Floats
    risk: Floats
    area: float
    def __init__(self, coverage: Floats, risk: Floats, area: float) -> None: ...
    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Rows, y: ArrayLike, *, ax: Axes | None = None, **kwargs: Any
    ) -> Self: ...
    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        scores: ArrayLike,
        *,
        probability: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self: ...
    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self: ...

class ReliabilityDisplay(_Display):
    predicted: Floats
    observed: Floats
    counts: Floats
    error: float
    labels: tuple[str, str]
    def __init__(
        self,
        predicted: Floats,
        observed: Floats,
        counts: Floats,
        error: float,
        labels: tuple[str, str] = ...,
    ) -> None: ...
    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Rows,
        y: ArrayLike,
        *,
        class_label: Any = None,
        n_bins: int = 10,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self: ...
    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        probability: ArrayLike,
        *,
        labels: ArrayLike | None = None,
        class_label: Any = None,
        n_bins: int = 10,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self: ...
    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self: ...

class ConvergenceDisplay(_Display):
    gap: Any
    goal: float | None
    classes: Sequence[Any] | Labels | None
    def __init__(
        self, gap: Any, goal: float | None = None, classes: Sequence[Any] | Labels | None = None
    ) -> None: ...
    @classmethod
    def from_estimator(
        cls, estimator: Any, *, goal: float | None = None, ax: Axes | None = None, **kwargs: Any
    ) -> Self: ...
    @classmethod
    def from_predictions(
        cls,
        history: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        labels: Sequence[Any] | Labels | None = None,
        goal: float | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self: ...
    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self: ...
