"""The sweep over rows that are produced part by part: on disk, from a generator, on a cluster.

A sweep is a sum over rows, so that the sum over parts is the sweep, whatever the cut. What is done
to a part is a *task*: a plain value that can be sent to where the rows are. It offers

    encoder()         what turns labels into codes, new for each pass
    task(part)        a tuple of arrays
    join(one, other)  two such tuples as one; sums, unless the task says otherwise

and whoever holds the rows offers ``run(task)``, which joins the parts in a fixed order.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from entropic.kernels.loss import Loss
from entropic.kernels.threads import effective_threads

from . import rows_of
from .lockstep import SharedKernels, SharedReads, in_lockstep
from .monomial_rows import MonomialRows
from .survey import codes_of, merged, moments_of
from .sweep import Evaluation, Reads, Recomputed, Sweep, sweeps
from .target import Target


class LocalParts:
    """Rows that this process reads, part by part.

    Parameters
    ----------
    batches : Batches
    """

    wants_digest = False

    def __init__(self, batches):
        self.batches = batches

    def run(self, task):
        """What a task finds of all parts."""
        return fold(task, self.batches.parts(task.encoder()))

    def close(self):
        """The fit is done."""


def fold(task, parts):
    """What a task finds of some parts together; None of none."""
    return together(task, map(task, parts))


def together(task, found):
    """What a task has found here and there, of which each may be None."""
    found = (each for each in found if each is not None)
    return functools.reduce(task.join, found, next(found, None))


class PartSweep(Sweep):
    """The sweep over one part, in memory, with what the user gave as its weights."""

    given = None


@dataclass(frozen=True)
class View:
    """How a part becomes a sweep.

    Parameters
    ----------
    recipe : Recipe (features/scaling.py)
    classes : array of shape (n_classes,)
    factors : array of shape (n_classes,)
        Multiplied onto the weights of each class.
    loss : Loss
    margin : float
        The offset of every sample.
    n_jobs : int or None
    positive : int
        The place of the class whose rows are of positive sign.
    """

    recipe: object
    classes: np.ndarray
    factors: np.ndarray
    loss: Loss
    margin: float = 0.0
    n_jobs: int | None = None
    positive: int = 1

    def encode(self, y):
        if len(self.classes) == 2:
            return np.asarray(y == self.classes[1]).astype(np.int16), ()
        return codes_of(y, self.classes), ()

    def sweep(self, part, design=None, kernels=sweeps):
        """The sweep over a part, of which there may already be the design."""
        weights = self.factors[:1]
        if np.any(self.factors != weights):
            weights = self.factors[part.codes]
        if part.given is not None:
            weights = weights * part.given
        sign = 2 * (part.codes == self.positive).view(np.int8) - 1
        target = Target.of(self.loss, sign, weights, self.margin)
        design = self.recipe.design(part.X) if design is None else design
        n_threads = effective_threads(self.n_jobs, design.rows.n_entries)
        sweep = PartSweep(design, target, n_threads, kernels)
        sweep.given = part.given
        return sweep


@dataclass(frozen=True)
class OfView:
    """A task on the sweeps over parts."""

    view: View

    def encoder(self):
        return self.view.encode

    def with_threads(self, n_threads):
        """The task for whom it is not said how many threads it may take."""
        if self.view.n_jobs is not None:
            return self
        return replace(self, view=replace(self.view, n_jobs=n_threads))

    def __call__(self, part):
        return self.of_sweep(self.view.sweep(part))

    def join(self, one, other):
        for total, found in zip(one, other, strict=True):
            total += found
        return one


@dataclass(frozen=True)
class Evaluate(OfView):
    """Value, gradient and, when asked, curvature, in the columns of the stored rows."""

    coef: np.ndarray
    curvature: bool

    def of_sweep(self, sweep):
        found = sweep.kernels.evaluate(
            sweep.design.rows, self.coef, sweep.target, self.curvature, sweep.n_threads
        )
        return np.array(found[0]), *(found[1:] if self.curvature else found[1:2])


@dataclass(frozen=True)
class AtPoint(OfView):
    """Hessian times vector, or the curvature without one, with the Hessian weights of a point."""

    coef: np.ndarray
    vector: np.ndarray | None = None

    def of_sweep(self, sweep):
        weights = sweep.evaluate(self.coef, samples=True).hessian_weights
        rows, threads = sweep.design.rows, sweep.n_threads
        if self.vector is None:
            return (sweep.kernels.curvature(rows, weights, threads),)
        return (sweep.kernels.hessp(rows, weights, self.vector, threads),)


@dataclass(frozen=True)
class WeightCurvature(OfView):
    """``[Z 1]^T diag(q) [Z 1]``."""

    def of_sweep(self, sweep):
        weights = np.ascontiguousarray(np.broadcast_to(sweep.target.weights, sweep.n_samples))
        return (sweep.kernels.curvature(sweep.design.rows, weights, sweep.n_threads),)


@dataclass(frozen=True)
class OfSamples(OfView):
    """Another task, on each part's sweep and its evaluation at a point."""

    coef: np.ndarray
    task: object

    def of_sweep(self, sweep):
        return self.task(sweep, sweep.evaluate(self.coef, samples=True))

    def join(self, one, other):
        if hasattr(self.task, "join"):
            return self.task.join(one, other)
        return super().join(one, other)


