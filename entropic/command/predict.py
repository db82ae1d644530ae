"""``entropic predict``: labels for the rows of files."""

from __future__ import annotations

import csv
import io
import sys

import numpy as np

from entropic.files import check_writable, whole_file
from entropic.uncertainty.mixin import certain
from entropic.uncertainty.several import class_scores

from .encoding import COPIED, cells_of
from .saved import SavedModel


def predict(options):
    """Write the label, score and certainty of every row of some files."""
    if options.output is not None:
        check_writable(options.output)
    model = SavedModel(options.model)
    source, copied = model.open(options)
    classifier = model.classifier
    lines = _lines(classifier, model.encoder, source.batches(), copied, model.positive)
    if options.output is None:
        for line in lines:
            sys.stdout.write(line)
        return
    with whole_file(options.output) as file:
        for line in lines:
            file.write(line.encode())


def _lines(classifier, encoder, batches, copied, positive):
    """The lines of the output, those of a batch of rows at once."""
    header = ["label", "score", "certainty"]
    waiting = [header if copied is None else [copied, *header]]
    for rows in batches:
        if not rows.num_rows:
            continue
        X = encoder.matrix(rows)
        scores = classifier.decision_function(X)
        certainty = np.full(len(scores), "unknown")
        if hasattr(classifier, "in_band"):
            certainty = np.where(certain(classifier._possible(scores)), "certain", "uncertain")
        best = np.argmax(class_scores(scores), axis=1)
        if scores.ndim == 2:  # of the label
            scores = scores.max(axis=1)
        elif classifier.classes_[1] != positive:
            scores = -scores
        columns = [classifier.classes_[best].tolist(), scores.tolist(), certainty.tolist()]
        if copied is not None:
            columns.insert(0, cells_of(rows, COPIED))
        # nothing is written of rows of which the first cannot be used
        yield _csv([*waiting, *zip(*columns, strict=True)])
        waiting = []
    yield _csv(waiting)


def _csv(rows):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()
