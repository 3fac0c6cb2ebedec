r"""Truncated Newton: the Newton step by conjugate gradients, for so many columns that no matrix of them fits.

The step :math:`(H + \Lambda)\,\delta = g` is solved by preconditioned conjugate gradients, which need the products

.. math:: H v = X^\top W X v = \sum_i w_i\, p_i (1 - p_i)\, (x_i^\top v)\, x_i

alone, one pass over the rows each (Komarek and Moore 2005; Lin, Weng and Keerthi 2008). Each step is solved as far as
it is worth: the residual shrinks with the distance to the optimum, so the convergence stays superlinear.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from softcount._types import FloatArray
from softcount.core.execute import Executor
from softcount.core.logistic.curved_rows import row_states
from softcount.core.logistic.model import LogisticState, Slope, midpoint
from softcount.core.logistic.precondition import BlockPreconditioner

if TYPE_CHECKING:
    from softcount.core.logistic.model import LogisticModel

__all__ = ["TruncatedNewtonMethod"]

MOST_PRODUCTS = 250
# A step is solved to this share of the gradient at first, and to less as the gradient shrinks.
LOOSEST = 0.1


@dataclass(frozen=True)
class TruncatedNewtonMethod:
    """Newton's step by conjugate gradients.

    Attributes
    ----------
    executor : Executor
        Runs the passes for the products.
    """

    executor: Executor
    needs_information: bool = False
    patience: int = 4

    def advance(self, model: LogisticModel, state: LogisticState, slope: Slope) -> LogisticState | None:
        """One step, or None when it is negligible."""
        data = model.data
        states = row_states(data, state.coef, self.executor)
        preconditioner = BlockPreconditioner.of(data, model.penalty, model.kept, states, self.executor)
        scaled = preconditioner.solve(slope.gradient)
        size = float(np.vdot(slope.gradient, scaled))
        if model.watch.ends(model.predictor_change(size)):
            return None
        first = state.memory if isinstance(state.memory, float) else size
        share = min(LOOSEST, math.sqrt(size / first)) if first > 0.0 else LOOSEST
        floor = (0.3 * model.watch.tol) ** 2 * data.total_weight

        change = np.zeros_like(state.coef)
        residual = slope.gradient.copy()
        direction = scaled.copy()
        left = size
        for _ in range(MOST_PRODUCTS):
            product = self._curvature(model, states, direction)
            bend = float(np.vdot(direction, product))
            if not bend > 0.0:  # a direction along which nothing changes any more
                break
            length = left / bend
            change += length * direction
            residual -= length * product
            scaled = preconditioner.solve(residual)
            after = float(np.vdot(residual, scaled))
            if after <= max(share * share * size, floor):
                break
            direction = scaled + after / left * direction
            left = after
        if not change.any():
            model.watch.give_up()
            return None
        return LogisticState(state.coef + change, first)

    def retreat(self, previous: LogisticState, proposal: LogisticState) -> LogisticState:
        """Half the step."""
        return midpoint(previous, proposal)

    def _curvature(self, model: LogisticModel, states: FloatArray, direction: FloatArray) -> FloatArray:
        data = model.data
        tally = self.executor.reduce(
            lambda lane: data.tally_curvature(direction, states, lane),
            data.slices,
            counts_bytes=8 * data.n_coefficients,
        )
        answer = np.where(model.kept, tally["product"], 0.0)
        return answer + model.penalty.slope(direction)
