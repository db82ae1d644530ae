"""The sweeps, compiled where a kernel knows the rows and NumPy's where none does.

Same functions, same signatures as numpy_sweeps, which holds their documentation. Rows of a new
kind work at once, on NumPy, and gain a kernel by a method ``compiled_view``.
"""

from __future__ import annotations

import functools

from . import _compiled, numpy_sweeps
from .box import STRAIGHT
from .library_threads import one_library_thread


def view_of(rows):
    """How the compiled kernels see these rows, or None."""
    see = getattr(rows, "compiled_view", None)
    return None if see is None else see(_compiled.RowView)


def _choose(name):
    """The compiled function for rows that have a view, else its twin."""
    compiled, twin = getattr(_compiled, name), getattr(numpy_sweeps, name)

    @functools.wraps(twin)
    def function(rows, *arguments, **options):
        view = view_of(rows)
        if view is None:
            return twin(rows, *arguments, **options)
        return compiled(view, *arguments, **options)

    return function


scores = _choose("scores")
scores_each = _choose("scores_each")
evaluate = one_library_thread(_choose("evaluate"))
evaluate_each = one_library_thread(_choose("evaluate_each"))
hessp = _choose("hessp")
hessp_each = _choose("hessp_each")
rmatvec = _choose("rmatvec")
curvature = one_library_thread(_choose("curvature"))
curvature_each = one_library_thread(_choose("curvature_each"))
gram = one_library_thread(_choose("gram"))
quadratic_forms = one_library_thread(_choose("quadratic_forms"))
quadratic_forms_each = one_library_thread(_choose("quadratic_forms_each"))
moments = _choose("moments")


@one_library_thread
@functools.wraps(numpy_sweeps.cubic_forms)
def cubic_forms(rows, *arguments, **options):
    view = view_of(rows)
    found = None if view is None else _compiled.cubic_forms(view, *arguments, **options)
    return numpy_sweeps.cubic_forms(rows, *arguments) if found is None else found


@one_library_thread
@functools.wraps(numpy_sweeps.newton_steps)
def newton_steps(rows, design, box, target, state, rules, told):
    view, seen = view_of(rows), getattr(box, "view", None)
    if view is None or seen is None:
        return None
    return _compiled.newton_steps(view, design, seen, target, state, (*rules, STRAIGHT), told)


@functools.wraps(numpy_sweeps.sample_sums)
def sample_sums(*arguments):
    return _compiled.sample_sums(*arguments)


@functools.wraps(numpy_sweeps.changed)
def changed(*arguments):
    return _compiled.changed(*arguments)
