"""What ``entropic fit`` prints: the data, the fit, and how it does on rows it has not seen."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

import numpy as np
from sklearn.metrics import confusion_matrix

from entropic.summary import ending_lines, surface, uncertain

from .cells import is_time, listed
from .encoding import TableEncoder

# Classes that are listed, and shown in a matrix.
MOST_SHOWN = 12


@dataclass
class Report:
    """Sections of labelled lines, tables and notes; the same for the same fit."""

    sections: list = field(default_factory=list)
    tables: list = field(default_factory=list)
    notes: list = field(default_factory=list)

    def section(self, title, lines, confusion=None):
        """Add a section.

        Parameters
        ----------
        title : str
        lines : iterable of pairs
            A label, and what is said of it.
        confusion : tuple or None
            The names of the classes, and the counts by true and predicted class.
        """
        lines = [(label, str(said)) for label, said in lines]
        self.sections.append((title, lines, confusion))

    def show(self, file=None):
        """Print, with styles where rich is installed and the output is a terminal."""
        file = file or sys.stdout
        try:
            from rich.console import Console
            from rich.text import Text
        except ImportError:
            for line in self._lines():
                print("".join(words for words, _ in line), file=file)
        else:
            console = Console(file=file, highlight=False, soft_wrap=True)
            for line in self._lines():
                console.print(Text.assemble(*line))

    def _lines(self):
        """Each line as pairs of words and their style."""
        width = max(len(label) for _, lines, _ in self.sections for label, _ in lines)
        for title, lines, confusion in self.sections:
            yield [(title, "bold cyan")]
            for label, said in lines:
                yield [(f"  {label:<{width}}  ", "dim"), (said, "")]
            yield []
            if confusion is not None:
                yield from _confusion_lines(*confusion)
                yield []
        for title, lines in self.tables:
            yield [(title, "bold cyan")]
            yield from ([(f"  {line}", "")] for line in lines)
            yield []
        for note in self.notes:
            yield [("note: ", "bold yellow"), (note, "")]


def _confusion_lines(classes, counts):
    names = [str(name) for name in classes]
    title = "true class" if len(names) == 2 else "true class, predicted:"
    first = max(map(len, [title, *names]))
    heads = [f"predicted {name}" if len(names) == 2 else f"{name:>5}" for name in names]
    yield [("  " + f"{title:<{first}}  " + "  ".join(heads), "dim")]
    for i, (name, row) in enumerate(zip(names, counts, strict=True)):
        line = [(f"  {name:<{first}}", "")]
        for j, (head, count) in enumerate(zip(heads, row, strict=True)):
            style = "green" if i == j else "red" if count else ""
            line.append((f"  {count:>{len(head)},}", style))
        yield line


def data_lines(options, source, encoder, labels, *, n_fit, n_held_out, counts, missing):
    """The lines on what was read, and how.

    Parameters
    ----------
    options : namespace
        ``files``, and ``test``: the file of the held-out rows, if it is another one.
    source : Source or IndexedFiles
    encoder : TableEncoder or IndexedEncoder
    labels : Labels
    n_fit, n_held_out : int
        Rows.
    counts : dict of label to int
        Rows of each class in ``files``.
    missing : tuple of two int
        Missing cells of the rows to fit, in columns of numbers and of words.
    """
    elsewhere = f" ({options.test})" if options.test else ""
    yield "files" if len(options.files) > 1 else "file", ", ".join(options.files)
    yield "rows", f"{n_fit:,} to fit, {n_held_out:,} held out{elsewhere}"
    classes = [f"{name}: {counts[name]:,}" for name in labels.names]
    if labels.classes is None:
        classes[1] += " (positive)"
    yield "classes", listed(classes, MOST_SHOWN, str)
    if isinstance(encoder, TableEncoder):
        if encoder.reading.separator:
            yield "text", encoder.reading.described()
        names = listed(encoder.names, 6)
        yield "header", f"yes: {names}" if encoder.header else "none: columns are numbered from 1"
        yield column_line(encoder)
    yield "features", f"{encoder.n_features:,}"
    in_numbers, in_words = missing
    found = [f"{in_numbers:,} of numbers, filled by the median"] if in_numbers else []
    found += [f"{in_words:,} of words, a category of their own"] if in_words else []
    if found:
        spelt = ", ".join(map(repr, source.missing_spellings())) or "nothing"
        found.append(f"written {spelt}")
    yield "missing cells", "; ".join(found) or "none"


def column_line(encoder):
    """The line on what the columns of a table hold."""
    dropped = f", left out: {', '.join(encoder.dropped)}" if encoder.dropped else ""
    numbers, words = (
        f"{len(columns)} of {kind}"
        + (f" ({listed([column.name for column in columns])})" if columns else "")
        for columns, kind in ((encoder.numbers, "numbers"), (encoder.words, "words"))
    )
    return "columns", f"{numbers}, {words}{dropped}"


def fit_lines(classifier, n_rows):
    """The lines on how the solver ended."""
    if said := surface(classifier):
        yield "surface", said
    yield from ending_lines(classifier, n_rows)
    yield "uncertain", uncertain(classifier)


def notes(encoder, n_fit, held_out, dotted):
    """What the user should know beside the figures."""
    if dotted:
        yield "the labels of the test file end in a dot, which was taken off to match."
    if isinstance(encoder, TableEncoder):
        for column in encoder.words:
            known = [word for word in column.words.tolist() if word]
            if all(map(is_time, known)):
                yield (
                    f"column {column.name} holds dates or times such as {known[0]!r}, which are "
                    "taken as words; write them as numbers, of days or seconds say, or --drop it."
                )
            elif len(column.words) > 20 and 2 * len(column.words) > n_fit:
                yield (
                    f"column {column.name} has {len(column.words):,} different words in "
                    f"{n_fit:,} rows; if it is an identifier, --drop it."
                )
    if held_out is not None:
        if cells := sum(encoder.missing(held_out)):
            yield f"{cells:,} missing cells of the held-out rows were filled in the same way."
        if cells := encoder.unseen(held_out):
            yield f"{cells:,} cells of the held-out rows hold what no training row has; ignored."


def held_out_lines(truth, predicted, certain, labels):
    """The lines on the held-out part, and its confusion matrix.

    Parameters
    ----------
    truth, predicted : arrays of shape (n_rows,)
    certain : bool array of shape (n_rows,) or None
    labels : Labels

    Returns
    -------
    lines : list of pairs of str
    confusion : tuple of the class names and a square list of counts, or None for many classes
    """
    names = labels.names
    counts = confusion_matrix(truth, predicted, labels=names)
    right, of_class, said_of = counts.diagonal(), counts.sum(axis=1), counts.sum(axis=0)
    commonest = int(np.argmax(of_class))
    base = of_class[commonest] / len(truth)
    lines = [
        (
            "accuracy",
            f"{right.sum() / len(truth):.4f} ({base:.4f} by always saying {names[commonest]})",
        )
    ]
    parts = (right, said_of), (right, of_class), (2 * right, said_of + of_class)
    for name, (part, whole) in zip(("precision", "recall", "F1"), parts, strict=True):
        if len(names) == 2:
            otherwise = "nothing is predicted so" if name == "precision" else "no row is of it"
            lines.append((name, _share(part[1], whole[1], otherwise)))
        elif np.any(whole > 0):
            mean = np.mean(part[whole > 0] / whole[whole > 0])
            lines.append((name, f"{mean:.4f} (mean over the classes)"))
    sure_said = "unknown"
    if certain is not None:
        sure = int(np.sum(certain))
        sure_said = f"{sure:,} of {len(truth):,} ({sure / len(truth):.1%})"
        if sure:
            sure_said += f", of which {np.mean((truth == predicted)[certain]):.4f} are right"
    lines.append(("certain", sure_said))
    if len(names) <= MOST_SHOWN:
        return lines, (names, counts.tolist())
    np.fill_diagonal(counts, 0)
    worst = np.argsort(-counts, axis=None, kind="stable")[:5]
    mixed = [divmod(int(at), len(names)) for at in worst if counts.flat[at]]
    confused = [f"{names[i]} for {names[j]}: {counts[j, i]:,}" for j, i in mixed]
    lines.append(("most confused", "; ".join(confused) or "none"))
    return lines, None


def _share(part, whole, otherwise):
    return f"{part / whole:.4f}" if whole else f"undefined: {otherwise}"
