"""The largest margin in the box: Mehrotra's method for its linear program.

    maximise g   subject to   D w - y - s = g,  s >= 0,  l <= w <= u

with multipliers lambda of the rows (their sum is one) and z of the two bounds. Newton's system
is that of system.py, bordered by the one column of g (docs/mathematics.md, section 4.5).
"""

from __future__ import annotations

import numpy as np

from .system import NewtonSystem, step_to_boundary

MAX_STEPS = 60
TO_THE_BOUNDARY = 0.995
CLEARLY = 1e-12  # of the size: a margin that rounding cannot have made


def margin_path(sweep, box, size, enough, tolerance):
    """Coefficients and multipliers that bracket the largest margin ever more closely.

    Parameters
    ----------
    sweep : Sweep
        All of its rows count, and their weights must be one.
    box : Box
    size : float
        How large ``D w`` may be in the box: the unit of the path.
    enough : float
        Width of the bracket at which the path ends, once the sign of the largest margin is
        known too.
    tolerance : float
        Bounds below this count as not positive.

    Yields
    ------
    coef : array of shape (n_features,)
    multipliers : array of shape (n_samples,), positive, with sum one
        At the ending, and before it whenever the sign becomes known.
    """
    point = _Point(sweep, box, size)
    decided = False
    for _ in range(MAX_STEPS):
        lowest, highest = point.bracket()
        settled = lowest > CLEARLY * size or highest <= 0.5 * tolerance
        if settled and not decided:
            decided = True
            yield point.coef, point.rows / point.rows.sum()
        if decided and highest - lowest <= enough:
            break
        if not point.step():
            break
    if enough < np.inf or not decided:
        yield point.coef, point.rows / point.rows.sum()


class _Point:
    """Strictly inside all bounds; every residual shrinks by the step's length."""

    def __init__(self, sweep, box, size):
        self.sweep, self.box = sweep, box
        n_samples = sweep.n_samples
        self.coef = box.centre.copy()
        self.functional_margins = sweep.matvec_signed(self.coef) - sweep.target.offset
        self.margin = float(np.min(self.functional_margins)) - size
        self.surplus = self.functional_margins - self.margin
        self.rows = np.full(n_samples, 1 / n_samples)
        self.below = self.above = size / n_samples / box.half_width
        self.dual_residual = -sweep.rmatvec_signed(self.rows)

    def bracket(self):
        """Least functional margin, and the bound that the multipliers set, both without proof."""
        tau = self.above - self.below - self.dual_residual
        most = np.sum(np.maximum(self.box.lower * tau, self.box.upper * tau))
        asked = np.sum(self.rows * self.sweep.target.offset)
        return float(np.min(self.functional_margins)), float((most - asked) / self.rows.sum())

    def step(self):
        """One predictor and corrector; False where rounding leaves no way on."""
        with np.errstate(all="ignore"):
            return self._step()

    def _step(self):
        room_below, room_above = self.coef - self.box.lower, self.box.upper - self.coef
        root = 1 / np.sqrt(self.above / room_above + self.below / room_below)
        stiffness = self.surplus / self.rows
        if not (np.all(np.isfinite(root)) and np.all(np.isfinite(stiffness))):
            return False
        system = _Bordered(self.sweep, root, stiffness)
        unmet = self.functional_margins - self.margin - self.surplus
        excess = self.rows.sum() - 1
        values = (self.rows, self.surplus, self.below, room_below, self.above, room_above)

        def direction(rows, below, above):
            """Moves for wanted changes of the three kinds of products."""
            dual_residual = self.dual_residual + above / room_above - below / room_below
            margin, move, functional_margins, rows_move = system.solve(
                dual_residual, unmet - rows / self.rows, excess
            )
            return (
                margin,
                functional_margins,
                rows_move,
                (rows - self.surplus * rows_move) / self.rows,
                (below - self.below * move) / room_below,
                move,
                (above + self.above * move) / room_above,
                -move,
            )

        products = (self.rows * self.surplus, self.below * room_below, self.above * room_above)
        count = len(self.rows) + 2 * len(self.coef)
        mu = sum(float(np.sum(product)) for product in products) / count
        moves = direction(*(-product for product in products))[2:]
        length = min(1.0, _longest(values, moves))
        reached = sum(
            float(np.sum((values[k] + length * moves[k]) * (values[k + 1] + length * moves[k + 1])))
            for k in (0, 2, 4)
        )
        centre = mu * min(1.0, max(reached / count / mu, 0.0) ** 3)
        wanted = (
            centre - product - moves[k] * moves[k + 1]
            for k, product in zip((0, 2, 4), products, strict=True)
        )
        margin, functional_margins, *moves = direction(*wanted)
        length = min(1.0, TO_THE_BOUNDARY * _longest(values, moves))
        if not (np.isfinite(length) and np.isfinite(margin)) or length < 1e-8:
            return False
        if not all(np.all(np.isfinite(move)) for move in (functional_margins, *moves)):
            return False
        self.margin += length * margin
        self.functional_margins = self.functional_margins + length * functional_margins
        self.rows, self.surplus, self.below, _, self.above, _ = (
            value + length * move for value, move in zip(values, moves, strict=True)
        )
        self.coef = np.clip(self.coef + length * moves[3], self.box.lower, self.box.upper)
        self.dual_residual = (1 - length) * self.dual_residual
        return True


class _Bordered:
    """Newton's system with the column of the margin and the row of the multipliers' sum."""

    def __init__(self, sweep, root, stiffness):
        self.system = NewtonSystem(sweep, root, stiffness)
        self.stiffness = stiffness
        _, self.move, self.rows = self.system.solve(0.0, np.full(len(stiffness), -1.0))

    def solve(self, dual_residual, unmet, excess):
        """Moves of the margin, of the coefficients, of ``D w``, and of the multipliers."""
        _, move, rows = self.system.solve(dual_residual, unmet)
        margin = -(excess + float(rows.sum())) / float(self.rows.sum())
        rows = rows + margin * self.rows
        return margin, move + margin * self.move, margin - unmet - self.stiffness * rows, rows


def _longest(values, moves):
    """How far all values stay positive along their moves."""
    return min(step_to_boundary(*pair) for pair in zip(values, moves, strict=True))
