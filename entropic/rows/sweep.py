"""The sweep: coefficients in, (value, gradient, curvature) out, in one read of the rows.

Solvers see nothing else of the data. Rows in memory, on disk and on a cluster differ in who
runs the sweep; the protocol is that of :class:`Sweep`.
"""

from __future__ import annotations

import copy
import functools
from dataclasses import dataclass, replace

import numpy as np

from entropic.kernels.backend import sweeps
from entropic.kernels.cached import cached_property

from .target import Target
from .work import Work


@dataclass(frozen=True)
class Recomputed:
    """Stands for Hessian weights that no memory holds: those at a point, made with each read.

    Attributes
    ----------
    coef : array of shape (n_features,)
        The point, in the units of the design.
    """

    coef: np.ndarray


@dataclass(frozen=True)
class Evaluation:
    """What one sweep found at one point. It never changes.

    Attributes
    ----------
    coef : array of shape (n_features,)
        The point, in the units of the design.
    value : float
        ``sum_i q_i l(t_i)``, the samples' part of the objective.
    gradient : array of shape (n_features,)
        Of the value; with the multipliers ``lambda = -q l'(t)`` it is ``-D^T lambda``.
    curvature : array of shape (n_features, n_features) or None
        ``D^T diag(q l'') D``, where it was asked for.
    functional_margins, log_margins, hessian_weights : arrays of shape (n_samples,) or None
        ``t = D w - y``, ``l'(t) = ln b`` and ``q l''(t)``, where they were asked for. Of rows
        that are only streamed, the first two are never kept and the last are ``Recomputed``.
    """

    coef: np.ndarray
    value: float
    gradient: np.ndarray
    curvature: np.ndarray | None = None
    functional_margins: np.ndarray | None = None
    log_margins: np.ndarray | None = None
    hessian_weights: np.ndarray | None = None


@dataclass(frozen=True)
class RowSample:
    """Some of a sweep's rows, drawn evenly, that stand for all.

    Attributes
    ----------
    sweep : Sweep
        Over these rows alone, with weights as they are.
    indices : int array
    factor : float
        How many rows each stands for.
    """

    sweep: Sweep
    indices: np.ndarray
    factor: float

    def curvature(self, hessian_weights):
        """An estimate of the curvature of all rows, for the Hessian weights of all."""
        return self.sweep.curvature(hessian_weights[self.indices] * self.factor)

    def curvature_at(self, coef):
        """The same at coefficients, without Hessian weights of all rows."""
        return self.factor * self.sweep.evaluate(coef, curvature=True).curvature


@functools.lru_cache(4)
def drawn(n_rows, of):
    """So many places, in order, one drawn from each of as many stretches of ``of`` places."""
    edges = np.arange(n_rows + 1) * of // n_rows
    inside = np.random.default_rng(0).random(n_rows) * np.diff(edges)
    places = edges[:-1] + inside.astype(np.intp)
    places.setflags(write=False)
    return places


class Reads:
    """How often all rows were read; reading some of them counts as that share."""

    def __init__(self):
        self.count = 0.0


