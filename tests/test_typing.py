"""The types of the public face: complete, those of the code, and enough for a strict user."""

import ast
import dataclasses
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from entropic.kernels import backend

ROOT = Path(__file__).parent.parent
STUBS = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((ROOT / "entropic").rglob("*.pyi"))
]
pytestmark = [
    pytest.mark.one_backend,
    pytest.mark.skipif(not STUBS, reason="no sources beside the tests"),
]


def public():
    """The modules and names that docs/api.md lists."""
    page = (ROOT / "docs" / "api.md").read_text()
    return [name.rpartition(".")[::2] for name in re.findall(r"^::: ([\w.]+)$", page, re.MULTILINE)]


def unannotated(function):
    signature = inspect.signature(function)
    for parameter in signature.parameters.values():
        if parameter.annotation is parameter.empty and parameter.name not in ("self", "cls"):
            yield parameter.name
    if signature.return_annotation is signature.empty:
        yield "return"


def test_public_functions_without_a_stub_are_annotated():
    bare = []
    for module, name in public():
        if module in STUBS:
            continue
        value = getattr(import_module(module), name)
        functions = [value]
        if inspect.isclass(value):
            own = {n: f for n, f in vars(value).items() if n == "__init__" or n[0] != "_"}
            made = dataclasses.is_dataclass(value)  # its fields are annotated by necessity
            functions = [
                f for n, f in own.items() if inspect.isfunction(f) and not (made and n[0] == "_")
            ]
        bare += [f"{name}: {f.__name__}, {each}" for f in functions for each in unannotated(f)]
    assert not bare


@pytest.mark.skipif(backend.name != "compiled", reason="the compiled kernels were not built")
def test_every_compiled_function_has_types():
    compiled = import_module("entropic.kernels._compiled")
    stub = ast.parse((ROOT / "entropic/kernels/_compiled.pyi").read_text())
    typed = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
    kind = type(compiled.scores)
    assert typed == {name for name, value in vars(compiled).items() if type(value) is kind} - {
        name for name in vars(compiled) if name.startswith("__")
    }


def run_mypy(*arguments):
    pytest.importorskip("mypy")
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_strict_user_finds_types_and_mistakes():
    run_mypy(
        "mypy",
        "--strict",
        "--allow-subclassing-any",  # in ours; scikit-learn's classes have no types
        "--follow-imports=silent",
        "tests/typed_use.py",
    )


def test_the_stubs_are_those_of_the_code():
    """Names, kinds and defaults of parameters; what a stub leaves out is private."""
    pytest.importorskip("matplotlib")
    stubs = [name for name in STUBS if name != "entropic.dask"]
    if len(stubs) < len(STUBS) and _found("distributed") and _found("dask.array"):
        stubs.append("entropic.dask")
    run_mypy(
        "mypy.stubtest",
        *stubs,
        "--concise",
        "--ignore-missing-stub",
        "--ignore-disjoint-bases",
        "--mypy-config-file",
        "pyproject.toml",
    )


def _found(module):
    try:
        return import_module(module)
    except ImportError:
        return None
