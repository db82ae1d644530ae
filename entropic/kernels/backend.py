"""Compiled kernels or NumPy, chosen once a process.

``ENTROPIC_BACKEND=auto`` (the default) takes the compiled kernels where they were built;
``compiled`` insists on them; ``numpy`` does without. ``ENTROPIC_SIMD=auto`` (the default) runs the
compiled kernels at the best instruction set that the machine has; ``x86-64-v4``, ``x86-64-v3`` or
``baseline`` at that one.
"""

from __future__ import annotations

import os

from .library_threads import one_library_thread

choice = os.environ.get("ENTROPIC_BACKEND", "auto")
if choice not in ("auto", "compiled", "numpy"):
    raise ImportError(
        f"ENTROPIC_BACKEND is {choice!r}; set it to 'auto', 'compiled' or 'numpy', or unset it."
    )

simd_choice = os.environ.get("ENTROPIC_SIMD", "auto")
if simd_choice not in ("auto", "x86-64-v4", "x86-64-v3", "baseline"):
    raise ImportError(
        f"ENTROPIC_SIMD is {simd_choice!r}; set it to 'auto', 'x86-64-v4', 'x86-64-v3' or "
        "'baseline', or unset it."
    )

name = "numpy"
if choice != "numpy":
    try:
        from . import _compiled as left_out
        from . import _compiled as ranking
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
    one_library_thread.wanted = False
    from . import numpy_left_out as left_out  # type: ignore[no-redef]  # noqa: F401
    from . import numpy_ranking as ranking  # type: ignore[no-redef]  # noqa: F401
    from . import numpy_spectral as spectral  # type: ignore[no-redef]  # noqa: F401
    from . import numpy_sweeps as sweeps  # type: ignore[no-redef]  # noqa: F401
    from .box import Box  # type: ignore[assignment]  # noqa: F401
elif simd_choice != "auto":
    from . import _compiled

    if simd_choice not in _compiled.simd_levels():
        raise ImportError(
            f"ENTROPIC_SIMD is {simd_choice!r}, which this machine or this build does not have; "
            f"set it to one of {_compiled.simd_levels()} or 'auto', or unset it."
        )
    _compiled.set_simd_level(simd_choice)
