"""Dependencies point one way: a room knows only those before it, and no two modules each other."""

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

pytestmark = pytest.mark.backend_free

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "entropic"
# A module belongs to the longest name that it starts with, and imports nothing of a later line.
ORDER = [
    [
        "entropic._version",
        "entropic.checks",
        "entropic.files",
        "entropic.progress",
        "entropic.rollback",
        "entropic.typing",
    ],
    ["entropic.labels", "entropic.model_format", "entropic.kernels"],
    ["entropic.rows"],
    ["entropic.features"],
    ["entropic.solvers"],
    ["entropic.uncertainty"],
    ["entropic.fitting", "entropic.importance", "entropic.one_against_rest", "entropic.saving"],
    ["entropic.memory_fit", "entropic.summary"],
    ["entropic.batch_fit"],
    ["entropic.classifier"],
    ["entropic.candidates"],
    ["entropic.expansions"],
    [
        "entropic.model_selection",
        "entropic.separation",
        "entropic.display",
        "entropic.config",
        "entropic.dask",
    ],
    ["entropic.paper"],
    ["entropic.command"],
    ["entropic.model_file"],
    ["entropic.command.saved"],
    [f"entropic.command.{name}" for name in ("fit", "predict", "show", "plot")],
    ["entropic.command.main", "entropic.__main__", "entropic"],
]
PLACES = {room: place for place, rooms in enumerate(ORDER) for room in rooms}


def imports():
    """The modules of the package that each of them imports, inside functions too."""
    paths = {".".join(path.relative_to(ROOT).with_suffix("").parts): path
             for path in PACKAGE.rglob("*.py")}  # fmt: skip
    names = {name.removesuffix(".__init__"): path for name, path in paths.items()}
    found: dict[str, set[str]] = {name: set() for name in names}
    for name, path in names.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                wanted = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                above = package.rsplit(".", node.level - 1)[0] if node.level else ""
                module = ".".join(filter(None, [above, node.module]))
                # `from package import name` takes the module of that name, where there is one
                wanted = [
                    part if (part := f"{module}.{alias.name}") in names else module
                    for alias in node.names
                ]
            else:
                continue
            found[name].update(set(wanted) & set(names) - {name})
    return found


def place(module):
    """The line of the order that a module stands in."""
    while module not in PLACES:
        if "." not in module.removeprefix("entropic."):
            pytest.fail(f"{module} is in no line of ORDER; add the room where it belongs")
        module = module.rpartition(".")[0]
    return PLACES[module]


def test_no_module_imports_one_of_a_later_room():
    found = imports()
    assert len(found) > 60
    wrong = {(a, b) for a, many in found.items() for b in many if place(b) > place(a)}
    assert not wrong


def test_no_two_modules_import_each_other():
    TopologicalSorter(imports()).prepare()  # raises CycleError with the modules of the cycle


def test_leaves_import_nothing():
    found, leaves = imports(), ("_version", "checks", "files", "progress", "rollback")
    assert not any(found[f"entropic.{leaf}"] for leaf in leaves)


def test_compiled_sources_import_nothing_of_the_package():
    for path in (ROOT / "src").glob("*.p*"):
        assert not re.search(r"^\s*(from|c?import) +entropic", path.read_text(), re.MULTILINE), path
