"""Rows that lie on the workers of a cluster: their blocks, and the passes over them.

Blocks are loaded once, stay where they are, and every worker sums over its own: a pass sends a few
vectors of one number a column out, and one vector and one matrix a worker back. Where a worker is
lost, the scheduler makes its blocks anew elsewhere and the pass is repeated.
"""

from __future__ import annotations

import asyncio
import time
import weakref
from collections import defaultdict

import dask
import dask.array as da
import distributed
import numpy as np
import scipy.sparse as sp

from entropic.kernels.library_threads import one_library_thread

from .parts import fold, together
from .stream import Batches, PlacedBatch, as_matrix
from .survey import Survey

# Seconds for which a cluster may be without a worker before a fit gives up; on a busy machine one
# takes half of it to start.
PATIENCE = 60.0
# Passes that are tried anew, one after the other, before a fit gives up.
TRIES = 20
# Seconds within which the scheduler notices that a worker is gone.
NOTICED = 5.0
# Of each worker: the codes of the labels of its blocks, which take longer to find than to keep.
CODES: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
# What is raised for a worker that is gone, or no longer holds a block.
LOST = (OSError, KeyError, TimeoutError)


def blocks(columns):
    """Delayed blocks ``(X, y)`` or ``(X, y, weight)``, one a partition.

    Raises
    ------
    ValueError
        If the collections are partitioned differently.
    """
    X, *others = columns
    if isinstance(X, da.Array):
        X = X.rechunk({1: -1})
        known = not np.isnan(X.chunks[0]).any()
        others = [
            other.rechunk((X.chunks[0],))
            if isinstance(other, da.Array) and known and other.shape == X.shape[:1]
            else other
            for other in others
        ]
    delayed = [np.ravel(values.to_delayed()).tolist() for values in (X, *others)]
    if len({len(parts) for parts in delayed}) > 1:
        raise ValueError(
            f"X has {len(delayed[0])} partitions and y or sample_weight "
            f"{' and '.join(str(len(parts)) for parts in delayed[1:])}; repartition them alike."
        )
    block = dask.delayed(_block, pure=False)
    return [block(number, *parts) for number, parts in enumerate(zip(*delayed, strict=True))]


def _block(number, X, *others):
    """One partition as arrays; frames are converted once."""
    try:
        X = as_matrix(X)
        X = X if sp.issparse(X) else np.ascontiguousarray(X)
        return number, X, *(np.asarray(values) for values in others)
    except (ValueError, TypeError) as error:
        raise ValueError(f"partition {number}: {error}") from None


