"""Several solvers on the same rows: what all of them ask for next is answered in one read.

A solver is written as if it were alone. Each runs in a thread of its own, of which as many are
awake as may be: it goes on until it asks for a read, and waits. When all wait, the reads are made
together in the thread that called, where signals arrive, and each solver is woken with its answer.
What the user is told of is told in that thread too, in the order of the solvers. So the order of
events does not depend on the machine.
"""

from __future__ import annotations

import contextvars
import threading
from collections import deque
from dataclasses import dataclass
from queue import SimpleQueue

from entropic.kernels.threads import in_threads

LATER = object()  # in place of an answer: the request is made again with the next ones


class Abandoned(BaseException):
    """Ends a solver that nobody waits for any more."""


@dataclass(frozen=True)
class Call:
    """A request to call a function, in the thread that waits for the solvers, before any read."""

    function: object
    argument: object

    def __call__(self):
        return self.function(self.argument)


class _Turns:
    """Who is awake. A course that stops wakes the next itself: each waking takes its time."""

    def __init__(self):
        self.due, self.over = deque(), SimpleQueue()
        self.n_awake, self.counting = 0, threading.Lock()

    def take(self, courses, answers, n_awake):
        """Give each course its answer, and wait until all ask again or have ended."""
        self.due.extend(zip(courses, answers, strict=True))
        self.n_awake = min(n_awake, len(courses))
        for _ in range(self.n_awake):
            self.pass_on()
        self.over.get()

    def pass_on(self):
        """Wake the next; the last to stop, with none left, wakes the thread that waits for all."""
        try:
            course, found = self.due.popleft()
        except IndexError:
            with self.counting:
                self.n_awake -= 1
                if self.n_awake == 0:
                    self.over.put(None)
        else:
            course.answers.put(found)


class _Course(threading.Thread):
    """One solver on its way, from one request to the next."""

    def __init__(self, body, turns):
        super().__init__(daemon=True)
        self.body, self.turns = body, turns
        self.answers = SimpleQueue()
        self.context = contextvars.copy_context()
        self.request = self.result = self.error = None
        self.ended = False

    def run(self):
        try:
            self._answer()
            self.result = self.context.run(self.body, self.ask)
        except BaseException as error:
            self.error = error
        finally:
            self.ended = True
            self.turns.pass_on()

    def ask(self, request):
        """Called by the solver: wait for the answer to a request."""
        self.request = request
        self.turns.pass_on()
        return self._answer()

    def _answer(self):
        answer = self.answers.get()
        if answer is Abandoned:
            self.answers.put(Abandoned)  # for a body that asks on its way out
            raise Abandoned
        return answer


def in_lockstep(bodies, answer, n_awake=1):
    """Run several bodies to their ends, their requests answered together.

    Parameters
    ----------
    bodies : list of callables
        Each is called with ``ask``, which takes a request and returns its answer.
    answer : callable
        From a list of requests, in the order of the bodies, to the list of their answers, of which
        some, not all, may be ``LATER``. Requests of type :class:`Call` are called instead.
    n_awake : int
        How many bodies run at once.

    Returns
    -------
    list
        What the bodies return. If one raises, or ``answer`` does, the others are ended and the
        error is raised here.
    """
    turns = _Turns()
    courses = [_Course(body, turns) for body in bodies]
    try:
        for course in courses:
            course.start()
        woken, answers = courses, [None] * len(courses)
        while woken:
            turns.take(woken, answers, n_awake)
            for course in woken:
                if course.error is not None:
                    raise course.error
            going = [course for course in courses if not course.ended]
            woken = [course for course in going if isinstance(course.request, Call)]
            answers = [course.request() for course in woken]
            if going and not woken:
                found = answer([course.request for course in going])
                now = [place for place, each in enumerate(found) if each is not LATER]
                woken, answers = [going[place] for place in now], [found[place] for place in now]
    finally:
        for course in courses:
            course.answers.put(Abandoned)
        for course in courses:
            if course.is_alive():  # no more than begun to start, where that was interrupted
                course.join()
    return [course.result for course in courses]


class SharedKernels:
    """What a sweep calls in place of the kernels, by position: it asks for the read.

    Parameters
    ----------
    ask : callable
        Of :func:`in_lockstep`.
    shared : SharedReads
        Answers the requests.
    watched : bool
        Whether somebody is told of each step as it is made, in the thread that answers: steps are
        then made in the solver's own, which can ask for that.
    """

    def __init__(self, ask, shared, watched=False):
        self.ask = ask
        if watched:
            self.newton_steps = shared.newton_steps

    def evaluate(self, rows, coef, target, curvature, n_threads, *kept):
        kept = kept or (None, None, None)
        return self.ask(("evaluate", rows, (coef, target, curvature, n_threads, *kept)))

    def __getattr__(self, name):
        return lambda rows, *arguments: self.ask((name, rows, arguments))


class SharedReads:
    """Answers requests of :class:`SharedKernels`, of one kind and of the same rows together.

    While some ask for evaluations, the others wait: who is done with the steps that take only
    these asks for a curvature, and once all do, one read serves them.

    Parameters
    ----------
    kernels : module
        kernels/numpy_sweeps.py or its compiled twin.
    reads : Reads
        Counts how often all rows are read, for all requests together.
    n_samples : int
        Of all rows.
    n_threads : int
        On which each solver's own steps on a small problem are made.
    """

    def __init__(self, kernels, reads, n_samples, n_threads=1):
        self.kernels, self.reads, self.n_samples = kernels, reads, max(1, n_samples)
        self.n_threads, self.counting = n_threads, threading.Lock()

    def newton_steps(self, rows, *arguments):
        """The steps of one solver, which nobody else's wait for."""
        (found,) = self._newton_steps(rows, [arguments])
        return found

    def _newton_steps(self, rows, asked):
        """Those of several: it is the steps that take time there, not the reads."""
        columns = [rows] * len(asked), *zip(*asked, strict=True)
        found = in_threads(self.n_threads, self.kernels.newton_steps, *columns)
        n_reads = sum(each[-2] for each in found if each is not None)
        self._count(rows, n_reads)
        return found

    def _count(self, rows, n_reads=1):
        with self.counting:
            self.reads.count += n_reads * rows.n_samples / self.n_samples

    def __call__(self, requests):
        answers, groups = [LATER] * len(requests), {}
        for place, (name, rows, _) in enumerate(requests):
            groups.setdefault((name, id(rows)), []).append(place)
        first, _ = max(groups, key=lambda key: (key[0] == "evaluate", len(groups[key])))
        for (name, _), places in groups.items():
            if name != first:
                continue
            _, rows, _ = requests[places[0]]
            asked = [requests[place][2] for place in places]
            found = self._read(name, rows, asked)
            for place, each in zip(places, found, strict=True):
                answers[place] = each
        return answers

    def _read(self, name, rows, asked):
        if name == "newton_steps":
            return self._newton_steps(rows, asked)
        self._count(rows)
        each = getattr(self.kernels, f"{name}_each", None)
        if len(asked) == 1 or each is None:
            return [getattr(self.kernels, name)(rows, *arguments) for arguments in asked]
        problems = [list(arguments) for arguments in asked]
        n_threads = max(problem.pop(3 if name == "evaluate" else -1) for problem in problems)
        if len(problems[0]) == 1:
            problems = [problem[0] for problem in problems]
        return each(rows, problems, n_threads)
