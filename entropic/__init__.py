"""Classification by separating hypersurfaces that minimise an entropy.

The method is that of Arratia, El Daou and Gzyl, "Classification by Separating Hypersurfaces:
An Entropic Approach". Start with :class:`EntropicClassifier`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from ._version import __version__

if TYPE_CHECKING:
    from .classifier import EntropicClassifier
    from .config import show_config
    from .features.monomials import Monomials
    from .model_file import load_model
    from .model_selection import EntropicClassifierCV
    from .separation import separability
    from .solvers import solve

# Where each public name is defined: loaded when it is first used, and with it scikit-learn.
_HOMES = {
    "EntropicClassifier": "classifier",
    "EntropicClassifierCV": "model_selection",
    "Monomials": "features.monomials",
    "load_model": "model_file",
    "separability": "separation",
    "show_config": "config",
    "solve": "solvers",
}

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


if not TYPE_CHECKING:  # to type checkers it would be an attribute of any name

    def __getattr__(name):
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        return value


def __dir__():
    return sorted({*globals(), *__all__})
