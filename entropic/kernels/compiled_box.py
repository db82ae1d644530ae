"""The box of the coefficients, compiled: box.py holds its formulas."""

from __future__ import annotations

from entropic.kernels._compiled import BoxView
from entropic.kernels.cached import cached_property

from .box import STRAIGHT, Box


class CompiledBox(Box):
    """A Box whose transcendental functions take a read of the state each, and no more."""

    @cached_property
    def view(self):
        return BoxView(self.lower, self.upper, self.centre, self.half_width, self.entropy_weight)

    def coef(self, state):
        return self.view.coef(state)

    def inverse_hessian_root(self, state):
        return self.view.inverse_hessian_root(state)

    def value(self, state):
        return self.view.value(state)

    def moved(self, state, move):
        return self.view.moved(state, move, STRAIGHT)

    def gap(self, state, tau):
        return self.view.gap(state, tau)
