"""Solvers on the paper's sets to one duality gap, and on an exact constraint that has a solution.

``entropic`` (the default, Newton's method), ``spectral`` and ``spectral-paper`` are whole calls of
``solve``, checks and outcome included. The paper's iteration in NumPy and SciPy's L-BFGS-B on the
same dual are loops alone, for a number of steps found beforehand, so that their tests of the gap
are not timed. On rows of higher degree all see the expanded monomials. Run it with
``OPENBLAS_NUM_THREADS=1`` in the environment.
"""

import numpy as np
import pytest
from paper_iteration import PaperIteration, steps_to_gap
from paper_sets import SETS, signed_design
from problems import HARD_ROWS, SMOKE, separable
from scipy.optimize import minimize

from entropic import solve

SLACK, TOL = 0.1, 1e-8
PRINTED_STEPS, PRINTED_NORM = 5_000, 1e-6  # where the paper's protocol ends
NAMES = ["blobs"] if SMOKE else list(SETS)
OURS = {"entropic": "auto", "entropic, spectral": "spectral", "entropic, paper's": "spectral-paper"}
_kept = {}


def once(make, *arguments):
    """What is found beforehand, found once."""
    key = make.__name__, arguments
    if key not in _kept:
        _kept[key] = make(*arguments)
    return _kept[key]


def paper_steps(name):
    D = signed_design(name)
    return steps_to_gap(D, SLACK, TOL * len(D))


def quasi_newton(D, steps, callback=None):
    """SciPy's L-BFGS-B on the dual."""
    dual = PaperIteration(D, SLACK)
    options = {"maxiter": steps, "maxfun": 10 * steps, "ftol": 0, "gtol": 0, "maxcor": 10}
    return minimize(
        dual.dual, np.zeros(len(D)), jac=dual.slope, method="L-BFGS-B",
        options=options, callback=callback,
    )  # fmt: skip


def quasi_newton_steps(name):
    """How many steps it needs, looked at every tenth; None where it ends above the gap."""
    D = signed_design(name)
    seen, found = [0], []

    def look(x):
        seen[0] += 1
        if seen[0] % 10:
            return
        at = PaperIteration(D, SLACK)
        at.multipliers, at.value = x, at.dual(x)
        if at.gap() <= TOL * len(D):
            found.append(seen[0])
            raise StopIteration

    quasi_newton(D, 20_000, look)
    return found[0] if found else None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("method", [*OURS, "paper's in NumPy", "L-BFGS-B"])
def test_to_the_same_gap(measure, name, method):
    D = once(signed_design, name)
    problem = f"{name}, {D.shape[0]} × {D.shape[1]}"
    if method in OURS:
        run = lambda: solve(D, slack=SLACK, tol=TOL, solver=OURS[method])  # noqa: E731
        outcome = measure("solver", problem, method, run, rounds=20)
        assert outcome.converged
        measure.note({"steps": outcome.n_iter})
        return
    if method == "L-BFGS-B":
        steps = once(quasi_newton_steps, name)
        if steps is None:
            pytest.skip("L-BFGS-B ends above the gap")
        run = lambda: quasi_newton(D, steps)  # noqa: E731
    else:
        steps = once(paper_steps, name)
        run = lambda: PaperIteration(D, SLACK).advance(steps)  # noqa: E731
    measure("solver", problem, method, run, rounds=3, steps=steps)


def printed_protocol(D):
    """The exact constraint, without a solution on most sets, and at most 5,000 steps."""
    iteration = PaperIteration(D, 0.0)
    while iteration.n_iter < PRINTED_STEPS and np.linalg.norm(iteration.gradient) >= PRINTED_NORM:
        iteration.advance(1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_the_printed_protocol(measure, name):
    D = once(signed_design, name)
    run = lambda: printed_protocol(D)  # noqa: E731
    problem = f"{name}, {D.shape[0]} × {D.shape[1]}"
    measure("solver", problem, "paper's printed protocol in NumPy", run, rounds=3, warm=False)


# ---------------------------------------------------------- the exact constraint


@pytest.mark.slow
@pytest.mark.parametrize("name", HARD_ROWS)
@pytest.mark.parametrize("method", ["entropic", "entropic, spectral"])
def test_exact(measure, name, method):
    D = separable(*HARD_ROWS[name])
    run = lambda: solve(D, slack=0, tol=TOL, solver=OURS[method])  # noqa: E731
    outcome = measure("exact constraint", name, method, run)
    measure.note({"steps": outcome.n_iter, "objective": outcome.objective})
    assert outcome.converged


@pytest.mark.slow
@pytest.mark.parametrize("name", HARD_ROWS)
def test_exact_by_cones(measure, name):
    """cvxpy with Clarabel on the same problem, its compilation included."""
    cp = pytest.importorskip("cvxpy")
    pytest.importorskip("clarabel")
    D = separable(*HARD_ROWS[name])
    w, b = cp.Variable(D.shape[1]), cp.Variable(len(D))
    p = (w + 1) / 2
    value = -cp.sum(cp.entr(p)) - cp.sum(cp.entr(1 - p)) - cp.sum(cp.entr(b) + b)
    problem = cp.Problem(cp.Minimize(value), [D @ w == b])
    run = lambda: problem.solve(solver=cp.CLARABEL)  # noqa: E731
    measure("exact constraint", name, "cvxpy, Clarabel", run, rounds=2, warm=False)
    measure.note({
        "objective": float(problem.solution.opt_val),
        "solver_seconds": problem.solver_stats.solve_time,
    })  # fmt: skip
