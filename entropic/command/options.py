"""The arguments of the command, parsed without loading NumPy or scikit-learn.

What the classifier's options share with it is written down twice for that; a test compares.
"""

from __future__ import annotations

import argparse
import codecs
from dataclasses import replace

from entropic._version import __version__

from .dialect import Dialect

CONSTRAINTS = ("equality", "inequality")
SOLVERS = ("auto", "newton", "spectral", "spectral-paper")
DISPLAYS = ("surface", "scores", "risk", "reliability", "convergence")
DEFAULTS = {
    "degree": 1,
    "interaction_only": False,
    "n_knots": 0,
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

    def parse_known_args(self, args=None, namespace=None):
        """As usual, but what a subcommand does not know is its own error, which names its help."""
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return options, unknown

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
        description="Learn classes from the rows of files and report on held-out rows. Files "
        "are CSV or TSV, Parquet, Feather, ARFF or LIBSVM text, compressed or not, folders or "
        "patterns of them, - for standard input, or a set bundled with scikit-learn, such as "
        "sklearn:breast_cancer.",
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
        "against all others (default: the greater of two; more labels are a class each)",
    )
    _add_drop(fit)
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
    fit.add_argument(
        "--words",
        action="append",
        default=[],
        metavar="NAME_OR_NUMBER",
        help="column whose numbers are words, such as codes; may be repeated",
    )
    fit.add_argument(
        "--keep",
        action="append",
        default=[],
        metavar="NAME_OR_NUMBER",
        help="column to use though it only seems to number the rows; may be repeated",
    )
    fit.add_argument(
        "--batch-rows",
        type=_rows,
        metavar="ROWS",
        help="read so many rows at a time, in every step anew (default: the files are streamed "
        "where their rows may not fit into memory)",
    )
    fit.add_argument(
        "--checkpoint",
        metavar="FILE",
        help="stream the rows, and keep in a file what each step has found: the same command goes "
        "on where it was broken off; removed once done",
    )
    _add_reading(fit, "found out")
    _add_estimator(fit)

    predict = commands.add_parser(
        "predict",
        help="label the rows of files with a saved model",
        description="Write, as CSV, the label, the score (above 0 for the positive class) and "
        "whether it is certain, one line for each row. The files, named as for fit, need the "
        "columns of the training rows, in any order; the column of labels may be there or not.",
    )
    predict.add_argument("model", metavar="MODEL")
    predict.add_argument("files", nargs="+", metavar="FILE")
    predict.add_argument("--output", metavar="OUT", help="file to write to (default: stdout)")
    _add_drop(predict)
    predict.add_argument(
        "--id", metavar="NAME_OR_NUMBER", help="column to copy to the output, as its first"
    )
    _add_reading(predict, "as in the files of the fit")

    show = commands.add_parser(
        "show",
        help="print what a saved model has learned",
        description="Print how a saved model came out: its classes, how the solver ended, which "
        "scores are uncertain, how its training rows do when left out, and its largest terms.",
    )
    show.add_argument("model", metavar="MODEL")
    show.add_argument(
        "--terms",
        type=_terms,
        default=20,
        metavar="NUMBER",
        help="how many of the largest terms to print (default: %(default)s)",
    )

    plot = commands.add_parser(
        "plot",
        help="draw a saved model on the rows of files",
        description="Draw, as PNG, SVG or PDF, the surface over two features, the scores by class, "
        "risk against coverage, the reliability of the probabilities, and the convergence of the "
        "fit: all that can be drawn, or those that are named. Most need the column of labels.",
    )
    plot.add_argument("model", metavar="MODEL")
    plot.add_argument("files", nargs="+", metavar="FILE")
    plot.add_argument(
        "--output",
        metavar="OUT",
        help="picture to write (default: the first FILE's name with .png, here)",
    )
    plot.add_argument(
        "--display",
        action="append",
        choices=DISPLAYS,
        help="what to draw; may be repeated (default: all that can be)",
    )
    plot.add_argument(
        "--features",
        nargs=2,
        metavar="NAME_OR_NUMBER",
        help="the two features of the surface; the others are held at their medians",
    )
    plot.add_argument(
        "--class",
        dest="class_label",
        metavar="LABEL",
        help="draw the scores and the reliability of this class (default: of several, of all)",
    )
    _add_drop(plot)
    _add_reading(plot, "as in the files of the fit")

    paper = commands.add_parser(
        "paper",
        help="run the experiments of the paper",
        description="Fit the paper's classifiers and those of entropic to the paper's five data "
        "sets, by its protocol, and print the tables beside the printed ones.",
    )
    paper.add_argument(
        "--output",
        metavar="DIR",
        help="folder for the tables as text, Markdown and JSON, and for the figures as PNG and SVG",
    )
    paper.add_argument(
        "--all-degrees",
        action="store_true",
        help="try degrees 3 and 4 on the set of 30 features too, as the authors did (many minutes)",
    )
    return command


