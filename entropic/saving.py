"""A fitted classifier to its file, and the checks of what a file says one was."""

from __future__ import annotations

import copy

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from . import checks
from .features.monomials import Monomials
from .features.splines import LinearSplines
from .model_format import save
from .uncertainty.several import problems_of


class SavingMixin:
    """``save`` for a classifier with the attributes of EntropicClassifier."""

    def save(self, path):
        """Write the fitted classifier to a file that holds no code and no pickle.

        :func:`entropic.load_model` reads it back; its predictions are the same bit by bit. The
        file is written whole or not at all. The callback is not kept.

        Parameters
        ----------
        path : str or path-like

        Raises
        ------
        ValueError
            If the place cannot be written to, or a parameter is no plain data.
        """
        check_is_fitted(self)
        getattr(self, "left_out_risk_", None)  # counts it, where that has not been done yet
        kept = copy.copy(self)
        kept.callback = None  # code; predictions do not need it
        vars(kept).pop("_skl_callbacks", None)
        save(kept, path)

    def _check_loaded(self):
        """Refuse fitted attributes, as of a file, that do not fit each other.

        Parameters that are newer than the file take their defaults.
        """
        for name, value in type(self)().get_params().items():
            vars(self).setdefault(name, value)
        self._check_parameters()
        vars(self).setdefault("splines_", None)
        n_features, classes, names = (
            vars(self).get(name) for name in ("n_features_in_", "classes_", "feature_names_in_")
        )
        if type(n_features) is not int or n_features < 1:
            raise ValueError("its number of features is damaged")
        if not checks.is_array(classes, "biufOUmM", None) or len(classes) < 2:
            raise ValueError("its classes are no labels")
        n_problems = len(problems_of(classes))
        if not checks.is_array(self.coef_, "f", n_problems, None) or not checks.is_array(
            self.intercept_, "f", n_problems
        ):
            raise ValueError("its coefficients have the wrong shape")
        for name in ("scaled_coef_", "scaled_intercept_"):
            own, like = vars(self).get(name), getattr(self, name.removeprefix("scaled_"))
            if own is not None and not checks.is_array(own, "f", *like.shape):
                raise ValueError(f"its {name} has the wrong shape")
        if names is not None and not checks.is_array(names, "O", n_features):
            raise ValueError("its names of features are damaged")
        if type(self.monomials_) is not Monomials:
            raise ValueError("its monomials are of another type")
        n_columns = n_features
        if self.splines_ is not None:
            if type(self.splines_) is not LinearSplines:
                raise ValueError("its splines are of another type")
            self.splines_.check(n_features)
            n_columns = self.splines_.n_columns
        self.monomials_.check(n_columns, self.coef_.shape[1])
        scores = self.decision_function(sp.csr_array((1, n_features)))
        if not np.isfinite(scores).all():
            raise ValueError("its coefficients are not finite")
        self._check_loaded_uncertainty()
        preprocessing = getattr(self, "preprocessing_", None)
        if preprocessing is not None:
            preprocessing.check(self)
