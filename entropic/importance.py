"""How much each feature matters, where coefficients are of monomials."""

from __future__ import annotations

import sys

import numpy as np

# Where scikit-learn looks at coef_ for one column a feature, without asking whether it has that.
SELECTION = "sklearn.feature_selection._base"


class Coefficients:
    """The attribute ``coef_``, which has a column a monomial above degree 1, and with splines.

    ``SelectFromModel``, ``RFE`` and ``RFECV`` take it for one a feature and end in an IndexError.
    They look for ``feature_importances_`` where there is no ``coef_``, so that they alone are told
    that there is none.
    """

    def __get__(self, model, owner=None):
        if model is None:
            return self
        try:
            coef = vars(model)["coef_"]
        except KeyError:
            raise AttributeError(
                f"{type(model).__name__!r} object has no attribute 'coef_'"
            ) from None
        asking = sys._getframe(1).f_globals.get("__name__")
        if asking == SELECTION and (model.monomials_.degree > 1 or model.splines_ is not None):
            raise AttributeError("coef_ has a column a monomial; see feature_importances_")
        return coef

    def __set__(self, model, coef):
        vars(model)["coef_"] = coef


def feature_importances(model):
    """Each feature's share of all scaled coefficients, a product's parted among its factors.

    Parameters
    ----------
    model : fitted EntropicClassifier

    Returns
    -------
    array of shape (n_features,)
        Not negative; its sum is 1, or 0 where all coefficients are.
    """
    sizes = np.abs(vars(model).get("scaled_coef_", model.coef_)).sum(axis=0)
    monomials = model.monomials_
    shares = np.zeros(monomials.n_features_in_)
    if monomials.degree == 1:
        shares = sizes
    else:
        for place, features in enumerate(monomials.factors()):
            np.add.at(shares, list(features), sizes[place] / len(features))
    if model.splines_ is not None:
        shares = model.splines_.sums(shares)
    total = shares.sum()
    return shares / total if total > 0 else shares
