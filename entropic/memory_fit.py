"""Fits on rows in memory: from arrays of the user to a sweep, and its solutions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from . import checks
from .features.monomials import Monomials
from .features.scaling import design_of
from .features.splines import LinearSplines
from .fitting import FittingMixin
from .kernels.loss import Loss
from .kernels.threads import effective_threads
from .labels import check_class_weight, check_labels, encoded, plain_labels
from .one_against_rest import Watch, side_by_side
from .rows.lockstep import SharedKernels, SharedReads
from .rows.sweep import Reads, Sweep, sweeps
from .rows.target import Target
from .solvers.spectral import RULES
from .uncertainty.several import problems_of

# What scikit-learn is asked to check of X; types and finiteness are checked here, where the
# message can name the place and where no wider copy is made than the values need.
READING = dict(accept_sparse="csr", dtype="numeric", ensure_all_finite=False)


class MemoryFitMixin(FittingMixin):
    """The steps of ``fit`` for a classifier with the parameters of EntropicClassifier."""

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
            From ``(sweep, box, outcome)`` of a problem to what is to be kept of it.

        Returns
        -------
        fits : list of (Outcome, what ``learn`` returned)
        n_sweeps : float
            Reads of all rows.
        """
        places = problems_of(self.classes_)
        watch = Watch(callback, self.classes_)
        n_threads = effective_threads(self.n_jobs, design.rows.n_entries)

        def kernels_of(ask):
            return sweeps if ask is None else SharedKernels(ask, answer, callback is not None)

        def fit_one(number, ask=None):
            positive = codes == places[number]
            options = dict(start=starts[number], callback=watch.of(places[number], ask))
            options["kernels"] = kernels_of(ask)
            sweep, box, outcome = self._solve(design, positive, weights, n_threads, **options)
            # the evaluation is of no use without the sweep, and large
            return replace(outcome, evaluation=None), learn(sweep, box, outcome)

        if len(places) == 1 or self.solver in RULES:
            fits = [fit_one(number) for number in range(len(places))]
            return fits, sum(outcome.n_sweeps for outcome, _ in fits)
        reads = Reads()
        together = effective_threads(self.n_jobs, design.rows.n_entries * len(places))
        answer = SharedReads(sweeps, reads, design.n_samples, together)
        return side_by_side(len(places), fit_one, answer, n_threads), reads.count

    def _solve(
        self, design, positive, weights, n_threads=1, *, start=None, callback=None, kernels=sweeps
    ):
        """Minimise the entropy for a design: the sweep at the optimum, the box, the outcome."""
        loss = Loss(float(self.slack), self.constraint == "inequality")
        sweep = Sweep(
            design,
            Target.of(loss, 2 * positive.view(np.int8) - 1, weights, self.margin),
            n_threads,
            kernels,
        )
        box = self._box(design.rows.n_columns)
        outcome = self._minimise(sweep, box, start, callback)
        return sweep, box, outcome

    def _check_training_data(self, X, y, by_moments=False):
        checks.check_rows(X, "X")
        check_labels(y)
        X, y = validate_data(self, X, plain_labels(y), **READING)
        if by_moments and not sp.issparse(X) and self.standardize:
            return checks.as_float(X, "X"), y
        return self._numbers(X), y

    def _numbers(self, X):
        X = checks.as_float(X, "X")
        checks.check_finite(X, "X", getattr(self, "feature_names_in_", None))
        return X

    def _encode(self, y):
        found = encoded(y)
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
        factors = check_class_weight(self.class_weight, self.classes_, shares)
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
