"""EntropicClassifier: a scikit-learn classifier that says what is certain and what is not."""

from __future__ import annotations

import copy
import logging
import warnings
from dataclasses import replace
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from . import checks
from .batch_fit import BatchFitMixin
from .features.monomials import Monomials
from .features.scaling import design_of
from .features.splines import LinearSplines
from .importance import Coefficients, feature_importances
from .kernels.backend import Box
from .kernels.library_threads import one_library_thread
from .kernels.loss import Loss
from .kernels.threads import effective_threads
from .model_format import save, stored
from .one_against_rest import Watch, side_by_side
from .progress import CallbackSupportMixin, described, fit_task, has_callbacks, log, step_task
from .rollback import all_or_nothing
from .rows.lockstep import SharedKernels, SharedReads
from .rows.sweep import Reads, Sweep, sweeps
from .rows.target import Target
from .solvers.outcome import Status
from .solvers.problem import minimise
from .solvers.spectral import RULES
from .summary import summary_of
from .uncertainty.leave_one_out import LeftOut
from .uncertainty.mixin import UncertaintyMixin
from .uncertainty.several import class_scores, problems_of

# What scikit-learn is asked to check of X; types and finiteness are checked here, where the
# message can name the place and where no wider copy is made than the values need.
_READING = dict(accept_sparse="csr", dtype="numeric", ensure_all_finite=False)


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
    BatchFitMixin, UncertaintyMixin, CallbackSupportMixin, ClassifierMixin, BaseEstimator
):
    """Separate classes by the hyperplane or polynomial surface of least entropy.

    Two classes have one surface between them. Of K classes each is separated from the rest, all at
    once, and row k of every attribute is that of ``classes_[k]``.

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
        Half-width e of the box in which the scaled coefficients live.
    C : float
        Weight of the data against the coefficients' entropy.
    constraint : {"inequality", "equality"}
        Whether margins are asked to equal their entropic value (Problem 2 of the paper) or
        only to reach it (Problem 1), so that rows far on their own side have no say.
    slack : float
        How softly the constraint is held; 0 is the paper's exact constraint, which has a
        solution for separable classes only.
    margin : float
        Robust margin t asked of every sample on top of its own.
    fit_intercept : bool
        Include the constant monomial, in a box of its own: ``±4 max(1, bound)``.
    standardize : bool or "auto"
        Scale every column by its training mean and deviation; constant columns are only
        centred. "auto" does so for dense data. With True, sparse data above degree 1 are stored
        densely.
    monotonic_cst : array of shape (n_features,) or None
        -1, 0 or +1 a feature: the sign its coefficient is held to (degree 1 only).
    class_weight : dict, "balanced" or None
        Factor on the weight of each class; "balanced" gives all the same total.
    leave_one_out : bool
        Whether to find out what each training row would score without it, which band and
        probabilities rest on. False: scores only, for less than the time of one more step.
    certainty : float
        1.0: the band of the extreme scores. Below 1: the narrowest band outside which each
        class errs at most ``1 - certainty`` of the time.
    solver : {"auto", "newton", "spectral", "spectral-paper"}
    tol : float
        Duality gap a unit of weight at which the solver stops.
    max_iter : int or None
    n_jobs : int or None
        Threads. None uses the machine's for large data and one for small.
    warm_start : bool
        Start from the last solution.
    verbose : int
        Above 0: print a line a step.
    callback : callable or None
        Called with a dict of figures after each step, of several classes with the "class" among
        them; returning True stops the fit.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Positive scores mean ``classes_[1]`` where there are two.
    coef_ : array of shape (n_surfaces, n_features), or (n_surfaces, n_monomials) above degree 1
        One surface for two classes, else K.
    intercept_ : array of shape (n_surfaces,)
        ``decision_function(X) == X @ coef_.T + intercept_`` in the units of X; above degree 1
        ``== monomials_.transform(X) @ coef_.T + intercept_``. With ``n_knots`` the same of
        ``splines_.transform(X)`` in place of X.
    scaled_coef_, scaled_intercept_ : arrays of the shapes of ``coef_`` and ``intercept_``
        The same before scaling is taken back: what the box bounds.
    feature_importances_ : array of shape (n_features,)
        Each feature's share of all scaled coefficients, a product's parted among its factors.
    monomials_ : Monomials
        Where X is standardised, of the standardised features: in raw ones the terms of a
        polynomial far from zero cancel, and its coefficients would have no digits left.
    splines_ : LinearSplines or None
        With ``n_knots``: the knots, ``transform`` and ``names``.
    loo_decision_ : array of shape (n_samples,) or (K, n_samples), or None
        What each training row would score had it not been there, from one Newton step
        (docs/mathematics.md, section 5.2). None with ``leave_one_out=False``, and where no factor
        was affordable, which a warning says; then ``band_``, ``calibration_`` and
        ``left_out_risk_`` are not there, nor the methods that need them.
    band_ : tuple of two floats, or array of shape (K, 2)
        Scores between which a point is uncertain, by the leave-one-out scores of one
        observation (a row, or one of as many equal rows as a whole-number weight says). Of two
        classes, after ``conformalize`` or ``control_error``, the band of its guarantee.
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
    multipliers_ : array of shape (n_samples,) or (K, n_samples)
    status_ : str, or list of K
    converged_ : bool
        Whether all surfaces did.
    dual_gap_, residual_norm_, objective_ : float, or array of shape (K,)
    n_iter_ : int, or array of shape (K,)
    n_sweeps_ : number
        Reads of all rows; of several classes those that served them all, leave-one-out included.
    history_ : dict of lists, or list of K
    n_features_in_ : int
    feature_names_in_ : array of str

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

    def _prepare(self, X, y, sample_weight, by_moments=False):
        """Checked rows, the place of each one's class in ``classes_``, and their weights.

        With ``by_moments`` numbers that are not finite are left to the moments to find, where the
        columns are standardised: that saves a read of them.
        """
        self._check_parameters()
        X, y = self._check_training_data(X, y, by_moments)
        self.classes_, codes = self._encode(y)
        return X, codes, self._weights(codes, sample_weight, X.shape[0])

    def _fit_each(self, design, codes, weights, starts, callback, learn):
        """Separate the rows of ``classes_[1]`` from the others, or of each class from the rest.

        Several problems read the rows together; those of the spectral solvers, which keep to
        themselves in compiled code, one after the other.

        Parameters
        ----------
        design : Design
        codes : int array of shape (n_samples,)
            The place of each row's class.
        weights : array of shape (n_samples,) or (1,)
        starts : sequence
            A state to start from, or None, for each problem.
        callback : callable or None
        learn : callable
            From ``(sweep, box, outcome, positive)`` of a problem to what is to be kept of it.

        Returns
        -------
        fits : list of (Outcome, what ``learn`` returned)
        n_sweeps : float
            Reads of all rows.
        """
        places = problems_of(self.classes_)
        watch = Watch(callback, self.classes_)

        def fit_one(number, ask=None):
            positive = codes == places[number]
            options = dict(start=starts[number], callback=watch.of(places[number], ask))
            options["kernels"] = sweeps if ask is None else SharedKernels(ask)
            sweep, box, outcome = self._solve(design, positive, weights, **options)
            # the evaluation is of no use without the sweep, and large
            return replace(outcome, evaluation=None), learn(sweep, box, outcome, positive)

        if len(places) == 1 or self.solver in RULES:
            fits = [fit_one(number) for number in range(len(places))]
            return fits, sum(outcome.n_sweeps for outcome, _ in fits)
        reads = Reads()
        answer = SharedReads(sweeps, reads, design.n_samples)
        n_awake = effective_threads(self.n_jobs, design.rows.n_entries)
        return side_by_side(len(places), fit_one, answer, n_awake), reads.count

    def _solve(self, design, positive, weights, start=None, callback=None, kernels=sweeps):
        """Minimise the entropy for a design: the sweep at the optimum, the box, the outcome."""
        loss = Loss(float(self.slack), self.constraint == "inequality")
        sweep = Sweep(
            design,
            Target.of(loss, 2 * positive.view(np.int8) - 1, weights, self.margin),
            effective_threads(self.n_jobs, design.rows.n_entries),
            kernels,
        )
        box = self._box(design.rows.n_columns)
        outcome = minimise(
            sweep,
            box,
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            start=start,
            callback=callback,
        )
        return sweep, box, outcome

    def _check_parameters(self):
        checks.check_count(self.degree, "degree")
        checks.check_n_knots(self.n_knots, self.monotonic_cst)
        for name in ("bound", "C"):
            checks.check_number(getattr(self, name), name, 0.0, above=True)
        checks.check_number(1 / float(self.C), "1/C", 0.0, above=True)
        checks.check_number(4 * float(self.bound), "4 * bound")
        checks.check_number(self.margin, "margin")
        for name in ("interaction_only", "fit_intercept", "leave_one_out", "warm_start"):
            checks.check_flag(getattr(self, name), name)
        checks.check_flag(self.standardize, "standardize", "auto")
        checks.check_share(self.certainty, "certainty")
        if not isinstance(self.verbose, (bool, np.bool_)):  # True is 1
            checks.check_number(self.verbose, "verbose", 0.0)
        checks.check_workers(self.n_jobs)
        checks.check_callback(self.callback)
        checks.check_solver_options(
            self.constraint,
            self.slack,
            self.solver,
            self.tol,
            self.max_iter,
            1 / float(self.C),
        )

    def _check_training_data(self, X, y, by_moments=False):
        checks.check_container(X, "X")
        checks.check_labels(y)
        X, y = validate_data(self, X, y, **_READING)
        if by_moments and not sp.issparse(X) and self.standardize:
            return checks.as_float(X, "X"), y
        return self._numbers(X), y

    def _numbers(self, X):
        X = checks.as_float(X, "X")
        checks.check_finite(X, "X", getattr(self, "feature_names_in_", None))
        return X

    def _encode(self, y):
        found = checks.two_labels(y)
        if found is not None:
            return found
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"y has 1 class, {classes[0]!s}; give rows of at least two.")
        return classes, codes

    def _weights(self, codes, sample_weight, n_samples):
        weights = checks.check_per_sample(
            sample_weight, n_samples, "sample_weight", default=1.0, sign=True
        )
        if len(weights) == 1 and self.class_weight is None:
            return weights
        shares = np.bincount(codes, np.broadcast_to(weights, n_samples), len(self.classes_))
        factors = checks.check_class_weight(self.class_weight, self.classes_, shares)
        return weights if np.all(factors == 1) else weights * factors[codes]

    def _design(self, X, weights):
        scaled = not sp.issparse(X) if self.standardize == "auto" else self.standardize
        self.monomials_ = Monomials(self.degree, interaction_only=self.interaction_only)
        names = getattr(self, "feature_names_in_", None)
        self.splines_ = LinearSplines.of(X, weights, self.n_knots) if self.n_knots else None
        if self.splines_ is not None:
            X, names = self.splines_.transform(X), self.splines_.names(names)
        if names is not None:
            self.monomials_.feature_names_in_ = names
        return design_of(
            X,
            weights,
            self.monomials_,
            scaled=scaled,
            constant=self.fit_intercept,
            n_jobs=self.n_jobs,
            names=names,
        )

    def _box(self, n_columns):
        width, constant_width = self._half_widths()
        upper = np.full(n_columns + bool(self.fit_intercept), width)
        if self.fit_intercept:
            upper[-1] = constant_width
        lower = -upper
        if self.monotonic_cst is not None:
            direction = checks.check_directions(
                self.monotonic_cst, n_columns, self.degree, len(self.classes_)
            )
            lower[:n_columns][direction > 0] = 0.0
            upper[:n_columns][direction < 0] = 0.0
        return Box(lower, upper, 1 / float(self.C))

    def _half_widths(self):
        """Of the box: for a coefficient, and for the constant."""
        return float(self.bound), 4 * max(1.0, float(self.bound))

    def _starts(self, n_features):
        """States to start from, of each problem."""
        shape = len(problems_of(self.classes_)), n_features
        states = getattr(self, "_states", None) if self.warm_start else None
        return states if states is not None and states.shape == shape else [None] * shape[0]

    def _watcher(self):
        """What is to be called with the figures of each step; None where nobody wants them."""
        wanted = self.verbose or self.callback is not None or log.isEnabledFor(logging.DEBUG)
        return self._watch if wanted or has_callbacks(self) else None

    def _watch(self, figures):
        """Show a step's figures when asked to, and pass them on."""
        name = type(self).__name__
        if self.verbose:
            print(f"[{name}] {described(figures)}")
        if log.isEnabledFor(logging.DEBUG):
            log.debug("%s: %s", name, described(figures))
        stop = step_task(self, "step")
        return bool(self.callback is not None and self.callback(figures)) or stop

    def _keep(self, outcomes, design):
        scaled = np.array([outcome.coef for outcome in outcomes])
        coef = design.matrix_to_rows(scaled.T).T
        if design.rows.centre is not None:
            coef[:, -1] -= coef[:, :-1] @ design.rows.centre
        self.coef_, self.intercept_ = coef[:, :-1].copy(), coef[:, -1].copy()
        if not self.fit_intercept:
            scaled = np.append(scaled, np.zeros((len(scaled), 1)), axis=1)
        self.scaled_coef_, self.scaled_intercept_ = scaled[:, :-1], scaled[:, -1].copy()
        self._states = np.array([outcome.state for outcome in outcomes])
        for name in ("multipliers", "dual_gap", "residual_norm", "objective", "n_iter"):
            values = [getattr(outcome, name) for outcome in outcomes]
            setattr(self, f"{name}_", self._stacked(values) if values[0] is not None else None)
        status = [str(outcome.status) for outcome in outcomes]
        histories = [outcome.history for outcome in outcomes]
        self.status_, self.history_ = status, histories
        if len(outcomes) == 1:
            self.status_, self.history_ = status[0], histories[0]
        self.converged_ = all(outcome.converged for outcome in outcomes)
        log.info(
            "%s: %s in %s steps, duality gap %.3g",
            type(self).__name__,
            ", ".join(dict.fromkeys(status)),
            np.max(self.n_iter_),
            np.max(self.dual_gap_),
        )
        failed = [
            (place, outcome)
            for place, outcome in enumerate(outcomes)
            if outcome.status not in (Status.CONVERGED, Status.INTERRUPTED)
        ]
        if failed:
            place, outcome = failed[0]
            message = outcome.message
            if len(outcomes) > 1:
                message = (
                    f"{len(failed)} of {len(outcomes)} classes against the rest did not converge; "
                    f"of {self.classes_[place]!s}: {message}"
                )
            warnings.warn(message, ConvergenceWarning, stacklevel=3)

    # ------------------------------------------------------------- prediction

    def decision_function(self, X):
        """Scores f(x): positive for ``classes_[1]``; of several classes, of each against the rest.

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_classes) for more than two classes
        """
        check_is_fitted(self)
        checks.check_container(X, "X")
        X = self._numbers(validate_data(self, X, reset=False, **_READING))
        rows = self.monomials_.rows(X if self.splines_ is None else self.splines_.transform(X))
        coef = np.column_stack([self.coef_, self.intercept_])
        n_threads = effective_threads(self.n_jobs, rows.n_entries)
        if len(coef) == 1:
            return sweeps.scores(rows, coef[0], n_threads)
        return sweeps.scores_each(rows, coef, n_threads).T

    def predict(self, X):
        """The class on whose side of the surface each row lies, of several that of highest score.

        Returns
        -------
        array of shape (n_samples,)
        """
        scores = class_scores(self.decision_function(X))
        return self.classes_[np.argmax(scores, axis=1)]

    # ---------------------------------------------------------------- summary

    @property
    def feature_importances_(self):
        """Each feature's share of all scaled coefficients, a product's parted among its factors."""
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

    # ------------------------------------------------------------------- disk

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
