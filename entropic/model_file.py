"""load_model: a classifier from its file, with every class that such a file may hold."""

from __future__ import annotations

# Each of these registers the classes that it adds to what a file may hold.
from . import model_selection  # noqa: F401
from .classifier import EntropicClassifier
from .command import preprocessing  # noqa: F401
from .model_format import load
from .typing import Path


def load_model(path: Path) -> EntropicClassifier:
    """Read a classifier that ``EntropicClassifier.save`` or the command wrote.

    Predictions are those of the saved model bit by bit. Nothing in the file is executed.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    EntropicClassifier
        One that the command saved also has ``preprocessing_``, by which ``entropic predict`` turns
        rows of a file into rows of a matrix.

    Raises
    ------
    ValueError
        If there is no such file, or it is damaged, foreign, of a newer format, or holds anything
        but a model.
    """
    return load(path, EntropicClassifier)
