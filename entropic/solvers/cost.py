"""What a Newton step costs, by the shape of the data: the model that chooses the linear algebra.

One step of each kind, in the terms of rows/work.py, beyond the sweep that evaluates it (about z
multiply-adds twice, and one solution of ``b + slack ln b = t`` a sample):

    kind      forms and factors                           time                     bytes
    cholesky  I + r D^T diag(c) D r,   N × N              pairs + N^3/3            16 N^2
    dual      I + A A^T, A = sqrt(c) D r,   M × M         cross + M^3/3, 2 sweeps  16 M^2
    cg        nothing: one sweep an iteration             sweeps                   8 (12 N + 4 M)

The bytes are those of the matrix and its factor. Conjugate gradients stop early far from the
solution and gain from every cluster of the spectrum, so their count is not known beforehand;
20 to 60 sweeps in all are usual on standardised or text data, hundreds on badly scaled ones.
So sweeps are made until together they have cost as much as a factor, and then the factor is made
(newton_steps.py): the total is then at most about twice that of the better choice, whichever it
was (docs/mathematics.md, sections 3.5 and 3.6).
"""

from __future__ import annotations

from entropic.rows.memory import check_memory, memory_limit
from entropic.rows.work import factor_time

# A factor in every step is taken without trying conjugate gradients where it adds less than this
# many sweeps to the one that evaluates the step, or so few seconds that a dozen iterations'
# vectors and calls take as long.
CHEAP_FACTOR = 6.0
CHEAP_SECONDS = 1e-3
# A sample of about this many rows a column makes a factor so like the full one that each step by it
# divides the gap by as much; with more, its own solution comes nearer to that of all rows.
ROWS_A_COLUMN, AMPLE_ROWS = 10, 40
# The data must be so many times the sample to be worth its trouble; where they are, it is ample.
SAMPLE_SHARE, AMPLE_SHARE, LARGER_SHARE = 3, 8, 32
# Secant steps (secant.py) are made where another step takes more than so many seconds, and where
# what their sample takes is no more than so many sweeps.
WORTH_A_SAMPLE, SAMPLE_IN_SWEEPS = 1.5e-3, 20
# More rows than begin by their own solution tell a better curvature, as many as take this part of a
# sweep: each step by it then divides the gap by more.
CURVATURE_IN_SWEEPS = 0.25
# Rows of few numbers, whose curvature takes no more than so many sweeps, have no use for a sample
# that leaves columns empty.
FEW_SWEEPS = 4.5
# A read of rows that are only streamed takes about so many times a sweep over them in memory.
STREAMED_FACTOR = 10


def choose(work, limit=None):
    """The kind of step for these sizes.

    Parameters
    ----------
    work : Work
    limit : int or None
        Bytes that may be allocated; None is four fifths of the machine's memory.

    Returns
    -------
    kind : {"cholesky", "dual", "cg"}
        "cg" begins with conjugate gradients; ``factor`` tells which factor it may make.
    factor : {"cholesky", "dual", None}
        The cheaper factor that fits into memory, None if none does.

    Raises
    ------
    ValueError
        If not even the vectors of conjugate gradients, which every kind needs, fit.
    """
    limit = memory_limit() if limit is None else limit
    check_fits(work.n_features, work.cg_bytes, limit)
    fitting = []
    if work.cholesky_bytes <= limit:
        fitting.append((work.cholesky, "cholesky"))
    if work.random_access and work.dual_bytes <= limit:
        fitting.append((work.dual, "dual"))
    if not fitting:
        return "cg", None
    seconds, factor = min(fitting)
    return (factor if is_cheap(work, seconds) else "cg"), factor


def is_cheap(work, seconds):
    """Whether a factor of so many seconds is so little that every step may take one."""
    factor_of_sweep = CHEAP_FACTOR if work.random_access else STREAMED_FACTOR * CHEAP_FACTOR
    return seconds <= max(factor_of_sweep * work.sweep, CHEAP_SECONDS)


def secant_sample(work, kind):
    """How many rows the sample for secant steps has; 0 where it does not pay.

    Parameters
    ----------
    work : Work
    kind : {"cholesky", "cg"}
        The kind of step that they come before.

    Returns
    -------
    int
    """
    n, m = work.n_features, work.n_samples
    size = max(ROWS_A_COLUMN * n, min(AMPLE_ROWS * n, m // AMPLE_SHARE), m // LARGER_SHARE)
    if not work.random_access or SAMPLE_SHARE * size > m:
        return 0
    if kind == "cholesky":
        few = work.sparse and work.curvature <= FEW_SWEEPS * work.sweep
        return size if work.sweep + work.curvature > WORTH_A_SAMPLE and not few else 0
    price = size / m * work.curvature + factor_time(n)
    return size if price <= SAMPLE_IN_SWEEPS * work.sweep else 0


def curvature_sample(work, n_rows):
    """How many rows the curvature of secant steps is of, which begin with a sample of ``n_rows``.

    Parameters
    ----------
    work : Work
    n_rows : int

    Returns
    -------
    int
    """
    share = CURVATURE_IN_SWEEPS * work.sweep / (work.sweep + work.curvature)
    return max(n_rows, int(share * work.n_samples))


def check_fits(n_features, needed, limit=None):
    """Refuse what cannot fit into memory, before it is tried.

    Parameters
    ----------
    n_features : int
        Columns of the design.
    needed : int
        Bytes.

    Raises
    ------
    ValueError
        Naming both numbers.
    """
    check_memory(
        int(needed),
        f"A fit of {int(n_features)} columns",
        "lower degree, use interaction_only or fewer features",
        limit,
    )
