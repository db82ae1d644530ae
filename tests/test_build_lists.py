"""Lists of files beside the files: what meson installs and compiles, what CONTRIBUTING.md maps."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.backend_free

ROOT = Path(__file__).parent.parent


def text(name):
    path = ROOT / name
    if not path.exists():
        pytest.skip(f"no {name} beside the tests")
    return path.read_text()


def present(folder, pattern):
    return {str(path.relative_to(ROOT / folder)) for path in (ROOT / folder).rglob(pattern)}


def test_meson_installs_every_python_file():
    """A file that is missing from the list is missing everywhere, in editable installs too."""
    listed = set()
    for folder, files in re.findall(
        r"'([\w/]*)': \[(.*?)\]", text("entropic/meson.build"), re.DOTALL
    ):
        listed |= {str(Path(folder) / name) for name in re.findall(r"'([\w.]+)'", files)}
    assert listed == present("entropic", "*.py") | present("entropic", "*.pyi")


def test_meson_compiles_every_source():
    listed = re.findall(r"'(\w+\.(?:c|pyx))'", text("src/meson.build"))
    assert sorted(listed) == sorted(present("src", "*.c") | present("src", "*.pyx"))


def test_the_map_names_every_module():
    page = text("CONTRIBUTING.md").partition("<!-- map -->\n```text\n")[2].partition("```")[0]
    listed, folders = [], []
    for line in page.splitlines():
        indent, name = re.match(r"( *)(\S+)", line).groups()
        del folders[len(indent) // 2 :]
        if name.endswith("/"):
            folders.append(name)
        elif folders:
            listed.append("".join([*folders, name]))
    ends = ("__init__.py", "__main__.py")
    modules = {
        f"entropic/{name}" for name in present("entropic", "*.py") if not name.endswith(ends)
    }
    assert sorted(listed) == sorted(modules)


def test_the_pages_name_files_that_exist():
    for name in ("CONTRIBUTING.md", "README.md"):
        for path in re.findall(r"`((?:entropic|src|tests|docs|bench)/[\w./]+)`", text(name)):
            assert (ROOT / path).exists(), f"{name} names {path}, which is not there"
