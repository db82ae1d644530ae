"""What every suite shares: ``--smoke``, and timings kept by topic, problem and method."""

import math
import os
import sys
import time
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# Seconds that the rounds of one method may take together; and those of one round from which that
# round will do.
TOGETHER, LONG = 2.0, 3.0
PEERS = ("cvxpy", "clarabel", "liblinear-official", "skglm", "xgboost", "dask-ml")
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]


def pytest_addoption(parser):
    parser.addoption(
        "--smoke", action="store_true", help="small problems, one round each, no bounds on ratios"
    )


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes minutes")
    if config.getoption("--smoke"):  # read where problems are made, here and in other processes
        os.environ["ENTROPIC_BENCH"] = "smoke"


def pytest_benchmark_update_machine_info(config, machine_info):
    """What a ratio should be quoted with, beyond what pytest-benchmark notes."""
    from methods import LINEAR

    from entropic.config import config as installation

    machine_info["entropic"] = installation()
    machine_info["smoke"] = config.getoption("--smoke")
    machine_info["load"] = os.getloadavg()[0]
    machine_info["missing"] = [name for name, method in LINEAR.items() if method.missing]
    machine_info["peers"] = {}
    for name in PEERS:
        with suppress(PackageNotFoundError):
            machine_info["peers"][name] = version(name)
    if "OPENBLAS_NUM_THREADS" in os.environ:
        machine_info["blas_threads"] = os.environ["OPENBLAS_NUM_THREADS"]


@pytest.fixture
def measure(benchmark):
    """Time a call, and keep it where report.py finds it.

    ``measure(topic, problem, method, run)`` returns what the call returned. Further names go to
    the report as they are. ``rounds`` is the most; ``warm`` runs it once beforehand, and where
    that takes long it is what counts.
    """
    from problems import SMOKE

    def measure(topic, problem, method, run, *, rounds=5, warm=True, **info):
        benchmark.group = f"{topic}: {problem}"
        benchmark.extra_info.update(topic=topic, problem=problem, method=method, **info)
        rounds, warm = (1, False) if SMOKE else (rounds, warm)
        if warm:
            start = time.perf_counter()
            result = run()
            took = time.perf_counter() - start
            if took > LONG:
                benchmark.extra_info["seconds"] = [took]
                return benchmark.pedantic(lambda: result, rounds=1)
            rounds = min(rounds, max(2, math.ceil(TOGETHER / took)))
        return benchmark.pedantic(run, rounds=rounds)

    measure.note = benchmark.extra_info.update
    return measure


@pytest.fixture
def measure_process(measure):
    """Time fits in processes of their own, with the memory that each takes as a whole.

    ``measure_process(topic, problem, method)`` runs whole_process.py; what it prints is kept: the
    seconds of the fit and of predictions, the peak in megabytes, what the fit added to get there,
    and the accuracy.
    """
    from whole_process import methods, start

    def measure_process(topic, problem, method, *, rounds=2, **info):
        if methods(topic, problem)[method].missing:
            pytest.skip(f"{methods(topic, problem)[method].needs} is not installed")
        found = []

        def run():
            if not found or found[-1]["fit"] < LONG:
                found.append(start(topic, problem, method))

        measure(topic, problem, method, run, rounds=rounds, warm=False, **info)
        measure.note({
            "seconds": [one["fit"] for one in found],
            "predict_seconds": [one["predict"] for one in found],
            "megabytes": max(one["megabytes"] for one in found),
            "added": max(one["added"] for one in found),
            "accuracy": found[0]["accuracy"],
        })  # fmt: skip
        return found

    return measure_process
