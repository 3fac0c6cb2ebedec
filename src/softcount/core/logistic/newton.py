r"""Newton's method and iteratively reweighted least squares: two ways to write one step.

With score :math:`g`, information :math:`H` and penalty curvature :math:`\Lambda`, Newton's step is

.. math:: \beta \leftarrow \beta + (H + \Lambda)^{-1} (g - \Lambda \beta)

and iteratively reweighted least squares solves for the new coefficients themselves, from the working response
:math:`z = \eta + W^{-1} (y - p)`:

.. math:: \beta \leftarrow (H + \Lambda)^{-1} X^\top W z , \qquad X^\top W z = H \beta + g .

The log-likelihood is concave, so the step points uphill; one that goes too far is halved. With an absolute-value
penalty the step minimizes the same quadratic with the absolute values added (proximal Newton).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from softcount._types import FloatArray
from softcount.core.logistic.active_set import minimize_elastic_net
from softcount.core.logistic.model import LogisticState, Slope, midpoint
from softcount.core.symmetric_solve import Factor, factorize, kept_part

if TYPE_CHECKING:
    from softcount.core.logistic.model import LogisticModel

__all__ = ["NewtonMethod", "factor_system", "proximal_step"]

# Where certainty has drained the information of a direction, this share of the diagonal keeps the step finite.
RIDGE = 1e-9
PROXIMAL_STEPS = 25


@dataclass(frozen=True)
class NewtonMethod:
    """Newton steps; ``reweighted`` writes them as least squares.

    Attributes
    ----------
    reweighted : bool
        Whether to solve for the coefficients rather than for their change.
    """

    reweighted: bool = False
    needs_information: bool = True
    patience: int = 4

    def advance(self, model: LogisticModel, state: LogisticState, slope: Slope) -> LogisticState | None:
        """One step, or None when it is negligible."""
        assert slope.information is not None  # needs_information says so
        kept = model.expanded()
        coef = state.coef.ravel()[kept]
        stepped = np.zeros(state.coef.size)
        if model.penalty.has_l1:
            matrix = kept_part(slope.information, kept)
            moved, gain = proximal_step(model, matrix, slope.score.ravel()[kept], coef)
            stepped[kept] = moved
        else:
            factor = factor_system(kept_part(model.penalty.add_curvature(slope.information), kept))
            gradient = slope.gradient.ravel()[kept]
            change = factor.solve(gradient)
            gain = float(gradient @ change)
            if self.reweighted:
                stepped[kept] = factor.solve(kept_part(slope.information, kept) @ coef + slope.score.ravel()[kept])
            else:
                stepped[kept] = coef + change
        if model.watch.ends(model.predictor_change(gain)):
            return None
        return LogisticState(stepped.reshape(state.coef.shape))

    def retreat(self, previous: LogisticState, proposal: LogisticState) -> LogisticState:
        """Half the step."""
        return midpoint(previous, proposal)


def factor_system(matrix: FloatArray) -> Factor:
    """``H + Lambda``, factored; with a trace of a ridge where rows have become too certain to tell columns apart."""
    factor = factorize(matrix)
    ridge = RIDGE
    while factor.aliased.any() and ridge < 1.0:
        diagonal = np.diag(matrix)
        floor = np.where(diagonal > 0.0, diagonal, max(float(diagonal.max(initial=0.0)), 1.0))
        factor = factorize(matrix + np.diag(ridge * floor))
        ridge *= 100.0
    return factor


def proximal_step(
    model: LogisticModel, matrix: FloatArray, score: FloatArray, coef: FloatArray
) -> tuple[FloatArray, float]:
    """Where the penalized quadratic around ``coef`` is smallest, and how far that is in units of the curvature.

    ``matrix``, ``score`` and ``coef`` are those of the columns kept, and ``matrix`` is the information alone.
    """
    kept = model.expanded()
    l1 = np.tile(model.penalty.l1, model.data.n_outputs)[kept]
    l2 = np.tile(model.penalty.l2, model.data.n_outputs)[kept]
    whole = matrix + np.diag(l2)
    # Far from the optimum the quadratic is no better than a rough idea, and so need its minimizer be.
    moved, is_lowest = minimize_elastic_net(whole, score + matrix @ coef, coef, l1, most_steps=PROXIMAL_STEPS)
    change = moved - coef
    return moved, float(change @ (whole @ change)) if is_lowest else math.inf
