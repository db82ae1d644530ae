"""From the labels in a file to two classes."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from entropic.model_format import stored

_WHOLE = re.compile(r"([+-]?(?:0|[1-9][0-9]*))(?:\.0*)?")


@stored("Labels")
@dataclass
class Labels:
    """Which two classes the labels of a column make.

    Attributes
    ----------
    positive, negative : str or int
        The two classes.
    members : list or None
        With more than two labels: those that make the positive class; all others make the
        negative one.
    """

    positive: object
    negative: object
    members: list | None = None

    @classmethod
    def learn(cls, raw, wanted=()):
        """Settle the classes from the training labels.

        Parameters
        ----------
        raw : array of shape (n_rows,)
            The labels as they are written.
        wanted : list of str
            Labels of the positive class; without any it is the greater of two.

        Raises
        ------
        ValueError
            If there is a single label, or more than two and none is wanted.
        """
        labels = tidy(raw)
        known = sorted(set(labels.tolist()))
        shown = ", ".join(str(label) for label in known[:10])
        shown += f" and {len(known) - 10} more" if len(known) > 10 else ""
        if len(known) < 2:
            raise ValueError(f"all rows have the label {known[0]!s}; give rows of two classes.")
        members = [cls._among(known, label, shown) for label in wanted]
        if len(known) == 2:
            if len(members) == 2:
                raise ValueError("--positive names both labels; name one of them.")
            positive = members[0] if members else known[1]
            return cls(positive, known[1 - known.index(positive)])
        if not members:
            raise ValueError(
                f"there are {len(known)} labels ({shown}) and two classes are needed; "
                "say with --positive LABEL, once or more, which labels make the positive class "
                "against all others."
            )
        if len(set(members)) == len(known):
            raise ValueError("--positive names every label; leave some for the other class.")
        positive = " or ".join(str(label) for label in dict.fromkeys(members))
        return cls(positive, f"not {positive}", members)

    @staticmethod
    def _among(known, wanted, shown):
        for label in known:
            if str(label) == wanted:
                return label
            if not isinstance(label, str):
                try:
                    if float(wanted) == label:
                        return label
                except ValueError:
                    pass
        raise ValueError(f"--positive {wanted!r} is not a label; the labels are {shown}.")

    def apply(self, raw):
        """The class of each row, and whether trailing dots had to be taken off.

        Raises
        ------
        ValueError
            If a label is neither of the two classes.
        """
        labels = tidy(raw, self.positive if self.members is None else self.members[0])
        if self.members is not None:
            return np.where(np.isin(labels, self.members), self.positive, self.negative), False
        classes = [self.negative, self.positive]
        unknown = set(labels.tolist()) - set(classes)
        if not unknown:
            return labels, False
        if all(isinstance(label, str) for label in unknown):
            bare = np.array([_undotted(label, classes) for label in labels.tolist()])
            if set(bare.tolist()) <= set(classes):
                return bare, True
        raise ValueError(
            f"the label {min(unknown, key=str)!s} is not one of the training rows' "
            f"({self.negative!s}, {self.positive!s}); mend or take out such rows."
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