class WorkerParts:
    """Rows that workers hold.

    Parameters
    ----------
    client : distributed.Client
    delayed : list of delayed blocks
    """

    wants_digest = False

    def __init__(self, client, delayed):
        self.client, self.futures = client, client.compute(delayed)
        self.places = None

    def run(self, task):
        """What a task finds of all parts; repeated where a worker was lost on the way."""
        for _ in range(TRIES):
            if self.places is None:
                self.places = self._places()
            try:
                answers = self.client.run(
                    _work, task, self.places, workers=list(self.places), on_error="return"
                )
            except LOST:
                answers = {}
            found = self._whole(answers)
            if found is not None:
                total = together(task, found)
                if total is None:
                    raise ValueError(
                        "The partitions hold no rows; give at least two, of different classes."
                    )
                return total
            self.places = None
        raise RuntimeError(
            f"A pass over the rows was begun {TRIES} times and a worker was lost each time; look "
            "at the workers' logs and memory."
        )

    def close(self):
        """The fit is done."""

    def _whole(self, answers):
        """What the workers found, in the order of their first block; None if one was lost."""
        found, lost = {}, []
        for place, answer in answers.items():
            if isinstance(answer, _Failure):
                raise ValueError(answer.message)
            if isinstance(answer, LOST):
                lost.append(place)
            elif isinstance(answer, BaseException):
                raise answer
            else:
                found[self.places[place][0]] = answer
        if lost or len(found) < len(self.places):
            self._let_go(lost)
            return None
        return [found[key] for key in sorted(found)]

    def _let_go(self, lost):
        """Wait until the scheduler knows that workers are gone, unless they are not after all."""
        end = time.monotonic() + NOTICED
        while time.monotonic() < end:
            time.sleep(0.05)
            if not set(lost) & set(self.client.scheduler_info(n_workers=-1)["workers"]):
                return

    def _places(self):
        """The blocks that each worker is to work on, once all are in memory."""
        while True:
            self._wait()
            order = {future.key: number for number, future in enumerate(self.futures)}
            held, n_held = defaultdict(list), 0
            for key, places in self.client.who_has(self.futures).items():
                if places:
                    # of several copies the one whose worker has least to do
                    least = min(places, key=lambda place: (len(held[place]), place))
                    held[least].append(key)
                    n_held += 1
            if n_held == len(self.futures):
                return {place: sorted(keys, key=order.get) for place, keys in held.items() if keys}
            time.sleep(0.05)

    def _wait(self):
        """Wait until all blocks are in memory.

        Raises
        ------
        RuntimeError
            If there is no worker for long, or a block cannot be made.
        """
        alone_since = lost_since = None
        while True:
            try:
                distributed.wait(self.futures, timeout=1.0)
            except TimeoutError:
                pass
            except Exception as error:
                raise RuntimeError(f"The cluster's scheduler is gone: {error}") from error
            states = {future.status for future in self.futures}
            if states == {"finished"}:
                return
            for future in self.futures:
                if future.status == "error":
                    reason = future.exception()
                    if isinstance(reason, ValueError):
                        raise ValueError(str(reason)) from None
                    raise RuntimeError(f"A block of rows could not be made: {reason}") from reason
            if self.client.status != "running":
                raise RuntimeError("The cluster's scheduler is gone; start a cluster anew.")
            now = time.monotonic()
            workers = self.client.scheduler_info(n_workers=-1)["workers"]
            alone_since = None if workers else alone_since or now
            if alone_since is not None and now - alone_since > PATIENCE:
                raise RuntimeError(
                    f"The cluster has had no worker for {PATIENCE:g} seconds; the fit is given up. "
                    "Start workers and fit again."
                )
            # blocks are lost for a moment, until the scheduler has them made elsewhere
            lost_since = (lost_since or now) if workers and "lost" in states else None
            if "cancelled" in states or (lost_since is not None and now - lost_since > PATIENCE):
                raise RuntimeError(
                    "Blocks of rows were lost with their worker and cannot be made again, as if "
                    "they had been scattered; give collections made of files or functions."
                )


class _Failure:
    """Rows that cannot be used: no reason to try again."""

    def __init__(self, message):
        self.message = message


async def _work(task, places, dask_worker):
    """On a worker: do a task to its own blocks, beside the thread that answers the scheduler."""
    keys = places[dask_worker.address]
    held = {key: dask_worker.data[key] for key in keys}  # KeyError: a block has moved
    codes = CODES.setdefault(dask_worker, {})
    for key in list(codes):
        if key not in dask_worker.data:
            codes.pop(key, None)
    return await asyncio.to_thread(_folded, task, held, codes, dask_worker.state.nthreads)


def _folded(task, held, codes, n_threads):
    task, survey = task.with_threads(n_threads), isinstance(task, Survey)
    encode, batches = task.encoder(), []
    try:
        for key, (number, X, y, *weight) in held.items():
            if not survey:
                known = codes.get(key)
                y = codes[key] = encode(y)[0] if known is None else known
            batches.append(PlacedBatch.at(f"partition {number}", 0, X, y, *weight))
        rows = Batches(batches, checked=not survey, may_be_empty=True, joins=not survey)
        with one_library_thread:
            return fold(task, rows.parts(encode if survey else _known))
    except ValueError as error:
        return _Failure(str(error))


def _known(codes):
    return codes, ()
