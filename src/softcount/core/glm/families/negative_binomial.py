r"""The negative binomial family: Poisson counts whose rate varies by a gamma factor of shape theta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import betainc, digamma, gammaln, xlogy, zeta

from softcount._types import BoolArray, FloatArray
from softcount.core.glm.families._base import LARGEST_MEAN, SMALLEST_MEAN, GLMFamily, relative_entropy_gap

__all__ = ["LARGEST_THETA", "NegativeBinomialFamily"]

#: From here on the model is Poisson to six digits, and derivatives by theta are rounding errors.
LARGEST_THETA = 1e6
SMALLEST_THETA = 1e-6


@dataclass(frozen=True)
class NegativeBinomialFamily(GLMFamily):
    r""":math:`V(\mu) = \mu + \mu^2 / \theta`; the dispersion is 1.

    .. math:: d(y, \mu) = 2 \left(y \log\frac{y}{\mu} - (y + \theta) \log\frac{y + \theta}{\mu +
    \theta}\right)
    """

    theta: float = 1.0

    name: ClassVar[str] = "negative_binomial"
    default_link: ClassVar[str] = "log"
    #: Larger counts are no whole numbers any more, and sums over them no sums.
    largest_size: ClassVar[float] = 2.0**53
    fixed_dispersion: ClassVar[float | None] = 1.0
    is_discrete: ClassVar[bool] = True
    lower_bound: ClassVar[float] = 0.0

    @property
    def target_domain(self) -> str:
        """Which targets the family can produce, in words."""
        return "counts: numbers that are not negative"

    def variance(self, mean: FloatArray) -> FloatArray:
        """``mu + mu**2 / theta``."""
        return mean + mean * mean / self.theta

    def unit_deviance(self, target: FloatArray, mean: FloatArray) -> FloatArray:
        """The difference of two Poisson-like terms, each without cancellation."""
        counts = relative_entropy_gap(target, mean)
        shifted = relative_entropy_gap(target + self.theta, mean + self.theta)
        return np.maximum(2.0 * (counts - shifted), 0.0)

    def saturated_log_likelihood(self, target: FloatArray, weight: FloatArray, dispersion: float) -> FloatArray:
        """The log-probability of ``y`` under mean ``y``, times the weight over the dispersion."""
        theta = self.theta
        choices: FloatArray = gammaln(target + theta) - gammaln(target + 1.0) - float(gammaln(theta))
        shares = xlogy(target, target / (target + theta)) - theta * np.log1p(target / theta)
        return np.asarray((weight / dispersion) * (choices + shares), dtype=np.float64)

    def cdf(self, value: FloatArray, mean: FloatArray, dispersion: FloatArray) -> FloatArray:
        """``I_{theta / (theta + mu)}(theta, floor(q) + 1)``."""
        del dispersion
        counts = np.maximum(np.floor(value), 0.0)
        below = np.asarray(betainc(self.theta, counts + 1.0, self.theta / (self.theta + mean)))
        return np.where(value < 0.0, 0.0, below.astype(np.float64, copy=False))

    def contains_target(self, target: FloatArray) -> BoolArray:
        """Not negative."""
        return np.isfinite(target) & (target >= 0.0)

    def contains_mean(self, mean: FloatArray) -> BoolArray:
        """Positive, and far from where its powers overflow."""
        return (mean > SMALLEST_MEAN) & (mean < LARGEST_MEAN)

    def theta_terms(self, target: FloatArray, mean: FloatArray, weight: FloatArray) -> tuple[float, float, float]:
        """Saturated log-likelihood of some rows, its derivative by ``log(theta)``, and minus the second derivative.

        The derivatives are those of the log-likelihood at ``mean``, not of the saturated one.
        """
        theta = self.theta
        ratio = (target + theta) / (mean + theta)
        first = weight @ (1.0 - ratio - np.log1p(mean / theta))
        second = weight @ ((ratio - 2.0) / (mean + theta))
        # What depends on the count alone is computed once per count that occurs.
        counts, times = _tabulate(target, weight)
        first += times @ (digamma(counts + theta) - digamma(theta))
        second += times @ (zeta(2.0, counts + theta) - zeta(2.0, theta) + 1.0 / theta)
        saturated = self.saturated_log_likelihood(counts, times, 1.0).sum()
        score = theta * float(first)
        return float(saturated), score, -(theta * theta * float(second) + score)

    @staticmethod
    def starting_theta(target: FloatArray, weight: FloatArray | None) -> float:
        """Theta by the moments of the targets, as if all had one mean."""
        mean = float(np.average(target, weights=weight))
        variance = float(np.average((target - mean) ** 2, weights=weight))
        if mean <= 0.0 or variance <= mean:
            return 10.0
        return float(np.clip(mean * mean / (variance - mean), 0.01, 1000.0))


def _tabulate(target: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The counts that occur and their total weights; the rows as they are where they are no small counts."""
    codes = target.astype(np.int64)
    if target.size == 0 or codes.max() > 4 * target.size or np.any(codes != target):
        return target, weight
    times = np.bincount(codes, weights=weight).astype(np.float64, copy=False)
    counts = np.flatnonzero(times)
    return counts.astype(np.float64), times[counts]