class Sweep:
    """The samples' part of the objective, for rows in memory.

    Parameters
    ----------
    design : Design
    target : Target
    n_threads : int
    kernels : object
        What reads the rows: the backend's sweeps, or what stands in for them (rows/lockstep.py).

    Attributes
    ----------
    n_samples, n_features : int
        Sizes of the design.
    reads : Reads
        Shared with every sweep made from this one.
    """

    def __init__(self, design, target, n_threads=1, kernels=sweeps):
        self.design, self.target, self.n_threads = design, target, n_threads
        self.kernels = kernels
        self.reads, self.share, self._sample = Reads(), 1.0, None

    @property
    def n_samples(self):
        return self.design.n_samples

    @property
    def n_features(self):
        return self.design.n_features

    @property
    def total_weight(self):
        """The unit in which ``tol`` is meant."""
        return self.target.total_weight(self.n_samples)

    @cached_property
    def counted(self):
        """Mask of the samples that have weight."""
        return np.broadcast_to(self.target.weights > 0, self.n_samples)

    @property
    def n_counted(self):
        """How many samples have weight."""
        if len(self.target.weights) == 1:
            return self.n_samples * int(self.target.weights[0] > 0)
        return int(np.count_nonzero(self.counted))

    @property
    def weight_range(self):
        """The smallest weight above 0, and the largest."""
        weights = self.target.weights
        most = float(np.max(weights))
        return float(np.min(weights, where=weights > 0, initial=most)), most

    @cached_property
    def work(self):
        """Sizes of the data, from which the cost of each kind of step follows."""
        return Work.of(self.design)

    def _of_design(self, design):
        other = copy.copy(self)
        vars(other).pop("work", None)
        vars(other).pop("counted", None)
        other.design, other._sample = design, None
        return other

    def with_target(self, **changes):
        """The same rows with another loss, other weights or another offset."""
        other = copy.copy(self)
        vars(other).pop("counted", None)
        other.target, other._sample = replace(self.target, **changes), None
        return other

    def in_units(self, unit):
        """The same rows with all weights divided by a number."""
        return self.with_target(weights=self.target.weights / unit)

    def over_parts(self, task, evaluation):
        """What a task makes of the samples: here of all at once (rows/parts.py: one by one)."""
        return task(self, evaluation)

    def with_design(self, design):
        """Another design of the same samples: some of its columns, say."""
        return self._of_design(design)

    def take(self, indices):
        """A sweep over some of the rows."""
        return self._take(indices, self.design.take(indices))

    def _take(self, indices, design):
        target = self.target
        columns = (target.sign, target.weights, target.offset)
        columns = [values if len(values) == 1 else values[indices] for values in columns]
        other = self._of_design(design)
        other.target = Target(*columns, target.loss)
        other.share = self.share * len(indices) / max(1, self.n_samples)
        return other

    def sample(self, n_rows):
        """So many rows, one drawn from each of as many stretches of those with weight; kept.

        Returns
        -------
        RowSample
        """
        if self._sample is None or len(self._sample.indices) != n_rows:
            rows = self.n_counted
            indices = drawn(n_rows, rows)
            if rows < self.n_samples:
                indices = np.flatnonzero(self.counted)[indices]
            part = self._take(indices, self.design.sampled(indices))
            self._sample = RowSample(part, indices, rows / n_rows)
        return self._sample

    def _read(self):
        self.reads.count += self.share
        return self.design.rows

    def evaluate(self, coef, curvature=False, samples=False):
        """``sum q l(t)`` with its gradient and, when asked, its curvature.

        Parameters
        ----------
        coef : array of shape (n_features,)
        curvature : bool
        samples : bool
            Whether to keep the three per-sample arrays; they cost a write to memory.

        Returns
        -------
        Evaluation
        """
        kept = np.empty((3, self.n_samples)) if samples else (None, None, None)
        value, gradient, matrix = self.kernels.evaluate(
            self._read(), self.design.to_rows(coef), self.target, curvature, self.n_threads, *kept
        )
        if matrix is not None:
            matrix = self.design.curvature_from_rows(matrix)
        return Evaluation(coef, value, self.design.from_rows(gradient), matrix, *kept)

    def newton_steps(self, box, state, rules, told):
        """Newton's steps from a state, where the kernels make them (numpy_sweeps.py).

        Returns
        -------
        state : array of shape (n_features,)
        evaluation : Evaluation
            There, with curvature and per-sample arrays.
        entropy, gap : float
        n_steps : int
        polished : bool
            Whether the last step began at the goal.

        Or None, where there are none.
        """
        design = self.design.mean, self.design.scale, self.design.constant
        problem = self.design.rows, design, box, self.target, state
        found = self.kernels.newton_steps(*problem, rules, told)
        if found is None:
            return None
        state, coef, gradient, curvature, kept, at, n_steps, n_reads, polished = found
        self.reads.count += self.share * n_reads
        evaluation = Evaluation(coef, at[0], gradient, curvature, *kept)
        return state, evaluation, at[1], at[2], n_steps, polished

    def scores(self, coef):
        """The design's scores ``f``, without sign and offset."""
        return self.kernels.scores(self._read(), self.design.to_rows(coef), self.n_threads)

    def rmatvec(self, pointwise):
        """``Phi^T v`` for one number a sample and design rows Phi without sign."""
        pointwise = np.ascontiguousarray(pointwise, dtype=np.float64)
        return self.design.from_rows(self.kernels.rmatvec(self._read(), pointwise, self.n_threads))

    def matvec_signed(self, direction):
        """``D direction``, with the samples' signs."""
        return self.target.sign * self.scores(direction)

    def rmatvec_signed(self, multipliers):
        """``D^T multipliers``, with the samples' signs."""
        return self.rmatvec(self.target.sign * multipliers)

    def hessp(self, hessian_weights, direction):
        """``D^T diag(hessian_weights) D direction``."""
        inner = self.design.to_rows(direction)
        out = self.kernels.hessp(self._read(), hessian_weights, inner, self.n_threads)
        return self.design.from_rows(out)

    def curvature(self, hessian_weights):
        """``D^T diag(hessian_weights) D``, by a read of its own."""
        matrix = self.kernels.curvature(self._read(), hessian_weights, self.n_threads)
        return self.design.curvature_from_rows(matrix)

    def weight_curvature(self):
        """``D^T diag(q) D``."""
        return self.curvature(np.broadcast_to(self.target.weights, self.n_samples).copy())

    def gram(self, diagonal):
        """``Phi diag(diagonal) Phi^T``, n_samples × n_samples, without signs."""
        inner, shift = self.design.gram_to_rows(diagonal)
        matrix = self.kernels.gram(self._read(), inner, self.n_threads)
        if shift is not None:
            shift = self.kernels.scores(self.design.rows, shift, self.n_threads)
            matrix += shift
            matrix += shift[:, None]
        return matrix

    def quadratic_forms(self, root, weights=None):
        """``|phi_i root|^2`` for every design row, for a root of shape (n_features, k)."""
        root = self.design.matrix_to_rows(root)
        return self.kernels.quadratic_forms(self._read(), root, weights, self.n_threads)
