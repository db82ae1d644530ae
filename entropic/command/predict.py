"""``entropic predict``: labels for the rows of a file."""

from __future__ import annotations

import csv
import io
import sys

import numpy as np

from entropic.files import check_writable, whole_file
from entropic.model_file import load_model
from entropic.uncertainty.band import in_band

from .cells import listed
from .encoding import COPIED, IndexedEncoder, TableEncoder, cells_of, positional_encoder
from .indexed import IndexedRows
from .options import dialect_of
from .source import open_source


def predict(options):
    """Write the label, score and certainty of every row of a file."""
    if options.output is not None:
        check_writable(options.output)
    classifier = load_model(options.model)
    preprocessing = getattr(classifier, "preprocessing_", None)
    if preprocessing is None:
        encoder = positional_encoder(
            classifier.n_features_in_, getattr(classifier, "feature_names_in_", None)
        )
        positive = classifier.classes_[1]
    else:
        encoder, positive = preprocessing.encoder, preprocessing.labels.positive
    source = open_source([options.file], dialect_of(options, encoder.reading), encoder.known)
    copied = None
    if preprocessing is None and isinstance(source, IndexedRows):
        encoder = IndexedEncoder(1, classifier.n_features_in_)
    if isinstance(encoder, TableEncoder):
        copied = _select(source, encoder, options)
    elif options.drop or options.id:
        raise ValueError("--drop and --id have no meaning for LIBSVM files; leave them out.")
    batches = [source] if isinstance(source, IndexedRows) else source.batches()
    towards_positive = 1.0 if classifier.classes_[1] == positive else -1.0
    lines = _lines(classifier, encoder, batches, copied, towards_positive)
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


def _select(source, encoder, options):
    """Select the columns and return the name of the one to copy; notes go to standard error."""
    if isinstance(source, IndexedRows):
        encoder.select(source)  # says that these are no rows of a table
    dropped = [source.find(name, "--drop") for name in options.drop]
    copied = None if options.id is None else source.find(options.id, "--id")
    ignored = encoder.select(source, dropped, copied)
    _ = source.schema  # settles what the columns hold, in a first pass
    notes = list(source.notes)
    if ignored:
        notes.append(f"the columns {listed(ignored)} are none of the training rows'; ignored.")
    for note in notes:
        print(f"entropic: note: {note}", file=sys.stderr)
    return copied
