"""Threads: how many, within whose limits, and after a fork."""

import _thread
import math
import os
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from entropic import EntropicClassifier
from entropic.kernels import library_threads, threads
from entropic.kernels.backend import name as backend
from entropic.kernels.backend import sweeps
from entropic.kernels.cached import cached_property
from entropic.kernels.loss import Loss
from entropic.rows import DenseRows
from entropic.rows.target import Target
from entropic.solvers.factor import Factor

compiled = pytest.mark.skipif(backend != "compiled", reason="NumPy sweeps have no threads")


def run(code, **environment):
    """Standard output of a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


REPORT = """
    from entropic.kernels.threads import effective_threads as threads
    print(threads(), threads(8), threads(-1), threads(-100), threads(4, 100))
"""


@compiled
def test_small_work_gets_one_thread():
    assert threads.effective_threads(None, 10) == 1
    assert threads.effective_threads(2, 10) == 1


@compiled
def test_never_more_than_the_machine(monkeypatch):
    monkeypatch.setattr(threads.joblib, "cpu_count", lambda: 1)
    assert threads.effective_threads(7) == 1


@compiled
def test_environment_limits_threads():
    assert run(REPORT, OMP_NUM_THREADS="1") == "1 1 1 1 1"
    limit = run("import joblib; print(min(8, joblib.cpu_count()))")
    assert run(REPORT, OMP_NUM_THREADS="8") == f"{limit} {limit} {limit} 1 1"


@compiled
def test_threadpoolctl_limits_threads():
    before = threads.effective_threads(4)
    for api in (None, "openmp"):
        with threadpool_limits(1, user_api=api):
            assert threads.effective_threads(4) == 1
    with threadpool_limits(1, user_api="blas"):
        assert threads.effective_threads(4) == before
    assert threads.effective_threads(4) == before


@compiled
def test_worker_pool_limits_threads():
    joblib = pytest.importorskip("joblib")
    with joblib.parallel_config("loky", inner_max_num_threads=1):
        counts = joblib.Parallel(2)(joblib.delayed(threads.effective_threads)(4) for _ in range(2))
    assert counts == [1, 1]


def test_numpy_backend_has_one_thread():
    assert run(REPORT, ENTROPIC_BACKEND="numpy") == "1 1 1 1 1"


@compiled
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_child_of_a_fork_works_on():
    """A fork after the threads have run must not hang: the child starts threads of its own."""
    code = """
        import os, numpy as np
        from entropic.kernels import backend
        from entropic.rows import DenseRows
        data = DenseRows(np.random.default_rng(0).normal(size=(50000, 40)))
        before = backend.sweeps.scores(data, np.ones(41), 2)
        for _ in range(20):
            child = os.fork()
            again = [backend.sweeps.scores(data, np.ones(41), n) for n in (2, 3, 1)]
            same = all(np.array_equal(before, other) for other in again)
            if child == 0:
                os._exit(0 if same else 3)
            assert same and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        print("well")
    """
    assert run(code) == "well"


@compiled
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork_while_other_threads_sweep():
    code = """
        import os, threading, numpy as np
        from entropic.kernels import backend
        from entropic.rows import DenseRows
        data = DenseRows(np.random.default_rng(0).normal(size=(50000, 40)))
        sweep = lambda: backend.sweeps.scores(data, np.ones(41), 3)
        before, going = sweep(), True
        def work():
            while going:
                sweep()
        workers = [threading.Thread(target=work) for _ in range(3)]
        for worker in workers:
            worker.start()
        for _ in range(20):
            child = os.fork()
            if child == 0:
                os._exit(0 if np.array_equal(before, sweep()) else 3)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        going = False
        for worker in workers:
            worker.join()
        print("well")
    """
    assert run(code) == "well"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_child_of_a_fork_waits_for_no_fit_of_another_thread():
    code = """
        import os, signal, threading
        from entropic.kernels.library_threads import LibraryThreads
        limited, held, done = LibraryThreads(), threading.Event(), threading.Event()
        def fit():
            with limited, limited.lock:
                held.set()
                done.wait()
        other = threading.Thread(target=fit)
        other.start()
        held.wait()
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            with limited:
                inside = limited.fits
            os._exit(0 if (inside, limited.fits) == (1, 0) else 3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        done.set()
        other.join()
        print("well")
    """
    assert run(code) == "well"


def test_what_is_computed_once_is_computed_at_the_same_time_for_several():
    both = threading.Barrier(2, timeout=20)

    class Each:
        @cached_property
        def value(self):
            both.wait()
            return object()

    pair = Each(), Each()
    other = threading.Thread(target=lambda: pair[1].value)
    other.start()
    assert pair[0].value is pair[0].value
    other.join()
    assert pair[1].value is not pair[0].value


@compiled
def test_many_callers_at_once_get_the_same_bits():
    """More callers than jobs that helpers see at a time, and more threads than cores."""
    rng = np.random.default_rng(0)
    rows = DenseRows(rng.normal(size=(30_000, 20)))
    target, coef = Target.of(Loss(0.1), rng.choice([-1, 1], 30_000)), rng.normal(size=21)
    value, gradient, curvature = sweeps.evaluate(rows, coef, target, True, 1)

    def again(n_threads):
        found = sweeps.evaluate(rows, coef, target, True, n_threads)
        return (
            found[0] == value
            and np.array_equal(found[1], gradient)
            and np.array_equal(found[2], curvature)
        )

    with ThreadPoolExecutor(24) as pool:
        assert all(pool.map(again, [2, 3, 8, 1, 100] * 40))


@compiled
def test_exit_while_a_sweep_runs():
    """A daemon thread in the midst of a sweep, and helpers with it, do not keep a process alive."""
    code = """
        import threading, time, numpy as np
        from entropic.kernels import backend
        from entropic.rows import DenseRows
        rows = DenseRows(np.ones((50000, 40)))
        sweep = lambda: [backend.sweeps.scores(rows, np.ones(41), 2) for _ in range(10**6)]
        threading.Thread(target=sweep, daemon=True).start()
        time.sleep(0.2)
        print("well")
    """
    assert run(code) == "well"


@compiled
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_module_needs_no_library_for_its_threads():
    code = """
        from entropic.kernels import _compiled
        import numpy
        maps = open("/proc/self/maps").read()
        print("_compiled" in maps, any(name in maps for name in ("libgomp", "libomp", "libiomp")))
    """
    assert run(code) == "True False"


@compiled
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is in kilobytes on Linux only")
def test_many_columns_keep_few_partial_results():
    # one for each pair of blocks, 47 gradients of 521,854 numbers, would be 196 MB
    report = """
        import resource
        import numpy as np
        from entropic.kernels.backend import sweeps
        from entropic.rows.listing import Listing
        from entropic.rows.monomial_rows import MonomialRows
        from entropic.rows import DenseRows
        rng = np.random.default_rng(0)
        rows = MonomialRows(DenseRows(rng.normal(size=(3000, 57))), Listing(57, 4))
        pull = np.ones(3000)
        peaks, sums = [], []
        for n_threads in (1, 2):
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)
            sums.append(sweeps.rmatvec(rows, pull, n_threads))
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)
        print(np.array_equal(*sums), peaks[-1] - peaks[0] < 150)
    """
    assert run(report) == "True True"


def of_the_library():
    """Threads of every library for linear algebra in the process."""
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_the_library_has_one_thread_until_the_last_fit_ends():
    with threadpool_limits(2, user_api="blas"):
        before = of_the_library()
        one, library = [1] * len(before), library_threads.LibraryThreads()
        with ThreadPoolExecutor(1) as pool:
            with library:
                assert of_the_library() == one
                pool.submit(library.__enter__).result()
            assert of_the_library() == one
            pool.submit(library.__exit__).result()
            assert of_the_library() == before
            pool.submit(library.__enter__).result()
            assert of_the_library() == one
            with library, library:
                pool.submit(library.__exit__).result()
                assert of_the_library() == one
        assert of_the_library() == before


def test_fits_at_the_same_time_give_the_bits_of_one_alone():
    """And leave the library's threads as they were, also where a fit fails."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 25))
    y = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=3000) > 0

    def fit(_=None):
        model = EntropicClassifier(degree=2, interaction_only=True, n_jobs=1).fit(X, y)
        return np.concatenate([model.coef_.ravel(), model.loo_decision_, model.band_])

    with threadpool_limits(2, user_api="blas"):
        before, wanted = of_the_library(), fit()
        with ThreadPoolExecutor(8) as pool:
            for found in pool.map(fit, range(20)):
                assert np.array_equal(found, wanted)
        assert of_the_library() == before

        def fail(figures):
            raise RuntimeError("stop")

        with pytest.raises(RuntimeError, match="stop"):
            EntropicClassifier(callback=fail).fit(X, y)
        assert of_the_library() == before


