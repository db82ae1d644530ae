"""What a row's absence does to the scaling of the columns, and that to the row's own score.

Standardised columns have the moments of the training rows. Without row i, of relative weight
``s = q_i/(Q - q_i)``, the mean of column j moves by ``-s phi_ij`` deviations and its deviation by
the factor ``1 + kappa_ij``, ``kappa_ij = s (1 - phi_ij^2)/2``, to first order. The same function
then has other coefficients, ``w + dw_i``, and the box's entropy, which alone knows of the scaling,
another gradient by w (docs/mathematics.md, section 5)::

    dw_ij = kappa_ij w_j                       dw_i0 = -s (f_i - w_0)    the constant, f's mean
    G_i   = (d dw_i/d w)^T h'(w) + h''(w) dw_i

The score follows by ``-phi_i H^-1 G_i / (1 - a_i c_i)``. Of the size of the row's own pull where
the box holds coefficients fast, it is nothing otherwise, and then not computed.

Above degree 1 the features are centred before they are multiplied. Moving the mean of feature a by
``-s x_ia`` deviations turns a monomial m_k into ``m_k + n_ka (-s x_ia) m_(k - e_a)``.
"""

from __future__ import annotations

import numpy as np

from entropic.kernels.backend import sweeps

# Below this part of the typical shift, the effect is left out.
NEGLIGIBLE = 0.01
BLOCK_ENTRIES = 1 << 18


def rescaling(sweep, box, state, root, inverse_root, shift):
    """Change of each row's score for a unit of ``s``, before the others' answer to it.

    Parameters
    ----------
    sweep : Sweep
    box : Box
    state, root : arrays of shape (n_features,)
        The root of the inverse Hessian of the box's entropy, not so small that its inverse square
        overflows.
    inverse_root : array of shape (n_features, n_features)
        ``inverse_root inverse_root^T`` is the inverse of Newton's matrix.
    shift : array of shape (n_samples,)
        Of each row's own score without it, the scaling as it is.

    Returns
    -------
    array of shape (n_samples,) or None
        None where the scaling does not depend on the rows, has no constant to take up a change
        of means, or does not matter.
    """
    design = sweep.design
    if design.scale is None or not design.constant:
        return None
    slope, hessian, coef = box.slope(state), 1 / root**2, box.coef(state)
    stretch = slope + coef * hessian
    stretch[-1] = 0.0
    share = relative_weights(sweep)
    # the size of phi H^-1 G for a row of mean leverage
    size = np.linalg.norm(inverse_root.T @ stretch) * np.linalg.norm(inverse_root)
    if np.mean(share) * size <= NEGLIGIBLE * np.mean(np.abs(shift)):
        return None
    inverse = inverse_root @ inverse_root.T
    moved = _recentring(sweep, design, slope, hessian, coef, share)
    through = None if moved is None else inverse @ moved
    factor = design.factor_to_rows(np.eye(design.n_features))
    out = np.empty(sweep.n_samples)
    step = max(1, BLOCK_ENTRIES // design.n_features)
    for start in range(0, sweep.n_samples, step):
        block = design.rows.block(start, min(start + step, sweep.n_samples))
        phi = block @ factor[:-1] + factor[-1]
        response = phi @ inverse
        above = phi @ coef - coef[-1]
        own = np.einsum("ij,ij->i", response, phi) - response[:, -1]
        effect = 0.5 * (response @ stretch - (response * phi**2) @ stretch)
        effect -= slope[-1] * own + hessian[-1] * above * response[:, -1]
        if through is not None:
            features = phi[:, : through.shape[1]]
            effect -= np.einsum("ij,ij->i", phi @ through, features)
        out[start : start + len(phi)] = -effect
    return out


def relative_weights(sweep):
    """The part of the total weight that each row has."""
    weights = np.broadcast_to(sweep.target.weights, sweep.n_samples)
    weights = weights / weights.max()
    return weights / weights.sum()


def _recentring(sweep, design, slope, hessian, coef, share):
    """``G_i`` for a move of each feature's mean by one deviation, (n_features, n of rows' base).

    With ``m_k -> m_k + n_ka m_(k - e_a)`` the coefficients change by ``dw = T_a w``::

        (T_a w)_(k - e_a) += t w_k           t = n_ka sigma_(k - e_a)/sigma_k
        (T_a w)_k         -= t rho w_k

    where sigma are the monomials' deviations and rho is the correlation of the two.
    """
    rows = design.rows
    listing = getattr(rows, "listing", None)
    if listing is None or rows.columns is not None:
        return None
    powers = np.rint(listing.expand(np.eye(listing.n_features), np.add)).astype(int)
    place = {tuple(power): k for k, power in enumerate(powers.tolist())}
    child, feature = np.nonzero(powers * (powers.sum(axis=1) > 1)[:, None])
    lower = powers[child]
    lower[np.arange(len(child)), feature] -= 1
    parent = np.array([place[tuple(power)] for power in lower.tolist()], dtype=np.intp)
    matrix = design.curvature_from_rows(sweeps.curvature(rows, share, sweep.n_threads))
    ratio = powers[child, feature] * design.scale[parent] / design.scale[child]
    own = ratio * matrix[parent, child]
    moved = np.zeros((len(coef), listing.n_features))
    np.add.at(moved, (parent, feature), ratio * coef[child])
    np.add.at(moved, (child, feature), -own * coef[child])
    moved *= hessian[:, None]
    np.add.at(moved, (child, feature), ratio * slope[parent] - own * slope[child])
    return moved
