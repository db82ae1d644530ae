"""Fits on rows that no memory holds: from a survey of the batches to what a fit leaves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.utils.validation import validate_data

from .features.monomials import Monomials
from .features.parted import Found, PartedRows
from .features.scaling import recipe_of
from .features.splines import LinearSplines
from .fitting import FittingMixin
from .kernels.library_threads import one_library_thread
from .kernels.loss import Loss
from .labels import check_class_weight, check_classes
from .one_against_rest import Watch, side_by_side
from .progress import fit_task
from .rollback import all_or_nothing
from .rows.journal import Journal
from .rows.parts import LocalParts, PartedSweep, SharedParts, SharedPasses, Totals, View
from .rows.stream import Batches, sample_of
from .rows.survey import Survey
from .solvers.certificate import BoundSums, bound_of, no_margin
from .solvers.ending import MESSAGES
from .solvers.outcome import Status
from .solvers.spectral import RULES
from .uncertainty.error_control import left_out_risk
from .uncertainty.parted import LeftOutOfParts, LeftOutSureness, observation_of, observed
from .uncertainty.ranking import Ranking
from .uncertainty.several import problems_of

# Parameters that change nothing of what a fit finds.
BESIDE = ("n_jobs", "verbose", "callback", "warm_start", "client")
# What stands for no slack, the next where the constraint is not kept well enough.
EXACT = (1e-8, 1e-9, 1e-10, 1e-11)
# Of the sample of batches from which knots are learned, and by which a search judges.
SAMPLE_ROWS, SAMPLE_ENTRIES = 20_000, 20_000_000


class BatchFitMixin(FittingMixin):
    """``fit_batches`` for a classifier with the parameters of EntropicClassifier."""

    def fit_batches(self, batches, classes=None, checkpoint=None):
        """Find the separating surface of rows that come in batches, in bounded memory.

        The same optimum as :meth:`fit` would find on all rows at once, whatever the cut and the
        order of the batches: a step of the solver is one pass over them. Memory is two batches,
        or two parts of half a million numbers where batches are small, and what the coefficients
        take.

        Parameters
        ----------
        batches : iterable or callable
            Of ``(X, y)`` or ``(X, y, weight)``, read about ten times; a callable without arguments
            makes a new iterator each time. A thread reads the next batch while one is worked on.
        classes : array of shape (n_classes,) or None
            The labels, where they are known; others are then an error at the row they stand in.
        checkpoint : str, path-like or None
            A file that keeps what each pass has found. Where the fit is broken off, the same call
            goes on after the last whole pass. Once done, the file is removed.

        Returns
        -------
        self
            ``multipliers_`` and ``loo_decision_`` are None: they have a number a row. For more than
            524,288 rows ``predict_proba`` and a ``certainty`` below 1 rest on leave-one-out scores
            cut to 13 binary digits; the band of ``certainty=1`` is exact. ``slack=0`` is the limit
            of small slacks, at which the constraint is kept to ``sqrt(tol * n_samples)``.

        Raises
        ------
        ValueError
            If batches can be read only once, differ from one pass to the next, or hold what
            :meth:`fit` would refuse; the message says in which batch and row. If the checkpoint
            is of other rows or parameters.
        """
        self._check_parameters()
        self._check_streamed()
        classes = None if classes is None else check_classes(classes)
        batches = Batches(batches, self._check_columns)
        local = LocalParts(batches)
        parts = local if checkpoint is None else Journal(local, checkpoint, self._problem())
        with all_or_nothing(self), fit_task(self), one_library_thread:
            self._learn_splines(batches)
            self._fit_parts(parts, classes)
        parts.close()
        return self

    def _learn_splines(self, batches):
        """Learn the knots from a sample of the rows, and let the batches be read as splines."""
        self.splines_ = None
        if self.n_knots:
            X, _, weights = sample_of(batches, SAMPLE_ROWS, SAMPLE_ENTRIES)
            self.splines_ = LinearSplines.of(X, weights, self.n_knots)
            batches.transform = self.splines_.transform

    def _check_streamed(self):
        if self.solver in RULES:
            raise ValueError(
                f"solver={self.solver!r} keeps a number for every row, which rows that are "
                "streamed are to avoid; fit in memory, or use solver='auto'."
            )

    def _follow_slack(self, sweep, box, start, callback):
        """Minimise for the slack wanted, or instead of none for one that keeps the constraint.

        That is the paper's rule for the exact constraint: a residual of at most ``sqrt(tol M)`` for
        M samples of weight (docs/mathematics.md, section 4.2).

        Returns
        -------
        sweep : PartedSweep
            With the slack that was taken.
        outcome : Outcome
            Near the centre of the box the constraint is kept to any residual by separating nothing:
            what separates nothing may prove that nothing does (docs/mathematics.md, section 4.4).
        """
        if float(self.slack):
            return sweep, self._minimise(sweep, box, start, callback)
        goal, best = np.sqrt(self.tol * sweep.n_counted), None
        for slack in EXACT:
            sweep = sweep.with_target(loss=replace(sweep.view.loss, slack=slack))
            outcome = self._minimise(sweep, box, start, callback)
            if outcome.converged and outcome.residual_norm > goal:
                message = f"The residual is {outcome.residual_norm:.1e}, for a goal of {goal:.1e}."
                outcome = replace(outcome, status=Status.PRECISION, message=message)
            if outcome.status is Status.CONVERGED:
                best = sweep, outcome
                if outcome.separation > 0:
                    break
                sums = sweep.over_parts(BoundSums(), outcome.evaluation)
                bound, size = bound_of(box, sums, sweep.n_samples)
                if bound <= no_margin(sweep, box, size):
                    status = Status.NOT_SEPARABLE
                    found = dict(status=status, message=MESSAGES[status].format(bound=bound))
                    return sweep, replace(outcome, margin_bound=bound, **found)
            elif best is not None or outcome.status is not Status.PRECISION:
                break
            start = outcome.state
        return best or (sweep, outcome)

    def _problem(self):
        """The parameters on which the solution depends."""
        parameters = self.get_params(deep=False)
        return {name: parameters[name] for name in parameters if name not in BESIDE}

    def _check_columns(self, X, first):
        validate_data(self, X, reset=first, skip_check_array=True)

    def _fit_parts(self, parts, classes):
        """Find the surfaces for the rows that someone holds, wherever that is."""
        survey = Survey(
            scaled=self.standardize is not False,
            by_class=self.class_weight is not None,
            classes=classes,
            digest=parts.wants_digest,
            n_jobs=self.n_jobs,
        )
        found = Found.of(parts.run(survey))
        there = found.labels[found.n_rows > 0].tolist()
        if len(there) < max(2, len(found.labels)):
            number = "1 class" if len(there) == 1 else f"{len(there)} classes"
            raise ValueError(
                f"y has {number}, {there}; give rows of at least two, and of all in classes."
            )
        self.classes_ = found.labels
        factors = check_class_weight(self.class_weight, found.labels, found.weight)
        loss = Loss(float(self.slack) or EXACT[0], self.constraint == "inequality")
        view = View(None, found.labels, factors, loss, float(self.margin), self.n_jobs)
        sparse = bool(found.figures["sparse"])
        scaled = not sparse if self.standardize == "auto" else self.standardize
        source = PartedRows(parts, found, view, sparse and not (scaled and self.degree > 1))
        self.monomials_ = Monomials(self.degree, interaction_only=self.interaction_only)
        names = getattr(self, "feature_names_in_", None)
        if self.splines_ is not None:
            names = self.splines_.names(names)
        if names is not None:
            self.monomials_.feature_names_in_ = names
        recipe = recipe_of(
            source, self.monomials_, scaled=scaled, constant=self.fit_intercept, names=names
        )
        design = recipe.design(source.example)
        view = View(recipe, found.labels, factors, loss, float(self.margin), self.n_jobs)
        totals = Totals.of(found, factors)
        box, work = self._box(design.rows.n_columns), source.work(design)
        starts, places = self._starts(design.n_features), problems_of(self.classes_)
        watch = Watch(self._watcher(), self.classes_)

        def fit_one(number, ask=None):
            rows = parts if ask is None else SharedParts(ask)
            own = replace(view, positive=places[number])
            sweep = PartedSweep(rows, own, totals, design, work)
            callback = watch.of(places[number], ask)
            sweep, outcome = self._follow_slack(sweep, box, starts[number], callback)
            learned = LeftOutOfParts.of(sweep, box, outcome, found, self.leave_one_out)
            return replace(outcome, evaluation=None), learned

        if len(places) == 1:
            fits = [fit_one(0)]
            self.n_sweeps_ = fits[0][0].n_sweeps
        else:
            shared = SharedPasses(parts)
            fits = side_by_side(len(places), fit_one, shared)
            self.n_sweeps_ = shared.reads.count
        outcomes, learned = zip(*fits, strict=True)
        self._keep(outcomes, design)
        self._learn_of_parts(parts, learned, found)

    def _learn_of_parts(self, parts, learned, found):
        """Set what the leave-one-out scores tell, as a fit in memory does."""
        self._forget_uncertainty()
        self.separation_ = self._stacked([one.separation for one in learned])
        if not self.leave_one_out:
            return
        if any(one.ranking is None for one in learned):
            self._warn_of_no_scores([one.cost for one in learned])
            return
        self._keep_learned([self._of_ranking(one.ranking) for one in learned])
        by_sureness, totals = learned[0].ranking, observed(found)
        if len(learned) > 1:
            tasks = tuple(one.task for one in learned)
            task = LeftOutSureness(tasks, self.calibration_, observation_of(found))
            by_sureness = Ranking(*parts.run(task))
            totals = by_sureness.bad.sum(), by_sureness.good.sum()
        self.left_out_risk_ = left_out_risk(by_sureness, totals)
        if self.certainty == 1:
            self.band_ = self._stacked([one.extremes for one in learned])
