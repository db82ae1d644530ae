# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Bindings of the compiled loops. The numbers are made in C, without the interpreter.

What each function computes is said in kernels/numpy_sweeps.py, its twin of the same name. Rows
come as a :class:`RowView`.
"""

import os

import numpy as np
from scipy.linalg import cython_blas, cython_lapack

from cpython.exc cimport PyErr_CheckSignals
from cpython.buffer cimport PyBUF_STRIDES, PyBuffer_Release, PyObject_GetBuffer
from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer
from libc.stdint cimport int8_t, int64_t
from libc.stdlib cimport calloc, free

cdef extern from "blas.h" nogil:
    void blas_load(void *dsyrk, void *dgemm, void *dpotrf, void *dpotrs)

cdef void *routine(library, name, start) except NULL:
    """Address of a routine of SciPy's BLAS or LAPACK whose first arguments are of these types."""
    capsule = library.__pyx_capi__[name]
    cdef const char *signature = PyCapsule_GetName(capsule)
    if not signature.startswith(b"void (" + start):
        raise ImportError(f"SciPy has a {name} of other arguments: {signature.decode()}")
    return PyCapsule_GetPointer(capsule, signature)


blas_load(routine(cython_blas, "dsyrk", b"char *, char *, int *, int *, "),
          routine(cython_blas, "dgemm", b"char *, char *, int *, int *, int *, "),
          routine(cython_lapack, "dpotrf", b"char *, int *, "),
          routine(cython_lapack, "dpotrs", b"char *, int *, int *, "))

include "arrays.pxi"
include "rows.pxi"
include "threads.pxi"
include "levels.pxi"
include "sweep.pxi"
include "curvature.pxi"
include "box.pxi"
include "left_out.pxi"
include "newton.pxi"
include "ranking.pxi"
include "samples.pxi"
include "spectral.pxi"
