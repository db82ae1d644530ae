"""``entropic predict``: labels for the rows of a file."""

from __future__ import annotations

import csv
import io
import sys

import numpy as np

from entropic.files import check_writable, write_whole
from entropic.model_file import load_model

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
    rows, copied = source, None
    if preprocessing is None and isinstance(source, IndexedRows):
        encoder = IndexedEncoder(1, classifier.n_features_in_)
    if isinstance(encoder, TableEncoder):
        rows, copied = _table(source, encoder, options)
    elif options.drop or options.id:
        raise ValueError("--drop and --id have no meaning for LIBSVM files; leave them out.")
    X = encoder.matrix(rows)
    scores = classifier.decision_function(X)
    towards_positive = 1.0 if classifier.classes_[1] == positive else -1.0
    certainty = np.full(len(scores), "unknown")
    if hasattr(classifier, "band_"):
        certainty = np.where(classifier.in_band(X), "uncertain", "certain")
    columns = {
        "label": classifier.predict(X).tolist(),
        "score": (towards_positive * scores).tolist(),
        "certainty": certainty.tolist(),
    }
    if copied is not None:
        columns = {copied: cells_of(rows, COPIED)} | columns
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    if options.output is None:
        sys.stdout.write(out.getvalue())
    else:
        write_whole(options.output, out.getvalue().encode())


def _table(source, encoder, options):
    """The rows as a table, and the name of the column to copy; notes go to standard error."""
    if isinstance(source, IndexedRows):
        return encoder.select(source), None
    dropped = [source.find(name, "--drop") for name in options.drop]
    copied = None if options.id is None else source.find(options.id, "--id")
    ignored = encoder.select(source, dropped, copied)
    table = source.table()
    notes = list(source.notes)
    if ignored:
        notes.append(f"the columns {listed(ignored)} are none of the training rows'; ignored.")
    for note in notes:
        print(f"entropic: note: {note}", file=sys.stderr)
    return table, copied
