"""Fits on a cluster: the model of one memory, whatever the partitions and whoever dies."""

import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
dask_config = pytest.importorskip("dask.config")

from entropic import EntropicClassifier, load_model  # noqa: E402
from entropic.dask import DaskEntropicClassifier  # noqa: E402
from entropic.rows import workers  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:distributed")


@pytest.fixture(scope="module")
def client():
    settings = dict(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50)
    # the scheduler knocks for so long at a worker that has just died
    with (
        dask_config.set({"distributed.comm.timeouts.connect": "3s"}),
        distributed.LocalCluster(**settings) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def rows(n_samples=400):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, 3)) * [1.0, 9.0, 0.1] + 2
    return X, np.where(X[:, 0] - 2 + rng.logistic(size=n_samples) > 0, "yes", "no")


def assert_same(model, whole):
    assert_allclose(model.coef_, whole.coef_, rtol=1e-8)
    assert_allclose(model.intercept_, whole.intercept_, rtol=1e-8)
    assert_allclose(model.band_, whole.band_, rtol=1e-8)
    assert_allclose(model.calibration_, whole.calibration_, rtol=1e-8)
    assert_allclose(model.separation_, whole.separation_, rtol=1e-8)
    assert model.classes_.tolist() == whole.classes_.tolist() and model.converged_


@pytest.mark.parametrize("constraint", ["equality", "inequality"])
@pytest.mark.parametrize("degree", [1, 3])
@pytest.mark.parametrize("chunks", [(400,), (1, 7, 192, 200), (0, 150, 0, 250)])
def test_partitions_do_not_matter(client, degree, constraint, chunks):
    X, y = rows()
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    settings = dict(degree=degree, constraint=constraint, class_weight="balanced", slack=1.0)
    whole = EntropicClassifier(**settings).fit(X, y, weight)
    columns = (da.from_array(X, chunks=(chunks, (2, 1))), da.from_array(y, chunks=(chunks,)),
               da.from_array(weight, chunks=100))  # fmt: skip
    assert_same(DaskEntropicClassifier(client=client, **settings).fit(*columns), whole)


def test_partitions_of_one_class(client):
    X, y = rows()
    order = np.argsort(y)
    n_first = int(np.sum(y == "no"))
    chunks = (n_first, len(y) - n_first)
    X_parts = da.from_array(X[order], chunks=(chunks, (3,)))
    model = DaskEntropicClassifier(client=client).fit(X_parts, da.from_array(y[order], chunks))
    assert_same(model, EntropicClassifier().fit(X, y))


def test_splines(client):
    X, y = rows()
    weight = (np.arange(len(y)) % 5 > 0).astype(float)
    whole = EntropicClassifier(2, n_knots=4).fit(X, y, weight)
    columns = [da.from_array(values, chunks=150) for values in (X, y, weight)]
    model = DaskEntropicClassifier(2, n_knots=4, client=client).fit(*columns)
    assert_allclose(model.splines_.knots, whole.splines_.knots)
    assert_same(model, whole)
    assert model.predict(columns[0]).compute().tolist() == whole.predict(X).tolist()
    X[300, 1] = np.nan
    with pytest.raises(ValueError, match=r"partition 2: X.*row 0, column 1"):
        DaskEntropicClassifier(n_knots=4, client=client).fit(da.from_array(X, 150), *columns[1:])
    sparse = columns[0].map_blocks(sp.csr_array)
    with pytest.raises(ValueError, match="n_knots needs dense rows"):
        DaskEntropicClassifier(n_knots=4, client=client).fit(sparse, *columns[1:])


