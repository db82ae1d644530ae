"""Programs on the pages for readers: run in the order of the page, and held to the output shown.

A fenced block of ``python`` is run in the namespace of the page, one of ``sh`` by bash, all in one
folder; a block of ``text`` right after it is what it prints, ``...`` standing for anything. A
comment before a block says what is special: ``<!-- not run -->`` of shell commands that install
something, and ``<!-- needs MODULE -->`` of a program that takes more than the tests install.

As a hook of mkdocs it draws the figures of the pages before they are built.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]*) -->\n+)?"
    r"^(?P<indent> *)```(?P<language>\w+)[^\n]*\n(?P<code>.*?)^(?P=indent)```$",
    re.DOTALL | re.MULTILINE,
)
FIGURES = "figures"
# Sizes at which programs run here that would take long at the page's own.
SMALLER = {"READINGS_BATCHES": "20"}


@dataclass
class Block:
    """A program on a page."""

    language: str
    code: str
    line: int
    mark: str = ""
    shown: str | None = None

    @property
    def lacking(self):
        """The library that the block needs and this environment has not, or None."""
        needed = self.mark.removeprefix("needs ") if self.mark.startswith("needs ") else None
        return needed if needed and importlib.util.find_spec(needed) is None else None


def blocks_of(text):
    """The programs of a page in Markdown, with the output that the page shows of each."""
    blocks, end = [], -1
    for found in FENCE.finditer(text):
        language, code = found["language"], found["code"]
        if language in ("python", "sh"):
            line = text.count("\n", 0, found.start("language")) + 1
            blocks.append(Block(language, code, line, found["mark"] or ""))
        elif language == "text" and blocks:
            between = text[end : found.start("language") - len("```")]
            if found["mark"] == "output" or not between.strip():
                blocks[-1].shown = code
        end = found.end()
    return blocks


def run(page, folder, marked=None):
    """Run the programs of a page in a folder.

    Parameters
    ----------
    page, folder : path
    marked : str or None
        Only the programs after a comment of these words.

    Returns
    -------
    wrong : list of str
        For each program that printed something else than the page shows: where, and what.
    lacking : set of str
        Libraries for want of which programs were left out.

    Raises
    ------
    Exception
        As a program raises it; the traceback names the page and the line.
    """
    wrong, lacking, names = [], set(), {"__name__": "__main__"}
    os.environ.update({name: size for name, size in SMALLER.items() if name not in os.environ})
    with contextlib.chdir(folder):
        for block in blocks_of(Path(page).read_text()):
            if block.mark == "not run" or marked not in (None, block.mark):
                continue
            if block.lacking:
                lacking.add(block.lacking)
                continue
            python = block.language == "python"
            printed = _run_python(block, page, names) if python else _run_sh(block)
            if block.shown is not None and not doctest.OutputChecker().check_output(
                block.shown.rstrip(), printed.rstrip(), doctest.ELLIPSIS
            ):
                wrong.append(
                    f"{page}, line {block.line}: shown is\n{block.shown}and printed was\n{printed}"
                )
    return wrong, lacking


def _run_python(block, page, names):
    # lines before it keep the numbers of a traceback those of the page
    program = compile("\n" * block.line + block.code, str(page), "exec")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        exec(program, names)
    return printed.getvalue()


def _run_sh(block):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "200", "NO_COLOR": "1"}
    done = subprocess.run(
        ["bash", "-euc", block.code], env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def figures_of(text):
    """The names of the figures that a page shows."""
    return re.findall(rf"\]\({FIGURES}/([\w.-]+)\)", text)


def on_pre_build(config):
    """Draw the figures of each page that has changed since, and hold its programs to its text."""
    import matplotlib

    matplotlib.use("Agg")
    source = Path(config.docs_dir)
    (source / FIGURES).mkdir(exist_ok=True)
    for page in sorted(source.glob("*.md")):
        figures = [source / FIGURES / name for name in figures_of(page.read_text())]
        changed = page.stat().st_mtime
        if all(figure.exists() and figure.stat().st_mtime > changed for figure in figures):
            continue
        with tempfile.TemporaryDirectory() as folder:
            wrong, _ = run(page, folder)
            if wrong:
                raise SystemExit("\n".join(wrong))
            for figure in figures:
                shutil.copy(Path(folder) / figure.name, figure)


# What of reStructuredText the docstrings hold, as mkdocstrings leaves it.
ROLE = re.compile(r":(?:class|meth|func|attr):<code>~?([^<]*)</code>")
# What mkdocstrings leaves of a parameter of which nothing is said.
UNSAID = re.compile(r"–\s*<div class=\"doc-md-description\">\s*</div>")
MATHEMATICS = '<a href="mathematics.html">Mathematics</a>'
# A method that is inherited, and one of a class that a stub describes elsewhere: see stubs.py.
SHOWN = ("EntropicClassifier.in_band", "BoundaryDisplay.from_estimator")


def on_page_content(html, page, config, files):
    """Docstrings' cross-references as code or links, and a colon where a block follows."""
    if page.file.src_uri == "api.md" and not all(f'.{name}"' in html for name in SHOWN):
        raise SystemExit("the page of the API lacks methods that classes inherit")
    html = UNSAID.sub("", html).replace("docs/mathematics.md", MATHEMATICS)
    return ROLE.sub(r"<code>\1</code>", html).replace("::</p>", ":</p>")
