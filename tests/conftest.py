"""What every test shares: one package under test, also in the processes that tests start."""

import os
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

import entropic
from entropic.kernels import backend

# A child process started in the repository would import the source folder, which has no compiled
# kernels, and quietly test something else.
os.environ["PYTHONSAFEPATH"] = "1"
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(Path(entropic.__file__).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
)

# A shell that starts pytest in the background has it ignore Ctrl-C, and the processes that tests
# start and interrupt as well.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes is the machine's affair.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture
def two_clouds():
    """Rows of two classes that overlap a little."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 4))
    y = (X @ [1.0, -2.0, 0.5, 0.0] + 0.5 * rng.normal(size=150) > 0.3).astype(int)
    return X, y


def pytest_report_header():
    return f"entropic: {entropic.__file__}, backend: {backend.name}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Hold a test to its mark ``backend_free``: it may not meet the chosen backend.

    Such tests run under one backend only, so that the mark must be true.
    """
    if item.get_closest_marker("backend_free") is None:
        return (yield)

    def refuse(*_, **__):
        pytest.fail("marked backend_free, but uses the chosen backend or starts a process")

    with pytest.MonkeyPatch.context() as patch:
        for module in (backend.sweeps, backend.spectral):
            for name, value in vars(module).items():
                if callable(value):
                    patch.setattr(module, name, refuse)
        patch.setattr(backend.Box, "__init__", refuse)
        patch.setattr(subprocess, "Popen", refuse)
        return (yield)
