"""From the labels in a file to classes."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from entropic.model_format import stored

from .cells import listed

_WHOLE = re.compile(r"([+-]?(?:0|[1-9][0-9]*))(?:\.0*)?")
# So many labels may be classes of which there are few rows each.
FEW = 20


@stored("Labels")
@dataclass
class Labels:
    """Which classes the labels of a column make.

    Attributes
    ----------
    positive, negative : str, int or None
        The two classes; None where there are more.
    members : list or None
        With more than two labels, of which some were named: those that make the positive class;
        all others make the negative one.
    classes : list or None
        Three classes or more, each a label.
    """

    positive: object = None
    negative: object = None
    members: list | None = None
    classes: list | None = None

    @property
    def names(self):
        """The classes, the positive one of two last."""
        return self.classes or [self.negative, self.positive]

    @classmethod
    def learn(cls, raw, wanted=(), n_rows=None):
        """Settle the classes from the training labels.

        Parameters
        ----------
        raw : array of shape (n_rows,)
            The labels as they are written, or each of them once.
        wanted : list of str
            Labels of the positive class against all others; without any, it is the greater of two.
        n_rows : int or None
            Where each label is there once: how many rows there are.

        Raises
        ------
        ValueError
            If there is a single label, or nearly as many as rows, or one wanted is not there.
        """
        labels = tidy(raw)
        known = sorted(set(labels.tolist()))
        if len(known) < 2:
            raise ValueError(
                f"all rows have the label {known[0]!s}; give rows of two classes or more."
            )
        members = [cls._among(known, label) for label in wanted]
        if len(known) == 2:
            if len(members) == 2:
                raise ValueError("--positive names both labels; name one of them.")
            positive = members[0] if members else known[1]
            return cls(positive, known[1 - known.index(positive)])
        if not members:
            n_rows = len(labels) if n_rows is None else n_rows
            if len(known) > max(FEW, n_rows // 5):
                raise ValueError(
                    f"there are {len(known):,} labels ({listed(known, 10, str)}) in {n_rows:,} "
                    "rows, as of a quantity; name a column of classes with --target, or say "
                    "with --positive LABEL, once or more, which labels make one class against all "
                    "others."
                )
            return cls(classes=known)
        if len(set(members)) == len(known):
            raise ValueError("--positive names every label; leave some for the other class.")
        positive = " or ".join(str(label) for label in dict.fromkeys(members))
        return cls(positive, f"not {positive}", members)

    @staticmethod
    def _among(known, wanted):
        for label in known:
            if str(label) == wanted:
                return label
            if not isinstance(label, str):
                try:
                    if float(wanted) == label:
                        return label
                except ValueError:
                    pass
        raise ValueError(
            f"--positive {wanted!r} is not a label; the labels are {listed(known, 10, str)}."
        )

    def apply(self, raw):
        """The class of each row, and whether trailing dots had to be taken off.

        Raises
        ------
        ValueError
            If a label is none of the classes.
        """
        classes = self.names
        labels = tidy(raw, classes[-1] if self.members is None else self.members[0])
        if self.members is not None:
            return np.where(np.isin(labels, self.members), self.positive, self.negative), False
        unknown = set(labels.tolist()) - set(classes)
        if not unknown:
            return labels, False
        if all(isinstance(label, str) for label in unknown):
            bare = np.array([_undotted(label, classes) for label in labels.tolist()])
            if set(bare.tolist()) <= set(classes):
                return bare, True
        raise ValueError(
            f"the label {min(unknown, key=str)!s} is not one of the training rows' "
            f"({listed(classes, 10, str)}); mend or take out such rows."
        )


def _undotted(label, classes):
    return label[:-1] if label not in classes and label.endswith(".") else label


def tidy(raw, like=None):
    """Labels as integers where all are whole numbers, else as strings; none goes through a float.

    A leading zero makes a word of it. ``like`` is a known label: its type decides instead, where
    the labels allow it.
    """
    words = {str(word): position for position, word in enumerate(dict.fromkeys(raw.tolist()))}
    positions = np.fromiter((words[str(word)] for word in raw.tolist()), np.intp, len(raw))
    whole = [_WHOLE.fullmatch(word) for word in words]
    if all(whole) and not isinstance(like, str):
        numbers = [int(match[1]) for match in whole]
        if all(abs(number) < 2**63 for number in numbers):
            return np.array(numbers, dtype=np.int64)[positions]
    return np.array(list(words))[positions]
