"""meson installs what it is told to: a Python file missing from its list is missing everywhere."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.backend_free

PACKAGE = Path(__file__).parent.parent / "entropic"


def test_meson_lists_every_python_file():
    listing = (PACKAGE / "meson.build").read_text()
    listed = set()
    for folder, files in re.findall(r"'([\w/]*)': \[(.*?)\]", listing, re.DOTALL):
        listed |= {str(Path(folder) / name) for name in re.findall(r"'([\w.]+)'", files)}
    present = {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py")}
    if not present:
        pytest.skip("no source tree beside the tests")
    assert listed == present
