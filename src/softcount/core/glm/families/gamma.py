"""The gamma family: the standard deviation grows with the mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, gammainc, gammaln

from softcount._types import BoolArray, FloatArray
from softcount.core.glm.families._base import LARGEST_MEAN, SMALLEST_MEAN, GLMFamily, log1p_gap

__all__ = ["GammaFamily"]


@dataclass(frozen=True)
class GammaFamily(GLMFamily):
    r""":math:`V(\mu) = \mu^2`, :math:`d(y, \mu) = 2 ((y-\mu)/\mu - \log(y/\mu))`, shape :math:`w/\phi`."""

    name: ClassVar[str] = "gamma"
    default_link: ClassVar[str] = "inverse"
    lower_bound: ClassVar[float] = 0.0

    @property
    def target_domain(self) -> str:
        """Which targets the family can produce, in words."""
        return "positive numbers"

    def variance(self, mean: FloatArray) -> FloatArray:
        """The squared mean."""
        return mean * mean

    def unit_deviance(self, target: FloatArray, mean: FloatArray) -> FloatArray:
        """``2 (r - log(1 + r))`` with ``r = (y - mu) / mu``."""
        return 2.0 * log1p_gap((target - mean) / mean)

    def saturated_log_likelihood(self, target: FloatArray, weight: FloatArray, dispersion: float) -> FloatArray:
        """``k log k - k - log Gamma(k) - log y`` with the shape ``k = w / phi``."""
        shape = weight / dispersion
        answer: FloatArray = shape * np.log(shape) - shape - gammaln(shape) - np.log(target)
        return answer

    def cdf(self, value: FloatArray, mean: FloatArray, dispersion: FloatArray) -> FloatArray:
        """Of the gamma distribution with shape ``1 / phi`` and the given mean."""
        answer: FloatArray = gammainc(1.0 / dispersion, np.maximum(value, 0.0) / (mean * dispersion))
        return answer

    def contains_target(self, target: FloatArray) -> BoolArray:
        """Positive."""
        return np.isfinite(target) & (target > 0.0)

    def contains_mean(self, mean: FloatArray) -> BoolArray:
        """Positive, and far from where its powers overflow."""
        return (mean > SMALLEST_MEAN) & (mean < LARGEST_MEAN)

    def likelihood_dispersion(
        self, deviance: float, pearson: float, weight: FloatArray, frequency: FloatArray
    ) -> float:
        """The maximum-likelihood dispersion: ``sum_i w_i (log(k_i) - digamma(k_i)) = deviance / 2``."""
        del pearson
        if deviance <= 0.0:
            return 0.0
        levels, inverse = np.unique(weight, return_inverse=True)
        factor = levels * np.bincount(inverse, weights=frequency)

        def excess(log_dispersion: float) -> float:
            shape = levels / np.exp(log_dispersion)
            return float(factor @ _log_minus_digamma(shape)) - 0.5 * deviance

        # log k - digamma k lies between 1/(2k) and 1/k, so the root lies between the mean deviance and half
        # of it.
        middle = float(np.log(deviance / frequency.sum()))
        return float(np.exp(brentq(excess, middle - 1.0, middle + 0.01, xtol=1e-14, rtol=1e-14)))


def _log_minus_digamma(shape: FloatArray) -> FloatArray:
    """``log k - digamma k``, which for large ``k`` is ``1/(2k) + 1/(12 k**2)`` and no difference of large numbers."""
    plain = np.log(shape) - digamma(shape)
    return np.where(shape < 1e4, plain, 0.5 / shape + 1.0 / (12.0 * shape * shape))