def test_several_classes(client):
    X, y = rows()
    y = np.where(X[:, 1] > 8, "third", y)
    order = np.argsort(y)  # partitions of one or two classes
    X_parts = da.from_array(X[order], chunks=(90, 3))
    model = DaskEntropicClassifier(2, client=client).fit(X_parts, da.from_array(y[order], 90))
    whole = EntropicClassifier(2).fit(X, y)
    for name in ("coef_", "intercept_", "band_", "separation_"):
        assert_allclose(getattr(model, name), getattr(whole, name), rtol=1e-7)
    assert_allclose(model.left_out_risk_, whole.left_out_risk_, rtol=1e-7, atol=1e-12)
    rows_of = da.from_array(X, chunks=(150, 3))
    for method in ("decision_function", "predict_proba", "predict_set"):
        found = getattr(model, method)(rows_of)
        assert found.shape == (400, 3)
        assert_allclose(found.compute(), getattr(whole, method)(X), rtol=1e-6, atol=1e-9)
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=3)
    named = DaskEntropicClassifier(2, client=client).fit(frame, dd.from_pandas(pd.Series(y), 3))
    assert named.decision_function(frame).compute().columns.tolist() == sorted(set(y))


def test_frames_and_lazy_predictions(client, tmp_path):
    X, y = rows()
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y)
    parts = dd.from_pandas(frame, npartitions=3)
    parts = parts[parts.a < 4]  # of unknown lengths
    chosen = frame[frame.a < 4]
    model = DaskEntropicClassifier(client=client).fit(parts[["a", "b", "c"]], parts.y)
    whole = EntropicClassifier().fit(chosen[["a", "b", "c"]], chosen.y)
    assert_same(model, whole)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    for method in ("decision_function", "predict", "predict_proba", "in_band", "predict_set"):
        lazy = getattr(model, method)(parts[["a", "b", "c"]])
        assert isinstance(lazy, (dd.Series, dd.DataFrame))
        found, expected = lazy.compute(), getattr(whole, method)(chosen[["a", "b", "c"]])
        assert found.index.equals(chosen.index)
        if expected.dtype.kind == "f":
            assert_allclose(found, expected, rtol=1e-8)
        else:
            assert np.array_equal(found, expected)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert type(loaded) is EntropicClassifier and loaded.band_ == model.band_


def test_lazy_predictions_of_arrays(client):
    X, y = rows()
    X_parts = da.from_array(X, chunks=((0, 150, 250), (2, 1)))
    model = DaskEntropicClassifier(2, client=client).fit(X_parts, da.from_array(y, chunks=100))
    for method in ("decision_function", "predict", "predict_log_proba", "in_band", "predict_set"):
        lazy = getattr(model, method)(X_parts)
        assert isinstance(lazy, da.Array)
        expected = getattr(model, method)(X)
        assert lazy.shape == expected.shape and lazy.dtype == expected.dtype
        if expected.dtype.kind == "f":
            assert_allclose(lazy.compute(), expected, rtol=1e-9, atol=1e-12)
        else:
            assert np.array_equal(lazy.compute(), expected)


def test_parameters_are_those_of_the_classifier_and_the_client(client):
    from sklearn.base import clone

    model = clone(DaskEntropicClassifier(2, bound=3.0, client=client))
    assert model.get_params() == EntropicClassifier(2, bound=3.0).get_params() | {"client": client}
    assert pickle.loads(pickle.dumps(model)).client is None
    with pytest.raises(TypeError, match="unexpected keyword"):
        DaskEntropicClassifier(boundary=1)


def test_bad_rows_are_named_by_partition(client):
    X, y = rows()
    bad = X.copy()
    bad[250, 1] = np.nan
    y_parts = da.from_array(y, chunks=100)
    model = DaskEntropicClassifier(client=client)
    with pytest.raises(ValueError, match="partition 2: X contains NaN in row 50, column 1"):
        model.fit(da.from_array(bad, chunks=(100, 3)), y_parts)
    X_parts = da.from_array(X, chunks=(100, 3))
    with pytest.raises(ValueError, match="y has 1 class"):
        model.fit(X_parts, da.from_array(np.full(400, "a"), chunks=100))
    with pytest.raises(ValueError, match="X is 'ndarray' and no dask array or dataframe"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="4 partitions and y or sample_weight 1; repartition"):
        model.fit(X_parts, da.from_array(y[:-1], chunks=400))
    with pytest.raises(ValueError, match="solver='spectral' keeps a number for every row"):
        DaskEntropicClassifier(solver="spectral", client=client).fit(X_parts, y_parts)


