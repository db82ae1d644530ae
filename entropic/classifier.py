"""EntropicClassifier: a scikit-learn classifier that says what is certain and what is not."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, metadata

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from . import checks
from .batch_fit import BatchFitMixin
from .importance import Coefficients, feature_importances
from .kernels.library_threads import one_library_thread
from .kernels.threads import effective_threads
from .memory_fit import READING, MemoryFitMixin
from .model_format import stored
from .progress import CallbackSupportMixin, fit_task
from .rollback import all_or_nothing
from .rows.sweep import sweeps
from .saving import SavingMixin
from .summary import summary_of
from .uncertainty.leave_one_out import LeftOut
from .uncertainty.mixin import UncertaintyMixin
from .uncertainty.several import class_scores


@cache
def _documentation():
    """The page that the installed distribution names as its documentation, or "" without one."""
    try:
        urls = metadata("entropic-classifier").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    return dict(url.split(", ", 1) for url in urls).get("Documentation", "")


@stored("EntropicClassifier")
class EntropicClassifier(
    MemoryFitMixin,
    BatchFitMixin,
    SavingMixin,
    UncertaintyMixin,
    CallbackSupportMixin,
    ClassifierMixin,
    BaseEstimator,
):
    """Separate classes by the hyperplane or polynomial surface of least entropy.

    Two classes have one surface between them. Of K classes each is separated from the rest, all at
    once, and row k of every attribute is that of ``classes_[k]``. ``score`` is the accuracy.

    The paper's main form of the problem is ``constraint="equality", slack=0`` with ``bound=1``.
    The defaults are another corner of it: the one that did best of 96 on real tables.

    Parameters
    ----------
    degree : int
        Degree of the separating polynomial; 1 is a hyperplane.
    interaction_only : bool
        Leave out powers of a single feature above the first.
    n_knots : int
        0 takes features as they are. Else each of more than two values is replaced by linear
        splines with so many knots, at least 3, at equal steps through its distinct values: degree
        1 is then a sum of curves, one a feature, and degree 2 adds their products.
    bound : float
        Half-width e > 0 of the box in which the scaled coefficients live: the most by which one
        standard deviation of a column may move the score. Smaller is smoother.
    C : float
        Weight of the data against the coefficients' entropy, above 0.
    constraint : {"inequality", "equality"}
        Whether margins are asked to equal their entropic value (Problem 2 of the paper) or
        only to reach it (Problem 1), so that rows far on their own side have no say.
    slack : float
        How softly the constraint is held: a violation xi costs ``xi**2 / (2 slack)``
        (docs/mathematics.md, section 1). At least 1e-30, or 0: the paper's exact constraint, which
        has a solution for separable classes only.
    margin : float
        Robust margin t, in units of the score, asked of every sample on top of its own.
    fit_intercept : bool
        Include the constant monomial, in a box of its own: ``±4 max(1, bound)``.
    standardize : bool or "auto"
        Scale every column by its training mean and deviation; constant columns are only
        centred. "auto" does so for dense data only. With True, sparse data above degree 1 are
        stored densely. With False, columns are taken as they are.
    monotonic_cst : array of shape (n_features,) or None
        -1, 0 or +1 a feature: the sign its coefficient is held to (degree 1 only).
    class_weight : dict, "balanced" or None
        Factor on the weight of each class, by label; "balanced" gives all the same total.
    leave_one_out : bool
        Whether to find out what each training row would score without it, which band and
        probabilities rest on. False: scores only, for less than the time of one more step.
    certainty : float
        1.0: the band of the extreme scores. Below 1: the narrowest band outside which each
        class errs at most ``1 - certainty`` of the time.
    solver : {"auto", "newton", "spectral", "spectral-paper"}
        "auto" and "newton" are Newton's method; "spectral" is the gradient iteration on the dual
        (docs/mathematics.md, section 2.2), "spectral-paper" the same with the paper's own rule.
    tol : float
        Duality gap a unit of sample weight at which the solver stops.
    max_iter : int or None
        Most steps to take: with fewer than it needs, a ConvergenceWarning of scikit-learn. None
        is 400 of Newton's method, and 50,000 of the spectral ones.
    n_jobs : int or None
        Threads, -1 for one a core. None uses the machine's for large data and one for small.
    warm_start : bool
        Start from the last solution, where there is one of as many coefficients.
    verbose : int
        Above 0: print a line a step.
    callback : callable or None
        Called after each step with a dict of "iteration", "gap", "objective" and what the solver
        adds, of several classes with the "class" among them; returning True stops the fit.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, sorted. Positive scores mean ``classes_[1]`` where there are two.
    coef_ : array of shape (n_surfaces, n_features), or (n_surfaces, n_monomials) above degree 1
        One surface for two classes, else K.
    intercept_ : array of shape (n_surfaces,)
        ``decision_function(X) == X @ coef_.T + intercept_`` in the units of X; above degree 1
        ``== monomials_.transform(X) @ coef_.T + intercept_``. With ``n_knots`` the same of
        ``splines_.transform(X)`` in place of X.
    scaled_coef_, scaled_intercept_ : arrays of the shapes of coef_ and intercept_
        The same before scaling is taken back: what the box bounds.
    feature_importances_ : array of shape (n_features,)
        Each feature's share of all scaled coefficients, a product's parted among its factors.
    monomials_ : Monomials
        Where X is standardised, of the standardised features: in raw ones the terms of a
        polynomial far from zero cancel, and its coefficients would have no digits left.
    splines_ : LinearSplines or None
        With ``n_knots``: ``knots`` of all features, one feature after the other, ``counts`` of
        them, ``names()`` of the columns and ``transform`` (docs/mathematics.md, section 6.4).
    loo_decision_ : array of shape (n_samples,) or (K, n_samples), or None
        What each training row would score had it not been there, from one Newton step
        (docs/mathematics.md, section 5.2). None with ``leave_one_out=False``, and where no factor
        was affordable, which a warning says; then ``band_``, ``calibration_`` and
        ``left_out_risk_`` are not there, nor the methods that need them.
    band_ : tuple of two floats, or array of shape (K, 2)
        Scores between which a point is uncertain, by the leave-one-out scores of one
        observation (a row, or one of as many equal rows as a whole-number weight says):
        docs/mathematics.md, section 5.1. Of two classes, after ``conformalize`` or
        ``control_error``, the band of its guarantee.
    calibration_ : array of shape (2, n_corners), or list of K of them
        Scores, and the frequency of ``classes_[1]`` (of class k) at each, by which
        ``predict_proba`` goes.
    conformal_ : tuple of two floats, or array of shape (K,)
        After ``conformalize``: the highest score at which ``classes_[0]`` is possible, and the
        lowest for ``classes_[1]``; of several classes the lowest score of each.
    left_out_risk_ : array of shape (3, n_steps)
        Falling distances from the surface, of several classes falling probabilities of the best;
        the leave-one-out scores that are surer than each, and how many of these are wrong: by
        observations, without class weights.
    error_control_ : dict
        After ``control_error``: "max_error", "confidence_level", "n_rows", how many of them are
        certain ("n_certain") and wrong among these ("n_wrong"), whether the error is "guaranteed",
        by rows kept aside, and above which distance, or probability, a row is certain
        ("sure_above").
    separation_ : float, or array of shape (K,)
        Lowest training score of ``classes_[1]`` less the highest of ``classes_[0]``; of class k
        less the highest of the rest.
    multipliers_ : array of shape (n_samples,) or (K, n_samples), or None
        The dual variable of each row, 0 of a row that has no say. None after ``fit_batches``.
    status_ : str, or list of K
        "converged", "max_iter", "precision" (rounding ended it above ``tol``), "not_separable"
        (only with ``slack=0``) or "interrupted" (by the callback). All but the first and the last
        come with a ConvergenceWarning.
    converged_ : bool
        Whether all surfaces did.
    dual_gap_ : float, or array of shape (K,)
        At least the distance of the objective from its minimum (docs/mathematics.md, section 4).
    residual_norm_ : float, or array of shape (K,)
        Norm of the violations of the constraint, of the inequality's those on the wrong side.
    objective_ : float, or array of shape (K,)
        What is minimised, at the solution (docs/mathematics.md, section 1).
    n_iter_ : int, or array of shape (K,)
        Steps of the solver.
    n_sweeps_ : number
        Reads of all rows; of several classes those that served them all, leave-one-out included.
    history_ : dict of lists, or list of K
        "gap", "objective", "step" and what the solver adds: an entry a step.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : array of str
        Their names, where X was a frame whose columns all have names of text.

    References
    ----------
    A. Arratia, M. El Daou, H. Gzyl, "Classification by Separating Hypersurfaces: An Entropic
    Approach", sections 2 to 4; docs/mathematics.md.
    """

    def __init__(
        self,
        degree=1,
        *,
        interaction_only=False,
        n_knots=0,
        bound=2.0,
        C=1.0,
        constraint="inequality",
        slack=10.0,
        margin=0.0,
        fit_intercept=True,
        standardize="auto",
        monotonic_cst=None,
        class_weight=None,
        leave_one_out=True,
        certainty=1.0,
        solver="auto",
        tol=1e-8,
        max_iter=None,
        n_jobs=None,
        warm_start=False,
        verbose=0,
        callback=None,
    ):
        self.degree = degree
        self.interaction_only = interaction_only
        self.n_knots = n_knots
        self.bound = bound
        self.C = C
        self.constraint = constraint
        self.slack = slack
        self.margin = margin
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.monotonic_cst = monotonic_cst
        self.class_weight = class_weight
        self.leave_one_out = leave_one_out
        self.certainty = certainty
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback

    coef_ = Coefficients()
    _doc_link_module = "entropic"  # what the HTML of an estimator links to
    _doc_link_template = property(lambda self: _documentation())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # ---------------------------------------------------------------- fitting

    def fit(self, X, y, sample_weight=None):
        """Find the separating surface.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            Raw data; neither modified nor copied when float32 or float64.
        y : array of shape (n_samples,)
            Labels of two classes or more: text, booleans or whole numbers, as scikit-learn's
            classifiers take them. They come back in their own type.
        sample_weight : array of shape (n_samples,) or None
            Not negative; None is 1 for each. A whole number counts as so many equal rows.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If X, y, weights or a parameter cannot be used; the message says where and why. After
            any error the estimator is as it was before the call.
        """
        # a decorator would take the place of the caller in warnings
        with all_or_nothing(self), fit_task(self, X, y, sample_weight), one_library_thread:
            X, codes, weights = self._prepare(X, y, sample_weight, by_moments=True)
            design = self._design(X, weights)
            starts = self._starts(design.n_features)
            fits, self.n_sweeps_ = self._fit_each(
                design,
                codes,
                weights,
                starts,
                self._watcher(),
                lambda *fit: LeftOut.of(*fit, sample_weight, self.leave_one_out),
            )
            outcomes, learned = zip(*fits, strict=True)
            self._keep(outcomes, design)
            self._learn_uncertainty(learned, codes, sample_weight)
        return self

    # ------------------------------------------------------------- prediction

    def decision_function(self, X):
        """Scores f(x): positive for ``classes_[1]``; of several classes, of each against the rest.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_classes) for more than two classes

        Raises
        ------
        NotFittedError
            Before a fit.
        ValueError
            If X does not fit the model or holds cells that are no finite numbers. So does every
            method that takes X.
        """
        check_is_fitted(self)
        checks.check_rows(X, "X")
        X = self._numbers(validate_data(self, X, reset=False, **READING))
        rows = self.monomials_.rows(X if self.splines_ is None else self.splines_.transform(X))
        coef = np.column_stack([self.coef_, self.intercept_])
        n_threads = effective_threads(self.n_jobs, rows.n_entries)
        with np.errstate(under="ignore"):
            if len(coef) == 1:
                return sweeps.scores(rows, coef[0], n_threads)
            return sweeps.scores_each(rows, coef, n_threads).T

    def predict(self, X):
        """The class on whose side of the surface each row lies, of several that of highest score.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        scores = class_scores(self.decision_function(X))
        return self.classes_[np.argmax(scores, axis=1)]

    # ---------------------------------------------------------------- summary

    @property
    def feature_importances_(self):
        """Each feature's share of all scaled coefficients, a product's parted among its factors.

        An array of shape (n_features,), of sum 1, or 0 where all coefficients are.
        """
        check_is_fitted(self)
        return feature_importances(self)

    def summary(self, n_terms=20):
        """What the classifier has learned: its largest terms, band, left-out rows and ending.

        Parameters
        ----------
        n_terms : int
            How many terms of each class ``print`` shows.

        Returns
        -------
        Summary
            ``print(model.summary())`` shows it; ``.to_frame()`` is a frame of every term, with its
            coefficients in scaled and in raw units, and its share of the box.
        """
        check_is_fitted(self)
        checks.check_count(n_terms, "n_terms", 0)
        return summary_of(self, n_terms)
