r"""The penalty of a logistic regression.

.. math:: \log p(w) = -\sum_j \left( \lambda_{1j} \sum_k |w_{kj}|
          + \tfrac12 \lambda_{2j} \sum_{k,l} w_{kj}\, S_{kl}\, w_{lj} \right)

The intercept has no penalty. With two classes, or with all ``K`` classes having coefficients of their own,
:math:`S = I`. When the last of ``K`` classes serves as the reference and the coefficients are differences from it,
:math:`S = I - \mathbf 1 \mathbf 1^\top / K` makes the penalty that of the symmetric coefficients, whose sum over the
classes is zero: the model and its optimum are the same, with one class fewer to solve for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from softcount._types import BoolArray, FloatArray

__all__ = ["LogisticPenalty"]


@dataclass(frozen=True)
class LogisticPenalty:
    """Elastic-net strengths per column of the design, the intercept's (zero) included.

    Attributes
    ----------
    l1, l2 : arrays of shape (n_columns,)
        Strengths.
    mix : array of shape (n_outputs, n_outputs)
        ``S``.
    """

    l1: FloatArray
    l2: FloatArray
    mix: FloatArray

    @classmethod
    def of(
        cls, l1: FloatArray, l2: FloatArray, *, fit_intercept: bool, n_outputs: int, reference: bool
    ) -> LogisticPenalty:
        """Strengths per feature; ``reference`` says whether a further class serves as the reference of several.

        Examples
        --------
        >>> import numpy as np
        >>> one = np.ones(1)
        >>> penalty = LogisticPenalty.of(0.0 * one, one, fit_intercept=True, n_outputs=2, reference=True)
        >>> round(penalty.log_prior(np.array([[9.0, 1.0], [9.0, -1.0]])), 6)
        -1.0
        """
        mix = np.eye(n_outputs)
        if reference and n_outputs > 1:
            mix -= 1.0 / (n_outputs + 1)
        free = np.zeros(int(fit_intercept))
        return cls(np.concatenate([free, l1]), np.concatenate([free, l2]), mix)

    @property
    def has_l1(self) -> bool:
        """Whether there are absolute values in it."""
        return bool(np.any(self.l1 > 0.0))

    def unpenalized(self, *, fit_intercept: bool) -> BoolArray:
        """Which features have no penalty at all."""
        first = int(fit_intercept)
        return np.asarray((self.l1[first:] == 0.0) & (self.l2[first:] == 0.0))

    def scaled(self, factor: float) -> LogisticPenalty:
        """The same penalty for data of ``factor`` times the weight."""
        return replace(self, l1=factor * self.l1, l2=factor * self.l2)

    def log_prior(self, coef: FloatArray) -> float:
        """Minus the penalty of ``coef``, shape (n_outputs, n_columns)."""
        smooth = 0.5 * float(np.sum(coef * self.slope(coef)))
        return -smooth - float(self.l1 @ np.abs(coef).sum(axis=0))

    def slope(self, coef: FloatArray) -> FloatArray:
        """Gradient of the squared part."""
        answer: FloatArray = self.l2 * (coef if self.mix.shape[0] == 1 else self.mix @ coef)
        return answer

    def curvature(self) -> FloatArray:
        """Hessian of the squared part for the coefficients in one row after the other."""
        return np.asarray(np.kron(self.mix, np.diag(self.l2)), dtype=np.float64)

    def add_curvature(self, information: FloatArray) -> FloatArray:
        """``information`` plus the Hessian of the squared part."""
        if not np.any(self.l2 > 0.0):
            return information
        if self.mix.shape[0] > 1:
            return information + self.curvature()
        total = information.copy()
        np.einsum("jj->j", total)[:] += self.l2
        return total

    def diagonal(self) -> FloatArray:
        """Diagonal of that Hessian, shape (n_outputs, n_columns)."""
        answer: FloatArray = np.outer(np.diag(self.mix), self.l2)
        return answer

    def shrink(self, coef: FloatArray, step: FloatArray) -> FloatArray:
        """Soft thresholding: the proximal operator of the absolute values, for step sizes per coefficient."""
        answer: FloatArray = np.sign(coef) * np.maximum(np.abs(coef) - step * self.l1, 0.0)
        return answer
