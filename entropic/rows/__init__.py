"""Where the numbers of the rows lie, and the sweep over them.

A *row* here is what is stored; the *design row* that the mathematics speaks of is the row
scaled, signed and given a constant, which is algebra on the outside (features/design.py). Every
kernel takes coefficients of length ``n_columns + 1``: one a column, the constant last.
"""

from __future__ import annotations

import scipy.sparse as sp

from .dense import DenseRows
from .sparse import SparseRows


def rows_of(matrix):
    """Rows of a dense array or a CSR matrix that has passed the checks."""
    return SparseRows.of(matrix) if sp.issparse(matrix) else DenseRows(matrix)
