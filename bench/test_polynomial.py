"""Polynomial fits and predictions as whole processes, and one sweep over monomials.

Each fit runs in a process of its own beside its peers' on the same rows in the same run; times
are of ``fit`` and of ``decision_function`` on the training rows, memory is the process's peak.
``extra_info`` has both, the accuracy on rows not seen, and the number of monomials.

    pytest bench/test_polynomial.py --benchmark-group-by=group
"""

import json
import subprocess
import sys
import time

import numpy as np
import pytest

from entropic.kernels.backend import sweeps
from entropic.kernels.loss import Loss
from entropic.rows import DenseRows
from entropic.rows.listing import Listing
from entropic.rows.monomial_rows import MonomialRows
from entropic.rows.target import Target

# rows, features, degree
SHAPES = [(50_000, 20, 2), (20_000, 20, 3), (20_000, 4, 6)]
METHODS = ["entropic", "logistic regression", "polynomial kernel"]
KERNEL_ROWS = 5_000  # a kernel machine's time grows with their square: its fits get no more

PROGRAM = """
import json, resource, sys, time
import numpy as np
method, n_samples, n_features, degree = sys.argv[1], *map(int, sys.argv[2:])
rng = np.random.default_rng(0)
X = rng.normal(size=(n_samples + 5000, n_features))
score = X[:, 0] * X[:, 1] + X[:, 2] ** 2 - X[:, 3] + rng.normal(size=len(X))
y = (score > 1).astype(int)
if method == "entropic":
    from entropic import EntropicClassifier
    model = EntropicClassifier(degree)
else:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler
    from sklearn.svm import SVC
    if method == "polynomial kernel":
        model = make_pipeline(StandardScaler(), SVC(kernel="poly", degree=degree, coef0=1))
    else:
        expansion = PolynomialFeatures(degree, include_bias=False)
        last = LogisticRegression(max_iter=1000)
        model = make_pipeline(StandardScaler(), expansion, StandardScaler(), last)
times = [time.perf_counter()]
model.fit(X[:n_samples], y[:n_samples])
times.append(time.perf_counter())
model.decision_function(X[:n_samples])
times.append(time.perf_counter())
unit = 1024 if sys.platform == "linux" else 1
print(json.dumps(dict(
    fit=times[1] - times[0],
    predict=times[2] - times[1],
    peak_megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6,
    accuracy=model.score(X[n_samples:], y[n_samples:]),
)))
"""


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_whole_process(benchmark, method, shape):
    n_samples, n_features, degree = shape
    if method == "polynomial kernel":
        n_samples = min(n_samples, KERNEL_ROWS)
    command = [sys.executable, "-P", "-c", PROGRAM, method]
    command += map(str, (n_samples, n_features, degree))
    figures = []

    def run():
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        figures.append(json.loads(done.stdout))

    benchmark.group = f"degree {degree}, {shape[0]} × {n_features}"
    benchmark.extra_info["rows"] = n_samples
    benchmark.extra_info["monomials"] = Listing(n_features, degree).n_monomials
    benchmark.pedantic(run, rounds=2)
    for name in figures[0]:
        benchmark.extra_info[name] = min(part[name] for part in figures)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_one_sweep_beside_one_over_stored_monomials(benchmark, n_threads):
    rng = np.random.default_rng(0)
    rows = MonomialRows(DenseRows(rng.normal(size=(100_000, 20))), Listing(20, 3))
    values = np.empty(rows.shape)
    for start, stop in rows.ranges():
        values[start:stop] = rows.block(start, stop)
    stored = DenseRows(values)
    coef = rng.normal(size=rows.n_columns + 1) / rows.n_columns
    target = Target.of(Loss(0.1), rng.choice([-1, 1], rows.n_samples))
    seconds = []
    for _ in range(5):
        begin = time.perf_counter()
        sweeps.evaluate(stored, coef, target, False, n_threads)
        seconds.append(time.perf_counter() - begin)
    benchmark.group = f"gradient sweep, 100000 × 1770 monomials, {n_threads} threads"
    benchmark.pedantic(
        sweeps.evaluate, (rows, coef, target, False, n_threads), rounds=5, warmup_rounds=1
    )
    benchmark.extra_info["share_of_stored"] = benchmark.stats.stats.min / min(seconds)
