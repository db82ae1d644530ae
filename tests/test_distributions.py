"""What the wheels and the source distribution hold, and how large they are.

The installed wheel is compared with the sources beside the tests; with ``ENTROPIC_DISTRIBUTIONS``
naming a folder, so are the files of distributions in it (.ci/distributions makes them).
"""

import os
import tarfile
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

import entropic

pytestmark = pytest.mark.backend_free

ROOT = Path(__file__).parent.parent
FOLDER = Path(os.environ.get("ENTROPIC_DISTRIBUTIONS") or os.devnull)
LARGEST = 2_000_000  # bytes of a wheel
NAME = f"entropic_classifier-{entropic.__version__}"
INFO = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}
# Beside the folders of sources, whose files are compared one by one.
TOP = {
    *(".ci", ".github", "bench", "docs", "entropic", "src", "tests"),
    *(".gitignore", ".pre-commit-config.yaml", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md"),
    *("LICENSE", "PKG-INFO", "README.md", "meson.build", "meson.options", "mkdocs.yml"),
    "pyproject.toml",
}
KINDS = {
    "entropic": ("*.py", "*.pyi", "py.typed", "meson.build"),
    "src": ("*.c", "*.h", "*.pyx", "*.pxi", "meson.build"),
    "tests": ("*.py",),
    "docs": ("*.md", "*.py", "*.css"),
    "bench": ("*.py",),
}


def sources(folder):
    if not (ROOT / folder).exists():
        pytest.skip(f"no {folder} beside the tests")
    found = {path for kind in KINDS[folder] for path in (ROOT / folder).rglob(kind)}
    return {str(path.relative_to(ROOT)) for path in found}


def package():
    return sources("entropic") - {"entropic/meson.build"}


def found_in(folder, pattern):
    return sorted(folder.glob(pattern)) if folder.is_dir() else []


WHEELS = found_in(FOLDER, "*.whl")
ARCHIVES = found_in(FOLDER, "*.tar.gz")


def test_the_installed_package_is_whole():
    files = {str(file) for file in distribution("entropic-classifier").files or ()}
    held = {file for file in files if file.startswith("entropic/") and "__pycache__" not in file}
    if not held:
        pytest.skip("an editable install holds no files")
    kernels = {file for file in held if file.startswith("entropic/kernels/_compiled.")}
    assert held - kernels == package() - kernels
    info = {file.partition(".dist-info/")[2] for file in files if ".dist-info/" in file}
    assert info - {"INSTALLER", "REQUESTED", "direct_url.json"} == INFO


@pytest.mark.skipif(not WHEELS, reason="no ENTROPIC_DISTRIBUTIONS")
def test_there_is_one_wheel_for_every_later_python_and_one_for_every_machine():
    assert [wheel.name.split("-")[2:4] for wheel in WHEELS] == [["cp311", "abi3"], ["py3", "none"]]


@pytest.mark.parametrize("wheel", WHEELS, ids=lambda wheel: wheel.name)
def test_wheels_hold_the_package_alone_and_are_small(wheel):
    expected = package() | {f"{NAME}.dist-info/{name}" for name in INFO}
    if "-abi3-" in wheel.name:
        expected |= {"entropic/kernels/_compiled.abi3.so"}
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if not name.endswith("/")}
    assert held - {f"{NAME}.dist-info/sboms/auditwheel.cdx.json"} == expected
    assert wheel.stat().st_size <= LARGEST


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda archive: archive.name)
def test_the_source_distribution_holds_all_sources(archive):
    with tarfile.open(archive) as tar:
        held = {name.removeprefix(f"{NAME}/") for name in tar.getnames()} - {NAME}
    assert {name.partition("/")[0] for name in held} == TOP
    for folder in KINDS:
        assert sources(folder) <= held
    assert not {name for name in held if name.endswith((".so", ".pyc", ".png", ".npy", ".whl"))}
