"""``entropic fit`` without parameters of a model: when it searches for one, and what it found."""

from __future__ import annotations

import sys
import warnings
from contextlib import contextmanager

import numpy as np

from entropic.candidates import DROPPED, JUDGED, SKIPPED, UNJUDGED
from entropic.classifier import EntropicClassifier
from entropic.model_selection import SEARCHED, EntropicClassifierCV

# A search that is expected to take longer must be asked for.
LONG = 10.0
# Parameters that say nothing of which model to fit.
BESIDES = ("class_weight", "certainty", "n_jobs")


def classifier_for(parameters, wanted, sizes):
    """The classifier to fit: one that searches, or one model.

    Parameters
    ----------
    parameters : dict
        Of :class:`EntropicClassifier`, as far as they were given.
    wanted : bool or None
        Whether to search; None: unless it would take long.
    sizes : tuple of int
        Rows to fit, features and classes.

    Returns
    -------
    EntropicClassifier or EntropicClassifierCV
        A search tries only the values that were given of what it would otherwise choose.
    note : str or None
        What the user should know of the decision.
    """
    if wanted is False:
        return EntropicClassifier(**parameters), None
    search = EntropicClassifierCV(
        **{SEARCHED.get(k, k): [v] if k in SEARCHED else v for k, v in parameters.items()}
    )
    seconds = search.expected_seconds(*sizes)
    if wanted is None and seconds > LONG:
        return EntropicClassifier(**parameters), (
            f"these are the default parameters; --search looks for better ones, in about "
            f"{seconds:.0f} s."
        )
    return search, None


def followed(fit, classifier, verbose):
    """Call a fit of a classifier and show how far it is: the messages of the warnings meanwhile."""
    with warnings.catch_warnings(record=True) as caught, _shown(classifier, verbose):
        warnings.simplefilter("always")
        fit()
    return [" ".join(str(warning.message).split()) for warning in caught]


@contextmanager
def _shown(classifier, verbose):
    """Show how far a search is on standard error: lines when asked, a bar on a terminal."""
    if not isinstance(classifier, EntropicClassifierCV):
        yield
        return
    with _bar(verbose) as tell:
        classifier._on_candidate = tell
        try:
            yield
        finally:
            del classifier._on_candidate


@contextmanager
def _bar(verbose):
    if verbose:
        yield lambda candidate, share: print(candidate.described(), file=sys.stderr)
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        yield None
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("searching", total=1.0)
        yield lambda candidate, share: progress.update(task, completed=share)


def choice_lines(search, n_rows):
    """The lines on what a search chose, and the best of each other expansion beside it."""
    table, chosen = search.results_, search.best_index_
    yield "chosen", f"{_expansion(table, chosen)}, {_settings(table, chosen)}"
    yield "left out", _left_out(table, chosen)
    for n_knots, degree in dict.fromkeys(zip(table["n_knots"], table["degree"], strict=True)):
        own = (table["n_knots"] == n_knots) & (table["degree"] == degree)
        judged = own & np.isfinite(table["score"])
        if not own[chosen] and np.any(judged):
            part = {name: column[judged] for name, column in table.items()}
            best = np.flatnonzero(judged)[search._choice(part, n_rows)]
            yield _expansion(table, best), f"{_left_out(table, best)} with {_settings(table, best)}"
    status = table["status"].tolist()
    said = f"{len(status)} settings, {status.count(JUDGED)} of them judged"
    if dropped := status.count(DROPPED):
        said += f", {dropped} of wider boxes dropped"
    if skipped := status.count(SKIPPED):
        said += f", {skipped} of higher degrees skipped"
    if unjudged := status.count(UNJUDGED):
        said += f", {unjudged} not judged for want of memory"
    yield "tried", said


def _expansion(table, row):
    knots = table["n_knots"][row]
    return f"degree {table['degree'][row]}" + (f", {knots} knots" if knots else "")


def _settings(table, row):
    return (
        f"{table['constraint'][row]}, slack {table['slack'][row]:g}, bound {table['bound'][row]:g}"
        + (f", C {table['C'][row]:g}" if len(set(table["C"])) > 1 else "")
    )


def _left_out(table, row):
    score, error, loss = (table[name][row] for name in ("score", "standard_error", "log_loss"))
    return f"accuracy {score:.4f} ± {error:.4f}, log-loss {loss:.4f}"
