"""The numbers: entropy, sweeps, solvers, certificates. Knows nothing of scikit-learn."""

from .outcome import Outcome, Status
from .problem import solve

__all__ = ["Outcome", "Status", "solve"]
