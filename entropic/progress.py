"""What is told of a fit while it goes on: to the log, and to scikit-learn's callbacks."""

from __future__ import annotations

import logging
from contextlib import contextmanager

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """This version of scikit-learn has no callbacks."""

    with_callbacks = None

log = logging.getLogger("entropic")
log.addHandler(logging.NullHandler())


@contextmanager
def fit_task(estimator, X=None, y=None, sample_weight=None):
    """A fit as a task of scikit-learn's callbacks, where there are any; steps are tasks within it.

    What the estimator has when the task ends is what a callback's ``fitted_estimator`` has; within
    a step there is none.
    """
    if with_callbacks is None:
        yield
        return
    given = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
    try:
        task = estimator._init_callback_context(max_subtasks=None)
        task.call_on_fit_task_begin(estimator=estimator, **given)
        yield
        task.call_on_fit_task_end(estimator=estimator, reconstruction_attributes=dict, **given)
    finally:
        with_callbacks(lambda _: None)(estimator)  # tells them that it is over


def has_callbacks(estimator):
    """Whether some of scikit-learn's callbacks are to be told of steps."""
    known = vars(estimator).get("_callback_fit_ctx") is not None
    return known and bool(getattr(estimator, "_skl_callbacks", None))


def step_task(estimator, name):
    """Tell scikit-learn's callbacks of a step; whether one of them asks to stop."""
    if not has_callbacks(estimator):
        return False
    step = estimator._callback_fit_ctx.subcontext(task_name=name)
    step.call_on_fit_task_begin(estimator=estimator)
    return step.call_on_fit_task_end(estimator=estimator)


def described(figures):
    """The figures of a step in a line."""
    return "  ".join(
        f"{name} {value if isinstance(value, str) else format(value, '.6g')}"
        for name, value in figures.items()
    )
