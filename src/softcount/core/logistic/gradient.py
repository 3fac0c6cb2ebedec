r"""Accelerated gradient ascent with a step that cannot overshoot.

.. math:: \beta_{t+1} = S_{\lambda_1}\!\left(z_t + \tfrac1L D\, g(z_t)\right), \qquad
          z_{t+1} = \beta_{t+1} + \frac{\theta_t - 1}{\theta_{t+1}} (\beta_{t+1} - \beta_t), \qquad
          \theta_{t+1} = \tfrac12 \left(1 + \sqrt{1 + 4 \theta_t^2}\right)

(Beck and Teboulle 2009), uphill along :math:`+g = X^\top (y - p)`. ``D`` is the inverse diagonal of the bound
:math:`B = \tfrac14 X^\top W X` of the information (:math:`\tfrac12 (I - \tfrac1K \mathbf 1\mathbf 1^\top) \otimes
X^\top W X` for ``K`` classes; Boehning 1992), so that the units of the columns do not matter, and ``L`` the largest
eigenvalue of :math:`D^{1/2} (B + \Lambda) D^{1/2}`: with it every step ascends. The momentum starts afresh when it
points downhill (O'Donoghue and Candes 2015). Soft thresholding :math:`S` serves the absolute-value penalty.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from softcount._types import FloatArray
from softcount.core.logistic.model import LogisticState, Slope

if TYPE_CHECKING:
    from softcount.core.logistic.model import LogisticModel

__all__ = ["GradientMethod"]


class Momentum(NamedTuple):
    """The last point without momentum, and how much momentum there is."""

    point: FloatArray
    theta: float


@dataclass(frozen=True)
class GradientMethod:
    """Accelerated gradient ascent.

    Attributes
    ----------
    scale : array of shape (n_outputs, n_columns)
        The diagonal of ``D / L``; zero where a column says nothing.
    """

    scale: FloatArray
    needs_information: bool = False
    patience: int = 500

    def advance(self, model: LogisticModel, state: LogisticState, slope: Slope) -> LogisticState | None:
        """One step, or None when it is negligible."""
        here = state.coef
        point = here + self.scale * slope.gradient
        if model.penalty.has_l1:
            point = model.penalty.shrink(point, self.scale)
        change = point - here
        inverse = np.divide(1.0, self.scale, out=np.zeros_like(self.scale), where=self.scale > 0.0)
        if model.watch.ends(model.predictor_change(float(np.sum(change * change * inverse)))):
            return None
        memory = state.memory if isinstance(state.memory, Momentum) else Momentum(here, 1.0)
        travelled = point - memory.point
        if float(np.sum(change * inverse * travelled)) < 0.0:
            return LogisticState(point, Momentum(point, 1.0))
        theta = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * memory.theta**2))
        ahead = point + (memory.theta - 1.0) / theta * travelled
        return LogisticState(ahead, Momentum(point, theta))

    def retreat(self, previous: LogisticState, proposal: LogisticState) -> LogisticState:
        """The step without its momentum; if that was it, half the step."""
        memory = proposal.memory
        if proposal.halvings == 0 and isinstance(memory, Momentum) and memory.theta > 1.0:
            return LogisticState(memory.point, Momentum(memory.point, 1.0), 1)
        return LogisticState(0.5 * (previous.coef + proposal.coef), None, proposal.halvings + 1)
