"""``entropic fit``: from files to a classifier, a report and a model."""

from __future__ import annotations

import sys

import numpy as np

from entropic.features.limits import listing_of, monomials_called
from entropic.files import check_writable
from entropic.kernels.threads import effective_threads
from entropic.model_selection import EntropicClassifierCV
from entropic.rows import rows_of
from entropic.rows.listing import LARGEST_INDEX
from entropic.rows.monomial_rows import MonomialRows
from entropic.rows.work import SPARSE_NUMBER, Work

from .encoding import IndexedEncoder, TableEncoder, label_cells
from .indexed import IndexedFiles
from .labels import Labels
from .options import DEFAULTS, dialect_of
from .preprocessing import Preprocessing
from .report import Report, data_lines, fit_lines, held_out_lines, notes
from .search import BESIDES, choice_lines, classifier_for, followed
from .source import open_source
from .streamed import StreamedRows, is_needed, too_few

# A fit that is expected to take more seconds than this says so, and shows its steps.
LONG = 20
USUAL_SWEEPS = 40


def fit(options):
    """Learn classes from the rows of files, report on held-out rows, save the model."""
    if not 0 <= options.holdout < 1:
        raise ValueError(f"--holdout {options.holdout:g} is not a share of at least 0 below 1.")
    if not 0 <= options.seed < 2**32:
        raise ValueError(f"--seed {options.seed} is not a number from 0 to {2**32 - 1}.")
    if options.model is not None:
        check_writable(options.model)
    source = open_source(options.files, dialect_of(options))
    target, dropped = _select(source, options)
    streamed = None
    if is_needed(source, options):
        streamed = StreamedRows(source, target, dropped, options)
        encoder, labels = streamed.encoder, streamed.labels
        held_out, held_truth = streamed.held_out, streamed.held_truth
        n_fit = streamed.n_rows - streamed.n_held_out
        counts, missing = streamed.counts, streamed.missing
    else:
        rows = source.table()
        raw = label_cells(rows, target, source)
        labels = Labels.learn(raw, options.positive)
        truth, _ = labels.apply(raw)
        train, held_out, held_truth = np.arange(len(truth)), None, None
        if options.test is None and options.holdout:
            train, test = _split(truth, options.holdout, options.seed)
            held_out, held_truth = rows.take(test), truth[test]
        training = rows.take(train)
        encoder = (
            IndexedEncoder.learn([training])
            if target is None
            else TableEncoder.learn(source, target, [*dropped, *source.left_out], training)
        )
        X, n_fit, missing = encoder.matrix(training), len(train), encoder.missing(training)
        counts = {name: int(np.sum(truth == name)) for name in labels.names}
    report, dotted = Report(), False
    if options.test is not None:
        tested = open_source([options.test], dialect_of(options, encoder.reading), encoder.known)
        encoder.select(tested)
        held_out = tested.table()
        held_truth, dotted = labels.apply(label_cells(held_out, target, tested))
    held_X = None if held_out is None else encoder.matrix(held_out)

    sizes = n_fit, encoder.n_features, len(labels.names)
    classifier, note = _classifier(options, labels, target, sizes)
    searching = isinstance(classifier, EntropicClassifierCV)
    if options.verbose or (streamed is None and not searching and _forewarned(X, classifier)):
        classifier.callback = _show_step
    if streamed is not None:
        caught = streamed.fit(classifier)
    else:
        caught = followed(lambda: classifier.fit(X, truth[train]), classifier, options.verbose)
    classifier.preprocessing_ = Preprocessing(encoder, labels)

    n_held_out = 0 if held_out is None else held_out.num_rows
    figures = dict(n_fit=n_fit, n_held_out=n_held_out, counts=counts, missing=missing)
    report.section("Data", data_lines(options, source, encoder, labels, **figures))
    if searching:
        report.section("Search", choice_lines(classifier, n_fit))
    report.section("Fit", fit_lines(classifier, n_fit))
    if held_out is not None:
        certain = ~classifier.in_band(held_X) if hasattr(classifier, "in_band") else None
        lines, confusion = held_out_lines(held_truth, classifier.predict(held_X), certain, labels)
        report.section("Held-out rows", lines, confusion)
    report.notes += [note] if note else []
    report.notes += [*source.notes, *notes(encoder, n_fit, held_out, dotted), *caught]
    if options.model is not None:
        classifier.save(options.model)
        report.section("Model", [("saved in", options.model)])
    report.show()


