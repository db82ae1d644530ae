"""The command: ``entropic fit`` and ``entropic predict``."""

from __future__ import annotations

import argparse
import csv
import io
import os
import sys
import warnings

import numpy as np

from entropic import checks
from entropic._version import __version__
from entropic.classifier import EntropicClassifier
from entropic.features.limits import listing_of, monomials_called
from entropic.files import check_writable, write_whole
from entropic.kernels.threads import effective_threads
from entropic.model_file import load_model
from entropic.rows import rows_of
from entropic.rows.listing import LARGEST_INDEX
from entropic.rows.monomial_rows import MonomialRows
from entropic.rows.work import SPARSE_NUMBER, Work

from .encoding import IndexedEncoder, TableEncoder, label_cells, positional_encoder
from .labels import Labels
from .preprocessing import Preprocessing
from .report import Report, data_lines, fit_lines, held_out_lines, notes
from .tables import Table, read

BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 2, 130, 141
# A fit that is expected to take more seconds than this says so, and shows its steps.
LONG = 20
USUAL_SWEEPS = 40


def main(argv=None):
    """Run the command.

    Parameters
    ----------
    argv : list of str or None
        Arguments; None takes those of the process.

    Returns
    -------
    int
        0; 2 for bad input, after one line on standard error; 130 when interrupted.
    """
    try:
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        options = _parser().parse_args(argv)
        options.run(options)
        sys.stdout.flush()
    except SystemExit as done:  # --help and --version
        return done.code or 0
    except BrokenPipeError:
        # nobody reads on: neither may the interpreter's last flush fail
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return _complain("interrupted", INTERRUPTED)
    except MemoryError as error:
        return _complain(str(error) or "the machine's memory does not suffice.", BAD_INPUT)
    except (ValueError, OSError) as error:
        return _complain(str(error), BAD_INPUT)
    return 0


def _complain(message, code):
    print(f"entropic: {' '.join(message.split())}", file=sys.stderr)
    return code


# ---------------------------------------------------------------------- options


class _Parser(argparse.ArgumentParser):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, allow_abbrev=False, **kwargs)

    def error(self, message):
        raise ValueError(f"{message} (see {self.prog} --help)")


def _parser():
    parser = _Parser(
        prog="entropic", description="Classify rows of files, and say what is certain."
    )
    parser.add_argument("--version", action="version", version=f"entropic {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")

    fit = commands.add_parser(
        "fit",
        help="learn from files, and report on held-out rows",
        description="Learn two classes from the rows of files and report on held-out rows. Files "
        "are CSV or TSV, Parquet, ARFF, LIBSVM text (all but Parquet also compressed), or a set "
        "bundled with scikit-learn, such as sklearn:breast_cancer.",
    )
    fit.set_defaults(run=_fit)
    fit.add_argument("files", nargs="+", metavar="FILE")
    fit.add_argument(
        "--target",
        metavar="NAME_OR_NUMBER",
        help="column of the labels; the first is 1, the last -1 (not for LIBSVM and sklearn:NAME)",
    )
    fit.add_argument(
        "--positive",
        action="append",
        default=[],
        metavar="LABEL",
        help="label of the positive class; give several, or one of several labels, to set them "
        "against all others (default: the greater of two)",
    )
    fit.add_argument(
        "--drop",
        action="append",
        default=[],
        metavar="NAME_OR_NUMBER",
        help="column to leave out; may be repeated",
    )
    held_out = fit.add_mutually_exclusive_group()
    held_out.add_argument("--test", metavar="FILE", help="file of held-out rows")
    held_out.add_argument(
        "--holdout",
        type=float,
        default=0.3,
        metavar="SHARE",
        help="share of each class to hold out; 0 for none (default: %(default)s)",
    )
    fit.add_argument("--model", metavar="OUT", help="file to save the model in")
    fit.add_argument("--seed", type=int, default=0, help="of the split (default: %(default)s)")
    _add_reading(fit)
    _add_estimator(fit)

    predict = commands.add_parser(
        "predict",
        help="label the rows of a file with a saved model",
        description="Write, as CSV, the label, the score (above 0 for the positive class) and "
        "whether it is certain, for each row of a file with the columns of the training rows; "
        "the column of labels may be there or not.",
    )
    predict.set_defaults(run=_predict)
    predict.add_argument("model", metavar="MODEL")
    predict.add_argument("file", metavar="FILE")
    predict.add_argument("--output", metavar="OUT", help="file to write to (default: stdout)")
    _add_reading(predict)
    return parser


