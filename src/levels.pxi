# Binding of the instruction sets that the kernels are built for, part of _compiled.pyx.

cdef extern from "levels.h" nogil:
    const char *level_name(int level)
    int level_supported(int level)
    void level_use(int level)

# What set_simd_level knows: the levels' numbers in levels.c, by name, best first.
cdef dict levels = {}
cdef int built = 0
while level_name(built) != NULL:
    if level_supported(built):
        levels[level_name(built).decode()] = built
    built += 1
cdef object level_in_use = None


def simd_levels():
    """The instruction sets that the kernels were built for and this machine has, best first."""
    return list(levels)


def simd_level():
    """The instruction set the kernels run at, one of ``simd_levels()``."""
    return level_in_use


def set_simd_level(name):
    """Run the kernels at another of ``simd_levels()`` from now on; not while a sweep runs."""
    global level_in_use
    level_use(levels[name])
    level_in_use = name


set_simd_level(simd_levels()[0])
