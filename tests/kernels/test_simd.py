"""The instruction set of the kernels: chosen by the environment, changed in the process, shown."""

import os
import subprocess
import sys

import numpy as np
import pytest

from entropic.kernels.backend import name as backend
from entropic.kernels.backend import sweeps
from entropic.rows import DenseRows

if backend == "compiled":
    from entropic.kernels import _compiled

compiled = pytest.mark.skipif(backend != "compiled", reason="NumPy chooses for itself")


def config(**environment):
    """What a fresh process prints of itself, and its last line of complaint."""
    done = subprocess.run(
        [sys.executable, "-c", "import entropic; entropic.show_config()"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    return done.stdout, done.stderr.strip().split("\n")[-1]


@compiled
def test_every_level_of_the_machine_can_be_chosen():
    levels = _compiled.simd_levels()
    assert levels[-1] == "baseline"
    for level in levels:
        shown, _ = config(ENTROPIC_SIMD=level)
        assert f"{level} (of {', '.join(levels)})" in shown
    assert f" {levels[0]} (of" in config(ENTROPIC_SIMD="auto")[0]


def test_unknown_levels_are_refused():
    shown, complaint = config(ENTROPIC_SIMD="avx2")
    assert shown == ""
    assert complaint == (
        "ImportError: ENTROPIC_SIMD is 'avx2'; set it to 'auto', 'x86-64-v4', 'x86-64-v3' or "
        "'baseline', or unset it."
    )


@compiled
def test_levels_that_the_machine_lacks_are_refused():
    missing = {"x86-64-v4", "x86-64-v3"} - set(_compiled.simd_levels())
    for level in missing:
        shown, complaint = config(ENTROPIC_SIMD=level)
        assert shown == ""
        assert "this machine or this build does not have" in complaint


@compiled
def test_each_level_is_code_of_its_own():
    """Products and sums in one instruction round once: other last bits than without it."""
    levels = _compiled.simd_levels()
    if len(levels) == 1:
        pytest.skip("this machine has one level")
    rng = np.random.default_rng(0)
    rows, coef = DenseRows(rng.normal(size=(500, 40))), rng.normal(size=41)
    before, found = _compiled.simd_level(), {}
    try:
        for level in levels:
            _compiled.set_simd_level(level)
            found[level] = sweeps.scores(rows, coef)
    finally:
        _compiled.set_simd_level(before)
    assert not np.array_equal(found["baseline"], found["x86-64-v3"])
    np.testing.assert_allclose(found["baseline"], found["x86-64-v3"], rtol=1e-10)
