"""What every test shares: one package under test, also in the processes that tests start."""

import os
from pathlib import Path

from hypothesis import settings

import entropic
from entropic.kernels.backend import name

# A child process started in the repository would import the source folder, which has no compiled
# kernels, and quietly test something else.
os.environ["PYTHONSAFEPATH"] = "1"
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(Path(entropic.__file__).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
)

# How long an example takes is the machine's affair.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_report_header():
    return f"entropic: {entropic.__file__}, backend: {name}"