@dataclass(frozen=True)
class ColumnMoments(OfView):
    """Moments of the monomials."""

    def of_sweep(self, sweep):
        return (moments_of(sweep.design.rows, sweep.target.weights, self.view.n_jobs),)

    def join(self, one, other):
        return (merged(one[0], other[0]),)


@dataclass(frozen=True)
class Products(OfView):
    """How many products rows of sparse features have: the sum, and the sum of their squares."""

    listing: object

    def __call__(self, part):
        in_row = MonomialRows(rows_of(part.X), self.listing).entries_per_row()
        return (np.array([in_row.sum(), in_row @ in_row]),)


@dataclass(frozen=True)
class Occupied(OfView):
    """The monomials that some row of sparse features fills."""

    listing: object

    def __call__(self, part):
        return (MonomialRows(rows_of(part.X), self.listing).occupied(),)

    def join(self, one, other):
        return (np.union1d(one[0], other[0]),)


@dataclass(frozen=True)
class Several:
    """Tasks on sweeps of the same design, done together to each part.

    What they find stands one after the other, and before it how many arrays are each one's.
    """

    tasks: tuple

    def encoder(self):
        return self.tasks[0].encoder()

    def with_threads(self, n_threads):
        return Several(tuple(task.with_threads(n_threads) for task in self.tasks))

    def __call__(self, part):
        design = self.tasks[0].view.recipe.design(part.X)

        def done(task, ask):
            return task.of_sweep(task.view.sweep(part, design, SharedKernels(ask, answer)))

        bodies = [functools.partial(done, task) for task in self.tasks]
        answer = SharedReads(sweeps, Reads(), design.n_samples)
        found = in_lockstep(bodies, answer)
        return np.array([len(each) for each in found]), *chain(*found)

    def join(self, one, other):
        pairs = zip(self.tasks, self.apart(one), self.apart(other), strict=True)
        return one[0], *chain(*(task.join(*pair) for task, *pair in pairs))

    @staticmethod
    def apart(found):
        """What each task has found."""
        ends = np.cumsum(found[0])
        return [found[1 + end - n : 1 + end] for end, n in zip(ends, found[0], strict=True)]


class SharedParts:
    """Rows that several solvers share: a task is asked for, and done with those of the others.

    Parameters
    ----------
    ask : callable
        Of :func:`entropic.rows.lockstep.in_lockstep`.
    """

    def __init__(self, ask):
        self.run = ask


