"""Fits on rows that no memory holds: from a survey of the batches to what a fit leaves."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import validate_data

from . import checks
from .features.monomials import Monomials
from .features.parted import Found, PartedRows
from .features.scaling import recipe_of
from .kernels.library_threads import one_library_thread
from .kernels.loss import Loss
from .rollback import all_or_nothing
from .rows.journal import Journal
from .rows.parts import LocalParts, PartedSweep, Totals, View
from .rows.stream import Batches
from .rows.survey import Survey
from .solvers.problem import minimise
from .solvers.spectral import RULES
from .uncertainty.parted import TrainingScores, left_out_ranking

# Parameters that change nothing of what a fit finds.
BESIDE = ("n_jobs", "verbose", "callback", "warm_start")


class BatchFitMixin:
    """``fit_batches`` for a classifier with the parameters of EntropicClassifier."""

    def fit_batches(self, batches, classes=None, checkpoint=None):
        """Find the separating surface of rows that come in batches, in bounded memory.

        The same optimum as :meth:`fit` would find on all rows at once, whatever the cut and the
        order of the batches: a step of the solver is one pass over them. Memory is two batches,
        or two parts of a million numbers where batches are small, and what the coefficients take.

        Parameters
        ----------
        batches : iterable or callable
            Of ``(X, y)`` or ``(X, y, weight)``, read about ten times; a callable without arguments
            makes a new iterator each time. A thread reads the next batch while one is worked on.
        classes : array of shape (2,) or None
            The labels, where they are known; others are then an error at the row they stand in.
        checkpoint : str, path-like or None
            A file that keeps what each pass has found. Where the fit is broken off, the same call
            goes on after the last whole pass. Once done, the file is removed.

        Returns
        -------
        self
            ``multipliers_`` and ``loo_decision_`` are None: they have a number a row. For more than
            524,288 rows ``predict_proba`` and a ``certainty`` below 1 rest on leave-one-out scores
            cut to 13 binary digits; the band of ``certainty=1`` is exact.

        Raises
        ------
        ValueError
            If batches can be read only once, differ from one pass to the next, or hold what
            :meth:`fit` would refuse; the message says in which batch and row. If the checkpoint
            is of other rows or parameters.
        """
        self._check_parameters()
        self._check_streamed()
        classes = None if classes is None else checks.check_classes(classes)
        local = LocalParts(Batches(batches, self._check_columns))
        options = {name: self.get_params(deep=False)[name] for name in self._names_of_the_problem()}
        parts = local if checkpoint is None else Journal(local, checkpoint, options)
        with all_or_nothing(self), one_library_thread:
            sweep, box, outcome, found = self._solve_parts(parts, classes)
            self._keep(outcome, sweep.design)
            self._learn_of_parts(sweep, box, outcome, found)
        parts.close()
        return self

    def _check_streamed(self):
        if self.solver in RULES or float(self.slack) == 0:
            name = "slack" if float(self.slack) == 0 else "solver"
            raise ValueError(
                f"{name}={getattr(self, name)!r} keeps a number for every row, which rows that are "
                "streamed are to avoid; fit in memory, or use slack > 0 and solver='auto'."
            )

    def _names_of_the_problem(self):
        return [name for name in self.get_params(deep=False) if name not in BESIDE]

    def _check_columns(self, X, first):
        validate_data(self, X, reset=first, skip_check_array=True)

    def _solve_parts(self, parts, classes):
        """Minimise the entropy for the rows that someone holds, wherever that is.

        Returns
        -------
        sweep : PartedSweep
        box : Box
        outcome : Outcome
        found : Found
        """
        survey = Survey(
            scaled=self.standardize is not False,
            by_class=self.class_weight is not None,
            classes=classes,
            digest=parts.wants_digest,
            n_jobs=self.n_jobs,
        )
        found = Found.of(parts.run(survey))
        self.classes_, factors = found.labels, self._class_factors(found)
        loss = Loss(float(self.slack), self.constraint == "inequality")
        view = View(None, found.labels, factors, loss, float(self.margin), self.n_jobs)
        source = PartedRows(parts, found, view)
        scaled = not found.figures["sparse"] if self.standardize == "auto" else self.standardize
        self.monomials_ = Monomials(self.degree, interaction_only=self.interaction_only)
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            self.monomials_.feature_names_in_ = names
        recipe = recipe_of(
            source, self.monomials_, scaled=scaled, constant=self.fit_intercept, names=names
        )
        design = recipe.design(source.example)
        view = View(recipe, found.labels, factors, loss, float(self.margin), self.n_jobs)
        totals = Totals.of(found, factors)
        sweep = PartedSweep(parts, view, totals, design, source.work(design))
        box = self._box(design.rows.n_columns)
        outcome = minimise(
            sweep,
            box,
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            start=self._start(design.n_features),
            callback=self._watch,
        )
        return sweep, box, outcome, found

    def _class_factors(self, found):
        """What multiplies the weights of each class.

        Raises
        ------
        ValueError
            If there are not two classes with weight.
        """
        if len(found.labels) != 2 or not np.all(found.n_rows):
            n_found = np.count_nonzero(found.n_rows)
            raise ValueError(
                f"Only binary classification is supported. y has {n_found} class"
                f"{'' if n_found == 1 else 'es'}; give rows of exactly two."
            )
        factors = np.ones(2)
        if self.class_weight is not None:
            factors = checks.check_class_weight(self.class_weight, found.labels)
            if factors is None:
                total = found.weight.sum()
                factors = total / (2 * np.where(found.weight > 0, found.weight, 1.0))
        for label, weight in zip(found.labels, factors * found.weight, strict=True):
            if not weight > 0:
                raise ValueError(
                    f"Only rows of weight 0 have the label {label}; give both classes weight."
                )
        return factors

    def _learn_of_parts(self, sweep, box, outcome, found):
        """Set what the leave-one-out scores tell, as a fit in memory does."""
        self._forget_uncertainty()
        if not self.leave_one_out:
            lowest, _ = sweep.over_parts(TrainingScores(), outcome.evaluation)
            self.separation_ = float(lowest.sum())
            return
        trained, ranking, lowest, totals = left_out_ranking(sweep, box, outcome, found)
        self.separation_ = float(trained.sum())
        if ranking is None:
            self._warn_of_no_scores(sweep, outcome)
            return
        self._learn_of_ranking(ranking, totals)
        if self.certainty == 1:
            self.band_ = tuple(sorted((float(lowest[0]), -float(lowest[1]))))
