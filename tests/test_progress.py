"""What is told of a fit while it goes on: to the log, to callbacks, to scikit-learn's callbacks."""

import logging
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from entropic import EntropicClassifier, EntropicClassifierCV, load_model

pytestmark = pytest.mark.one_backend
X, Y = load_iris(return_X_y=True)
TWO = Y > 0


class Told:
    """A callback of scikit-learn's that remembers, and may ask to stop."""

    def __init__(self, most=1000):
        self.log, self.most, self.fitted = [], most, []

    def setup(self, estimator, context):
        self.log.append("setup")

    def teardown(self, estimator, context):
        self.log.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.log.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.log.append(f"end {context.task_name}")
        self.fitted.append(fitted_estimator)
        return len(self.log) > self.most


@pytest.fixture
def told():
    pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")
    return Told()


@pytest.mark.parametrize("y", [TWO, Y], ids=["two classes", "three"])
def test_scikit_learns_callbacks_are_told_of_every_step(told, y):
    model = EntropicClassifier().set_callbacks(told).fit(X, y)
    n_steps = told.log.count("begin step")
    assert n_steps == told.log.count("end step") >= np.max(model.n_iter_)
    assert told.log[:2] == ["setup", "begin fit"] and told.log[-2:] == ["end fit", "teardown"]
    np.testing.assert_array_equal(told.fitted[-1].predict(X), model.predict(X))
    again = EntropicClassifier().fit(X, y)
    np.testing.assert_array_equal(model.coef_, again.coef_)


def test_scikit_learns_callbacks_may_stop_a_fit(told):
    told.most = 8
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the user asked for it
        model = EntropicClassifier().set_callbacks(told).fit(X, TWO)
    assert model.status_ == "interrupted" and told.log[-1] == "teardown"


@pytest.mark.parametrize("y", [TWO, Y], ids=["two classes", "three"])
def test_scikit_learns_callbacks_may_fit_models_that_are_told_of_too(told, y):
    inner, within = type(told)(), []

    class Fitting(type(told)):
        def on_fit_task_end(self, *args, **kwargs):
            if len(within) < 2:
                within.append(EntropicClassifier().set_callbacks(inner).fit(X, y))
            return super().on_fit_task_end(*args, **kwargs)

    model = EntropicClassifier().set_callbacks(Fitting()).fit(X, y)
    assert inner.log.count("end fit") == 2
    for each in within:
        np.testing.assert_array_equal(each.coef_, model.coef_)


def test_callbacks_are_told_when_a_fit_fails_and_are_not_saved(told, tmp_path):
    model = EntropicClassifier(max_iter=1).set_callbacks(told)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(Warning, match="raise max_iter"):
            model.fit(X, TWO)
    assert told.log[-1] == "teardown" and not hasattr(model, "coef_")
    model.set_params(max_iter=None).fit_batches([(X, TWO)])
    assert told.log[-2:] == ["end fit", "teardown"]
    model.save(tmp_path / "model")
    assert "_skl_callbacks" not in vars(load_model(tmp_path / "model"))


def test_scikit_learns_own_callbacks(told, capsys):
    from sklearn.callback import ProgressBar, ScoringMonitor

    monitor = ScoringMonitor(scoring="accuracy")
    model = EntropicClassifier().set_callbacks(monitor).fit(X, Y)
    assert monitor.get_logs()
    GridSearchCV(EntropicClassifier(), {"C": [1, 2]}, cv=2).set_callbacks(ProgressBar()).fit(X, Y)
    assert model.score(X, Y) > 0.9


def test_a_search_tells_of_its_candidates(told, caplog):
    with caplog.at_level(logging.INFO, logger="entropic"):
        model = (
            EntropicClassifierCV((1,), (1.0, 3.0), slacks=(0.1,)).set_callbacks(told).fit(X, TWO)
        )
    assert told.log.count("end candidate") == len(model.results_["score"])
    assert any("accuracy_log_loss of" in record.getMessage() for record in caplog.records)


def test_the_log_has_steps_and_endings(caplog, capfd):
    with caplog.at_level(logging.DEBUG, logger="entropic"):
        model = EntropicClassifier().fit(X, TWO)
    steps = [record for record in caplog.records if record.levelno == logging.DEBUG]
    assert len(steps) >= model.n_iter_ and all("gap" in step.getMessage() for step in steps)
    last = caplog.records[-1]
    assert last.levelno == logging.INFO and last.name == "entropic"
    assert last.getMessage().startswith(f"EntropicClassifier: converged in {model.n_iter_} steps")
    caplog.clear()
    logging.getLogger("entropic").propagate = False
    try:
        EntropicClassifier().fit(X, TWO)
    finally:
        logging.getLogger("entropic").propagate = True
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("y", [TWO, Y], ids=["two classes", "three"])
def test_a_warm_start_goes_on_to_the_same_optimum(degree, y):
    model = EntropicClassifier(degree, warm_start=True, tol=1e-12).fit(X[::2], y[::2])
    warm = model.fit(X, y)
    cold = EntropicClassifier(degree, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(warm.coef_, cold.coef_, rtol=1e-5, atol=1e-6)
    assert np.sum(warm.n_iter_) <= np.sum(cold.n_iter_)
    steps = np.max(model.fit(X, y).n_iter_)
    assert steps <= 1
    batches = model.fit_batches([(X, y)])
    assert np.max(batches.n_iter_) <= 2
    other = model.fit(X[:, :2], y)  # nothing to begin from: other columns
    np.testing.assert_allclose(
        other.coef_, EntropicClassifier(degree, tol=1e-12).fit(X[:, :2], y).coef_, atol=1e-6
    )
