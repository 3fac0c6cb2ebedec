"""The inverse Gaussian family: the variance grows with the cube of the mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import log_ndtr, ndtr

from softcount._types import BoolArray, FloatArray
from softcount.core.glm.families._base import LARGEST_MEAN, SMALLEST_MEAN, GLMFamily

__all__ = ["InverseGaussianFamily"]


@dataclass(frozen=True)
class InverseGaussianFamily(GLMFamily):
    r""":math:`V(\mu) = \mu^3`, :math:`d(y, \mu) = (y - \mu)^2 / (y \mu^2)`."""

    name: ClassVar[str] = "inverse_gaussian"
    default_link: ClassVar[str] = "inverse_squared"
    lower_bound: ClassVar[float] = 0.0

    @property
    def target_domain(self) -> str:
        """Which targets the family can produce, in words."""
        return "positive numbers"

    def variance(self, mean: FloatArray) -> FloatArray:
        """The cubed mean."""
        return mean * mean * mean

    def unit_deviance(self, target: FloatArray, mean: FloatArray) -> FloatArray:
        """``(y - mu)**2 / (y mu**2)``."""
        gap = (target - mean) / mean
        return gap * gap / target

    def saturated_log_likelihood(self, target: FloatArray, weight: FloatArray, dispersion: float) -> FloatArray:
        """``-log(2 pi phi y**3 / w) / 2``."""
        answer: FloatArray = -0.5 * np.log(2.0 * np.pi * dispersion / weight) - 1.5 * np.log(target)
        return answer

    def cdf(self, value: FloatArray, mean: FloatArray, dispersion: FloatArray) -> FloatArray:
        """``N(r (q/mu - 1)) + exp(2 / (phi mu)) N(-r (q/mu + 1))`` with ``r = (phi q)**(-1/2)``."""
        bounded = np.maximum(value, 1e-300)
        root = 1.0 / np.sqrt(dispersion * bounded)
        first = ndtr(root * (bounded / mean - 1.0))
        second = np.exp(2.0 / (dispersion * mean) + log_ndtr(-root * (bounded / mean + 1.0)))
        return np.where(value > 0.0, np.minimum(first + second, 1.0), 0.0)

    def contains_target(self, target: FloatArray) -> BoolArray:
        """Positive."""
        return np.isfinite(target) & (target > 0.0)

    def contains_mean(self, mean: FloatArray) -> BoolArray:
        """Positive, and far from where its powers overflow."""
        return (mean > SMALLEST_MEAN) & (mean < LARGEST_MEAN)

    def likelihood_dispersion(
        self, deviance: float, pearson: float, weight: FloatArray, frequency: FloatArray
    ) -> float:
        """The maximum-likelihood dispersion: the mean deviance."""
        del pearson, weight
        return deviance / float(frequency.sum())
