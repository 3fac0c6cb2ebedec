r"""Newton's method and iteratively reweighted least squares: two ways to write one step.

With score :math:`g`, information :math:`H` and penalty curvature :math:`\Lambda`, Newton's step is

.. math:: \beta \leftarrow \beta + (H + \Lambda)^{-1} (g - \Lambda \beta)

and iteratively reweighted least squares solves for the new coefficients themselves, from the working response
:math:`z = \eta + W^{-1} (y - p)`:

.. math:: \beta \leftarrow (H + \Lambda)^{-1} X^\top W z , \qquad X^\top W z = H \beta + g .

The log-likelihood is concave, so the step points uphill; one that goes too far is halved. With an absolute-value
penalty the step minimizes the same quadratic with the absolute values added (proximal Newton), by coordinate descent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from softcount._types import FloatArray
from softcount.core.elastic_net import coordinate_descent
from softcount.core.logistic.model import LogisticState, Slope, midpoint
from softcount.core.symmetric_solve import Factor, factorize

if TYPE_CHECKING:
    from softcount.core.logistic.model import LogisticModel

__all__ = ["NewtonMethod", "factor_system", "proximal_step"]

# Where certainty has drained the information of a direction, this share of the diagonal keeps the step finite.
RIDGE = 1e-9
# Coordinate descent goes on until it has found the signs, at worst until it has found the values.
TOLERANCES = (1e-2, 1e-4, 1e-7, 1e-12)


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
        matrix = slope.information[np.ix_(kept, kept)]
        coef = state.coef.ravel()[kept]
        stepped = np.zeros(state.coef.size)
        if model.penalty.has_l1:
            moved, gain = proximal_step(model, matrix, slope.score.ravel()[kept], coef)
            stepped[kept] = moved
        else:
            whole = model.penalty.add_curvature(slope.information)[np.ix_(kept, kept)]
            factor = factor_system(whole)
            gradient = slope.gradient.ravel()[kept]
            change = factor.solve(gradient)
            gain = float(gradient @ change)
            if self.reweighted:
                stepped[kept] = factor.solve(matrix @ coef + slope.score.ravel()[kept])
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
    moved = _minimize(matrix, score + matrix @ coef, coef, l1, l2)
    change = moved - coef
    return moved, float(change @ (matrix @ change) + l2 @ (change * change))


def _solve_singular(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """A solution of a consistent system, which a shift common to all classes may leave undetermined."""
    factor = factor_system(matrix)
    answer = factor.solve(right)
    for _ in range(3):  # takes back the ridge that a singular matrix needs
        answer = answer + factor.solve(right - matrix @ answer)
    return answer


def _minimize(matrix: FloatArray, linear: FloatArray, start: FloatArray, l1: FloatArray, l2: FloatArray) -> FloatArray:
    """The elastic-net quadratic's minimizer: coordinate descent finds the signs, a linear system the values.

    Correlated columns make coordinate descent crawl, but rarely towards other signs than those it has found; with
    the signs fixed the rest is linear.
    """
    whole = matrix + np.diag(l2)
    coef = start
    for tolerance in TOLERANCES:
        coef = coordinate_descent(matrix, linear, coef, l1, l2, tolerance=tolerance)
        active = (coef != 0.0) | ((l1 == 0.0) & (np.diag(whole) > 0.0))
        signs = np.sign(coef[active]) * (l1[active] > 0.0)
        exact = np.zeros_like(coef)
        exact[active] = _solve_singular(whole[np.ix_(active, active)], linear[active] - l1[active] * signs)
        slack = 1e-9 * float(np.max(np.abs(linear), initial=0.0))
        left = np.abs(linear - whole @ exact)
        same_signs = np.all(exact[active] * signs >= 0.0)
        settled = np.all(left[~active] <= l1[~active] + slack) and np.all(
            np.abs(linear - whole @ exact - l1 * np.sign(exact))[active & (l1 > 0.0)] <= slack
        )
        if same_signs and settled and np.all(left[active & (l1 == 0.0)] <= slack):
            return exact
    return coef
