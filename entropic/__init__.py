"""Classification by separating hypersurfaces that minimise an entropy.

The method is that of Arratia, El Daou and Gzyl, "Classification by Separating Hypersurfaces:
An Entropic Approach". Start with :class:`EntropicClassifier`.
"""

from ._version import __version__
from .classifier import EntropicClassifier
from .solve import solve

__all__ = ["EntropicClassifier", "__version__", "solve"]
