"""``entropic predict``: labels for the rows of a file."""

from __future__ import annotations

import csv
import io
import sys

import numpy as np

from entropic.files import check_writable, write_whole
from entropic.model_file import load_model

from .encoding import IndexedEncoder, positional_encoder
from .options import layout_of
from .tables import Table, read


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
    rows = read([options.file], **{**layout_of(options), **encoder.reading})
    if preprocessing is None and not isinstance(rows, Table):
        encoder = IndexedEncoder(1, classifier.n_features_in_)
    X = encoder.matrix(rows)
    scores = classifier.decision_function(X)
    towards_positive = 1.0 if classifier.classes_[1] == positive else -1.0
    certainty = np.full(len(scores), "unknown")
    if hasattr(classifier, "band_"):
        certainty = np.where(classifier.in_band(X), "uncertain", "certain")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["label", "score", "certainty"])
    writer.writerows(
        zip(
            classifier.predict(X).tolist(),
            (towards_positive * scores).tolist(),
            certainty.tolist(),
            strict=True,
        )
    )
    if options.output is None:
        sys.stdout.write(out.getvalue())
    else:
        write_whole(options.output, out.getvalue().encode())
