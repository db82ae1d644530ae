"""matplotlib displays: the surface and its band, scores, risk against coverage, reliability, steps.

They follow scikit-learn's manner: ``from_estimator`` and ``from_predictions`` compute what is
shown, take ``ax=`` and return the display, whose ``plot`` draws it again elsewhere. matplotlib
(the ``plot`` extra) is imported only when something is drawn.
"""

from .boundary import BoundaryDisplay
from .curves import (
    ConvergenceDisplay,
    ReliabilityDisplay,
    RiskCoverageDisplay,
)
from .histogram import ScoreHistogramDisplay

__all__ = [
    "BoundaryDisplay",
    "ConvergenceDisplay",
    "ReliabilityDisplay",
    "RiskCoverageDisplay",
    "ScoreHistogramDisplay",
]
