"""What a fitted classifier says of its own certainty: the methods on top of its scores."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from entropic import checks

from . import conformal
from .band import certainty_band, in_band, separation
from .error_control import left_out_risk
from .guarantees import GuaranteesMixin
from .leave_one_out import class_totals, cost, left_out
from .probability import confidence, frequencies, probability
from .ranking import Ranking
from .report import selective_report

# What a fit learns from leave-one-out scores, and has not without them.
LEARNED = ("band_", "calibration_", "left_out_risk_")
NEED_A_BAND = ("band_", "in_band", "predict_with_reject", "predict_set", "selective_report")
NEED_PROBABILITIES = ("calibration_", "predict_proba", "predict_log_proba")
INSTEAD = "conformalize and control_error give a band, from rows that had no part in the fit"


def _learned(name):
    """For ``available_if``: whether a fitted model has an attribute, or its fit would give it."""

    def check(model):
        if "coef_" in vars(model):
            return name in vars(model)
        return name == "band_" or bool(model.leave_one_out)

    return check


class UncertaintyMixin(GuaranteesMixin):
    """Band, probabilities, sets and reports of a classifier with ``decision_function``.

    All of it follows from scores alone: the leave-one-out scores of the training rows, or the
    scores of calibration rows. Without either, what rests on them is not there.
    """

    def __getattr__(self, name):
        """Say why a model lacks what others have."""
        what = "probabilities" if name in NEED_PROBABILITIES else "a band and what follows it"
        if name not in (*NEED_PROBABILITIES, *NEED_A_BAND) or (
            "coef_" not in vars(self) and self.leave_one_out
        ):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        why = "they took more time or memory than there was"
        if not self.leave_one_out:
            why = "leave_one_out is False"
        raise AttributeError(
            f"There is no {name}: {what} need leave-one-out scores, but {why}; {INSTEAD}."
        )

    def _learn_uncertainty(self, sweep, box, outcome, positive, sample_weight):
        """Set what the leave-one-out scores tell: called at the end of a fit.

        Parameters
        ----------
        sweep : Sweep
        box : Box
        outcome : Outcome
        positive : bool array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), (1,) or None
            As the user gave it, before class weights.
        """
        self._forget_uncertainty()
        target, margins = sweep.target, outcome.evaluation.functional_margins
        trained = target.sign * (margins + target.offset)
        self.separation_ = separation(trained, positive, target.weights)
        if not self.leave_one_out:
            return
        scores, rows, self.loo_decision_ = left_out(
            sweep, box, outcome, sample_weight, rescale=True
        )
        if self.loo_decision_ is None:
            self._warn_of_no_scores(sweep, outcome)
            return
        ranking = Ranking.of(scores, positive, rows)
        self._learn_of_ranking(ranking, class_totals(positive, sample_weight))

    def _forget_uncertainty(self):
        for name in LEARNED:
            vars(self).pop(name, None)
        self._forget_guarantees()
        self.loo_decision_ = None

    def _learn_of_ranking(self, ranking, totals):
        """Set what ranked leave-one-out scores tell, for so many observations of each class."""
        self.band_ = certainty_band(ranking, self.certainty)
        self.calibration_ = frequencies(ranking)
        self.left_out_risk_ = left_out_risk(ranking, totals)

    def _warn_of_no_scores(self, sweep, outcome):
        seconds, n_bytes = cost(sweep, outcome)
        warnings.warn(
            f"Leave-one-out scores would take about {seconds:.2g} s and {n_bytes / 2**30:.2g} "
            "GiB and were not made: the model gives scores, but no band and no probabilities. "
            f"leave_one_out=False asks for scores only; {INSTEAD}.",
            UserWarning,
            stacklevel=4,
        )

    def _check_loaded_uncertainty(self):
        """Refuse fitted attributes, as of a file, that no fit could have left."""
        for name in ("band_", "conformal_"):
            pair = vars(self).get(name, (0.0, 0.0))
            numbers = isinstance(pair, tuple) and all(isinstance(limit, float) for limit in pair)
            if not numbers or len(pair) != 2 or np.isnan(pair).any():
                raise ValueError(f"its {name} is not two numbers")
        left_out = vars(self).get("loo_decision_")
        if left_out is not None and not checks.is_array(left_out, "f", None):
            raise ValueError("its loo_decision_ has the wrong shape")
        risk = vars(self).get("left_out_risk_")
        if risk is not None and not (
            checks.is_array(risk, "f", 3, None)
            and np.isfinite(risk).all()
            and np.all(np.diff(risk[1:]) >= 0)
            and np.all(risk[2] >= 0)
            and np.all(risk[1] > 0)
        ):
            raise ValueError("its left_out_risk_ is not a count of errors")
        curve = vars(self).get("calibration_")
        if curve is None:
            return
        if not checks.is_array(curve, "f", 2, None):
            raise ValueError("its calibration has the wrong shape")
        if not (np.all(np.diff(curve) >= 0) and curve[1, 0] > 0 and curve[1, -1] < 1):
            raise ValueError("its calibration is not a rising frequency")

    # ------------------------------------------------------------ probabilities

    @available_if(_learned("calibration_"))
    def predict_proba(self, X):
        """How often rows of such a score were of each class.

        The frequency of ``classes_[1]`` among the leave-one-out scores of the training rows,
        made to rise with the score (isotonic regression) and kept off 0 and 1. It is what was
        seen, weighted as the fit was, class weights included. The likelier class is always the
        one that ``predict`` names, by the sign of the score: where the frequency says otherwise,
        it is taken as one half, but for 1e-9, so that
        ``predict_proba(X)[:, 1] >= 0.5`` exactly where ``predict`` says ``classes_[1]``.

        Returns
        -------
        array of shape (n_samples, 2)
            Columns in the order of ``classes_``; rows sum to 1.

        Notes
        -----
        Beyond the lowest (highest) score of the other class, the n rows of one class that lie
        there give it the probability ``(n + 1)/(n + 2)``, as long as that does not break the
        rise.
        """
        scores = self.decision_function(X)
        good = probability(self.calibration_, scores)
        return np.column_stack([1 - good, good])

    @available_if(_learned("calibration_"))
    def predict_log_proba(self, X):
        """Logarithm of :meth:`predict_proba`.

        Returns
        -------
        array of shape (n_samples, 2)
        """
        return np.log(self.predict_proba(X))

    def _confidence(self, scores):
        """An order of rows by how sure their class is: by distance, where that is all there is."""
        curve = vars(self).get("calibration_")
        return np.abs(scores) if curve is None else confidence(scores, curve)

    # --------------------------------------------------------------- certainty

    @available_if(_learned("band_"))
    def in_band(self, X):
        """Whether each row is uncertain: its score strictly between the bounds of ``band_``.

        Returns
        -------
        bool array of shape (n_samples,)
        """
        return in_band(self.decision_function(X), self.band_)

    @available_if(_learned("band_"))
    def predict_with_reject(self, X, reject_label):
        """The class of the certain rows, and ``reject_label`` for the uncertain ones.

        A row is certain to be of ``classes_[1]`` with a score of the band's upper bound or
        more, of ``classes_[0]`` with one of the lower bound or less. That is what ``predict``
        says as well wherever the band holds the score 0.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        reject_label : str, number or bool
            Of the labels' kind, and none of them.

        Returns
        -------
        array of shape (n_samples,)

        Raises
        ------
        ValueError
            If ``reject_label`` is itself a class, or not of the labels' kind.
        """
        check_is_fitted(self)
        label = checks.check_reject_label(reject_label, self.classes_)
        scores = self.decision_function(X)
        predicted = self.classes_[self._certain_class(scores)]
        predicted = predicted.astype(np.promote_types(predicted.dtype, label.dtype))
        predicted[in_band(scores, self.band_)] = label
        return predicted

    def _certain_class(self, scores):
        """The class on either side of the band, as a place in ``classes_``."""
        return (scores >= self.band_[1]).astype(int)

    @available_if(_learned("band_"))
    def predict_set(self, X):
        """Which classes remain possible for each row.

        After :meth:`conformalize`, the true class of a new row is among them at least as often
        as the confidence level says, for each class by itself. Before, both are where the score
        lies in the band.

        Returns
        -------
        bool array of shape (n_samples, 2)
            Both True: uncertain. Both False, only after ``conformalize``: unlike either class.
        """
        scores = self.decision_function(X)
        limits = getattr(self, "conformal_", None)
        if limits is not None:
            return conformal.possible(scores, *limits)
        uncertain, code = in_band(scores, self.band_), self._certain_class(scores)
        return np.column_stack([uncertain | (code == 0), uncertain | (code == 1)])

    # ------------------------------------------------------------------ report

    @available_if(_learned("band_"))
    def selective_report(self, X, y, sample_weight=None):
        """How the classifier does on labelled rows when it may abstain in the band.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Labels among ``classes_``.
        sample_weight : array of shape (n_samples,) or None

        Returns
        -------
        SelectiveReport
            Coverage, error among the certain, abstention rate, precision and recall of each
            class, and the area under the risk–coverage curve, in which rows are sure in the
            order of the probability of the class that ``predict`` names, or without probabilities
            of their distance from the surface. ``print`` shows it.

        Raises
        ------
        ValueError
            If X does not fit the model, or y holds other labels.
        """
        check_is_fitted(self)
        scores = self.decision_function(X)
        truth = checks.check_known_labels(y, self.classes_, len(scores))
        weights = checks.check_per_sample(
            sample_weight, len(scores), "sample_weight", default=1.0, sign=True
        )
        said = (scores > 0).astype(int)
        return selective_report(
            self.classes_,
            truth,
            ~in_band(scores, self.band_),
            self._certain_class(scores),
            said != truth,
            self._confidence(scores),
            weights,
        )