def _add_drop(parser):
    parser.add_argument(
        "--drop",
        action="append",
        default=[],
        metavar="NAME_OR_NUMBER",
        help="column to leave out; may be repeated",
    )


def _add_reading(parser, otherwise):
    parser.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        default=None,
        help=f"whether the first line names the columns (default: {otherwise})",
    )
    parser.add_argument(
        "--separator",
        metavar="CHARACTER",
        help=f"between cells; ' ' for any white space, '\\t' for a tab (default: {otherwise})",
    )
    parser.add_argument(
        "--decimal", choices=(".", ","), help=f"the decimal sign (default: {otherwise})"
    )
    parser.add_argument(
        "--missing",
        action="append",
        default=[],
        metavar="VALUE",
        help="a cell that counts as missing, beyond the usual ones; may be repeated",
    )
    parser.add_argument(
        "--encoding", metavar="NAME", help=f"of text that is not UTF-8 (default: {otherwise})"
    )


def _add_estimator(parser):
    """An option for each parameter of the classifier that can be given in a word."""
    parser.add_argument(
        "--search",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="choose the parameters below that are not given by left-out scores (default: where "
        "none of the model is given, and that takes under about ten seconds)",
    )
    group = parser.add_argument_group("parameters of the classifier")

    def add(name, flag=None, **settings):
        flag = flag or "--" + name.replace("_", "-")
        if "action" not in settings:
            settings["help"] += f" (default: {DEFAULTS[name]})"
        # what was not given is not there: a parameter of the model means that one is wanted
        group.add_argument(flag, dest=name, default=argparse.SUPPRESS, **settings)

    add("degree", type=int, help="of the separating polynomial")
    add("interaction_only", action="store_true", help="no powers of a single feature")
    add("n_knots", "--knots", type=int, metavar="KNOTS", help="splines of each feature; 0 for none")
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


def _terms(word):
    if not word.isascii() or not word.isdigit():
        raise argparse.ArgumentTypeError(f"{word!r} is not a number of terms")
    return int(word)


def _rows(word):
    if not word.isascii() or not word.isdigit() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"{word!r} is not a number of rows of at least 1")
    return int(word)


def _standardize(word):
    try:
        return {"auto": "auto", "yes": True, "no": False}[word]
    except KeyError:
        raise argparse.ArgumentTypeError(f"{word!r} is none of auto, yes, no") from None


def dialect_of(options, known=None):
    """How text is to be read: as the options say, else as is known, else to be found out."""
    separator = {"\\t": "\t", "tab": "\t"}.get(options.separator, options.separator)
    if separator is not None and (len(separator) != 1 or separator in "\"'\r\n"):
        raise ValueError(f"--separator {separator!r} cannot be one; give a single character.")
    if options.encoding is not None:
        try:
            codecs.lookup(options.encoding)
        except LookupError:
            raise ValueError(f"--encoding {options.encoding!r} is not an encoding.") from None
    given = {"separator": separator}
    given |= {name: getattr(options, name) for name in ("header", "decimal", "encoding")}
    known = known or Dialect()
    given = {name: value for name, value in given.items() if value is not None}
    return replace(known, **given, missing=[*known.missing, *options.missing])
