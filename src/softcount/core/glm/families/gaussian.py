"""The Gaussian family: constant variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtr

from softcount._types import FloatArray
from softcount.core.glm.families._base import GLMFamily

__all__ = ["GaussianFamily"]


@dataclass(frozen=True)
class GaussianFamily(GLMFamily):
    r""":math:`V(\mu) = 1`, :math:`d(y, \mu) = (y - \mu)^2`; the dispersion is the variance of the noise."""

    name: ClassVar[str] = "gaussian"
    default_link: ClassVar[str] = "identity"
    largest_size: ClassVar[float] = 1e150

    def variance(self, mean: FloatArray) -> FloatArray:
        """One."""
        return np.ones_like(mean)

    def unit_deviance(self, target: FloatArray, mean: FloatArray) -> FloatArray:
        """``(y - mu)**2``."""
        gap = target - mean
        return gap * gap

    def saturated_log_likelihood(self, target: FloatArray, weight: FloatArray, dispersion: float) -> FloatArray:
        """``-log(2 pi phi / w) / 2``."""
        answer: FloatArray = -0.5 * np.log(2.0 * np.pi * dispersion / weight) + np.zeros_like(target)
        return answer

    def cdf(self, value: FloatArray, mean: FloatArray, dispersion: FloatArray) -> FloatArray:
        """Of the normal distribution."""
        answer: FloatArray = ndtr((value - mean) / np.sqrt(dispersion))
        return answer

    def likelihood_dispersion(
        self, deviance: float, pearson: float, weight: FloatArray, frequency: FloatArray
    ) -> float:
        """The maximum-likelihood variance: the mean squared residual."""
        del pearson, weight
        return deviance / float(frequency.sum())
