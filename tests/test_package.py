"""The package from outside: its names, what importing it loads, what it tells about itself."""

import ast
import io
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import entropic
from entropic.kernels.backend import name as backend_name

OPTIONAL = [
    "pandas",
    "pyarrow",
    "clevercsv",
    "arff",
    "matplotlib",
    "rich",
    "dask",
    "distributed",
    "skops",
    "cvxpy",
]


def test_every_public_name_is_there():
    assert set(entropic.__all__) <= set(dir(entropic))
    for name in entropic.__all__:
        assert getattr(entropic, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        entropic.nothing  # noqa: B018


def test_the_version_is_the_distributions():
    assert entropic.__version__ == version("entropic-classifier")


def test_the_pages_name_the_version():
    root = Path(__file__).parent.parent
    if not (root / "CITATION.cff").exists():
        pytest.skip("no pages beside the tests")
    changes = re.findall(r"^## \[(.+?)\](?: - (.+))?$", (root / "CHANGELOG.md").read_text(), re.M)
    [latest, *_] = [entry for entry in changes if entry[0] != "Unreleased"]
    cited = dict(re.findall(r"^([\w-]+): (.+)$", (root / "CITATION.cff").read_text(), re.M))
    assert latest == (entropic.__version__, cited["date-released"])
    assert cited["version"] == entropic.__version__


LOADED = """
import sys
before = set(sys.modules)
import entropic
dir(entropic)
for name in sys.argv[1:]:
    getattr(entropic, name)
print(*set(sys.modules) - before)
"""

BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in sys.argv:
            raise ModuleNotFoundError(f"{name} is blocked", name=name)
sys.meta_path.insert(0, Blocked())
import entropic
fitted = entropic.EntropicClassifier().fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
if "skops" not in sys.argv:
    fitted.save("model")
    fitted = entropic.load_model("model")
print(*fitted.predict([[0.0], [2.0]]))
"""


def run(script, *arguments, cwd=None):
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=cwd)
    return done.stdout.split()


def libraries(*names, before=""):
    """What using public names of the package loads, beside what an import before it does."""
    return {module.partition(".")[0] for module in run(before + LOADED, *names)}


def test_importing_the_package_loads_no_library():
    assert not libraries() & {"numpy", "scipy", "sklearn", *OPTIONAL}


def test_public_names_load_nothing_optional():
    names = [name for name in entropic.__all__ if name != "load_model"]
    loaded = libraries(*names, before="import sklearn.linear_model")
    assert "entropic" in loaded and not loaded & set(OPTIONAL)


def test_a_star_import_gives_every_public_name():
    names = {}
    exec("from entropic import *", names)
    assert set(entropic.__all__) <= set(names)


def test_type_checkers_see_the_names_that_are_loaded_lazily():
    source = ast.parse(Path(entropic.__file__).read_text())
    seen = {
        alias.name: node.module
        for block in source.body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in block.body
        for alias in node.names
    }
    assert seen == entropic._HOMES
    assert set(entropic.__all__) == {*seen, "__version__"}


def test_fits_and_predicts_without_any_optional_library(tmp_path):
    assert run(BLOCKED, *OPTIONAL, cwd=tmp_path) == ["a", "b"]


def test_models_are_kept_without_any_optional_library(tmp_path):
    assert run(BLOCKED, *set(OPTIONAL) - {"skops"}, cwd=tmp_path) == ["a", "b"]


def test_show_config_names_the_backend_and_the_libraries(capsys):
    entropic.show_config()
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["entropic"] == entropic.__version__
    assert lines["backend"].startswith(backend_name)
    assert lines["numpy"] == version("numpy")
    assert "threads" in lines and "skops" in lines
    text = io.StringIO()
    entropic.show_config(file=text)
    assert text.getvalue().startswith("entropic")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "choice, printed, complaint",
    [("numpy", "numpy", ""), ("neither", "", "set it to 'auto', 'compiled' or 'numpy'")],
)
def test_the_environment_chooses_the_backend(choice, printed, complaint):
    script = "from entropic.kernels.backend import name; print(name)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=dict(os.environ, ENTROPIC_BACKEND=choice),
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == printed and complaint in done.stderr
    assert (done.returncode != 0) == bool(complaint)


@pytest.mark.skipif("ENTROPIC_BACKEND" not in os.environ, reason="ENTROPIC_BACKEND is not set")
def test_the_backend_asked_for_is_the_one_tested():
    assert os.environ["ENTROPIC_BACKEND"] in (backend_name, "auto")


def test_show_config_finds_a_library_without_metadata(tmp_path, monkeypatch):
    import entropic.config

    (tmp_path / "found_without_metadata.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(entropic.config, "OPTIONAL", ("found_without_metadata", "not_there"))
    figures = entropic.config.config()
    assert figures["found_without_metadata"].startswith("installed")
    assert figures["not_there"].startswith("not installed")
    assert Path(figures["location"]) == Path(entropic.__file__).parent
