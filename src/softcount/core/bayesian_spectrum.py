"""The evidence of a Bayesian linear regression as sums over the eigenvalues of the scatter under the prior."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dgejsv

from softcount._types import FloatArray
from softcount.families.statistics import Moments

__all__ = ["LinearPrior", "Problem", "Spectrum"]

# Eigenvalues of the correlations below this share of the largest are rounding errors of zero.
ZERO_EIGENVALUE = 1e-13
# Columns whose lengths differ by more than this factor leave small eigenvalues inaccurate.
MILD_GRADING = 1e3


@dataclass(frozen=True)
class LinearPrior:
    """Normal prior of the coefficients: mean and the Cholesky factor of the precision."""

    mean: FloatArray
    root_precision: FloatArray

    @property
    def precision(self) -> FloatArray:
        """The precision matrix."""
        return self.root_precision @ self.root_precision.T


@dataclass(frozen=True)
class Problem:
    """The moments seen from the prior mean: ``sxx``, the gradient ``gap`` there, and the squares left to explain."""

    sxx: FloatArray
    gap: FloatArray
    total: float
    dof: float
    total_weight: float
    has_intercept: bool
    prior: LinearPrior

    @classmethod
    def of(cls, moments: Moments, prior: LinearPrior, *, fit_intercept: bool) -> Problem:
        """Read the moments of ``(X, y)``."""
        scatter, weight = moments.scatter[0], float(moments.weight[0, 0])
        if not fit_intercept:
            mean = moments.mean[:, 0]
            scatter = scatter + weight * np.outer(mean, mean)
        sxx, sxy, syy = scatter[:-1, :-1], scatter[:-1, -1], float(scatter[-1, -1])
        gap = sxy - sxx @ prior.mean
        total = max(syy - float(prior.mean @ (sxy + gap)), 0.0)
        return cls(sxx, gap, total, weight - float(fit_intercept), weight, fit_intercept, prior)


@dataclass(frozen=True)
class Spectrum:
    """The problem in the basis where the prior's precision is the identity and the scatter is diagonal.

    ``values`` are the eigenvalues that are not zero, ``vectors`` their directions, ``pull`` the gradient in
    these, ``least`` the smallest possible residual sum of squares.
    """

    values: FloatArray
    vectors: FloatArray
    pull: FloatArray
    least: float
    dof: float
    total_weight: float
    has_intercept: bool

    @classmethod
    def of(cls, problem: Problem) -> Spectrum:
        """Diagonalize; which directions are empty is decided on the scale of the columns themselves."""
        length = np.sqrt(np.diag(problem.sxx))
        unit = np.where(length > 0.0, length, 1.0)
        correlations, directions = np.linalg.eigh(problem.sxx / np.outer(unit, unit))
        full = correlations > ZERO_EIGENVALUE * max(float(correlations.max(initial=0.0)), 1e-300)
        rows = np.sqrt(correlations[full])[:, None] * directions[:, full].T * length
        root = problem.prior.root_precision
        values, vectors = _graded_spectrum(solve_triangular(root, rows.T, lower=True))
        pull = vectors.T @ solve_triangular(root, problem.gap, lower=True)
        least = max(problem.total - float((pull * pull / values).sum()), 0.0)
        return cls(values, vectors, pull, least, problem.dof, problem.total_weight, problem.has_intercept)

    def shifts(self, ridge: float) -> FloatArray:
        """``m - m_0`` in the basis, for the ratio ``ridge = alpha sigma**2``."""
        return self.pull / (self.values + ridge)

    def residual(self, ridge: float) -> float:
        """Residual sum of squares at the posterior mean, a sum of terms that are not negative."""
        missed = ridge * self.pull / (self.values + ridge)
        return self.least + float((missed * missed / self.values).sum())

    def effective(self, ridge: float) -> float:
        """``gamma``."""
        return float((self.values / (self.values + ridge)).sum())

    def log_evidence(self, alpha: float, noise: float) -> float:
        """Log evidence for prior precision ``alpha`` times the given one, and noise variance ``noise``."""
        ridge = alpha * noise
        misfit = self.residual(ridge) / noise + alpha * float((self.shifts(ridge) ** 2).sum())
        return (
            -0.5 * self.dof * math.log(2.0 * math.pi * noise)
            - (0.5 * math.log(self.total_weight) if self.has_intercept else 0.0)
            - 0.5 * float(np.log1p(self.values / ridge).sum())
            - 0.5 * misfit
        )

    def profiled_noise(self, ridge: float) -> float:
        """The best noise variance for a given ratio of precisions."""
        return (self.residual(ridge) + ridge * float((self.shifts(ridge) ** 2).sum())) / self.dof


def _graded_spectrum(columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Squared singular values and left singular vectors of a tall matrix.

    Rows on very different scales (columns of X in very different units) need Jacobi's method, which finds
    small singular values to the same relative precision as large ones; on similar scales the symmetric
    eigenvalue problem is much faster and as good.
    """
    lengths = np.linalg.norm(columns, axis=1)
    lengths = lengths[lengths > 0.0]
    if columns.shape[1] == 0 or lengths.max() <= MILD_GRADING * lengths.min():
        values, vectors = np.linalg.eigh(columns @ columns.T)
        kept = slice(values.size - columns.shape[1], None)
        return np.maximum(values[kept], np.finfo(np.float64).tiny), vectors[:, kept]
    singular, left, _, work, _, info = dgejsv(columns, joba=2, jobu=0, jobv=3)
    if info != 0:
        raise np.linalg.LinAlgError(f"Jacobi's method did not converge (LAPACK dgejsv: {info}).")
    singular = singular * (work[0] / work[1])
    return singular * singular, left[:, : columns.shape[1]]