def test_a_checkpoint_is_gone_on_from(client, tmp_path, monkeypatch):
    X, y = rows()
    parts = da.from_array(X, chunks=(50, 3)), da.from_array(y, chunks=50)
    whole, path = EntropicClassifier(2).fit(X, y), tmp_path / "checkpoint"
    run, passes = workers.WorkerParts.run, []

    def stopped(self, task):
        passes.append(task)
        if len(passes) == 5:
            raise RuntimeError("the client is gone")
        return run(self, task)

    monkeypatch.setattr(workers.WorkerParts, "run", stopped)
    model = DaskEntropicClassifier(2, client=client)
    with pytest.raises(RuntimeError, match="the client is gone"):
        model.fit(*parts, checkpoint=path)
    with pytest.raises(ValueError, match="is of other data"):
        model.fit(parts[0] * 2, parts[1], checkpoint=path)
    with pytest.raises(ValueError, match=r"is of a fit with degree=2, not 1"):
        DaskEntropicClassifier(client=client).fit(*parts, checkpoint=path)
    passes.clear()
    monkeypatch.setattr(workers.WorkerParts, "run", lambda *task: passes.append(1) or run(*task))
    assert_same(model.fit(*parts, checkpoint=path), whole)
    # besides the sweeps one for moments and two for scores, of all of which three were made before
    assert len(passes) == 1 + model.n_sweeps_ + 3 - 3 and not path.exists()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9 here")
def test_workers_that_die(client, monkeypatch):
    """One is killed in each of the first five passes, before or within it."""
    X, y = rows()
    run, passes = workers.WorkerParts.run, []

    def kill():
        while True:
            # asked of their nannies: a worker that has just died gives no answer
            pid = max(nanny.pid for nanny in client.cluster.workers.values() if nanny.pid)
            try:
                return os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:  # its nanny does not know yet
                time.sleep(0.01)

    def killed(self, task):
        passes.append(task)
        if len(passes) <= 5:
            # the one before is there again, however long a busy machine takes to start it
            client.wait_for_workers(2, timeout=120)
            if len(passes) % 2:
                threading.Timer(0.003, kill).start()
            else:
                kill()
        return run(self, task)

    monkeypatch.setattr(workers.WorkerParts, "run", killed)
    parts = da.from_array(X, chunks=(50, 3)), da.from_array(y, chunks=50)
    model = DaskEntropicClassifier(client=client).fit(*parts)
    assert_same(model, EntropicClassifier().fit(X, y))
    assert len(passes) > 5


def test_all_workers_gone(monkeypatch):
    monkeypatch.setattr(workers, "PATIENCE", 0.5)
    X, y = rows()
    run, passes = workers.WorkerParts.run, []
    settings = dict(n_workers=1, processes=False, dashboard_address=None, silence_logs=50)
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:

        def deserted(self, task):
            passes.append(task)
            if len(passes) == 3:
                cluster.scale(0)
            return run(self, task)

        monkeypatch.setattr(workers.WorkerParts, "run", deserted)
        parts = da.from_array(X, chunks=(50, 3)), da.from_array(y, chunks=50)
        with pytest.raises(RuntimeError, match="has had no worker for"):
            DaskEntropicClassifier(client=client).fit(*parts)
    assert len(passes) <= 4  # a pass may end before the worker does


def test_a_cluster_of_its_own():
    X, y = rows(60)
    parts = da.from_array(X, chunks=(30, 3)), da.from_array(y, chunks=30)
    model = DaskEntropicClassifier().fit(*parts)
    assert_same(model, EntropicClassifier().fit(X, y))