def test_small_factors_leave_the_librarys_threads_as_they_were():
    """Also where several Python threads make factors at the same time."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(200, 100))
    matrix, scale, right = root.T @ root, np.ones(100), rng.normal(size=100)
    wanted = np.linalg.solve(matrix + np.eye(100), right)
    with threadpool_limits(2, user_api="blas"):
        before = of_the_library()
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _: Factor(matrix, scale).solve(right), range(40)))
        assert of_the_library() == before
    np.testing.assert_allclose(found, [wanted] * 40, rtol=1e-9)


@compiled
@pytest.mark.parametrize(("curvature", "n_samples"), [(False, 10**9), (True, 10**8)])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_ctrl_c_ends_a_long_sweep(n_threads, curvature, n_samples):
    # rows that are all the same numbers in memory: many seconds of work, and no room
    rows = DenseRows(np.broadcast_to(np.linspace(-1, 1, 50), (n_samples, 50)))
    target, coef = Target.of(Loss(0.1), np.array([1])), np.ones(51)
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        sweeps.evaluate(rows, coef, target, curvature, n_threads)
    assert time.monotonic() - begin < 3.0
    timer.join()
    few = DenseRows(np.eye(3))  # and the next sweep knows nothing of it
    assert sweeps.scores(few, np.arange(4.0), n_threads).tolist() == [3, 4, 5]


def test_calls_are_shared_out_in_order_and_the_first_error_is_raised():
    def root(number):
        return math.sqrt(number)

    assert threads.in_threads(3, root, range(40)) == list(map(root, range(40)))
    with pytest.raises(ValueError, match="math domain"):
        threads.in_threads(3, root, [1, -1, 2])


@compiled
@pytest.mark.skipif(threads.effective_threads() < 2, reason="one thread only")
def test_to_wait_for_a_longer_call_is_not_to_lose_a_core():
    """The calling thread, which has the first call, gets help with the next ones all the same."""
    met = threading.Barrier(2)

    def meet(seconds):
        met.wait(timeout=10)  # as long as there is nobody else
        time.sleep(seconds)

    with ThreadPoolExecutor(1) as fresh:  # what other tests have waited for is not its own
        for _ in range(3):
            fresh.submit(threads.in_threads, 2, meet, [0.0, 0.05]).result()
