"""How soon the command answers what needs no data, and what imports cost, in fresh processes.

The yardstick is an interpreter that loads NumPy. Run it against an installed package: an editable
install looks for changed sources on every import.
"""

import subprocess
import sys

import pytest

CALLS = [
    ["-c", "import numpy"],
    ["-c", "import entropic"],
    ["-m", "entropic", "--version"],
    ["-m", "entropic", "fit", "--help"],
    ["-m", "entropic", "fit", "--degree", "one"],
    ["-c", "import sklearn.linear_model"],
    ["-c", "from entropic import EntropicClassifier"],
]
IMPORT = """
import time
import sklearn.linear_model
start = time.perf_counter()
from entropic import EntropicClassifier
print(time.perf_counter() - start)
"""


@pytest.mark.parametrize("arguments", CALLS, ids=" ".join)
def test_start(measure, arguments):
    command = [sys.executable, "-P", *arguments]
    words = " ".join(arguments).removeprefix("-c ").removeprefix("-m ")
    run = lambda: subprocess.run(command, capture_output=True)  # noqa: E731
    measure("start", "whole processes", words, run, rounds=10)


def test_import(measure):
    """The classifier on top of the part of scikit-learn that it builds upon."""
    seconds = []

    def run():
        command = [sys.executable, "-P", "-c", IMPORT]
        done = subprocess.run(command, capture_output=True, check=True)
        seconds.append(float(done.stdout))

    measure("import", "on top of sklearn.linear_model", "entropic", run, rounds=9)
    measure.note({"seconds": seconds})