def _select(source, options):
    """Select the columns; the names of the label column, None for LIBSVM, and of those dropped."""
    if isinstance(source, IndexedFiles):
        for option in ("target", "drop", "words", "keep"):
            if getattr(options, option):
                raise ValueError(f"--{option} has no meaning for LIBSVM files; leave it out.")
        return None, []
    target = options.target
    if target is None:
        if not all(name.startswith("sklearn:") for name in options.files):
            shown = ", ".join(source.names[:12]) + (", ..." if len(source.names) > 12 else "")
            raise ValueError(f"give the column of labels with --target; the columns are {shown}.")
        target = "target"
    target = source.find(target, "--target")
    dropped, words, kept = (
        [source.find(name, f"--{option}") for name in getattr(options, option)]
        for option in ("drop", "words", "keep")
    )
    if target in dropped:
        raise ValueError(f"--drop {target!r} is the column of labels; drop others.")
    features = [name for name in source.names if name != target and name not in dropped]
    if not features:
        raise ValueError("no column is left to learn from; give more columns or drop fewer.")
    words = [name for name in words if name in features]
    source.select(features, labels=[target], words=words, kept=kept)
    return target, dropped


def _split(truth, share, seed):
    """Positions of the rows to fit and of those held out, with the classes in proportion."""
    from sklearn.model_selection import train_test_split

    try:
        train, test = train_test_split(
            np.arange(len(truth)), test_size=share, random_state=seed, stratify=truth
        )
    except ValueError:
        counts = dict(zip(*np.unique(truth, return_counts=True), strict=True))
        raise too_few(share, counts) from None
    train.sort()
    test.sort()
    if len(np.unique(truth[train])) < 2:
        raise ValueError(f"--holdout {share:g} leaves a single class to fit; hold out less.")
    return train, test


def _classifier(options, labels, target, sizes):
    """The classifier for so many rows, features and classes, and a note on why it is that one."""
    parameters = {name: getattr(options, name) for name in DEFAULTS if hasattr(options, name)}
    if "class_weight" in parameters:
        parameters["class_weight"] = _class_weight(parameters["class_weight"], labels)
    wanted = options.search
    if wanted is None and set(parameters) - set(BESIDES):
        wanted = False
    if target is not None and parameters.get("standardize", "auto") == "auto":
        parameters["standardize"] = True  # a table, however large, is no text corpus
    return classifier_for(parameters, wanted, sizes)


def _forewarned(X, classifier):
    """Say on standard error what a long fit will cost, before it begins; whether it was said."""
    listing = listing_of(X.shape[1], classifier.degree, classifier.interaction_only)
    if listing.n_monomials > LARGEST_INDEX:
        return False  # refused by the fit
    rows = MonomialRows(rows_of(X), listing)
    if rows.columns is None:
        seconds = Work.dense(*rows.shape, streamed=True).sweep
    else:
        seconds = rows.n_entries * SPARSE_NUMBER
    seconds /= effective_threads(classifier.n_jobs, rows.n_entries)
    if seconds * USUAL_SWEEPS < LONG:
        return False
    print(
        f"{monomials_called(listing)}; one sweep over {rows.n_samples} rows takes about "
        f"{seconds:.2g} s, and a fit usually {USUAL_SWEEPS} or more: about "
        f"{seconds * USUAL_SWEEPS / 60:.2g} minutes.",
        file=sys.stderr,
        flush=True,
    )
    return True


def _show_step(figures):
    shown = (
        f"{name} {value if isinstance(value, str) else format(value, '.6g')}"
        for name, value in figures.items()
        if np.isscalar(value) and value != ""
    )
    print(", ".join(shown), file=sys.stderr)


def _class_weight(word, labels):
    if word in (None, "balanced"):
        return word
    weights = {}
    for part in word.split(","):
        label, _, weight = part.rpartition("=")
        known = {str(name): name for name in labels.names}
        try:
            weights[known[label.strip()]] = float(weight)
        except (KeyError, ValueError):
            raise ValueError(
                f"--class-weight {part!r} is neither balanced nor LABEL=WEIGHT with one of the "
                f"labels {', '.join(known)}."
            ) from None
    return weights
