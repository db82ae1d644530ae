"""The sweeps in NumPy: the fallback, and the reference for the compiled kernels.

Every function walks the rows in blocks, so that memory stays at one block whatever the data,
and takes any rows object with ``n_samples``, ``n_columns``, ``ranges()`` and
``block(start, stop)``. The compiled module offers the same functions with the same signatures.
Coefficients and gradients have length ``n_columns + 1``: the constant's place is the last.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def _part(array, start, stop):
    """Rows ``start:stop`` of a per-sample array, which may have length one for all samples."""
    return array if len(array) == 1 else array[start:stop]


def _add_curvature(total, block, hessian_weights):
    """Add ``[Z 1]^T diag(hessian_weights) [Z 1]`` of one block to ``total``."""
    if sp.issparse(block):
        # the same on both sides, so that the result is symmetric to the last bit
        root = block.multiply(np.sqrt(hessian_weights)[:, None]).tocsr()
        total[:-1, :-1] += (root.T @ root).toarray()
    else:
        root = np.sqrt(hessian_weights)[:, None] * block
        total[:-1, :-1] += root.T @ root
    cross = block.T @ hessian_weights
    total[:-1, -1] += cross
    total[-1, :-1] += cross
    total[-1, -1] += hessian_weights.sum()


def scores(rows, coef, n_threads=1):
    """``Z v + c`` for every row.

    Returns
    -------
    array of shape (n_samples,), float64
    """
    out = np.empty(rows.n_samples)
    for start, stop in rows.ranges():
        out[start:stop] = rows.block(start, stop) @ coef[:-1] + coef[-1]
    return out


def evaluate(
    rows,
    coef,
    target,
    curvature=False,
    n_threads=1,
    functional_margins=None,
    log_margins=None,
    hessian_weights=None,
):
    """Loss, gradient and, when asked, curvature in one read of the rows.

    With ``f = Z v + c``, ``t = sign f - offset`` and the loss l of the target::

        value = sum_i q_i l(t_i)     gradient = [Z 1]^T (q sign l'(t))
        curvature = [Z 1]^T diag(q l''(t)) [Z 1]

    Parameters
    ----------
    rows : rows object
    coef : array of shape (n_columns + 1,)
    target : Target
    curvature : bool
    functional_margins, log_margins, hessian_weights : arrays of shape (n_samples,) or None
        Filled with ``t``, ``l'(t)`` and ``q l''(t)`` where given.

    Returns
    -------
    value : float
    gradient : array of shape (n_columns + 1,)
    curvature : array of shape (n_columns + 1, n_columns + 1), symmetric, or None
    """
    size = rows.n_columns + 1
    value, gradient = 0.0, np.zeros(size)
    matrix = np.zeros((size, size)) if curvature else None
    loss = target.loss
    for start, stop in rows.ranges():
        block = rows.block(start, stop)
        sign = _part(target.sign, start, stop)
        weights = _part(target.weights, start, stop)
        t = sign * (block @ coef[:-1] + coef[-1]) - _part(target.offset, start, stop)
        slope = loss.log_margin(t)
        value += float(np.sum(weights * loss.value(slope)))
        pointwise_gradient = sign * weights * slope
        gradient[:-1] += block.T @ pointwise_gradient
        gradient[-1] += pointwise_gradient.sum()
        if functional_margins is not None:
            functional_margins[start:stop] = t
        if log_margins is not None:
            log_margins[start:stop] = slope
        if hessian_weights is not None or curvature:
            part = weights * loss.second_derivative(slope)
            if hessian_weights is not None:
                hessian_weights[start:stop] = part
            if curvature:
                _add_curvature(matrix, block, part)
    return value, gradient, matrix


def hessp(rows, hessian_weights, vector, n_threads=1):
    """Hessian times vector: ``[Z 1]^T diag(hessian_weights) [Z 1] vector`` in one read.

    Returns
    -------
    array of shape (n_columns + 1,)
    """
    out = np.zeros(rows.n_columns + 1)
    for start, stop in rows.ranges():
        block = rows.block(start, stop)
        pointwise = hessian_weights[start:stop] * (block @ vector[:-1] + vector[-1])
        out[:-1] += block.T @ pointwise
        out[-1] += pointwise.sum()
    return out


def rmatvec(rows, pointwise_gradient, n_threads=1):
    """``[Z 1]^T pointwise_gradient``.

    Returns
    -------
    array of shape (n_columns + 1,)
    """
    out = np.zeros(rows.n_columns + 1)
    for start, stop in rows.ranges():
        out[:-1] += rows.block(start, stop).T @ pointwise_gradient[start:stop]
        out[-1] += pointwise_gradient[start:stop].sum()
    return out


def curvature(rows, hessian_weights, n_threads=1):
    """``[Z 1]^T diag(hessian_weights) [Z 1]`` for weights already known.

    Returns
    -------
    array of shape (n_columns + 1, n_columns + 1), symmetric
    """
    total = np.zeros((rows.n_columns + 1, rows.n_columns + 1))
    for start, stop in rows.ranges():
        _add_curvature(total, rows.block(start, stop), hessian_weights[start:stop])
    return total


def gram(rows, diagonal, n_threads=1):
    """``[Z 1] diag(diagonal) [Z 1]^T``: the samples' side of the curvature.

    Parameters
    ----------
    diagonal : array of shape (n_columns + 1,), not negative

    Returns
    -------
    array of shape (n_samples, n_samples), symmetric
    """
    out = np.empty((rows.n_samples, rows.n_samples))
    for start, stop in rows.ranges():
        left = rows.block(start, stop)
        for begin, end in rows.ranges():
            if begin > start:
                break
            right = rows.block(begin, end)
            if sp.issparse(left):
                scaled = left.multiply(diagonal[None, :-1]).tocsr()
                part = (scaled @ right.T).toarray() + diagonal[-1]
            elif begin == start:
                # the same on both sides, so that the result is symmetric to the last bit
                root = left * np.sqrt(diagonal[:-1])
                part = root @ root.T + diagonal[-1]
            else:
                part = (left * diagonal[:-1]) @ right.T + diagonal[-1]
            out[start:stop, begin:end] = part
            out[begin:end, start:stop] = part.T
    return out


def quadratic_forms(rows, root, n_threads=1):
    """``z_i^T A z_i`` for every row, with ``A = root root^T`` and z_i the row and its 1.

    Parameters
    ----------
    root : array of shape (n_columns + 1, k)

    Returns
    -------
    array of shape (n_samples,)
    """
    out = np.empty(rows.n_samples)
    for start, stop in rows.ranges():
        part = rows.block(start, stop) @ root[:-1] + root[-1]
        out[start:stop] = np.einsum("ij,ij->i", part, part)
    return out


def moments(rows, weights, n_threads=1):
    """Weighted mean and variance of every column, in two reads.

    Parameters
    ----------
    weights : array of shape (n_samples,) or (1,)

    Returns
    -------
    mean, variance : arrays of shape (n_columns,)
    """
    total = float(weights[0]) * rows.n_samples if len(weights) == 1 else float(weights.sum())
    mean = np.zeros(rows.n_columns)
    for start, stop in rows.ranges():
        share = np.broadcast_to(_part(weights, start, stop), stop - start) / total
        mean += rows.block(start, stop).T @ share
    # the second read also sums what rounding left of the mean, which a constant column would
    # show as a deviation
    variance, drift, filled = np.zeros((3, rows.n_columns))
    everything = 0.0
    for start, stop in rows.ranges():
        block = rows.block(start, stop)
        share = np.broadcast_to(_part(weights, start, stop), stop - start) / total
        if sp.issparse(block):
            # stored entries by their own deviation, the zeros of a column together below
            block = block.copy()
            block.sum_duplicates()
            entries = np.repeat(share, np.diff(block.indptr))
            left = block.data - mean[block.indices]
            for sums, terms in ((variance, left**2), (drift, left), (filled, 1.0)):
                sums += np.bincount(block.indices, entries * terms, minlength=rows.n_columns)
            # in the order of a full column's entries, so that nothing is absent from it
            everything += np.bincount(np.zeros(stop - start, dtype=np.intp), share)[0]
        else:
            left = block - mean
            drift += left.T @ share
            variance += np.square(left, out=left).T @ share
    if rows.columns is not None:
        absent = everything - filled
        drift -= absent * mean
        variance += absent * mean**2
    return mean + drift, np.maximum(variance - drift**2, 0.0)
