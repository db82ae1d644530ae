# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Bindings of the compiled sweeps. The numbers are made in C, without the interpreter."""

cdef extern from "cpu.h" nogil:
    const char *c_simd_level "simd_level"()
    int c_has_openmp "has_openmp"()
    int c_max_threads "max_threads"()


def simd_level():
    """The instruction set the kernels run at here: "x86-64-v4", "x86-64-v3" or "baseline"."""
    return c_simd_level().decode()


def has_openmp():
    """Whether the kernels were built with threads."""
    return c_has_openmp() != 0


def max_threads():
    """Threads that OpenMP would use by itself; 1 where the kernels were built without."""
    return c_max_threads()
