# Binding of the box's formulas, part of _compiled.pyx. What each computes is said in
# kernels/box.py, Box, by the method of the same name.

cdef extern from "box.h" nogil:
    ctypedef struct c_box "box":
        ptrdiff_t n
        const double *lower
        const double *upper
        const double *centre
        const double *half_width
        double entropy_weight
    void box_coef_at "IN_USE(box_coef_at)"(const c_box *p, const double *state, double *coef)
    void box_inverse_hessian_root "IN_USE(box_inverse_hessian_root)"(
        const c_box *p, const double *state, double *out)
    double box_value_at "IN_USE(box_value_at)"(const c_box *p, const double *state)
    void c_moved "IN_USE(box_moved)"(const c_box *p, const double *state, const double *move,
                             double straight, double *moved)
    double c_gap "IN_USE(box_gap)"(const c_box *p, const double *state, const double *tau)


cdef class BoxView:
    """Where the numbers of a box lie; keeps the arrays alive."""

    cdef c_box box
    cdef object kept

    def __init__(self, lower, upper, centre, half_width, double entropy_weight):
        cdef const double[::1] part
        cdef ptrdiff_t n = len(lower)
        self.kept = [np.ascontiguousarray(values, dtype=np.float64)
                     for values in (lower, upper, centre, half_width)]
        self.box.n, self.box.entropy_weight = n, entropy_weight
        for place, values in enumerate(self.kept):
            part = _vector(values, n, "box")
            if place == 0:
                self.box.lower = address(part)
            elif place == 1:
                self.box.upper = address(part)
            elif place == 2:
                self.box.centre = address(part)
            else:
                self.box.half_width = address(part)

    def coef(self, state):
        cdef const double[::1] u = _vector(state, self.box.n, "state")
        cdef double[::1] out = np.empty(self.box.n)
        with nogil:
            box_coef_at(&self.box, address(u), <double *>address(out))
        return out.base

    def inverse_hessian_root(self, state):
        cdef const double[::1] u = _vector(state, self.box.n, "state")
        cdef double[::1] out = np.empty(self.box.n)
        with nogil:
            box_inverse_hessian_root(&self.box, address(u), <double *>address(out))
        return out.base

    def value(self, state):
        cdef const double[::1] u = _vector(state, self.box.n, "state")
        return box_value_at(&self.box, address(u))

    def moved(self, state, move, double straight):
        cdef const double[::1] u = _vector(state, self.box.n, "state")
        cdef const double[::1] step = _vector(move, self.box.n, "move")
        cdef double[::1] out = np.empty(self.box.n)
        with nogil:
            c_moved(&self.box, address(u), address(step), straight, <double *>address(out))
        return out.base

    def gap(self, state, tau):
        cdef const double[::1] u = _vector(state, self.box.n, "state")
        cdef const double[::1] asked = _vector(tau, self.box.n, "tau")
        return c_gap(&self.box, address(u), address(asked))
