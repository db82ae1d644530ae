"""``entropic predict``: labels for the rows of files."""

from __future__ import annotations

import csv
import io
import sys

import numpy as np

from entropic.files import check_writable, whole_file
from entropic.uncertainty.band import in_band

from .encoding import COPIED, cells_of
from .saved import SavedModel, batches_of


def predict(options):
    """Write the label, score and certainty of every row of some files."""
    if options.output is not None:
        check_writable(options.output)
    model = SavedModel(options.model)
    source, copied = model.open(options)
    classifier = model.classifier
    towards_positive = 1.0 if classifier.classes_[1] == model.positive else -1.0
    lines = _lines(classifier, model.encoder, batches_of(source), copied, towards_positive)
    if options.output is None:
        for line in lines:
            sys.stdout.write(line)
        return
    with whole_file(options.output) as file:
        for line in lines:
            file.write(line.encode())


def _lines(classifier, encoder, batches, copied, towards_positive):
    """The lines of the output, those of a batch of rows at once."""
    header = ["label", "score", "certainty"]
    waiting = [header if copied is None else [copied, *header]]
    for rows in batches:
        if not rows.num_rows:
            continue
        X = encoder.matrix(rows)
        scores = classifier.decision_function(X)
        certainty = np.full(len(scores), "unknown")
        if hasattr(classifier, "band_"):
            certainty = np.where(in_band(scores, classifier.band_), "uncertain", "certain")
        columns = [
            classifier.classes_[(scores > 0).astype(int)].tolist(),
            (towards_positive * scores).tolist(),
            certainty.tolist(),
        ]
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
