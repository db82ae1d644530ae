"""What the training rows score without themselves, from their leverages: in NumPy.

The compiled twins of the same names are in src/left_out.c. A target's arrays of length one stand
for all samples.
"""

from __future__ import annotations

import numpy as np

LARGEST = np.finfo(np.float64).max


def shifts(target, at, leverage, n_threads=1):
    """How far each row has shifted its own functional margin (docs/mathematics.md, section 5.2).

    Parameters
    ----------
    target : Target
    at : Evaluation
        With per-sample arrays.
    leverage : array of shape (n_samples,)
        a.
    n_threads : int

    Returns
    -------
    first_order, left, shift : arrays of shape (n_samples,)
        ``q l' a``; ``1 - a q l''``; and the first over the second.
    least : float
        The least of ``left``.
    """
    with np.errstate(all="ignore"):
        left = 1 - leverage * at.hessian_weights
        first_order = target.weights * at.log_margins * np.minimum(leverage, LARGEST)
        return first_order, left, first_order / left, np.min(left, initial=np.inf)


def left_out_scores_of(target, functional_margins, shift=None, n_threads=1):
    """Scores after a shift of the functional margins, and how far the classes are apart before it.

    Returns
    -------
    scores : array of shape (n_samples,) or None
        None without a shift.
    separation : float
        The lowest score of the good class less the highest of the defective one, without shift:
        of rows with weight.
    """
    margins = functional_margins + target.offset
    counted, trained = target.weights > 0, target.sign * margins
    good = np.min(trained, where=counted & (target.sign > 0), initial=np.inf)
    bad = np.max(trained, where=counted & (target.sign < 0), initial=-np.inf)
    return None if shift is None else target.sign * (margins + shift), good - bad


def left_out_scores_by(target, at, leverage, n_threads=1):
    """The same by the shifts of leverages, as of :func:`shifts`, which are not kept.

    Returns
    -------
    scores : array of shape (n_samples,)
    separation : float
    least : float
    moved : float
        Sum of the sizes of the shifts.
    """
    _, _, shift, least = shifts(target, at, leverage)
    scores, separation = left_out_scores_of(target, at.functional_margins, shift)
    return scores, separation, least, float(np.sum(np.abs(shift)))
