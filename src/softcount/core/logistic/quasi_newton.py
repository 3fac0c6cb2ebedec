r"""Limited-memory BFGS whose first guess of the curvature is a real one.

The two-loop recursion (Nocedal 1980) turns the last pairs :math:`s = \beta_{t+1} - \beta_t` and
:math:`y = g_t - g_{t+1}` into corrections of an initial inverse curvature. Usually that is a multiple of the identity;
here it is the inverse information of a part of the rows (or, for very many columns, of the most frequent columns and
the diagonal of the rest). The gradients are exact, so the optimum is; a pass costs two matrix-vector products instead
of a Gram matrix, and each gains a factor of about :math:`\sqrt{p/m}` for ``p`` coefficients and ``m`` rows in the part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from softcount._types import FloatArray
from softcount.core.logistic.model import LogisticState, Slope, midpoint
from softcount.core.logistic.newton import proximal_step

if TYPE_CHECKING:
    from softcount.core.logistic.model import LogisticModel
    from softcount.core.logistic.precondition import Preconditioner

__all__ = ["QuasiNewtonMethod"]

MOST_PAIRS = 12
# A pair whose curvature is below this share of its length squared is rounding.
SMALLEST_CURVATURE = 1e-14


class Pair(NamedTuple):
    """A step and the fall of the gradient along it."""

    step: FloatArray
    fall: FloatArray
    product: float


class Memory(NamedTuple):
    """The pairs so far, and the last point and its gradient."""

    pairs: tuple[Pair, ...]
    coef: FloatArray
    gradient: FloatArray


@dataclass(frozen=True)
class QuasiNewtonMethod:
    """L-BFGS around a preconditioner; with absolute values, proximal steps on the explicit BFGS matrix."""

    preconditioner: Preconditioner
    needs_information: bool = False
    patience: int = 12

    def advance(self, model: LogisticModel, state: LogisticState, slope: Slope) -> LogisticState | None:
        """One step, or None when it is negligible."""
        has_l1 = model.penalty.has_l1
        # The matrix of the proximal step is that of the log-likelihood alone.
        gradient = slope.score if has_l1 else slope.gradient
        memory = self._extended(state, gradient)
        if has_l1:
            kept = model.expanded()
            matrix = self._matrix(memory.pairs)[np.ix_(kept, kept)]
            stepped = np.zeros(state.coef.size)
            stepped[kept], gain = proximal_step(model, matrix, gradient.ravel()[kept], state.coef.ravel()[kept])
            moved = stepped.reshape(state.coef.shape)
        else:
            change = self._direction(memory.pairs, gradient)
            gain = float(np.vdot(gradient, change))
            if not gain > 0.0:  # rounding has spoiled the pairs
                memory = Memory((), state.coef, gradient)
                change = self.preconditioner.solve(gradient)
                gain = float(np.vdot(gradient, change))
            moved = state.coef + change
        if model.watch.ends(model.predictor_change(gain)):
            return None
        return LogisticState(moved, memory)

    def retreat(self, previous: LogisticState, proposal: LogisticState) -> LogisticState:
        """Half the step."""
        return midpoint(previous, proposal)

    def _extended(self, state: LogisticState, gradient: FloatArray) -> Memory:
        pairs: tuple[Pair, ...] = ()
        if isinstance(state.memory, Memory):
            step = state.coef - state.memory.coef
            fall = state.memory.gradient - gradient
            product = float(np.vdot(step, fall))
            pairs = state.memory.pairs
            if product > SMALLEST_CURVATURE * float(np.vdot(fall, fall)) ** 0.5 * float(np.vdot(step, step)) ** 0.5:
                pairs = (*pairs, Pair(step, fall, product))[-MOST_PAIRS:]
        return Memory(pairs, state.coef, gradient)

    def _direction(self, pairs: tuple[Pair, ...], gradient: FloatArray) -> FloatArray:
        rest = gradient.copy()
        shares = []
        for pair in reversed(pairs):
            share = float(np.vdot(pair.step, rest)) / pair.product
            rest -= share * pair.fall
            shares.append(share)
        change = self.preconditioner.solve(rest)
        for pair, share in zip(pairs, reversed(shares), strict=True):
            change += (share - float(np.vdot(pair.fall, change)) / pair.product) * pair.step
        return change

    def _matrix(self, pairs: tuple[Pair, ...]) -> FloatArray:
        """The BFGS approximation of the information itself."""
        matrix = self.preconditioner.matrix().copy()
        for pair in pairs:
            step, fall = pair.step.ravel(), pair.fall.ravel()
            image = matrix @ step
            if not float(step @ image) > 0.0:  # along the shift that leaves all class probabilities as they are
                continue
            matrix += np.outer(fall, fall) / pair.product - np.outer(image, image) / float(step @ image)
        return matrix
