"""What the paper prints of each set (its section 5.3): a table of figures, one of confusions.

Rows of a matrix are true classes and columns predicted ones, class 0 first. (The headings of the
printed matrices have the two the other way round; the printed recalls show which is meant.)
Precision, recall and F1 are of class 1. The printed figures are those of the printed matrix,
rounded, everywhere but in the row of KNN on breast cancer.
"""

from __future__ import annotations

from typing import NamedTuple


class Printed(NamedTuple):
    """A printed row."""

    accuracy: float
    precision: float
    recall: float
    f1: float
    confusion: tuple


def _row(figures, true_0, true_1):
    return Printed(*figures, (true_0, true_1))


_PERFECT = (1.00, 1.00, 1.00, 1.00)
PRINTED = {
    "blobs": {
        "SVM": _row(_PERFECT, (70, 0), (0, 80)),
        "KNN": _row(_PERFECT, (70, 0), (0, 80)),
        "Logistic Regression": _row(_PERFECT, (70, 0), (0, 80)),
        "Perceptron": _row(_PERFECT, (70, 0), (0, 80)),
        "Entropic-Linear": _row(_PERFECT, (70, 0), (0, 80)),
        "Entropic-Polynomial": _row(_PERFECT, (70, 0), (0, 80)),
    },
    "circles": {
        "SVM": _row((0.53, 0.52, 0.64, 0.57), (31, 44), (27, 48)),
        "KNN": _row((0.97, 1.00, 0.93, 0.97), (75, 0), (5, 70)),
        "Logistic Regression": _row((0.49, 0.49, 0.48, 0.48), (37, 38), (39, 36)),
        "Perceptron": _row((0.57, 0.55, 0.76, 0.64), (28, 47), (18, 57)),
        "Entropic-Linear": _row((0.46, 0.00, 0.00, 0.00), (69, 6), (75, 0)),
        "Entropic-Polynomial": _row((0.99, 0.99, 0.99, 0.99), (74, 1), (1, 74)),
    },
    "spiral": {
        "SVM": _row((0.74, 0.75, 0.72, 0.73), (114, 36), (42, 108)),
        "KNN": _row(_PERFECT, (150, 0), (0, 150)),
        "Logistic Regression": _row((0.74, 0.75, 0.73, 0.74), (113, 37), (41, 109)),
        "Perceptron": _row((0.31, 0.31, 0.31, 0.31), (45, 105), (103, 47)),
        "Entropic-Linear": _row((0.72, 1.00, 0.44, 0.61), (150, 0), (84, 66)),
        "Entropic-Polynomial": _row((0.99, 1.00, 0.99, 0.99), (150, 0), (2, 148)),
    },
    "moons": {
        "SVM": _row((0.88, 0.88, 0.88, 0.88), (66, 9), (9, 66)),
        "KNN": _row(_PERFECT, (75, 0), (0, 75)),
        "Logistic Regression": _row((0.88, 0.88, 0.88, 0.88), (66, 9), (9, 66)),
        "Perceptron": _row((0.87, 0.88, 0.87, 0.87), (66, 9), (10, 65)),
        "Entropic-Linear": _row((0.80, 1.00, 0.60, 0.75), (75, 0), (30, 45)),
        "Entropic-Polynomial": _row((0.99, 1.00, 0.97, 0.99), (75, 0), (2, 73)),
    },
    "breast cancer": {
        "SVM": _row((0.98, 0.98, 0.99, 0.99), (61, 2), (1, 107)),
        "KNN": _row((0.96, 0.96, 0.97, 0.97), (58, 5), (3, 105)),
        "Logistic Regression": _row((0.98, 0.99, 0.98, 0.99), (62, 1), (2, 106)),
        "Perceptron": _row((0.98, 0.99, 0.98, 0.99), (62, 1), (2, 106)),
        "Entropic-Linear": _row((0.94, 0.99, 0.91, 0.95), (62, 1), (10, 98)),
        "Entropic-Polynomial": _row((0.92, 0.94, 0.94, 0.94), (56, 7), (7, 101)),
    },
}
