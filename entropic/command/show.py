"""``entropic show``: what a saved model has learned."""

from __future__ import annotations

from entropic.summary import summary_of

from .encoding import TableEncoder
from .report import Report, column_line
from .saved import SavedModel


def show(options):
    """Print what a model is of, how its fit ended, and its largest terms."""
    model = SavedModel(options.model)
    known = None if model.labels is None else model.feature_names
    summary = summary_of(model.classifier, options.terms, known, model.positive)
    report = Report()
    lines = [("file", options.model), ("classifier", summary.title)]
    if known is not None and isinstance(model.encoder, TableEncoder):
        lines.append(column_line(model.encoder))
    report.section("Model", lines)
    report.section("Fit", summary.facts)
    report.tables += summary.tables()
    report.show()
