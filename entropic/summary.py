"""What a fitted classifier has learned, as text and as a frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

INTERCEPT = "(intercept)"
LONGEST_NAME = 44
MOST_LISTED = 12  # classes


@dataclass(frozen=True)
class Summary:
    """What ``summary`` returns; ``print`` shows it, ``to_frame`` has every term.

    Attributes
    ----------
    title : str
        The class of the model and those of its parameters that are not the defaults.
    facts : tuple of pairs of str
        What is said of the model as a whole: a label, and the rest of its line.
    towards : tuple
        The label towards which each row of the arrays below points: a term of positive coefficient
        raises the score of this class. One for two classes, else one a class.
    scaled, raw, share : arrays of shape (n_problems, n_terms)
        Coefficients in the order of ``coef_``. Scaled ones belong to columns of deviation 1, so
        that they can be compared; they are what the box bounds, and share is the part of the way to
        its edge. Raw ones belong to the features as they were given; above degree 1, where these
        are standardised, to products of features less their means. Scaled ones and shares are NaN
        for models saved before they were kept.
    intercepts : array of shape (n_problems, 3)
        Scaled, raw and share of the constant.
    bands : array of shape (n_problems, 2) or None
        Of several classes, the scores of each between which it is uncertain.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    towards: tuple[Any, ...]
    scaled: np.ndarray = field(repr=False)
    raw: np.ndarray = field(repr=False)
    share: np.ndarray = field(repr=False)
    intercepts: np.ndarray = field(repr=False)
    bands: np.ndarray | None = field(repr=False)
    _names_of: Callable = field(repr=False)
    _n_shown: int = field(repr=False, default=20)

    def largest(self, problem: int = 0, most: int | None = None) -> np.ndarray:
        """Places of the terms of one row of the arrays, the largest scaled coefficient first."""
        sizes = self.scaled if np.isfinite(self.scaled).all() else self.raw
        return np.argsort(-np.abs(sizes[problem]), kind="stable")[:most]

    def terms(self, problem: int = 0, most: int | None = None) -> list[tuple[Any, ...]]:
        """Terms as tuples of name, scaled and raw coefficient and share, the largest first.

        Parameters
        ----------
        problem : int
            The row of the arrays.
        most : int or None
            How many; None for all. The constant comes on top, as the last.
        """
        order = self.largest(problem, most)
        columns = [part[problem, order] for part in (self.scaled, self.raw, self.share)]
        listed = zip(self._names_of(order), *(column.tolist() for column in columns), strict=True)
        return [*listed, (INTERCEPT, *self.intercepts[problem].tolist())]

    def to_frame(self) -> Any:
        """Every term, the largest first, class by class.

        Returns
        -------
        pandas.DataFrame
            Columns "class", "term", "scaled", "raw", "share".

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame needs pandas; pip install pandas brings it.") from error
        names = np.array([*self._names_of(range(self.raw.shape[1])), INTERCEPT], dtype=object)
        frames = []
        for problem, label in enumerate(self.towards):
            order = self.largest(problem)
            columns = {"class": label, "term": names[[*order, -1]]}
            for place, name in enumerate(("scaled", "raw", "share")):
                terms = getattr(self, name)[problem, order]
                columns[name] = np.append(terms, self.intercepts[problem, place])
            frames.append(pd.DataFrame(columns))
        return pd.concat(frames, ignore_index=True)

    def tables(self, most: int | None = None) -> Iterator[tuple[str, list[str]]]:
        """The largest terms class by class, as pairs of a title and lines of text."""
        n_terms = self.raw.shape[1]
        most = self._n_shown if most is None else most
        for problem, label in enumerate(self.towards):
            shown = self.terms(problem, most)
            title = f"Terms towards {label}"
            if most < n_terms:
                title += f", the {most:,} largest of {n_terms:,}"
            if self.bands is not None:
                lower, upper = self.bands[problem]
                said = f"uncertain between {lower:.6g} and {upper:.6g}"
                title += f" (possible from {lower:.6g})" if lower == upper else f" ({said})"
            names = [_clipped(name) for name, *_ in shown]
            width = max(map(len, [*names, "term"]))
            lines = [f"{'term':<{width}}  {'scaled':>11}  {'raw':>11}  share of the box"]
            for name, (_, scaled, raw, share) in zip(names, shown, strict=True):
                part = "unknown" if share != share else f"{share:.1%}"
                lines.append(f"{name:<{width}}  {_figure(scaled)}  {_figure(raw)}  {part:>16}")
            yield title, lines

    def __str__(self) -> str:
        width = max(len(label) for label, _ in self.facts)
        parts = [[self.title, *(f"  {label:<{width}}  {said}" for label, said in self.facts)]]
        parts += [[title, *(f"  {line}" for line in lines)] for title, lines in self.tables()]
        return "\n\n".join("\n".join(part) for part in parts)


def summary_of(model, n_terms=20, names=None, positive=None):
    """Put a :class:`Summary` of a fitted classifier together.

    Parameters
    ----------
    model : fitted EntropicClassifier
    n_terms : int
        How many terms the text shows.
    names : list of str or None
        Of the features, where the model does not know them.
    positive : label or None
        Of two classes, the one to point to; None for ``classes_[1]``.
    """
    towards, sign = _towards(model, positive)
    scaled, raw, share, intercepts = _coefficients(model, sign)
    if names is not None and model.splines_ is not None:
        names = model.splines_.names(names)
    return Summary(
        title=repr(model),
        facts=tuple(_facts(model, towards, sign)),
        towards=tuple(towards),
        scaled=scaled,
        raw=raw,
        share=share,
        intercepts=intercepts,
        bands=model._score_limits() if len(towards) > 1 else None,
        _names_of=lambda columns: model.monomials_.names_of(columns, names),
        _n_shown=n_terms,
    )


def _towards(model, positive):
    """The label of each row of ``coef_``, and the sign that makes it so."""
    labels = model.classes_.tolist()
    if len(labels) > 2:
        return labels, 1.0
    if positive is None or positive == labels[1]:
        return labels[1:], 1.0
    return labels[:1], -1.0


def _coefficients(model, sign):
    """Scaled and raw coefficients and shares, and the three of the constant."""
    raw = sign * model.coef_ * model.monomials_.raw_factors()
    own = [vars(model).get(f"scaled_{name}") for name in ("coef_", "intercept_")]
    scaled, constant = (
        np.full(like.shape, np.nan) if part is None else sign * part
        for part, like in zip(own, (model.coef_, model.intercept_), strict=True)
    )
    width, constant_width = model._half_widths()
    share, constant_share = np.abs(scaled) / width, np.abs(constant) / constant_width
    return scaled, raw, share, np.column_stack([constant, sign * model.intercept_, constant_share])


def _facts(model, towards, sign):
    classes = model.classes_.tolist()
    many = len(classes) > MOST_LISTED
    shown = ", ".join(map(str, classes[:MOST_LISTED])) + (", ..." if many else "")
    if len(classes) == 2:
        shown = f"{next(c for c in classes if c != towards[0])}, {towards[0]} (positive)"
    yield "classes", f"{len(classes)}: {shown}" if many else shown
    said = surface(model)
    yield "features", f"{model.n_features_in_:,}" + (f", {said}" if said else "")
    if model.monomials_.centre_ is not None:
        yield "raw units", "those of products of features less their means"
    if "best_params_" in vars(model):
        chosen = ", ".join(f"{name}={value}" for name, value in model.best_params_.items())
        scored = model.scoring.replace("accuracy_log_loss", "accuracy")
        yield "chosen", f"{chosen}; {scored} {model.best_score_:.4f}"
    yield from ending_lines(model)
    yield "uncertain", uncertain(model, sign)
    if said := _left_out(model):
        yield "left out", said


def surface(model):
    """Which surface a model is, in words; None for a hyperplane of the features."""
    degree, splines = model.monomials_.degree, model.splines_
    if degree == 1 and splines is None:
        return None
    of_splines = "" if splines is None else f" of splines in {splines.n_columns:,} columns"
    return f"degree {degree}{of_splines}, {model.coef_.shape[1]:,} monomials"


def ending_lines(model, n_rows=None):
    """How the solver ended: pairs of a label and the rest of its line.

    Parameters
    ----------
    model : fitted EntropicClassifier
    n_rows : int or None
        Of the fit, where they are known.
    """
    gap, what = float(np.max(model.dual_gap_)), "duality gap"
    if n_rows is not None:
        gap, what = gap / n_rows, "gap a row"
    status = ", ".join(dict.fromkeys(np.ravel(model.status_).tolist()))
    yield "status", f"{status} ({what} {gap:.1e}, goal {model.tol:.1e}{'' if n_rows else ' a row'})"
    counts = np.ravel(model.n_iter_).tolist()
    steps = ", ".join(map(str, counts))
    if len(counts) > MOST_LISTED:
        steps = f"{min(counts)} to {max(counts)} a class"
    yield "steps", f"{steps} ({model.n_sweeps_:.6g} sweeps of the rows)"


def uncertain(model, sign=1.0):
    """Which scores are uncertain, in words."""
    known = vars(model)
    control = known.get("error_control_")
    if control is not None:
        kept = "kept aside" if control["guaranteed"] else "left out"
        basis = (
            f"; of the certain at most {control['max_error']:.3g} wrong, "
            f"by {_count(control['n_rows'])} rows {kept}"
        )
    elif "conformal_" in known:
        basis = ", by conformal sets"
    elif "band_" not in known:
        return "unknown: there are no leave-one-out scores"
    else:
        basis = ""
        if "results_" in known:  # chosen by the scores that the band rests on
            basis = "; after a search expect 1.1 to 1.4 times the errors counted outside"
    if "band_" not in known or np.ndim(model.band_) > 1:
        return f"rows of which not exactly one class is possible{basis}"
    lower, upper = sorted(sign * limit for limit in model.band_)
    return f"scores between {lower:.6g} and {upper:.6g}{basis}"


def _left_out(model):
    """How the training rows do by the scores that they get without themselves."""
    risk = getattr(model, "left_out_risk_", None)
    if risk is None:
        return None
    (_, half, wrong), (_, every, all_wrong) = risk[:, [np.argmax(2 * risk[1] >= risk[1, -1]), -1]].T
    return (
        f"{_count(every)} rows, {all_wrong / every:.2%} of them wrong; "
        f"of the surest {_count(half)} {wrong / half:.2%}"
    )


def _clipped(name):
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _count(rows):
    """A number of rows, whole but for weights."""
    return f"{rows:,.0f}" if rows >= 1e5 or rows == int(rows) else f"{rows:,.6g}"


def _figure(value):
    return f"{'unknown' if value != value else format(value, '.5g'):>11}"
