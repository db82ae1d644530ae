"""Tests of the kernels run at every instruction set that the machine has."""

import pytest

from entropic.kernels.backend import name as backend

if backend == "compiled":
    from entropic.kernels import _compiled

    LEVELS = _compiled.simd_levels()
else:
    LEVELS = ["numpy"]


@pytest.fixture(scope="module", params=LEVELS)
def every_level(request):
    """For a module's ``pytestmark``: its tests once a level."""
    if request.param == "numpy":
        yield
        return
    before = _compiled.simd_level()
    _compiled.set_simd_level(request.param)
    yield
    _compiled.set_simd_level(before)
