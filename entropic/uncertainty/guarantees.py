"""What rows kept aside from the fit guarantee: conformal sets, and the error among the certain."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.utils.validation import check_is_fitted

from entropic import checks
from entropic.labels import check_known_labels

from . import conformal, error_control
from .several import class_scores, probabilities, sureness


class GuaranteesMixin:
    """Bands of a classifier with ``decision_function`` that hold for rows to come.

    One guarantee holds at a time: the latest.
    """

    def conformalize(self, X, y, confidence_level=0.9):
        """Give the band a guarantee, from rows that had no part in the fit.

        Split conformal prediction, class by class: if a new row and the calibration rows of its
        class are exchangeable, :meth:`predict_set` holds its class with a probability of at
        least ``confidence_level``, whatever the model and however rare the class. A row is certain
        where exactly one class remains: ``in_band``, ``predict_with_reject`` and
        ``selective_report`` follow, and of two classes so does ``band_``. It takes the place of
        an earlier :meth:`control_error`.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Labels among ``classes_``. With ``n < level/(1 - level)`` rows of a class, no score
            excludes it, and a warning says how many are needed; no rows at all is such a case.
        confidence_level : float
            Above 0 and below 1.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the level is out of range, X does not fit the model, or y holds other labels.

        References
        ----------
        docs/mathematics.md, section 5.5.
        """
        check_is_fitted(self)
        level = checks.check_level(confidence_level, "confidence_level")
        scores = class_scores(self.decision_function(X))
        codes = check_known_labels(y, self.classes_, len(scores))
        self._forget_guarantees()
        limits = conformal.thresholds(scores, codes, level)
        self.conformal_ = limits
        if len(limits) == 2:
            self.conformal_ = float(-limits[0]), float(limits[1])
            self.band_ = conformal.band(*self.conformal_)
        needed = conformal.rows_needed(level)
        counts = np.bincount(codes, minlength=len(limits))
        few = [
            f"{label!r} has {count}"
            for label, count in zip(self.classes_.tolist(), counts.tolist(), strict=True)
            if count < needed
        ]
        if few:
            hidden = "it" if len(few) == 1 else "them"
            if len(few) == len(limits):
                hidden = "either class" if len(few) == 2 else "any class"
                hidden += ", so that every row is uncertain"
            _warn(
                f"A confidence level of {level:g} needs {needed} calibration rows of each class; "
                f"{' and '.join(few)}. No score excludes {hidden}; "
                "calibrate on more rows or lower confidence_level."
            )
        return self

    def control_error(self, X=None, y=None, max_error=0.01, confidence_level=0.95):
        """Make the certain region the widest of which at most a share is shown to be wrong.

        Rows are certain beyond a distance of their score from 0, which the rows given, kept aside
        from the fit, choose; of several classes, beyond a probability of the best. With a
        probability of at least ``confidence_level`` over the choice of those
        rows, of the rows to come that are certain at most ``max_error`` are wrong, in the long
        run. They must be drawn as the rows to come are, the shares of the classes included, each
        by itself: a row counts once, and there are no weights. That is a bound for all certain
        rows together; the parameter ``certainty`` and :meth:`conformalize` bound something else,
        the error of each class. ``in_band``, ``predict_with_reject``, ``predict_set`` and
        ``selective_report`` follow, and of two classes so does ``band_``. It takes the place of
        an earlier :meth:`conformalize`, whose sets are forgotten.

        Without X and y the same rule is applied to the leave-one-out scores of the training rows,
        with sample weights as numbers of rows, and without class weights. That is a way to choose
        a band, not a guarantee, and a warning says so: the scores are of fits that differ, and
        the model may have been chosen by them (after a search by :class:`EntropicClassifierCV`
        bands of certainty 0.95 and 0.99 erred 1.10 and 1.46 times as often as their count says,
        on 22 data sets).

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features), or None
        y : array of shape (n_samples,) or None
            Labels among ``classes_``.
        max_error : float
            Above 0 and below 1.
        confidence_level : float
            Above 0 and below 1. Where no region passes, which with fewer than
            ``ln(1 - confidence_level)/ln(1 - max_error)`` rows none can (299 for the defaults),
            every row is uncertain, and a warning says how many it takes.

        Returns
        -------
        self
            With ``error_control_``, which says what was counted.

        Raises
        ------
        ValueError
            If a level is out of range, X does not fit the model, y holds other labels, only one
            of the two is given, or neither where the fit left no leave-one-out scores.

        References
        ----------
        docs/mathematics.md, section 5.6; Y. Geifman, R. El-Yaniv, 2017; A. Angelopoulos, S. Bates
        and others, "Learn then test", 2021.
        """
        check_is_fitted(self)
        rate = checks.check_level(max_error, "max_error")
        level = checks.check_level(confidence_level, "confidence_level")
        if (X is None) != (y is None):
            raise ValueError(
                f"{'X' if X is None else 'y'} is missing; give rows kept aside with their labels, "
                "or neither for the leave-one-out scores of the training rows."
            )
        risk = getattr(self, "left_out_risk_", None)
        if X is not None:
            scores = class_scores(self.decision_function(X))
            codes = check_known_labels(y, self.classes_, len(scores))
            wrong = np.argmax(scores, axis=1) != codes
            sure = scores[:, 1]
            if scores.shape[1] > 2:
                sure = sureness(scores, probabilities(scores, vars(self).get("calibration_")))
            found = error_control.proved_region(sure, wrong, rate, level, risk)
            counts = np.bincount(codes, minlength=len(self.classes_))
            for label, count in zip(self.classes_, counts, strict=True):
                if not count:
                    _warn(
                        f"y has no row of {label}: what it shows holds for rows of such a mixture."
                    )
        elif risk is not None:
            found = error_control.left_out_region(risk, rate, level)
            _warn(
                "The certain region rests on leave-one-out scores of the training rows: its error "
                "is an estimate without guarantee. For one, give X and y that had no part in the "
                "fit."
            )
        else:
            raise ValueError(
                "This model has no leave-one-out scores; give X and y that had no part in the fit."
            )
        self._forget_guarantees()
        if len(self.classes_) == 2:
            self.band_ = error_control.band(found.distance)
        self.error_control_ = {
            "sure_above": found.distance,
            "max_error": rate,
            "confidence_level": level,
            "guaranteed": X is not None,
            "n_rows": found.n_rows,
            "n_certain": found.n_certain if found.passed else 0,
            "n_wrong": found.n_wrong if found.passed else 0,
        }
        if not found.passed:
            _warn(f"{found.why_nothing_passed(rate, level)} Every row is uncertain.")
        return self

    def _forget_guarantees(self):
        for name in ("conformal_", "error_control_"):
            vars(self).pop(name, None)


def _warn(message):
    """A UserWarning at the line that called the method."""
    warnings.warn(message, UserWarning, stacklevel=3)
