"""``entropic fit`` on files larger than memory: every step of the fit reads them anew."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from functools import partial

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from entropic.rows.memory import memory_limit
from entropic.rows.stream import PlacedBatch

from .encoding import DENSE_CELLS, IndexedEncoder, TableEncoder, label_cells
from .indexed import IndexedRows
from .labels import Labels
from .search import followed

# Bytes in memory, at the most, for one of a file: text, and what columnar files compress.
GROWTH = 6
# Held-out rows are kept in memory.
MOST_HELD_OUT = 100_000
USUAL_PASSES = 12


def is_needed(source, options):
    """Whether the rows of a source are to be streamed: as asked, or since they may not fit."""
    if options.batch_rows is not None or options.checkpoint is not None:
        return True
    contents = [getattr(file, "content", None) for file in source.files]
    n_bytes = sum(os.path.getsize(c.path) for c in contents if c is not None and c.is_plain)
    return GROWTH * n_bytes > memory_limit()


class StreamedRows:
    """The rows of a source as batches for a fit, without those that are held out.

    Attributes
    ----------
    encoder : TableEncoder or IndexedEncoder
    labels : Labels
    n_rows, n_held_out : int
    counts : dict of label to int
        Rows of each class, held-out ones included.
    missing : tuple of two int
        Missing cells of numbers and of words in the rows to fit.
    held_out : Arrow table, IndexedRows or None
    held_truth : array or None
    """

    def __init__(self, source, target, dropped, options):
        self.source, self.target, self.options = source, target, options
        self.encoder = (
            IndexedEncoder.learn(source.batches())
            if target is None
            else TableEncoder.learn(source, target, [*dropped, *source.left_out])
        )
        written = Counter()
        for batch, first in self._batches():
            written.update(label_cells(batch, target, source, first).tolist())
        raw = np.array(sorted(written), dtype=object)
        self.n_rows = written.total()
        self.labels = Labels.learn(raw, options.positive, self.n_rows)
        self.counts = dict.fromkeys(self.labels.names, 0)
        for word, label in zip(raw.tolist(), self.labels.apply(raw)[0].tolist(), strict=True):
            self.counts[label] += written[word]
        self.places = {} if options.test is not None else self._drawn(options)
        self.missing, held, truths = (0, 0), [], []
        for batch, _, truth, kept in self._split():
            found = self.encoder.missing(batch.filter(pa.array(kept)))
            self.missing = tuple(a + b for a, b in zip(self.missing, found, strict=True))
            if not kept.all():
                held.append(batch.filter(pa.array(~kept)))
                truths.append(truth[~kept])
        self.held_out = _together(held) if held else None
        self.held_truth = np.concatenate(truths) if held else None
        self.n_held_out = sum(map(len, truths))
        # one form for all batches, whatever each by itself would have
        wide = self.n_rows * self.encoder.n_features > DENSE_CELLS
        self.sparse = target is None or (bool(self.encoder.words) and wide)
        self.progress = Progress(self.n_rows, options.verbose)

    def _drawn(self, options):
        """Which rows of each class are held out, by their number in it: the classes' own shares."""
        share = min(options.holdout, MOST_HELD_OUT / self.n_rows)
        if not share:
            return {}
        if min(self.counts.values()) < 2:
            raise too_few(options.holdout, self.counts)
        generator, places = np.random.default_rng(options.seed), {}
        for label, count in self.counts.items():
            n_held = min(max(round(share * count), 1), count - 1)
            places[label] = np.sort(generator.choice(count, n_held, replace=False, shuffle=False))
        return places

    def __call__(self):
        """The batches of rows to fit, once more."""
        self.progress.begin()
        for batch, first, truth, kept in self._split():
            X = self.encoder.matrix(batch)[kept]
            if sp.issparse(X) != self.sparse:
                X = sp.csr_matrix(X) if self.sparse else X.toarray()
            place = partial(self._place, first)
            yield PlacedBatch.at(place, 0, X, truth[kept])
            self.progress.read(first + batch.num_rows)

    def _place(self, row):
        return f"{self.source.place(row)} and on"

    def _batches(self):
        """Record batches of at most as many rows as asked for, and the rows before each."""
        first, most = 0, self.options.batch_rows
        for batch in self.source.batches():
            step = most or max(1, batch.num_rows)
            for start in range(0, batch.num_rows, step):
                part = batch.slice(start, step)
                yield part, first
                first += part.num_rows

    def _split(self):
        """Batches, the rows before each, the classes of its rows, and which are to be fitted."""
        n_seen = dict.fromkeys(self.counts, 0)
        for batch, first in self._batches():
            truth, _ = self.labels.apply(label_cells(batch, self.target, self.source, first))
            kept = np.ones(batch.num_rows, dtype=bool)
            for label, places in self.places.items():
                own, before = np.flatnonzero(truth == label), n_seen[label]
                held = slice(*np.searchsorted(places, [before, before + len(own)]))
                kept[own[places[held] - before]] = False
                n_seen[label] += len(own)
            yield batch, first, truth, kept

    def fit(self, classifier):
        """Fit a classifier to the rows; the messages of the warnings meanwhile."""
        callback = classifier.callback

        def told(figures):
            self.progress.gap = figures["gap"]
            return callback is not None and callback(figures)

        classifier.callback = told
        fit = partial(classifier.fit_batches, self, checkpoint=self.options.checkpoint)
        caught = followed(fit, classifier, self.options.verbose)
        self.progress.end()
        classifier.callback = None
        return caught


def too_few(holdout, counts):
    """What is wrong where a class has too few rows to hold some out."""
    few = min(counts, key=counts.get)
    return ValueError(
        f"--holdout {holdout:g} leaves a part without one of the classes ({few!s} has "
        f"{counts[few]} of {sum(counts.values())} rows); give --test FILE or --holdout 0."
    )


def _together(parts):
    if isinstance(parts[0], IndexedRows):
        return IndexedRows.stacked(parts)
    return pa.concat_tables(pa.Table.from_batches([part]) for part in parts)


class Progress:
    """A line on a terminal's standard error: rows, pass, gap, and the time that is left."""

    def __init__(self, n_rows, verbose):
        self.n_rows, self.gap, self.n_passes = n_rows, None, 0
        self.shown = verbose or sys.stderr.isatty()
        self.started = self.last = time.monotonic()

    def begin(self):
        self.n_passes += 1

    def read(self, n_rows):
        now = time.monotonic()
        if not self.shown or now - self.last < 0.2:
            return
        self.last = now
        done = self.n_passes - 1 + n_rows / self.n_rows
        left = (now - self.started) * max(USUAL_PASSES - done, 1 - n_rows / self.n_rows) / done
        gap = "" if self.gap is None else f", gap a row {self.gap / self.n_rows:.1e}"
        line = f"pass {self.n_passes}, row {n_rows:,} of {self.n_rows:,}{gap}, {left:.0f} s left"
        print(f"\r{line:<79}", end="", file=sys.stderr, flush=True)

    def end(self):
        if self.shown:
            print(f"\r{'':<79}\r", end="", file=sys.stderr, flush=True)
