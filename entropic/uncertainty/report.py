"""How a classifier that may abstain does on labelled rows: coverage, errors, risk and coverage."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


def risk_coverage(wrong, confidence, weights=1.0):
    """Error among the surest rows, as the share of rows that count as sure grows.

    Parameters
    ----------
    wrong : bool array of shape (n_samples,)
    confidence : array of shape (n_samples,)
        Higher is surer. Rows that tie enter together: their errors are spread over them evenly.
    weights : float or array of shape (n_samples,)

    Returns
    -------
    coverage, risk : arrays of shape (n_samples,)
        After each row of weight, the surest first.
    area : float
        Mean risk over all coverages: the area under the curve (Y. Geifman, R. El-Yaniv,
        "Selective classification for deep neural networks", section 3).
    """
    weights = np.broadcast_to(np.asarray(weights, dtype=np.float64), np.shape(wrong))
    counted = weights > 0
    weights, wrong, confidence = weights[counted], np.asarray(wrong)[counted], confidence[counted]
    order = np.argsort(-confidence, kind="stable")
    weights, wrong, confidence = weights[order], wrong[order], confidence[order]
    tie = np.cumsum(np.diff(confidence, prepend=np.inf) != 0) - 1
    share = np.bincount(tie, weights * wrong) / np.bincount(tie, weights)
    covered = np.cumsum(weights)
    risk = np.cumsum(weights * share[tie]) / covered
    return covered / covered[-1], risk, float(np.average(risk, weights=weights))


def reliability(probability, positive, weights=1.0, n_bins=10):
    """Predicted probability against observed frequency, in bins of equal width.

    Parameters
    ----------
    probability : array of shape (n_samples,)
        Of the good class.
    positive : bool array of shape (n_samples,)
    weights : float or array of shape (n_samples,)
    n_bins : int

    Returns
    -------
    predicted, observed, total : arrays of shape (n_bins with weight,)
        Mean probability, frequency and weight of each bin.
    error : float
        Expected calibration error: their mean distance, by weight.
    """
    weights = np.broadcast_to(np.asarray(weights, dtype=np.float64), np.shape(probability))
    place = np.minimum((np.asarray(probability) * n_bins).astype(int), n_bins - 1)
    total, mean, rate = (
        np.bincount(place, weights * values, minlength=n_bins)
        for values in (1.0, probability, positive)
    )
    filled = total > 0
    total, mean, rate = total[filled], mean[filled], rate[filled]
    error = float(np.sum(np.abs(mean - rate)) / np.sum(total))
    return mean / total, rate / total, total, error


@dataclass(frozen=True)
class ClassReport:
    """One class in a :class:`SelectiveReport`; a share of nothing is NaN.

    Attributes
    ----------
    label : object
    weight : float
        Of the class's rows; their number where no weights are given.
    abstention_rate : float
        Share of the class's rows that are uncertain.
    precision : float
        Of the rows said to be of this class with certainty, the share that are.
    recall : float
        Of the class's certain rows, the share said to be of it.
    error : float
        Of all rows of the class, the share that are certain and wrong: what ``certainty``
        bounds.
    """

    label: object
    weight: float
    abstention_rate: float
    precision: float
    recall: float
    error: float


@dataclass(frozen=True)
class SelectiveReport:
    """What ``selective_report`` returns; ``print`` shows it as a table.

    Attributes
    ----------
    n_samples : int
        Rows.
    coverage : float
        Share of the rows that are certain.
    abstention_rate : float
        The others' share.
    error : float
        Share of wrong labels among the certain rows, NaN where there are none.
    full_error : float
        Share of wrong labels when every row is given one.
    risk_coverage_area : float
        Area under the risk–coverage curve; lower is better.
    classes : tuple of ClassReport
        In the order of ``classes_``.
    risk_coverage : tuple of two arrays
        The curve: coverage, and the error among the surest rows that make it up.
    """

    n_samples: int
    coverage: float
    abstention_rate: float
    error: float
    full_error: float
    risk_coverage_area: float
    classes: tuple[ClassReport, ...]
    risk_coverage: tuple[np.ndarray, np.ndarray] = field(repr=False)

    def __str__(self) -> str:
        lines = [
            f"rows                        {self.n_samples:>8d}",
            f"coverage                    {_percent(self.coverage)}",
            f"abstention rate             {_percent(self.abstention_rate)}",
            f"error among the certain     {_percent(self.error)}",
            f"error without abstention    {_percent(self.full_error)}",
            f"area under risk–coverage    {self.risk_coverage_area:>8.4f}",
            "",
        ]
        width = max(5, *(len(str(one.label)) for one in self.classes))
        heads = ("weight", "abstains", "precision", "recall", "error")
        lines.append(f"{'class':<{width}}" + "".join(f"{head:>11}" for head in heads))
        for one in self.classes:
            shares = (one.abstention_rate, one.precision, one.recall, one.error)
            lines.append(
                f"{one.label!s:<{width}}{one.weight:>11.6g}"
                + "".join(f"   {_percent(share)}" for share in shares)
            )
        return "\n".join(lines)


def selective_report(classes, truth, certain, given, wrong, confidence, weights):
    """Put a :class:`SelectiveReport` together.

    Parameters
    ----------
    classes : array of shape (n_classes,)
    truth : int array of shape (n_samples,)
        Places in ``classes``.
    certain : bool array of shape (n_samples,)
    given : int array of shape (n_samples,)
        What the certain rows are said to be; read for these only.
    wrong : bool array of shape (n_samples,)
        Of the labels without abstention.
    confidence : array of shape (n_samples,)
    weights : array of shape (n_samples,) or (1,)
    """
    weights = np.broadcast_to(weights, truth.shape)
    total = float(weights.sum())
    right = given == truth
    coverage = _share(weights, certain, np.ones_like(certain))
    *curve, area = risk_coverage(wrong, confidence, weights)
    return SelectiveReport(
        n_samples=len(truth),
        coverage=coverage,
        abstention_rate=_share(weights, ~certain, np.ones_like(certain)),
        error=_share(weights, ~right, certain),
        full_error=float(weights @ wrong) / total,
        risk_coverage_area=area,
        classes=tuple(
            ClassReport(
                label=label,
                weight=float(weights @ (truth == code)),
                abstention_rate=_share(weights, ~certain, truth == code),
                precision=_share(weights, right, certain & (given == code)),
                recall=_share(weights, right, certain & (truth == code)),
                error=_share(weights, certain & ~right, truth == code),
            )
            for code, label in enumerate(classes.tolist())
        ),
        risk_coverage=tuple(curve),
    )


def _share(weights, part, of):
    """Weight of ``part`` within ``of``, over the weight of ``of``."""
    whole = float(weights @ of)
    return float(weights @ (part & of)) / whole if whole > 0 else float("nan")


def _percent(share):
    return "     n/a" if share != share else f"{share:>8.2%}"
