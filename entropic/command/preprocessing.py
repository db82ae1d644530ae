"""What a model needs beside itself to read files: its encoder and its labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from entropic.model_format import stored

from .dialect import Dialect
from .encoding import IndexedEncoder, NumberColumn, TableEncoder, WordColumn
from .labels import Labels


@stored("Preprocessing")
@dataclass
class Preprocessing:
    """Carried by a classifier that the command fitted, as ``preprocessing_``.

    Attributes
    ----------
    encoder : TableEncoder or IndexedEncoder
    labels : Labels
    """

    encoder: TableEncoder | IndexedEncoder
    labels: Labels

    def check(self, model):
        """Raise ValueError unless everything is of its type and fits the classifier."""
        encoder, labels = self.encoder, self.labels
        sound = type(labels) is Labels and type(encoder) in (TableEncoder, IndexedEncoder)
        if sound and type(encoder) is TableEncoder:
            sound = _is_sound(encoder)
        elif sound:
            sound = encoder.first in (0, 1) and type(encoder.n_features) is int
        if not sound or encoder.n_features != model.n_features_in_:
            raise ValueError("its preprocessing does not fit its coefficients")
        if set(labels.names) != set(model.classes_.tolist()):
            raise ValueError("its labels are not its classes")


def _is_sound(encoder):
    strings = [*encoder.names, *encoder.dropped]
    strings += [] if encoder.target is None else [encoder.target]
    names = [column.name for column in [*encoder.numbers, *encoder.words]]
    return (
        all(type(name) is str for name in [*strings, *names])
        and set(names) <= set(encoder.names)
        and type(encoder.header) is bool
        and type(encoder.reading) is Dialect
        and encoder.reading.is_sound
        and all(
            type(column) is NumberColumn and isinstance(column.median, float)
            for column in encoder.numbers
        )
        and all(
            type(column) is WordColumn
            and isinstance(column.words, np.ndarray)
            and column.words.ndim == 1
            and column.words.dtype.kind == "U"
            for column in encoder.words
        )
    )
