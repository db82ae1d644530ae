"""Names of the kinds of arguments and results, for type checkers alone: nothing runs here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

# Arrays, frames, nested lists, and sparse matrices.
Rows: TypeAlias = ArrayLike | sp.sparray | sp.spmatrix
Floats: TypeAlias = NDArray[np.floating[Any]]
Flags: TypeAlias = NDArray[np.bool_]
Labels: TypeAlias = NDArray[Any]
Path: TypeAlias = str | os.PathLike[str]
Constraint: TypeAlias = Literal["inequality", "equality"]
Solver: TypeAlias = Literal["auto", "newton", "spectral", "spectral-paper"]
ClassWeight: TypeAlias = Mapping[Any, float] | Literal["balanced"] | None
# Told of each step; True stops the fit.
Callback: TypeAlias = Callable[[dict[str, Any]], bool | None]
Batches: TypeAlias = Iterable[tuple[Any, ...]] | Callable[[], Iterable[tuple[Any, ...]]]