class SharedPasses:
    """Answers the tasks of :class:`SharedParts` by one pass over the rows.

    Parameters
    ----------
    parts : LocalParts or another object with ``run``
    """

    def __init__(self, parts):
        self.parts, self.reads = parts, Reads()

    def __call__(self, tasks):
        self.reads.count += 1
        return Several.apart(self.parts.run(Several(tuple(tasks))))


@dataclass(frozen=True)
class Totals:
    """Sums over all samples that solvers ask for, in the weights of the fit."""

    n_samples: int
    n_counted: int
    total_weight: float
    weight_range: tuple

    @classmethod
    def of(cls, found, factors):
        """From what the survey found (features/parted.py) and the factor of each class."""
        counts = factors > 0
        return cls(
            int(found.n_rows.sum()),
            int(found.n_counted[counts].sum()),
            float(factors @ found.weight),
            (float(np.min((factors * found.least)[counts])), float(np.max(factors * found.most))),
        )


class PartedSweep:
    """The samples' part of the objective, for rows that come part by part.

    The protocol is that of :class:`Sweep`, without what needs a number a sample in memory or
    single rows (``work.random_access`` is False).

    Parameters
    ----------
    parts : LocalParts or another object with ``run``
    view : View
    totals : Totals
    design : Design
        Of an example row: its algebra is that of all.
    work : Work
    """

    def __init__(self, parts, view, totals, design, work):
        self.parts, self.view, self.totals, self.design, self.work = (
            parts,
            view,
            totals,
            design,
            work,
        )
        self.target = Target.of(view.loss, offset=view.margin)
        self.reads = Reads()

    @property
    def n_samples(self):
        return self.totals.n_samples

    @property
    def n_features(self):
        return self.design.n_features

    @property
    def total_weight(self):
        return self.totals.total_weight

    @property
    def n_counted(self):
        return self.totals.n_counted

    @property
    def weight_range(self):
        return self.totals.weight_range

    def _like(self, view, totals):
        other = PartedSweep(self.parts, view, totals, self.design, self.work)
        other.reads = self.reads
        return other

    def with_target(self, *, loss):
        """The same rows with another loss."""
        return self._like(replace(self.view, loss=loss), self.totals)

    def in_units(self, unit):
        """The same rows with all weights divided by a number."""
        totals = self.totals
        least, most = totals.weight_range
        totals = replace(
            totals,
            total_weight=totals.total_weight / unit,
            weight_range=(least / unit, most / unit),
        )
        return self._like(replace(self.view, factors=self.view.factors / unit), totals)

    def run(self, task):
        """Do a task to every part."""
        self.reads.count += 1
        return self.parts.run(task)

    def evaluate(self, coef, curvature=False, samples=False):
        """As that of a sweep in memory; Hessian weights are never kept, but ``Recomputed``."""
        value, gradient, *matrix = self.run(
            Evaluate(self.view, self.design.to_rows(coef), curvature)
        )
        matrix = self.design.curvature_from_rows(matrix[0]) if curvature else None
        gradient = self.design.from_rows(gradient)
        return Evaluation(coef, float(value), gradient, matrix, hessian_weights=Recomputed(coef))

    def hessp(self, hessian_weights, direction):
        """``D^T diag(hessian_weights) D direction``."""
        inner = self.design.to_rows(direction)
        return self.design.from_rows(self.run(AtPoint(self.view, hessian_weights.coef, inner))[0])

    def curvature(self, hessian_weights):
        """``D^T diag(hessian_weights) D``, by a read of its own."""
        (matrix,) = self.run(AtPoint(self.view, hessian_weights.coef))
        return self.design.curvature_from_rows(matrix)

    def weight_curvature(self):
        """``Phi^T diag(q) Phi``."""
        return self.design.curvature_from_rows(self.run(WeightCurvature(self.view))[0])

    def over_parts(self, task, evaluation):
        """What a task makes of the samples of every part and the evaluation there."""
        return self.run(OfSamples(self.view, evaluation.coef, task))
