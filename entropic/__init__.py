"""Classification by separating hypersurfaces that minimise an entropy.

The method is that of Arratia, El Daou and Gzyl, "Classification by Separating Hypersurfaces:
An Entropic Approach". Start with :class:`EntropicClassifier`.
"""

from ._version import __version__
from .classifier import EntropicClassifier
from .features.monomials import Monomials
from .model_file import load_model
from .separation import separability
from .solvers import solve

# Names that cost an import of their own, which most programs do without.
_LAZY = {"EntropicClassifierCV": "model_selection", "show_config": "config"}

__all__ = [
    "EntropicClassifier",
    "EntropicClassifierCV",
    "Monomials",
    "__version__",
    "load_model",
    "separability",
    "show_config",
    "solve",
]


def __getattr__(name):
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)


def __dir__():
    return sorted({*globals(), *_LAZY})
