"""What this installation is: version, kernels, threads and the libraries beneath."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TextIO

from ._version import __version__
from .kernels.backend import choice
from .kernels.backend import name as backend
from .kernels.threads import effective_threads

REQUIRED = ("numpy", "scipy", "scikit-learn", "skops", "joblib", "threadpoolctl")
OPTIONAL = ("pyarrow", "rich", "matplotlib", "dask", "distributed", "pandas")


def show_config(file: TextIO | None = None) -> None:
    """Print what a report of a problem should begin with.

    The version; whether the kernels are compiled or NumPy's, with their instruction set and
    threads; the versions of the libraries beneath.

    Parameters
    ----------
    file : text stream or None
        Where to print; None is standard output.
    """
    figures = config()
    width = max(map(len, figures))
    for name, value in figures.items():
        print(f"{name:<{width}}  {value}", file=file or sys.stdout)


def config() -> dict[str, str]:
    """The figures that ``show_config`` prints, as a dict of strings."""
    figures = {
        "entropic": __version__,
        "python": f"{platform.python_version()} ({platform.platform()})",
        "location": str(Path(__file__).parent),
        "backend": f"{backend} (ENTROPIC_BACKEND={choice})",
    }
    if backend == "compiled":
        from .kernels import _compiled

        levels = ", ".join(_compiled.simd_levels())
        figures["SIMD level"] = f"{_compiled.simd_level()} (of {levels})"
    figures["threads"] = f"{effective_threads()} (of {os.cpu_count()} CPUs)"
    for library in REQUIRED:
        figures[library] = _version(library) or "missing"
    for library in OPTIONAL:
        figures[library] = _version(library) or "not installed (optional)"
    return figures


def _version(library):
    try:
        return version(library)
    except PackageNotFoundError:
        # a library without its metadata (on PYTHONPATH, say) is still there to be used
        return "installed, of unknown version" if find_spec(library) else None
