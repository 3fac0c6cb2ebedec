r"""The elastic-net step of a proximal Newton method: coordinate descent on the Gram matrix.

Given the quadratic :math:`q(b) = \frac12 b^\top G b - h^\top b`, minimize

.. math:: q(b) + \sum_j \lambda_{1j} |b_j| + \tfrac12 \sum_j \lambda_{2j} b_j^2 .

One coordinate at a time has the closed form

.. math:: b_j \leftarrow
          \frac{S\left(h_j - (G b)_j + G_{jj} b_j,\; \lambda_{1j}\right)}{G_{jj} + \lambda_{2j}}, \qquad S(a,
          \lambda) = \operatorname{sign}(a) \max(|a| - \lambda, 0) .

Sweeps run over the columns that are not zero until those agree, then once over all; the answer is accepted
when the subgradient conditions hold everywhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softcount._types import FloatArray

__all__ = ["coordinate_descent"]

MAX_SWEEPS = 10_000


def coordinate_descent(
    gram: FloatArray,
    linear: FloatArray,
    start: FloatArray,
    l1: FloatArray,
    l2: FloatArray,
    *,
    tolerance: float = 1e-12,
) -> FloatArray:
    """The minimizer of the module's objective.

    Parameters
    ----------
    gram : array of shape (n_columns, n_columns)
        ``G``, symmetric positive semidefinite.
    linear : array of shape (n_columns,)
        ``h``.
    start : array of shape (n_columns,)
        Where to begin.
    l1, l2 : arrays of shape (n_columns,)
        Penalties per column; zero for columns that are not penalized.
    tolerance : float
        Largest change of a fitted value, relative to the largest one, at which a sweep ends the descent.

    Examples
    --------
    >>> import numpy as np
    >>> coordinate_descent(np.eye(2), np.array([3.0, 0.5]), np.zeros(2), np.ones(2), np.zeros(2))
    array([2., 0.])
    """
    curvature = np.diag(gram) + l2
    movable = np.flatnonzero(curvature > 0.0)
    coef = np.where(curvature > 0.0, start, 0.0)
    roots = np.sqrt(curvature)
    problem = _Problem(gram, l1, l2, roots, coef, linear - gram @ coef)
    for _ in range(MAX_SWEEPS):
        scale = max(float(np.max(np.abs(coef) * roots, initial=0.0)), float(np.finfo(np.float64).tiny))
        if problem.sweep(movable) <= tolerance * scale:
            break
        active = movable[coef[movable] != 0.0]
        for _ in range(MAX_SWEEPS):
            if problem.sweep(active) <= tolerance * scale:
                break
        # Rounding errors of many small updates are taken back once per round.
        problem.residual[...] = linear - gram @ coef
    return coef


@dataclass(frozen=True)
class _Problem:
    """The state of a descent; ``coef`` and ``residual`` (``h - G b``) are updated in place."""

    gram: FloatArray
    l1: FloatArray
    l2: FloatArray
    roots: FloatArray
    coef: FloatArray
    residual: FloatArray

    def sweep(self, columns: NDArray[np.signedinteger]) -> float:
        """Update the columns one after the other; the largest change, as a change of fitted values."""
        gram, coef, residual = self.gram, self.coef, self.residual
        largest = 0.0
        for j in columns.tolist():
            before = float(coef[j])
            own = float(gram[j, j])
            pull = float(residual[j]) + own * before
            after = math.copysign(max(abs(pull) - float(self.l1[j]), 0.0), pull) / (own + float(self.l2[j]))
            if after != before:
                residual -= (after - before) * gram[j]
                coef[j] = after
                largest = max(largest, abs(after - before) * float(self.roots[j]))
        return largest
