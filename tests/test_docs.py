"""Every program on the pages of the user guide runs, and prints what the page shows."""

import doctest
import importlib.util
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))


def _blocks():
    """docs/blocks.py, which no package holds; None where there are no pages beside the tests."""
    path = DOCS / "blocks.py"
    if not path.exists():
        return None
    spec = importlib.util.spec_from_file_location("blocks", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["blocks"] = module  # where dataclasses look their module up
    spec.loader.exec_module(module)
    return module


blocks = _blocks()
pytestmark = pytest.mark.skipif(blocks is None, reason="no pages beside the tests")
PROGRAMS = [page for page in PAGES if blocks and blocks.blocks_of(page.read_text())]


@pytest.mark.one_backend
@pytest.mark.parametrize("page", PROGRAMS, ids=lambda page: page.stem)
def test_the_programs_print_what_is_shown(page, tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    wrong, lacking = blocks.run(page, tmp_path)
    pyplot.close("all")
    assert not wrong, "\n".join(wrong)
    for figure in blocks.figures_of(page.read_text()):
        assert (tmp_path / figure).exists(), f"{page} draws no {figure}"
    if lacking:
        pytest.skip(f"the rest of the page ran; {', '.join(lacking)} is not installed")


@pytest.mark.backend_free
def test_only_installations_are_not_run():
    for page in PAGES:
        for block in blocks.blocks_of(page.read_text()):
            if block.mark == "not run":
                assert block.language == "sh", f"{page}, line {block.line}"
                assert re.search(r"install|venv", block.code), f"{page}, line {block.line}"


@pytest.mark.one_backend
def test_a_program_that_prints_something_else_is_found(tmp_path):
    """Text, a shell's words and its place on the page; dots stand for anything."""
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nx = 2\nprint(x, 0.123)\n```\n\n```text\n2 ...\n```\n"
        "```python\nprint(x + 1)\n```\nwhich shows\n\n```text\nno output of it\n```\n"
        "<!-- needs no_such_library -->\n```python\nimport no_such_library\n```\n"
        "```sh\necho $((1 + 1))\n```\n\n```text\n3\n```\n"
    )
    wrong, lacking = blocks.run(page, tmp_path)
    assert lacking == {"no_such_library"}
    assert len(wrong) == 1
    assert "line 21" in wrong[0] and "was\n2" in wrong[0]


@pytest.mark.backend_free
def test_the_site_lists_every_page():
    listed = re.findall(r"\w+\.md", (ROOT / "mkdocs.yml").read_text())
    assert sorted(listed) == sorted(page.name for page in PAGES)


@pytest.mark.one_backend
def test_the_examples_of_docstrings():
    holding = [path for path in (ROOT / "entropic").rglob("*.py") if ">>> " in path.read_text()]
    assert holding
    for path in holding:
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        assert doctest.testmod(import_module(name)).failed == 0
