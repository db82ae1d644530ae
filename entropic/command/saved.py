"""A saved model and the rows of files that it is asked about."""

from __future__ import annotations

import sys

from entropic.model_file import load_model

from .cells import listed
from .encoding import IndexedEncoder, TableEncoder, label_cells, positional_encoder
from .indexed import IndexedFiles, IndexedRows
from .options import dialect_of
from .source import open_source


class SavedModel:
    """A model from its file, and how files become rows and labels for it.

    Parameters
    ----------
    path : str

    Attributes
    ----------
    classifier : EntropicClassifier
    encoder : TableEncoder or IndexedEncoder
    labels : Labels or None
        None for a model that was not made by the command.
    positive : label
        The class that positive scores of the command's output mean; None where there are more
        than two, of which the label's own score is written.
    """

    def __init__(self, path):
        self.classifier = load_model(path)
        preprocessing = getattr(self.classifier, "preprocessing_", None)
        if preprocessing is None:
            self.encoder = positional_encoder(
                self.classifier.n_features_in_, getattr(self.classifier, "feature_names_in_", None)
            )
            self.labels, self.positive = None, self.classifier.classes_[1]
        else:
            self.encoder, self.labels = preprocessing.encoder, preprocessing.labels
            self.positive = self.labels.positive

    @property
    def feature_names(self):
        """Names of the columns of its matrix, as the file of the fit had them."""
        return self.encoder.feature_names()

    def open(self, options):
        """The rows of ``options.files``, selected for the encoder; notes go to standard error.

        Returns
        -------
        source : Source or IndexedFiles
        copied : str or None
            The column that ``options.id`` names.
        """
        reading = dialect_of(options, self.encoder.reading)
        source = open_source(options.files, reading, self.encoder.known)
        if self.labels is None and isinstance(source, IndexedFiles):
            self.encoder = IndexedEncoder(1, self.classifier.n_features_in_)
        if isinstance(self.encoder, TableEncoder) and not isinstance(source, IndexedFiles):
            return source, self._select(source, options)
        self.encoder.select(source)
        if options.drop or getattr(options, "id", None):
            raise ValueError("--drop and --id have no meaning for LIBSVM files; leave them out.")
        return source, None

    def _select(self, source, options):
        dropped = [source.find(name, "--drop") for name in options.drop]
        wanted = getattr(options, "id", None)
        copied = None if wanted is None else source.find(wanted, "--id")
        ignored = self.encoder.select(source, dropped, copied)
        _ = source.schema  # settles what the columns hold, in a first pass
        notes = list(source.notes)
        if ignored:
            notes.append(f"the columns {listed(ignored)} are none of the training rows'; ignored.")
        for note in notes:
            print(f"entropic: note: {note}", file=sys.stderr)
        return copied

    def labels_of(self, rows, source, n_before):
        """The class of each row of a batch, or None where the file has no labels."""
        target = getattr(self.encoder, "target", None)
        if self.labels is None or not (
            isinstance(rows, IndexedRows) or target in rows.schema.names
        ):
            return None
        return self.labels.apply(label_cells(rows, target, source, n_before))[0]
