"""The sweeps in NumPy: the fallback, and the reference for the compiled kernels.

Every function walks the rows in blocks, so that memory stays at one block whatever the data,
and takes any rows object with ``n_samples``, ``n_columns``, ``ranges()`` and
``block(start, stop)``. The compiled module offers the same functions with the same signatures.
Those named ``_each`` are for several problems on the same rows, such as one class against the rest
for every class: they read the rows once for all of them.
Coefficients and gradients have length ``n_columns + 1``: the constant's place is the last.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

# A squared distance of shift and mean, in variances, that costs two digits.
FAR = 100.0


def _part(array, start, stop):
    """Rows ``start:stop`` of a per-sample array, which may have length one for all samples."""
    return array if len(array) == 1 else array[start:stop]


def _scores_of(block, coefs):
    """``Z v + c`` of one block for each row of ``coefs``: an array (n_problems, rows)."""
    return coefs[:, :-1] @ block.T + coefs[:, -1:]


def _add_rmatvec(totals, block, pointwise):
    """Add ``[Z 1]^T`` times each row of ``pointwise`` to the same row of ``totals``."""
    totals[:, :-1] += pointwise @ block
    totals[:, -1] += pointwise.sum(axis=1)


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


def scores_each(rows, coefs, n_threads=1):
    """``scores`` for each row of ``coefs``, in one read.

    Parameters
    ----------
    coefs : array of shape (n_problems, n_columns + 1)

    Returns
    -------
    array of shape (n_problems, n_samples), float64
    """
    coefs = np.asarray(coefs, dtype=np.float64)
    out = np.empty((len(coefs), rows.n_samples))
    for start, stop in rows.ranges():
        out[:, start:stop] = _scores_of(rows.block(start, stop), coefs)
    return out


def scores(rows, coef, n_threads=1):
    """``Z v + c`` for every row.

    Returns
    -------
    array of shape (n_samples,), float64
    """
    return scores_each(rows, coef[None])[0]


def evaluate_each(rows, problems, n_threads=1):
    """``evaluate`` for several problems on the same rows, in one read of them.

    Parameters
    ----------
    problems : list of tuples
        The arguments of ``evaluate`` for each: coef, target, curvature, functional_margins,
        log_margins and hessian_weights. What is asked for may differ from one to the next.

    Returns
    -------
    list of tuples, what ``evaluate`` returns for each
    """
    size = rows.n_columns + 1
    coefs = np.reshape([problem[0] for problem in problems], (len(problems), size))
    values, gradients = [0.0] * len(problems), np.zeros(coefs.shape)
    matrices = [np.zeros((size, size)) if problem[2] else None for problem in problems]
    for start, stop in rows.ranges():
        block = rows.block(start, stop)
        # each problem's pointwise gradient takes the place of its scores
        pointwise = _scores_of(block, coefs)
        for k, (_, target, curvature, *kept) in enumerate(problems):
            sign = _part(target.sign, start, stop)
            weights = _part(target.weights, start, stop)
            t = sign * pointwise[k] - _part(target.offset, start, stop)
            slope = target.loss.log_margin(t)
            values[k] += float(np.sum(weights * target.loss.value(slope)))
            pointwise[k] = sign * weights * slope
            second = None
            if curvature or kept[2] is not None:
                second = weights * target.loss.second_derivative(slope)
            for array, part in zip(kept, (t, slope, second), strict=True):
                if array is not None:
                    array[start:stop] = part
            if curvature:
                _add_curvature(matrices[k], block, second)
        _add_rmatvec(gradients, block, pointwise)
    return list(zip(values, gradients, matrices, strict=True))


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
    kept = functional_margins, log_margins, hessian_weights
    return evaluate_each(rows, [(coef, target, curvature, *kept)])[0]


def newton_steps(rows, design, box, target, state, rules, told):
    """Newton's steps on a small problem: none here, for nothing is gained without a compiler.

    The compiled twin goes from the state as long as each full step with a Cholesky factor, or in
    the equality form a part of it, is accepted, and ends where it is not, at the goal, or where it
    is told to stop.

    Parameters
    ----------
    rows : rows object
    design : (mean, scale, constant)
        Of a Design.
    box : Box
    target : Target
    state : array of shape (n_features,)
    rules : (goal, sharp, armijo, promised, most)
        Gap at which the last step but one has arrived, gap at which none more is needed, shares of
        its slope by which a step must lower the objective (the second in the inequality form, at
        its kink), and how many steps at most.
    told : callable
        Called at every point with gap, objective, length of the step to it and how its direction
        was found; returning True stops.

    Returns
    -------
    tuple or None
        State, coefficients, gradient, curvature and the per-sample arrays (3, n_samples) of the
        last point; its (value, entropy, gap); steps, reads, and whether the last step began at the
        goal. None where no steps are made here.
    """
    return


def sample_sums(target, functional_margins, log_margins, n_threads=1):
    """What a certificate needs of samples with slack, in one read: nothing here, as above.

    Returns
    -------
    squares, multipliers, residuals, least : float
        With ``x = -log_margins``: ``sum q x^2``, ``sum q |x|``, the sum of squares of
        ``t - exp(-x)`` (of samples with weight; in the inequality form where it is negative), and
        the least ``t + offset`` less what rounding may have added. None where there is no compiler.
    """
    return


def changed(before, after, share, most):
    """Places of the numbers that have changed by more than a share of what they are now.

    Returns
    -------
    int64 array or None
        None where they are more than ``most``.
    """
    places = np.flatnonzero(np.abs(after - before) > share * after)
    return None if len(places) > most else places


def hessp_each(rows, problems, n_threads=1):
    """``hessp`` for each pair of Hessian weights and vector, in one read.

    Parameters
    ----------
    problems : list of tuples, the hessian_weights and vector of each

    Returns
    -------
    list of arrays of shape (n_columns + 1,)
    """
    vectors = np.reshape([vector for _, vector in problems], (len(problems), rows.n_columns + 1))
    out = np.zeros(vectors.shape)
    for start, stop in rows.ranges():
        block = rows.block(start, stop)
        pointwise = _scores_of(block, vectors)
        for part, (hessian_weights, _) in zip(pointwise, problems, strict=True):
            part *= hessian_weights[start:stop]
        _add_rmatvec(out, block, pointwise)
    return list(out)


def hessp(rows, hessian_weights, vector, n_threads=1):
    """Hessian times vector: ``[Z 1]^T diag(hessian_weights) [Z 1] vector`` in one read.

    Returns
    -------
    array of shape (n_columns + 1,)
    """
    return hessp_each(rows, [(hessian_weights, vector)])[0]


def rmatvec(rows, pointwise_gradient, n_threads=1):
    """``[Z 1]^T pointwise_gradient``.

    Returns
    -------
    array of shape (n_columns + 1,)
    """
    out = np.zeros((1, rows.n_columns + 1))
    for start, stop in rows.ranges():
        _add_rmatvec(out, rows.block(start, stop), pointwise_gradient[None, start:stop])
    return out[0]


def curvature_each(rows, hessian_weights, n_threads=1):
    """``curvature`` for each of several arrays of Hessian weights, in one read.

    Parameters
    ----------
    hessian_weights : list of arrays of shape (n_samples,)

    Returns
    -------
    list of arrays of shape (n_columns + 1, n_columns + 1), symmetric
    """
    totals = [np.zeros((rows.n_columns + 1, rows.n_columns + 1)) for _ in hessian_weights]
    for start, stop in rows.ranges():
        block = rows.block(start, stop)
        for total, weights in zip(totals, hessian_weights, strict=True):
            _add_curvature(total, block, weights[start:stop])
    return totals


def curvature(rows, hessian_weights, n_threads=1):
    """``[Z 1]^T diag(hessian_weights) [Z 1]`` for weights already known.

    Returns
    -------
    array of shape (n_columns + 1, n_columns + 1), symmetric
    """
    return curvature_each(rows, [hessian_weights])[0]


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


def quadratic_forms_each(rows, problems, n_threads=1):
    """``quadratic_forms`` for each of several roots, in one read.

    Parameters
    ----------
    problems : list of (root, weights)
        k may differ from one root to the next.

    Returns
    -------
    list of arrays of shape (n_samples,)
    """
    out = np.zeros((len(problems), rows.n_samples))
    for start, stop in rows.ranges():
        block = rows.block(start, stop)
        for forms, (root, weights) in zip(out, problems, strict=True):
            wanted = slice(None) if weights is None else np.flatnonzero(weights[start:stop])
            part = block[wanted] @ root[:-1] + root[-1]
            forms[start:stop][wanted] = np.einsum("ij,ij->i", part, part)
    return list(out)


def quadratic_forms(rows, root, weights=None, n_threads=1):
    """``z_i^T A z_i`` for every row, with ``A = root root^T`` and z_i the row and its 1.

    Parameters
    ----------
    root : array of shape (n_columns + 1, k)
    weights : array of shape (n_samples,) or None
        Rows whose weight is 0 are left out: 0 stands for them.

    Returns
    -------
    array of shape (n_samples,)
    """
    return quadratic_forms_each(rows, [(root, weights)])[0]


def cubic_forms(rows, mean, scale, factor, squares, slope, n_threads=1):
    """A cubic form of every standardised row: what scaling the columns anew does to its score.

    With ``phi = (z - mean)/scale`` of n columns and ``v = [phi 1] factor`` it is::

        sum_j phi_j v_j (squares_j phi_j + slope) + v_n v_(n+1) - v_(n+2) + sum_k phi_k v_(n+3+k)

    Parameters
    ----------
    mean : array of shape (n_columns,) or None
        None stands for zeros.
    scale, squares : arrays of shape (n_columns,)
    factor : array of shape (n_columns + 1, width)
        Its columns from ``n_columns + 3`` on, k of them, are those of the last sum.
    slope : float

    Returns
    -------
    array of shape (n_samples,)
    """
    n, out = rows.n_columns, np.empty(rows.n_samples)
    for start, stop in rows.ranges():
        block = rows.block(start, stop)
        # a column a row
        phi = np.array((block.toarray() if sp.issparse(block) else block).T, dtype=np.float64)
        if mean is not None:
            phi -= mean[:, None]
        phi /= scale[:, None]
        v = factor[:-1].T @ phi + factor[-1][:, None]
        found = np.sum(phi * v[:n] * (squares[:, None] * phi + slope), axis=0)
        found += v[n] * v[n + 1] - v[n + 2]
        out[start:stop] = found + np.sum(phi[: len(v) - n - 3] * v[n + 3 :], axis=0)
    return out


def moments(rows, weights, n_threads=1):
    """Weighted mean and variance of every column, in one read or two.

    Parameters
    ----------
    weights : array of shape (n_samples,) or (1,)

    Returns
    -------
    mean, variance : arrays of shape (n_columns,)
    """
    shift = np.zeros(rows.n_columns)
    if rows.columns is None and rows.n_samples:
        middle = rows.n_samples // 2
        shift = rows.block(middle, middle + 1)[0]
    mean, variance, squares = _moments_less(rows, weights, shift)
    if not np.all((mean - shift) ** 2 <= FAR * squares):
        # squares have lost digits to a shift far from the mean
        mean, variance, _ = _moments_less(rows, weights, mean)
    return mean, variance


def _moments_less(rows, weights, shift):
    """Mean and variance from sums of what a shift leaves: exact in a column that is the shift."""
    total = float(weights[0]) * rows.n_samples if len(weights) == 1 else float(weights.sum())
    squares, drift, filled = np.zeros((3, rows.n_columns))
    everything = 0.0
    for start, stop in rows.ranges():
        block = rows.block(start, stop)
        share = np.broadcast_to(_part(weights, start, stop), stop - start) / total
        if sp.issparse(block):
            # stored entries by their own deviation, the zeros of a column together below
            block = block.copy()
            block.sum_duplicates()
            entries = np.repeat(share, np.diff(block.indptr))
            left = block.data - shift[block.indices]
            for sums, terms in ((squares, left**2), (drift, left), (filled, 1.0)):
                sums += np.bincount(block.indices, entries * terms, minlength=rows.n_columns)
            # in the order of a full column's entries, so that nothing is absent from it
            everything += np.bincount(np.zeros(stop - start, dtype=np.intp), share)[0]
        else:
            left = block - shift
            drift += left.T @ share
            squares += np.square(left, out=left).T @ share
    if rows.columns is not None:
        absent = everything - filled
        drift -= absent * shift
        squares += absent * shift**2
    squares -= drift**2
    return shift + drift, np.maximum(squares, 0.0), squares
