"""The sweeps, compiled where a kernel knows the rows and NumPy's where none does.

Same functions, same signatures as numpy_sweeps, which holds their documentation.
"""

from __future__ import annotations

from entropic import _sweeps  # noqa: F401

from .numpy_sweeps import (  # noqa: F401
    adjoint,
    curvature,
    evaluate,
    moments,
    outer,
    product,
    quadratic,
    scores,
)
