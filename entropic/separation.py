"""Can two classes be separated at all? The question, answered with a proof."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from .classifier import EntropicClassifier
from .kernels.loss import Loss
from .kernels.threads import effective_threads
from .rows.sweep import Sweep
from .rows.target import Target
from .solvers.certificate import Bracket, bracket_margin
from .typing import Rows


def separability(
    X: Rows,
    y: ArrayLike,
    *,
    degree: int = 1,
    interaction_only: bool = False,
    bound: float = 1.0,
    fit_intercept: bool = True,
    standardize: bool | Literal["auto"] = "auto",
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> Bracket:
    """Whether a polynomial surface separates two classes, and by how much at most.

    The margin of coefficients w is ``min_i D_i w``, with D_i the design row of sample i (its
    scaled monomials, the constant last), its sign that of the class. The largest margin of the
    box ``|w_j| <= bound`` is bracketed by two numbers that are proved from the rows, with an
    allowance for every rounding: what the returned coefficients reach, and what no coefficients
    can pass, since for all multipliers ``lambda >= 0`` and w in the box

        min_i D_i w  <=  sum_j bound_j |sum_i lambda_i D_ij| / sum_i lambda_i

    (docs/mathematics.md, section 4.4).

    Parameters
    ----------
    X : array, frame or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
        Labels of two classes.
    degree : int
        Degree of the surface; 1 is a hyperplane.
    interaction_only : bool
        Leave out powers of a single feature above the first.
    bound : float
        Half-width of the box. It is the unit of the margin alone: what is separable in one box
        is so in every other. The constant has ``±4 max(1, bound)``.
    fit_intercept : bool
        Include the constant.
    standardize : bool or "auto"
        Scale every column by its mean and deviation. "auto" does so for dense data.
    sample_weight : array of shape (n_samples,) or None
        Samples of weight 0 are left out.
    n_jobs : int or None
        Threads, as in :class:`~entropic.EntropicClassifier`.

    Returns
    -------
    Bracket
        ``separable`` is True where ``margin > 0``; False where ``margin_bound`` is at most
        ``tolerance``, 1e-9 of the largest ``|D_i w|`` in the box; None where rounding decides.
        ``coef`` and ``multipliers`` are the proofs of the two numbers.

    Raises
    ------
    ValueError
        If X, y or a parameter cannot be used; the message says where and why.
    """
    model = EntropicClassifier(
        degree,
        interaction_only=interaction_only,
        bound=bound,
        fit_intercept=fit_intercept,
        standardize=standardize,
        n_jobs=n_jobs,
    )
    X, positive, weights = model._prepare(X, y, sample_weight)
    design = model._design(X, weights)
    sweep = Sweep(
        design,
        Target.of(Loss(1.0), np.where(positive, 1, -1), weights),
        effective_threads(n_jobs, design.rows.n_entries),
    )
    return bracket_margin(sweep, model._box(design.rows.n_columns), narrow=True)