def _add_reading(parser):
    parser.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether the first line names the columns (default: found out)",
    )
    parser.add_argument(
        "--separator",
        metavar="CHARACTER",
        help="between cells; ' ' for any white space, '\\t' for a tab (default: found out)",
    )


def _add_estimator(parser):
    """An option for each parameter of the classifier that can be given in a word."""
    default = EntropicClassifier().get_params()
    group = parser.add_argument_group("parameters of the classifier")

    def add(name, flag=None, **settings):
        flag = flag or "--" + name.replace("_", "-")
        if "action" not in settings:
            settings["help"] += f" (default: {default[name]})"
        group.add_argument(flag, dest=name, default=default[name], **settings)

    add("degree", type=int, help="of the separating polynomial")
    add("interaction_only", action="store_true", help="no powers of a single feature")
    add("bound", type=float, help="half-width of the box of the scaled coefficients")
    add("C", type=float, help="weight of the data against the coefficients' entropy")
    add("constraint", choices=checks.CONSTRAINTS, help="margins equal, or at least, their value")
    add("slack", type=float, help="how softly the constraint is held; 0 is exact")
    add("margin", type=float, help="asked of every row on top of its own")
    add("fit_intercept", "--no-intercept", action="store_false", help="no constant term")
    add(
        "standardize",
        type=_standardize,
        metavar="{auto,yes,no}",
        help="scale columns by mean and deviation",
    )
    add(
        "class_weight",
        metavar="balanced|LABEL=WEIGHT,...",
        help="weight of the rows of each class",
    )
    add("certainty", type=float, help="1: the band of the extreme scores; below 1: this sure")
    add("solver", choices=checks.SOLVERS, help="how the optimum is found")
    add("tol", type=float, help="duality gap a unit of weight to stop at")
    add("max_iter", type=int, metavar="STEPS", help="most steps to take")
    add("n_jobs", type=int, metavar="THREADS", help="threads to use")
    group.add_argument("--verbose", action="store_true", help="each step on standard error")


def _standardize(word):
    try:
        return {"auto": "auto", "yes": True, "no": False}[word]
    except KeyError:
        raise argparse.ArgumentTypeError(f"{word!r} is none of auto, yes, no") from None


# -------------------------------------------------------------------------- fit


def _fit(options):
    if not 0 <= options.holdout < 1:
        raise ValueError(f"--holdout {options.holdout:g} is not a share of at least 0 below 1.")
    if not 0 <= options.seed < 2**32:
        raise ValueError(f"--seed {options.seed} is not a number from 0 to {2**32 - 1}.")
    if options.model is not None:
        check_writable(options.model)
    layout = _layout(options)
    rows = read(options.files, **layout)
    target, dropped = _columns(rows, options)
    raw = rows.labels if target is None else label_cells(rows, target)
    labels = Labels.learn(raw, options.positive)
    truth, _ = labels.apply(raw)
    train, test = np.arange(rows.n_rows), None
    if options.test is None and options.holdout:
        train, test = _split(truth, options.holdout, options.seed)
    training = rows.take(train)
    encoder = (
        IndexedEncoder.learn(training)
        if target is None
        else TableEncoder.learn(training, target, dropped)
    )
    X = encoder.matrix(training)
    report = Report()
    held_out, dotted = None if test is None else rows.take(test), False
    held_truth = None if test is None else truth[test]
    if options.test is not None:
        held_out = read([options.test], **{**layout, **encoder.reading})
        held_X = encoder.matrix(held_out)
        held_truth, dotted = labels.apply(encoder.raw_labels(held_out))
    elif test is not None:
        held_X = encoder.matrix(held_out)

    classifier = _classifier(options, labels, target)
    if _forewarned(X, classifier):
        classifier.callback = _show_step
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        classifier.fit(X, truth[train])
    classifier.preprocessing_ = Preprocessing(encoder, labels)

    report.section(
        "Data", data_lines(options.files, training, held_out, options.test, encoder, truth, labels)
    )
    report.section("Fit", fit_lines(classifier, len(train)))
    if held_out is not None:
        lines, confusion = held_out_lines(
            held_truth, classifier.predict(held_X), ~classifier.in_band(held_X), labels
        )
        report.section("Held-out rows", lines, confusion)
    report.notes += notes(encoder, training, held_out, dotted)
    report.notes += [" ".join(str(warning.message).split()) for warning in caught]
    if options.model is not None:
        classifier.save(options.model)
        report.section("Model", [("saved in", options.model)])
    report.show()


