"""The first pass over batches: sizes, classes, weights and moments, merged part by part.

Means and sums of squared deviations of two sets of rows make those of both without a second
read and without cancellation (Chan, Golub and LeVeque 1979).
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from entropic.kernels.backend import sweeps
from entropic.kernels.threads import effective_threads

from . import rows_of
from .dense import largest

# What is found of all rows, in this order: sums, and then what the largest is kept of.
SUMS = ("n_samples", "entries", "squares", "n_given", "n_broken", "digest")
MOSTS = ("largest", "widest", "precision", "sparse")
MOST_CLASSES = 1000
DIGESTS = 1 << 40  # sums of checksums stay whole numbers in double precision


@dataclass(frozen=True)
class Survey:
    """A task: what a fit must know of the rows before its first sweep.

    Parameters
    ----------
    scaled : bool
        Whether moments are wanted.
    by_class : bool
        Of each class by itself, since class weights follow from what is found.
    classes : array of shape (n_classes,) or None
        Where they are known beforehand.
    digest : bool
        Whether a checksum of the rows is wanted.
    n_jobs : int or None

    Returns
    -------
    labels : array of shape (n_labels,)
        In the order of the codes.
    figures : array of shape (10,)
        ``SUMS`` and ``MOSTS``.
    by_label : array of shape (5, n_labels)
        Rows, rows of weight, weight, the least weight above 0, the largest weight.
    moments : array of shape (n_sets, 2 * n_features + 1)
        Weight, means, and sums of squared deviations; one set, or one a class.
    """

    scaled: bool
    by_class: bool = False
    classes: np.ndarray | None = None
    digest: bool = False
    n_jobs: int | None = None

    def encoder(self):
        return LabelCodes(self.classes)

    def with_threads(self, n_threads):
        """The task for whom it is not said how many threads it may take."""
        return self if self.n_jobs is not None else replace(self, n_jobs=n_threads)

    def __call__(self, part):
        n_labels, given = len(part.labels), part.given
        members = [part.codes == code for code in range(n_labels)]
        by_label = np.zeros((5, n_labels))
        weights = np.ones(1) if given is None else np.ascontiguousarray(given)
        for code, mask in enumerate(members):
            own = np.broadcast_to(weights, len(mask))[mask]
            counted = own[own > 0]
            with np.errstate(over="ignore"):  # refused with the class weights (labels.py)
                by_label[:3, code] = len(own), len(counted), counted.sum()
            by_label[3:, code] = counted.min(initial=np.inf), counted.max(initial=0.0)
        rows = rows_of(part.X)
        values, widest, in_row = part.X, rows.n_columns, None
        if sp.issparse(part.X):
            in_row = rows.entries_per_row()
            values, widest = part.X.data, in_row.max(initial=0)
        broken = given is not None and np.any(given != np.floor(given))
        figures = [
            rows.n_samples,
            rows.n_entries,
            0.0 if in_row is None else in_row @ in_row,
            0 if given is None else rows.n_samples,
            broken,
            self._digest(part, values, members) if self.digest else 0,
            largest(values),
            widest,
            np.finfo(values.dtype).eps,
            in_row is not None,
        ]
        sets = []
        if self.scaled:
            sets = [weights]
            if self.by_class:
                sets = [np.where(mask, weights, 0.0) for mask in members]
        moments = np.zeros((len(sets), 2 * rows.n_columns + 1))
        for own, found in zip(sets, moments, strict=True):
            found[:] = moments_of(rows, own, self.n_jobs)
        return np.concatenate(part.labels), np.array(figures, dtype=float), by_label, moments

    def _digest(self, part, values, members):
        found = zlib.crc32(np.ascontiguousarray(values))
        if sp.issparse(part.X):
            found = zlib.crc32(np.ascontiguousarray(part.X.indices), found)
        if part.given is not None:
            found = zlib.crc32(np.ascontiguousarray(part.given), found)
        # a sum over the labels, since the order of their codes may be another each time
        for label, mask in zip(part.labels, members, strict=True):
            found += zlib.crc32(np.packbits(mask), zlib.crc32(repr(label.tolist()).encode()))
        return found % DIGESTS

    def join(self, one, other):
        """What is found of two sets of rows together."""
        labels, codes = one[0], []
        for label in other[0]:
            same = np.flatnonzero(labels == label)
            codes.append(int(same[0]) if len(same) else len(labels))
            if not len(same):
                labels = np.append(labels, np.array([label], dtype=other[0].dtype))
        check_few(labels[:, None])
        sums, mosts = slice(len(SUMS)), slice(len(SUMS), None)
        most = np.maximum(one[1][mosts], other[1][mosts])
        figures = np.append(one[1][sums] + other[1][sums], most)
        figures[SUMS.index("digest")] %= DIGESTS
        by_label = np.zeros((5, len(labels)))
        by_label[3] = np.inf
        for found, places in ((one[2], range(len(one[0]))), (other[2], codes)):
            for place, (rows, counted, weight, least, most) in zip(places, found.T, strict=True):
                with np.errstate(over="ignore"):
                    by_label[:3, place] += rows, counted, weight
                by_label[3, place] = min(by_label[3, place], least)
                by_label[4, place] = max(by_label[4, place], most)
        moments = one[3]
        if self.by_class and len(labels) > len(moments):
            more = np.zeros((len(labels) - len(moments), moments.shape[1]))
            moments = np.vstack([moments, more])
        for place, found in zip(codes if self.by_class else [0], other[3], strict=False):
            moments[place] = merged(moments[place], found)
        return labels, figures, by_label, moments


class LabelCodes:
    """Codes of labels, in the order in which these appear unless they are known.

    Parameters
    ----------
    classes : array of shape (n_classes,) or None
    """

    def __init__(self, classes=None):
        self.known = classes is not None
        self.labels = () if classes is None else tuple(classes[:, None])

    def __call__(self, y):
        """The codes of some labels, as int16, and the labels that have codes.

        Raises
        ------
        ValueError
            If there are too many labels, or one that is not among the classes.
        """
        codes = codes_of(y, [label[0] for label in self.labels])
        new = np.flatnonzero(codes < 0)
        if not len(new):
            return codes, self.labels
        if self.known:
            raise ValueError(
                f"y has the label {y[new[0]]!s} in row {new[0]}, which is not among the "
                f"classes {', '.join(str(label[0]) for label in self.labels)}; leave such rows out."
            )
        found = np.unique(y[new])
        self.labels += tuple(found[place : place + 1] for place in range(len(found)))
        check_few(self.labels)
        return codes_of(y, [label[0] for label in self.labels]), self.labels


def codes_of(y, classes):
    """The place of each label among the classes, as int16; -1 for others."""
    codes = np.full(len(y), -1, dtype=np.int16)
    for code, label in enumerate(classes):
        same = np.asarray(y == label)
        if same.shape == codes.shape:  # labels of another kind compare as one False
            codes[same] = code
    return codes


def check_few(labels):
    """Refuse more classes than a classifier is for."""
    if len(labels) > MOST_CLASSES:
        shown = ", ".join(str(label[0]) for label in labels[:3])
        raise ValueError(
            f"y has more than {MOST_CLASSES} classes ({shown}, ...); give labels of classes, not "
            "a quantity or row numbers."
        )


def moments_of(rows, weights, n_jobs):
    """Weight, means and sums of squared deviations of some rows, as one array."""
    threads = effective_threads(n_jobs, rows.n_entries)
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(np.sum(np.broadcast_to(weights, rows.n_samples)))
        if total == 0:
            return np.zeros(2 * rows.n_columns + 1)
        mean, variance = sweeps.moments(rows, weights, threads)
        return np.concatenate([[total], mean, total * variance])


def merged(one, other):
    """The moments of two sets of rows together."""
    if one[0] == 0 or other[0] == 0:
        return other if one[0] == 0 else one
    half = 1 + len(one) // 2
    total = one[0] + other[0]
    with np.errstate(over="ignore", invalid="ignore"):
        apart = other[1:half] - one[1:half]
        mean = one[1:half] + apart * (other[0] / total)
        squares = one[half:] + other[half:] + apart**2 * (one[0] * (other[0] / total))
    return np.concatenate([[total], mean, squares])
