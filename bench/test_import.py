"""What importing the classifier costs on top of the part of scikit-learn that it builds upon.

Measured inside fresh processes, so that neither the interpreter's start nor scikit-learn's own
import is counted. Run it against an installed package: an editable install looks for changed
sources on every import, which takes far longer than the import.
"""

import statistics
import subprocess
import sys

BOUND = 0.060  # seconds; a notebook's user should not notice the import

SCRIPT = """
import time
import sklearn.linear_model
start = time.perf_counter()
from entropic import EntropicClassifier
print(time.perf_counter() - start)
"""


def cost():
    done = subprocess.run([sys.executable, "-P", "-c", SCRIPT], capture_output=True, check=True)
    return float(done.stdout)


def test_import(benchmark):
    cost()  # bytecode is written once
    seconds = benchmark.pedantic(lambda: [cost() for _ in range(9)], rounds=1)
    benchmark.extra_info["import, ms"] = round(1e3 * statistics.median(seconds), 1)
    print(f"\nEntropicClassifier: median {1e3 * statistics.median(seconds):.1f} ms")
    assert min(seconds) <= BOUND
