"""What a fitted classifier says of its own certainty: the methods on top of its scores."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from entropic import checks
from entropic.kernels.threads import effective_threads, in_threads
from entropic.labels import check_known_labels, check_reject_label

from . import several
from .band import certainty_band, in_band
from .error_control import left_out_risk
from .guarantees import GuaranteesMixin
from .leave_one_out import as_observations
from .probability import frequencies, probability
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
            # a guarantee says what is certain without a band of several classes
            known = (name,) if name != "band_" else (name, "conformal_", "error_control_")
            return any(one in vars(model) for one in known)
        return name == "band_" or bool(model.leave_one_out)

    return check


class UncertaintyMixin(GuaranteesMixin):
    """Band, probabilities, sets and reports of a classifier with ``decision_function``.

    All of it follows from scores alone: the leave-one-out scores of the training rows, or the
    scores of calibration rows. Without either, what rests on them is not there.
    """

    def __getattr__(self, name):
        """Count ``left_out_risk_`` once it is asked for; say why a model lacks what others have."""
        if name == "left_out_risk_":
            left_out = vars(self).get("_left_out")
            if left_out is not None:
                self.left_out_risk_ = self._count_left_out_errors(*left_out)
                vars(self).pop("_left_out", None)
            if name in vars(self):  # where another thread has been faster, too
                return vars(self)[name]
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

    def _learn_uncertainty(self, learned, codes, sample_weight):
        """Set what the leave-one-out scores tell: called at the end of a fit.

        Parameters
        ----------
        learned : sequence of LeftOut
            One for two classes, else one a class.
        codes : int array of shape (n_samples,)
            The place of each row's class in ``classes_``.
        sample_weight : array of shape (n_samples,), (1,) or None
            As the user gave it, before class weights.
        """
        self._forget_uncertainty()
        self.separation_ = self._stacked([one.separation for one in learned])
        if not self.leave_one_out:
            return
        if any(one.whole is None for one in learned):
            self._warn_of_no_scores([one.cost for one in learned])
            return
        self.loo_decision_ = self._stacked([one.whole for one in learned])
        positives = [codes == place for place in several.problems_of(self.classes_)]
        n_threads = effective_threads(self.n_jobs, codes.size * len(learned))
        each = [n_threads if len(learned) == 1 else 1] * len(learned)

        def ranked(one, positive, n_threads):
            return self._of_ranking(one.ranking(positive, n_threads))

        self._keep_learned(in_threads(n_threads, ranked, learned, positives, each))
        # until left_out_risk_ is asked for; where these are the same scores they are kept once
        others = [None if one.scores is one.whole else one.scores for one in learned]
        rows = as_observations(codes, sample_weight)
        scores = self.loo_decision_, others
        self._left_out = scores, learned[0].rows, codes, rows, self.calibration_

    def _count_left_out_errors(self, scores, weights, codes, rows, curves):
        pairs = zip(np.atleast_2d(scores[0]), scores[1], strict=True)
        scores = [whole if other is None else other for whole, other in pairs]
        if len(scores) == 1:
            totals = np.bincount(codes, np.broadcast_to(rows, codes.shape), minlength=2)
            return left_out_risk(Ranking.of(scores[0], codes == 1, weights), totals)
        n_threads = effective_threads(self.n_jobs, codes.size * len(scores))
        ranking = several.ranking_by_sureness(scores, codes, curves, rows, n_threads)
        return left_out_risk(ranking, (ranking.bad.sum(), ranking.good.sum()))

    def _stacked(self, values):
        """What each problem has found: of two classes the one, of several an array of all."""
        if len(values) == 1:
            return values[0]
        if not isinstance(values[0], np.ndarray):
            return np.array(values)
        # large arrays, of which each thread copies some
        out = np.empty((len(values), *values[0].shape))
        in_threads(effective_threads(self.n_jobs, out.size), np.copyto, list(out), values)
        return out

    def _forget_uncertainty(self):
        for name in (*LEARNED, "_left_out"):
            vars(self).pop(name, None)
        self._forget_guarantees()
        self.loo_decision_ = None

    def _of_ranking(self, ranking):
        """Band and probabilities from the ranked leave-one-out scores of a problem."""
        return certainty_band(ranking, self.certainty), frequencies(ranking)

    def _keep_learned(self, found):
        """Set what :meth:`_of_ranking` has found of each problem."""
        bands, curves = zip(*found, strict=True)
        self.band_ = self._stacked(bands)
        self.calibration_ = curves[0] if len(curves) == 1 else list(curves)

    def _warn_of_no_scores(self, costs):
        """Warn that leave-one-out scores were not made; seconds and bytes of each problem."""
        seconds, n_bytes = np.sum([one[0] for one in costs]), np.max([one[1] for one in costs])
        warnings.warn(
            f"Leave-one-out scores would take about {seconds:.2g} s and {n_bytes / 2**30:.2g} "
            "GiB and were not made: the model gives scores, but no band and no probabilities. "
            f"leave_one_out=False asks for scores only; {INSTEAD}.",
            UserWarning,
            stacklevel=4,
        )

    def _check_loaded_uncertainty(self):
        """Refuse fitted attributes, as of a file, that no fit could have left."""
        n_classes = len(self.classes_)
        if n_classes == 2:
            for name in ("band_", "conformal_"):
                pair = vars(self).get(name, (0.0, 0.0))
                numbers = isinstance(pair, tuple) and all(type(limit) is float for limit in pair)
                if not numbers or len(pair) != 2 or np.isnan(pair).any():
                    raise ValueError(f"its {name} is not two numbers")
        else:
            for name, shape in (("band_", (n_classes, 2)), ("conformal_", (n_classes,))):
                limits = vars(self).get(name, np.zeros(shape))
                if not checks.is_array(limits, "f", *shape) or np.isnan(limits).any():
                    raise ValueError(f"its {name} has no limits for every class")
        left_out = vars(self).get("loo_decision_")
        shape = (None,) if n_classes == 2 else (n_classes, None)
        if left_out is not None and not checks.is_array(left_out, "f", *shape):
            raise ValueError("its loo_decision_ has the wrong shape")
        risk = getattr(self, "left_out_risk_", None)
        if risk is not None and not (
            checks.is_array(risk, "f", 3, None)
            and np.isfinite(risk).all()
            and np.all(np.diff(risk[1:]) >= 0)
            and np.all(risk[2] >= 0)
            and np.all(risk[1] > 0)
        ):
            raise ValueError("its left_out_risk_ is not a count of errors")
        control = vars(self).get("error_control_", {})
        if not isinstance(control, dict) or type(control.get("sure_above", 0.0)) is not float:
            raise ValueError("its error_control_ is damaged")
        curves = vars(self).get("calibration_")
        if curves is None:
            return
        curves = [curves] if n_classes == 2 else curves
        if not isinstance(curves, list) or len(curves) not in (1, n_classes):
            raise ValueError("its calibration is not of its classes")
        for curve in curves:
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
        ``predict_proba(X)[:, 1] >= 0.5`` exactly where ``predict`` says ``classes_[1]``. Of
        several classes the frequency of each against the rest is divided by their sum, and the
        likeliest is the one that ``predict`` names by the same rule (docs/mathematics.md, sections
        5.4 and 5.8).

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
            Columns in the order of ``classes_``; rows sum to 1.

        Raises
        ------
        AttributeError
            If the fit left no leave-one-out scores, as with ``leave_one_out=False``.

        Notes
        -----
        Beyond the lowest (highest) score of the other class, the n rows of one class that lie
        there give it the probability ``(n + 1)/(n + 2)``, as long as that does not break the
        rise.
        """
        return self._probabilities(self.decision_function(X))

    def _probabilities(self, scores):
        if scores.ndim == 1:
            good = probability(self.calibration_, scores)
            return np.column_stack([1 - good, good])
        return several.probabilities(scores, self.calibration_)

    @available_if(_learned("calibration_"))
    def predict_log_proba(self, X):
        """Logarithm of :meth:`predict_proba`.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return np.log(self.predict_proba(X))

    def _confidence(self, scores):
        """An order of rows by how sure their class is: by distance, where that is all there is."""
        chances = self._probabilities(scores) if "calibration_" in vars(self) else None
        return several.confidence(several.class_scores(scores), chances)

    # --------------------------------------------------------------- certainty

    @available_if(_learned("band_"))
    def in_band(self, X):
        """Whether each row is uncertain: not exactly one class is possible.

        Of two classes that are the rows whose score lies strictly between the bounds of ``band_``.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        bool array of shape (n_samples,)

        Raises
        ------
        AttributeError
            If there is no band: the fit left no leave-one-out scores, and neither
            :meth:`conformalize` nor :meth:`control_error` has set one. The same of
            ``predict_with_reject``, ``predict_set`` and ``selective_report``.
        """
        return ~certain(self._possible(self.decision_function(X)))

    @available_if(_learned("band_"))
    def predict_with_reject(self, X, reject_label):
        """The class of the certain rows, and ``reject_label`` for the uncertain ones.

        Of two classes, a row is certain to be of ``classes_[1]`` with a score of the band's upper
        bound or more, of ``classes_[0]`` with one of the lower bound or less. That is what
        ``predict`` says as well wherever the band holds the score 0. Of several classes, it is
        certain where :meth:`predict_set` leaves one.

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
        label = check_reject_label(reject_label, self.classes_)
        possible = self._possible(self.decision_function(X))
        predicted = self.classes_[np.argmax(possible, axis=1)]
        predicted = predicted.astype(np.promote_types(predicted.dtype, label.dtype))
        predicted[~certain(possible)] = label
        return predicted

    @available_if(_learned("band_"))
    def predict_set(self, X):
        """Which classes remain possible for each row.

        After :meth:`conformalize`, the true class of a new row is among them at least as often
        as the confidence level says, for each class by itself. After :meth:`control_error` of
        several classes they are the most probable ones, as few as are as probable together as a
        certain row's class. Else both are where the score of two classes lies in the band; of
        several classes those whose score reaches the upper bound of their own band, or, where
        none does, those whose score is above the lower bound (docs/mathematics.md, section 5.8).

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        bool array of shape (n_samples, n_classes)
            More than one True: uncertain. None, of two classes only after ``conformalize``:
            unlike every class.
        """
        return self._possible(self.decision_function(X))

    def _possible(self, scores):
        scores = several.class_scores(scores)
        conformal, control = (vars(self).get(name) for name in ("conformal_", "error_control_"))
        if conformal is not None:
            limits = conformal
            if len(self.classes_) == 2:
                limits = np.array([-conformal[0], conformal[1]])
            return scores >= limits
        if scores.shape[1] > 2:
            if control is not None:
                chances = several.probabilities(scores, vars(self).get("calibration_"))
                return several.probable(scores, chances, control["sure_above"])
            return several.possible(scores, self.band_)
        score = scores[:, 1]
        uncertain, good = in_band(score, self.band_), score >= self.band_[1]
        return np.column_stack([uncertain | ~good, uncertain | good])

    def _score_limits(self):
        """The scores between which each class is uncertain; None where no such limits decide.

        Those of ``band_``; of several classes after ``conformalize`` twice the lowest score at
        which each is possible, and none after ``control_error``, which goes by probabilities.
        """
        known = vars(self)
        if len(self.classes_) > 2:
            if "conformal_" in known:
                return np.column_stack([self.conformal_, self.conformal_])
            if "error_control_" in known:
                return None
        return known.get("band_")

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
        truth = check_known_labels(y, self.classes_, len(scores))
        weights = checks.check_per_sample(
            sample_weight, len(scores), "sample_weight", default=1.0, sign=True
        )
        possible = self._possible(scores)
        return selective_report(
            self.classes_,
            truth,
            certain(possible),
            np.argmax(possible, axis=1),
            np.argmax(several.class_scores(scores), axis=1) != truth,
            self._confidence(scores),
            weights,
        )


def certain(possible):
    """Whether exactly one class is possible."""
    return possible.sum(axis=1) == 1
