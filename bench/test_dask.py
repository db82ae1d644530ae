"""Fits on rows that lie on two Dask workers, beside dask-ml and XGBoost on the same rows."""

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
