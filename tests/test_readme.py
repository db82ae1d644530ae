"""What the pages for readers show must stay true: programs, their output, names of files."""

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"


def block(mark):
    """The fenced block after a marking comment."""
    if not README.exists():
        pytest.skip("no README beside the tests")
    found = re.search(rf"<!-- {mark} -->\n```\w*\n(.*?)```", README.read_text(), re.DOTALL)
    assert found, f"README.md has no block marked {mark!r}"
    return found.group(1)


def test_the_example_prints_what_is_shown():
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block("example"), "README.md", "exec"), {})
    assert printed.getvalue() == block("output")


@pytest.mark.parametrize("name", ["main", "test"])
def test_the_commands_set_themselves_up(name):
    assert "-m venv" in block(f"command: {name}")


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/mathematics.md"])
def test_links_lead_somewhere(page):
    place = ROOT / page
    if not place.exists():
        pytest.skip(f"no {page} beside the tests")
    for link in re.findall(r"\]\((?!http)([^)#]+)", place.read_text()):
        assert (place.parent / link).exists(), f"{page} links to {link}, which is not there"
