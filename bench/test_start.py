"""How soon the command answers what needs no data, beside an interpreter that loads NumPy."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "arguments",
    [
        ["-c", "import numpy"],
        ["-c", "import entropic"],
        ["-m", "entropic", "--version"],
        ["-m", "entropic", "fit", "--help"],
        ["-m", "entropic", "fit", "--degree", "one"],
        ["-c", "import sklearn.linear_model"],
        ["-c", "from entropic import EntropicClassifier"],
    ],
    ids=" ".join,
)
def test_start(benchmark, arguments):
    benchmark.pedantic(
        subprocess.run, [[sys.executable, *arguments]], {"capture_output": True}, rounds=10
    )
