"""The README shows a program and what it prints: both must stay true."""

import contextlib
import io
import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"


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
