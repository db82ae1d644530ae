"""What a row's absence does to the scaling of the columns, and that to the row's own score.

Standardised columns have the moments of the training rows. Without row i, of relative weight
``s = q_i/(Q - q_i)``, the mean of column j moves by ``-s phi_ij`` deviations and its deviation by
the factor ``1 + kappa_ij``, ``kappa_ij = s (1 - phi_ij^2)/2``, to first order. The same function
then has other coefficients, ``w + dw_i``, and the box's entropy, which alone knows of the scaling,
another gradient by w (docs/mathematics.md, section 5.3)::

    dw_ij = kappa_ij w_j                       dw_i0 = -s (f_i - w_0)    the constant, f's mean
    G_i   = (d dw_i/d w)^T h'(w) + h''(w) dw_i

The score follows by ``-phi_i H^-1 G_i / (1 - a_i c_i)``. Of the size of the row's own shift where
the box holds coefficients fast, it is nothing otherwise, and then not computed.

Above degree 1 the features are centred before they are multiplied. With z_ia the scaled feature a
of row i, whose mean moves by ``-s z_ia`` deviations, a monomial m_k of the old features is
``m_k - s z_ia n_ka m_(k - e_a)`` in the new ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from entropic.kernels.backend import sweeps

# Below this part of the typical shift, the effect is left out.
NEGLIGIBLE = 0.01
LEAST_ROOT = 1e-150  # its square, and the inverse of that, are numbers


@dataclass(frozen=True)
class Rescaling:
    """The effect, for all samples of a fit or for a part of them.

    Attributes
    ----------
    coef : array of shape (n_features,)
    inverse : array of shape (n_features, n_features)
        Of Newton's matrix.
    stretch : array of shape (n_features,)
        What a change of the columns' deviations does to the gradient of the box's entropy.
    slope, hessian : float
        Of the box's entropy, at the constant.
    through : array of shape (n_features, n of rows' base) or None
        What a move of each feature's mean does to the coefficients, above degree 1.
    """

    coef: np.ndarray
    inverse: np.ndarray
    stretch: np.ndarray
    slope: float
    hessian: float
    through: np.ndarray | None

    def of(self, sweep):
        """Change of each sample's score for a unit of ``s``, before the others' answer to it.

        Returns
        -------
        array of shape (n_samples,)
        """
        whole = 0.5 * (self.inverse @ self.stretch)
        constant = np.append(self.hessian * self.coef[:-1], 0.0)
        columns = [self.inverse, constant, whole]
        if self.through is not None:
            columns.append(self.through)
        design = sweep.design
        return sweeps.cubic_forms(
            design.rows,
            design.mean,
            design.scale,
            np.column_stack(columns),
            0.5 * self.stretch[:-1],
            self.slope,
            sweep.n_threads,
        )


def rescaling(sweep, box, state, root, inverse_root, typical):
    """What scaling the columns anew adds to each row's own score.

    Parameters
    ----------
    sweep : Sweep
    box : Box
    state, root : arrays of shape (n_features,)
        The root of the inverse Hessian of the box's entropy, kept off 0.
    inverse_root : array of shape (n_features, n_features)
        ``inverse_root inverse_root^T`` is the inverse of Newton's matrix.
    typical : float
        Mean size of the shift of a row's own score without it, the scaling as it is.

    Returns
    -------
    Rescaling or None
        None where the scaling does not depend on the rows, has no constant to take up a change
        of means, or does not matter: as in a box so narrow that no coefficient moves in it.
    """
    if not depends_on_rows(sweep) or np.min(root) < LEAST_ROOT:
        return None
    slope, hessian, coef = box.slope(state), 1 / root**2, box.coef(state)
    stretch = slope + coef * hessian
    stretch[-1] = 0.0
    # the size of phi H^-1 G for a row of mean leverage and mean weight
    size = np.linalg.norm(inverse_root.T @ stretch) * np.linalg.norm(inverse_root)
    if size / sweep.n_samples <= NEGLIGIBLE * typical:
        return None
    inverse = inverse_root @ inverse_root.T
    moved = _recentring(sweep, slope, hessian, coef)
    through = None if moved is None else inverse @ moved
    return Rescaling(coef, inverse, stretch, float(slope[-1]), float(hessian[-1]), through)


def depends_on_rows(sweep):
    """Whether the scaling does, and a constant takes up a change of means."""
    return sweep.design.scale is not None and sweep.design.constant


def _recentring(sweep, slope, hessian, coef):
    """``G_i`` for a move of each feature's mean by one deviation, (n_features, n of rows' base).

    Where the old m_k is ``m_k + n_ka m_(k - e_a)`` in the new features, the coefficients change by
    ``dw = T_a w``::

        (T_a w)_(k - e_a) += t w_k           t = n_ka sigma_(k - e_a)/sigma_k
        (T_a w)_k         -= t rho w_k

    where sigma are the monomials' deviations and rho is the correlation of the two.
    """
    rows, design = sweep.design.rows, sweep.design
    listing = getattr(rows, "listing", None)
    if listing is None or rows.columns is not None:
        return None
    powers = np.rint(listing.expand(np.eye(listing.n_features), np.add)).astype(int)
    place = {tuple(power): k for k, power in enumerate(powers.tolist())}
    child, feature = np.nonzero(powers * (powers.sum(axis=1) > 1)[:, None])
    lower = powers[child]
    lower[np.arange(len(child)), feature] -= 1
    parent = np.array([place[tuple(power)] for power in lower.tolist()], dtype=np.intp)
    near = sweep.in_units(sweep.weight_range[1])
    matrix = near.weight_curvature() / near.total_weight
    ratio = powers[child, feature] * design.scale[parent] / design.scale[child]
    own = ratio * matrix[parent, child]
    moved = np.zeros((len(coef), listing.n_features))
    np.add.at(moved, (parent, feature), ratio * coef[child])
    np.add.at(moved, (child, feature), -own * coef[child])
    moved *= hessian[:, None]
    np.add.at(moved, (child, feature), ratio * slope[parent] - own * slope[child])
    return moved
