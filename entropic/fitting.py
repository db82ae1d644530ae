"""What fits in memory and on batches share: the parameters, the problem, and what is kept of it."""

from __future__ import annotations

import logging
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from . import checks
from .kernels.backend import Box
from .progress import described, has_callbacks, log, step_task
from .solvers.outcome import Status
from .solvers.problem import minimise
from .uncertainty.several import problems_of


class FittingMixin:
    """From the parameters of EntropicClassifier to its problems, and from their outcomes on."""

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

    def _minimise(self, sweep, box, start, callback):
        """The outcome of one problem, by the parameters."""
        return minimise(
            sweep,
            box,
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            start=start,
            callback=callback,
        )

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
