"""The Poisson family, and its quasi version with a free dispersion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaln, pdtr, xlogy

from softcount._types import BoolArray, FloatArray
from softcount.core.glm.families._base import LARGEST_MEAN, SMALLEST_MEAN, GLMFamily, relative_entropy_gap

__all__ = ["PoissonFamily", "QuasiPoissonFamily"]


@dataclass(frozen=True)
class PoissonFamily(GLMFamily):
    r""":math:`V(\mu) = \mu`, :math:`d(y, \mu) = 2 (y \log(y/\mu) - (y - \mu))`; the dispersion is 1."""

    name: ClassVar[str] = "poisson"
    default_link: ClassVar[str] = "log"
    fixed_dispersion: ClassVar[float | None] = 1.0
    is_discrete: ClassVar[bool] = True
    lower_bound: ClassVar[float] = 0.0

    @property
    def target_domain(self) -> str:
        """Which targets the family can produce, in words."""
        return "counts: numbers that are not negative"

    def variance(self, mean: FloatArray) -> FloatArray:
        """The mean."""
        return mean

    def unit_deviance(self, target: FloatArray, mean: FloatArray) -> FloatArray:
        """``2 (y log(y / mu) - (y - mu))``."""
        return 2.0 * relative_entropy_gap(target, mean)

    def saturated_log_likelihood(self, target: FloatArray, weight: FloatArray, dispersion: float) -> FloatArray:
        """``y log y - y - log y!``, times the weight over the dispersion."""
        answer: FloatArray = (weight / dispersion) * (xlogy(target, target) - target - gammaln(target + 1.0))
        return answer

    def cdf(self, value: FloatArray, mean: FloatArray, dispersion: FloatArray) -> FloatArray:
        """Of the Poisson distribution."""
        del dispersion
        answer: FloatArray = np.where(value < 0.0, 0.0, pdtr(np.maximum(np.floor(value), 0.0), mean))
        return answer

    def contains_target(self, target: FloatArray) -> BoolArray:
        """Not negative."""
        return np.isfinite(target) & (target >= 0.0)

    def contains_mean(self, mean: FloatArray) -> BoolArray:
        """Positive, and far from where its powers overflow."""
        return (mean > SMALLEST_MEAN) & (mean < LARGEST_MEAN)


@dataclass(frozen=True)
class QuasiPoissonFamily(PoissonFamily):
    """The Poisson family's equations with the dispersion estimated: no likelihood, wider intervals."""

    name: ClassVar[str] = "quasipoisson"
    fixed_dispersion: ClassVar[float | None] = None
    has_likelihood: ClassVar[bool] = False
