"""Fits on rows that lie on two Dask workers, beside dask-ml and XGBoost on the same rows.

A step besides: what it takes beyond the slower worker's own sum over its blocks, 5 ms at most.
"""

import os
from importlib.util import find_spec

import numpy as np
import pytest
from problems import DASK_ROWS, batch

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow
N_BLOCKS = 8


@pytest.fixture(scope="module")
def cluster():
    from distributed import Client, LocalCluster

    # workers import the package from where this process has it
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as workers,
        Client(workers) as client,
    ):
        yield client


def as_dask(values):
    """An array in so many blocks of rows."""
    import dask.array as da

    return da.from_array(values, chunks=(len(values) // N_BLOCKS, *values.shape[1:]))


@pytest.fixture(scope="module")
def rows(cluster):
    from distributed import wait

    X, y = (as_dask(values).persist() for values in batch(DASK_ROWS, 0))
    wait([X, y])
    return X, y


def entropic(client):
    from entropic.dask import DaskEntropicClassifier

    return DaskEntropicClassifier(client=client)


def dask_ml(client):
    from dask_ml.linear_model import LogisticRegression

    return LogisticRegression(solver="lbfgs")


def xgboost(client):
    from xgboost.dask import DaskXGBClassifier

    model = DaskXGBClassifier(n_estimators=100)  # trees: its linear booster has no such form
    model.client = client
    return model


METHODS = {
    "entropic": (entropic, "entropic"),
    "dask-ml, LogisticRegression": (dask_ml, "dask_ml"),
    "XGBoost, trees": (xgboost, "xgboost"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", METHODS)
def test_fit(measure, cluster, rows, name):
    make, needs = METHODS[name]
    if find_spec(needs) is None:
        pytest.skip(f"{needs} is not installed")
    problem = f"{DASK_ROWS:,} × 20, 2 workers of {os.cpu_count()} CPUs"
    model = measure("Dask", problem, name, lambda: make(cluster).fit(*rows), rounds=3)
    X, y = batch(100_000, 2**32 - 1)
    said = np.asarray(model.predict(as_dask(X)))
    measure.note({"accuracy": round(float(np.mean(said == y)), 4)})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shape", [(2_000, 30), (400_000, 30)], ids=["2,000", "400,000"])
def test_step(measure, cluster, monkeypatch, shape):
    from distributed import wait

    from entropic.rows.parts import Evaluate
    from entropic.rows.workers import WorkerParts

    X = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    columns = [as_dask(values).persist() for values in (X, X[:, 0] + X[:, 1] > 0)]
    wait(columns)
    kept, run = [], WorkerParts.run

    def keep(self, task):
        kept.append((self, task))
        return run(self, task)

    monkeypatch.setattr(WorkerParts, "run", keep)
    entropic(cluster).fit(*columns)
    parts, task = next(found for found in kept if isinstance(found[1], Evaluate))

    def own_seconds(task, dask_worker):
        """The least time of a worker's bare sums over its blocks, made ready beforehand."""
        import time

        from entropic.rows.stream import Batches

        held = [block[1:] for block in dask_worker.data.values() if isinstance(block, tuple)]
        task = task.with_threads(dask_worker.state.nthreads)
        rows = Batches(held, checked=True, may_be_empty=True)
        sweeps = [task.view.sweep(part) for part in rows.parts(task.encoder())]
        times = []
        for _ in range(20):
            began = time.perf_counter()
            for sweep in sweeps:
                task.of_sweep(sweep)
            times.append(time.perf_counter() - began)
        return min(times)

    measure(
        "Dask step", f"{shape[0]:,} × {shape[1]}", "a step", lambda: run(parts, task), rounds=40
    )
    measure.note({"slower worker's own seconds": max(cluster.run(own_seconds, task).values())})
