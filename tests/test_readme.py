"""What the pages for readers show must stay true: programs, their output, names of files."""

import re
from pathlib import Path

import pytest
from test_docs import blocks

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"

pytestmark = pytest.mark.skipif(blocks is None, reason="no pages beside the tests")


def test_the_example_prints_what_is_shown(tmp_path):
    examples = [one for one in blocks.blocks_of(README.read_text()) if one.mark == "example"]
    assert len(examples) == 1 and examples[0].shown
    wrong, _ = blocks.run(README, tmp_path, marked="example")
    assert not wrong, wrong[0]


@pytest.mark.parametrize("name", ["main", "test"])
def test_the_commands_set_themselves_up(name):
    [command] = [
        one for one in blocks.blocks_of(README.read_text()) if one.mark == f"command: {name}"
    ]
    assert "-m venv" in command.code


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_links_lead_somewhere(page):
    place = ROOT / page
    for link in re.findall(r"\]\((?!http)([^)#]+)", place.read_text()):
        assert (place.parent / link).exists(), f"{page} links to {link}, which is not there"
