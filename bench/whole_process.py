"""A fit in a process of its own: what it takes in time and, libraries and rows included, memory.

    python bench/whole_process.py TOPIC PROBLEM METHOD

prints, as JSON, the seconds of the fit and of the scores of the training rows, the process's peak
in megabytes, how much of it came on top of the libraries and rows that were there as the fit
began, and the accuracy on rows not seen.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

HERE = Path(__file__).parent
KERNEL_ROWS = 5_000  # a kernel machine's time grows with their square: its fits get no more
TEST_ROWS = 100_000
# On batches each peer gets about as few passes as give it our accuracy: SGD so many rows in all,
# XGBoost's linear booster so many rounds.
SGD_ROWS, ROUNDS = 1_000_000, 2


def methods(topic, problem):
    """The classifiers of a topic by name."""
    from methods import LINEAR, UNSUITED, Method, polynomial
    from problems import POLYNOMIALS

    if topic == "polynomial fit":
        return polynomial(POLYNOMIALS[problem][2])
    if topic == "whole fit":
        return {name: m for name, m in LINEAR.items() if problem not in UNSUITED.get(name, ())}
    return {
        "entropic": Method(_fit_batches),
        "entropic, NumPy": Method(_fit_batches, environment={"ENTROPIC_BACKEND": "numpy"}),
        "SGDClassifier": Method(_sgd_batches),
        "XGBoost, external memory": Method(_xgboost_batches, "xgboost"),
    }


def start(topic, problem, method):
    """Run this file as a process of its own; returns what it found."""
    environment = {**os.environ, **methods(topic, problem)[method].environment}
    command = [sys.executable, "-P", str(HERE / "whole_process.py"), topic, problem, method]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def memory(field):
    """Megabytes of this process by a field of its status in Linux, else its peak so far."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024 / 1e6
    except OSError:
        unit = 1024 if sys.platform == "linux" else 1
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def run(topic, problem, method):
    """Fit and predict here: times, what the fit added to memory, and the accuracy."""
    chosen = methods(topic, problem)[method]
    if topic == "batches":
        return _run_batches(chosen.make, Path(os.environ["ENTROPIC_BENCH_FILES"]) / problem)
    import problems

    if topic == "polynomial fit":
        n_samples, n_features, _ = problems.POLYNOMIALS[problem]
        if method == "SVC, polynomial kernel":
            n_samples = min(n_samples, KERNEL_ROWS)
        X, y, X_test, y_test = problems.polynomial(n_samples, n_features)
    else:
        X, y, X_test, y_test = problems.FITS[problem]()
    model = chosen.make()
    if hasattr(model, "prepare"):
        model.prepare(X, y)
    before, times = memory("VmRSS"), [time.perf_counter()]
    model.fit(X, y)
    times.append(time.perf_counter())
    added = memory("VmHWM") - before
    if hasattr(model, "decision_function"):
        model.decision_function(X)
    else:
        model.predict_proba(X)
    times.append(time.perf_counter())
    return times, added, model.score(X_test, y_test)


# ------------------------------------------------------------- rows in files


def _run_batches(fit, folder):
    import numpy as np
    from problems import batch

    X, y = batch(TEST_ROWS, 2**32 - 1)
    before, times = memory("VmRSS"), [time.perf_counter()]
    scores = fit(folder)
    times.append(time.perf_counter())
    added = memory("VmHWM") - before
    said = scores(X) > 0
    times.append(time.perf_counter())
    return times, added, float(np.mean(said == y))


def _fit_batches(folder):
    from entropic import EntropicClassifier
    from entropic.rows.batches import ArrayFiles

    model = EntropicClassifier().fit_batches(ArrayFiles(folder / "X.npy", folder / "y.npy"))
    return model.decision_function


def _sgd_batches(folder):
    import numpy as np
    from sklearn.linear_model import SGDClassifier

    X, y = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in "Xy")
    model = SGDClassifier(random_state=0)
    for _ in range(max(1, SGD_ROWS // len(y))):
        for first in range(0, len(y), 100_000):
            part = slice(first, first + 100_000)
            model.partial_fit(X[part], y[part], classes=[0, 1])
    return model.decision_function


def _xgboost_batches(folder):
    """The linear booster on rows that are read again in each round."""
    import numpy as np
    import xgboost

    X, y = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in "Xy")

    class Parts(xgboost.DataIter):
        def __init__(self):
            self.at = 0
            super().__init__(cache_prefix=str(folder / "cache"))

        def next(self, input_data):
            if self.at >= len(y):
                return False
            part = slice(self.at, self.at + 1_000_000)
            input_data(data=X[part], label=y[part])
            self.at += 1_000_000
            return True

        def reset(self):
            self.at = 0

    options = {"objective": "binary:logistic", "booster": "gblinear"}
    model = xgboost.train(options, xgboost.DMatrix(Parts()), num_boost_round=ROUNDS)
    return lambda X: model.predict(xgboost.DMatrix(X)) - 0.5


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]
    times, added, accuracy = run(*sys.argv[1:])
    seconds = {"fit": times[1] - times[0], "predict": times[2] - times[1]}
    megabytes = {"megabytes": round(memory("VmHWM"), 1), "added": round(max(added, 0.1), 1)}
    print(json.dumps({**seconds, **megabytes, "accuracy": round(accuracy, 4)}))