def _layout(options):
    separator = {"\\t": "\t", "tab": "\t"}.get(options.separator, options.separator)
    if separator is not None and (len(separator) != 1 or separator in "\"'\r\n"):
        raise ValueError(f"--separator {separator!r} cannot be one; give a single character.")
    return dict(separator=separator, header=options.header)


def _columns(rows, options):
    """Names of the label column and of those to leave out; None for rows that are no table."""
    if not isinstance(rows, Table):
        for option in ("target", "drop"):
            if getattr(options, option):
                raise ValueError(f"--{option} has no meaning for LIBSVM files; leave it out.")
        return None, []
    target = options.target
    if target is None:
        if not all(name.startswith("sklearn:") for name in options.files):
            shown = ", ".join(rows.names[:12]) + (", ..." if len(rows.names) > 12 else "")
            raise ValueError(f"give the column of labels with --target; the columns are {shown}.")
        target = "target"
    target = rows.find(target, "--target")
    dropped = [rows.find(name, "--drop") for name in options.drop]
    if target in dropped:
        raise ValueError(f"--drop {target!r} is the column of labels; drop others.")
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
        few = min(counts, key=counts.get)
        raise ValueError(
            f"--holdout {share:g} leaves a part without one of the classes ({few!s} has "
            f"{counts[few]} of {len(truth)} rows); give --test FILE or --holdout 0."
        ) from None
    train.sort()
    test.sort()
    if len(np.unique(truth[train])) < 2:
        raise ValueError(f"--holdout {share:g} leaves a single class to fit; hold out less.")
    return train, test


def _classifier(options, labels, target):
    parameters = {
        name: getattr(options, name)
        for name in EntropicClassifier().get_params()
        if hasattr(options, name)
    }
    parameters["class_weight"] = _class_weight(options.class_weight, labels)
    if target is not None and options.standardize == "auto":
        parameters["standardize"] = True  # a table, however large, is no text corpus
    parameters.pop("verbose")
    if options.verbose:
        parameters["callback"] = _show_step
    return EntropicClassifier(**parameters)


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
        known = {str(name): name for name in (labels.negative, labels.positive)}
        try:
            weights[known[label.strip()]] = float(weight)
        except (KeyError, ValueError):
            raise ValueError(
                f"--class-weight {part!r} is neither balanced nor LABEL=WEIGHT with one of the "
                f"labels {', '.join(known)}."
            ) from None
    return weights


# ---------------------------------------------------------------------- predict


def _predict(options):
    if options.output is not None:
        check_writable(options.output)
    classifier = load_model(options.model)
    preprocessing = getattr(classifier, "preprocessing_", None)
    if preprocessing is None:
        encoder = positional_encoder(
            classifier.n_features_in_, getattr(classifier, "feature_names_in_", None)
        )
        positive = classifier.classes_[1]
    else:
        encoder, positive = preprocessing.encoder, preprocessing.labels.positive
    rows = read([options.file], **{**_layout(options), **encoder.reading})
    if preprocessing is None and not isinstance(rows, Table):
        encoder = IndexedEncoder(1, classifier.n_features_in_)
    X = encoder.matrix(rows)
    scores = classifier.decision_function(X)
    towards_positive = 1.0 if classifier.classes_[1] == positive else -1.0
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["label", "score", "certainty"])
    writer.writerows(
        zip(
            classifier.predict(X).tolist(),
            (towards_positive * scores).tolist(),
            np.where(classifier.in_band(X), "uncertain", "certain").tolist(),
            strict=True,
        )
    )
    if options.output is None:
        sys.stdout.write(out.getvalue())
    else:
        write_whole(options.output, out.getvalue().encode())
