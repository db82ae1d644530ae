"""The arguments of the command, parsed without loading NumPy or scikit-learn.

What the classifier's options share with it is written down twice for that; a test compares.
"""

from __future__ import annotations

import argparse

from entropic._version import __version__

CONSTRAINTS = ("equality", "inequality")
SOLVERS = ("auto", "newton", "spectral", "spectral-paper")
DEFAULTS = {
    "degree": 1,
    "interaction_only": False,
    "bound": 2.0,
    "C": 1.0,
    "constraint": "inequality",
    "slack": 10.0,
    "margin": 0.0,
    "fit_intercept": True,
    "standardize": "auto",
    "class_weight": None,
    "leave_one_out": True,
    "certainty": 1.0,
    "solver": "auto",
    "tol": 1e-8,
    "max_iter": None,
    "n_jobs": None,
}


class _Parser(argparse.ArgumentParser):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, allow_abbrev=False, **kwargs)

    def error(self, message):
        raise ValueError(f"{message} (see {self.prog} --help)")


def parser():
    command = _Parser(
        prog="entropic", description="Classify rows of files, and say what is certain."
    )
    command.add_argument("--version", action="version", version=f"entropic {__version__}")
    commands = command.add_subparsers(required=True, metavar="COMMAND", dest="command")

    fit = commands.add_parser(
        "fit",
        help="learn from files, and report on held-out rows",
        description="Learn two classes from the rows of files and report on held-out rows. Files "
        "are CSV or TSV, Parquet, ARFF, LIBSVM text (all but Parquet also compressed), or a set "
        "bundled with scikit-learn, such as sklearn:breast_cancer.",
    )
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
    predict.add_argument("model", metavar="MODEL")
    predict.add_argument("file", metavar="FILE")
    predict.add_argument("--output", metavar="OUT", help="file to write to (default: stdout)")
    _add_reading(predict)
    return command


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
    group = parser.add_argument_group("parameters of the classifier")

    def add(name, flag=None, **settings):
        flag = flag or "--" + name.replace("_", "-")
        if "action" not in settings:
            settings["help"] += f" (default: {DEFAULTS[name]})"
        group.add_argument(flag, dest=name, default=DEFAULTS[name], **settings)

    add("degree", type=int, help="of the separating polynomial")
    add("interaction_only", action="store_true", help="no powers of a single feature")
    add("bound", type=float, help="half-width of the box of the scaled coefficients")
    add("C", type=float, help="weight of the data against the coefficients' entropy")
    add("constraint", choices=CONSTRAINTS, help="margins equal, or at least, their value")
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
    add(
        "leave_one_out",
        "--no-leave-one-out",
        action="store_false",
        help="scores only: not what is certain",
    )
    add("certainty", type=float, help="1: the band of the extreme scores; below 1: this sure")
    add("solver", choices=SOLVERS, help="how the optimum is found")
    add("tol", type=float, help="duality gap a unit of weight to stop at")
    add("max_iter", type=int, metavar="STEPS", help="most steps to take")
    add("n_jobs", type=int, metavar="THREADS", help="threads to use")
    group.add_argument("--verbose", action="store_true", help="each step on standard error")


def _standardize(word):
    try:
        return {"auto": "auto", "yes": True, "no": False}[word]
    except KeyError:
        raise argparse.ArgumentTypeError(f"{word!r} is none of auto, yes, no") from None


def layout_of(options):
    """How the options say that files are to be read: the arguments of ``tables.read``."""
    separator = {"\\t": "\t", "tab": "\t"}.get(options.separator, options.separator)
    if separator is not None and (len(separator) != 1 or separator in "\"'\r\n"):
        raise ValueError(f"--separator {separator!r} cannot be one; give a single character.")
    return dict(separator=separator, header=options.header)
