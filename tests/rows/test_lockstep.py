"""Solvers side by side: every request answered once, in one order, and no thread left behind."""

import signal
import threading
import time

import numpy as np
import pytest

from entropic.rows.lockstep import LATER, Call, in_lockstep

pytestmark = pytest.mark.backend_free


def counting(n, ask):
    return sum(ask((n, step)) for step in range(n))


def test_requests_are_answered_together_in_the_order_of_the_bodies():
    asked = []

    def answer(requests):
        asked.append(requests)
        return [10 * n + step for n, step in requests]

    bodies = [lambda ask, n=n: counting(n, ask) for n in (2, 0, 3)]
    assert in_lockstep(bodies, answer) == [20 + 21, 0, 30 + 31 + 32]
    assert asked == [[(2, 0), (3, 0)], [(2, 1), (3, 1)], [(3, 2)]]


@pytest.mark.parametrize("n_awake", [1, 2, 5, 9])
def test_as_many_bodies_as_may_are_awake(n_awake):
    lock, awake, most = threading.Lock(), [0], [0]

    def body(ask):
        for _ in range(20):
            with lock:
                awake[0] += 1
                most[0] = max(most[0], awake[0])
            time.sleep(1e-3)
            with lock:
                awake[0] -= 1
            ask(None)

    in_lockstep([body] * 5, lambda requests: requests, n_awake)
    assert 1 < most[0] <= n_awake or most[0] == n_awake == 1


@pytest.mark.parametrize("n_awake", [1, 3])
def test_bodies_that_wait_for_their_turn_are_not_begun_after_an_interruption(n_awake):
    begun = []

    def body(n, ask):
        begun.append(n)
        if n == 0:
            time.sleep(0.05)  # by then the main thread waits
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        time.sleep(0.3)
        ask(n)
        begun.append("answered")

    with pytest.raises(KeyboardInterrupt):
        in_lockstep([lambda ask, n=n: body(n, ask) for n in range(6)], lambda asked: asked, n_awake)
    assert set(begun) <= set(range(n_awake))


@pytest.mark.parametrize("n_awake", [1, 3])
def test_calls_are_made_in_the_waiting_thread_in_the_order_of_the_bodies_before_reads(n_awake):
    here, seen = threading.get_ident(), []

    def told(what):
        assert threading.get_ident() == here
        seen.append(what)
        return -what

    def body(n, ask):
        found = [ask(Call(told, n))] if n != 1 else []
        return [*found, ask(n)]

    def answer(requests):
        seen.append(requests)
        return requests

    bodies = [lambda ask, n=n: body(n, ask) for n in range(3)]
    assert in_lockstep(bodies, answer, n_awake) == [[0, 0], [1], [-2, 2]]
    assert seen == [0, 2, [0, 1, 2]]


def test_some_requests_may_wait_for_later_ones():
    asked = []

    def answer(requests):
        asked.append(requests)
        least = min(step for _, step in requests)
        return [step if step == least else LATER for _, step in requests]

    def body(n, ask):
        return [ask((n, step)) for step in range(n, 3)]

    bodies = [lambda ask, n=n: body(n, ask) for n in range(3)]
    assert in_lockstep(bodies, answer) == [[0, 1, 2], [1, 2], [2]]
    assert asked == [[(0, 0), (1, 1), (2, 2)], [(0, 1), (1, 1), (2, 2)], [(0, 2), (1, 2), (2, 2)]]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("where", ["body", "answer"])
def test_an_error_anywhere_ends_all_and_is_raised(error, where):
    before, ended = threading.active_count(), []

    def body(n, ask):
        try:
            ask(n)
            if where == "body" and n == 1:
                raise error("here")
            ask(n)
        finally:
            ended.append(n)

    def answer(requests):
        if where == "answer":
            raise error("here")
        return requests

    with pytest.raises(error, match="here"):
        in_lockstep([lambda ask, n=n: body(n, ask) for n in range(3)], answer)
    assert sorted(ended) == [0, 1, 2]
    assert threading.active_count() == before


def test_the_state_of_floating_point_errors_is_the_callers():
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        pytest.skip("before NumPy 2 it belongs to a thread")
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        in_lockstep([lambda ask: np.ones(1) / np.zeros(1)], list)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("started", [False, True])
def test_no_thread_is_left_where_one_could_not_be_started(monkeypatch, error, started):
    before, start, n_started = threading.active_count(), threading.Thread.start, []

    def start_some(self):
        n_started.append(self)
        if len(n_started) < 3 or started:
            start(self)
        if len(n_started) == 3:
            raise error("here")

    monkeypatch.setattr(threading.Thread, "start", start_some)
    with pytest.raises(error, match="here"):
        in_lockstep([lambda ask: ask(0)] * 5, list)
    assert len(n_started) == 3
    assert threading.active_count() == before


def test_a_body_that_asks_on_its_way_out_is_ended_all_the_same():
    before = threading.active_count()

    def body(ask):
        try:
            ask(0)
        finally:
            ask(1)

    def answer(requests):
        raise ValueError("here")

    with pytest.raises(ValueError, match="here"):
        in_lockstep([body] * 3, answer)
    assert threading.active_count() == before
