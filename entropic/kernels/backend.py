"""Compiled kernels or NumPy, chosen once a process.

``ENTROPIC_BACKEND=auto`` (the default) takes the compiled kernels where they were built;
``compiled`` insists on them; ``numpy`` does without.
"""

from __future__ import annotations

import os

choice = os.environ.get("ENTROPIC_BACKEND", "auto")
if choice not in ("auto", "compiled", "numpy"):
    raise ImportError(
        f"ENTROPIC_BACKEND is {choice!r}; set it to 'auto', 'compiled' or 'numpy', or unset it."
    )

name = "numpy"
if choice != "numpy":
    try:
        from . import compiled_spectral as spectral
        from . import compiled_sweeps as sweeps
        from .compiled_box import CompiledBox as Box

        name = "compiled"
    except ImportError as error:
        if choice == "compiled":
            raise ImportError(
                "ENTROPIC_BACKEND=compiled, but this installation has no compiled kernels; "
                "reinstall with a C compiler or unset the variable."
            ) from error
if name == "numpy":
    from . import numpy_spectral as spectral  # type: ignore[no-redef]  # noqa: F401
    from . import numpy_sweeps as sweeps  # type: ignore[no-redef]  # noqa: F401
    from .box import Box  # type: ignore[assignment]  # noqa: F401
