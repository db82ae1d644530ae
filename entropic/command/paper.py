"""``entropic paper``: the paper's experiments, as tables and figures."""

from __future__ import annotations

import sys
from pathlib import Path

from entropic.files import write_whole
from entropic.paper import figures
from entropic.paper.protocol import run_experiments
from entropic.paper.tables import as_json, as_markdown, as_text


def paper(options):
    """Run the experiments; print their tables, and write all that there is to a folder."""
    folder = None if options.output is None else _folder(options.output)
    experiments = run_experiments(all_degrees=options.all_degrees, callback=_show_progress())
    text = as_text(experiments)
    print(text, end="")
    if folder is None:
        return
    contents = {
        "tables.txt": text,
        "tables.md": as_markdown(experiments),
        "tables.json": as_json(experiments),
    }
    for name, content in contents.items():
        write_whole(folder / name, content.encode())
    written = [*contents, *_draw(experiments, folder)]
    print(f"\nwritten to {folder}: {', '.join(written)}")


def _folder(path):
    """The folder, made where it is missing."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"cannot make the folder {path!r} for --output: {error.strerror or error}."
        ) from None
    return folder


def _draw(experiments, folder):
    """Write the figures, and return the names of their files; none without matplotlib."""
    names = []
    try:
        for name, figure in figures.figures(experiments):
            for format in figures.FORMATS:
                names.append(f"{name}.{format}")
                write_whole(folder / names[-1], figures.rendered(figure, format))
    except ModuleNotFoundError as error:
        if error.name.partition(".")[0] != "matplotlib":
            raise
        print(
            "entropic: note: no figures are drawn: matplotlib is missing; "
            "pip install 'entropic-classifier[plot]' brings it.",
            file=sys.stderr,
        )
    return names


def _show_progress():
    """A callback that shows on a terminal what is being fitted."""
    if not sys.stderr.isatty():
        return None

    def show(name, method):
        print(f"\r\033[K{name}: {method}", end="", file=sys.stderr, flush=True)

    return show
