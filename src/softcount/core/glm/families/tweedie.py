r"""The Tweedie family: variance :math:`\mu^p`, with an atom at zero for :math:`1 < p < 2`.

Between 1 and 2 the observation is a Poisson number of gamma amounts. With :math:`\alpha = (2 - p) / (p - 1)`
and dispersion :math:`\phi` the number has mean :math:`\lambda = \mu^{2-p} / (\phi (2 - p))`, and for :math:`y
> 0` the density is (Dunn and Smyth, 2005)

.. math:: f(y) = \frac1y \sum_{j=1}^\infty W_j \;
          \exp\left\{\frac1\phi\left(\frac{y \mu^{1-p}}{1-p} - \frac{\mu^{2-p}}{2-p}\right)\right\}, \qquad
          \log W_j = j \log z - \log\Gamma(1 + j) - \log\Gamma(\alpha j), \qquad
          z = \frac{y^\alpha (p-1)^{-\alpha}}{\phi^{1+\alpha} (2-p)} .
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammainc, gammaln

from softcount._errors import InputError
from softcount._types import BoolArray, FloatArray
from softcount.core.glm.families._base import LARGEST_MEAN, SMALLEST_MEAN, GLMFamily

__all__ = ["TweedieFamily", "log_series"]

# exp(-37) is 1e-16: terms that far below the largest do not change a sum.
LOG_NEGLIGIBLE = 37.0
NEGLIGIBLE = 1e-16
# Nodes on either side of the largest term; more terms than that are summed with a stride.
NODES = 64
BLOCK_ROWS = 4096


@dataclass(frozen=True)
class TweedieFamily(GLMFamily):
    r""":math:`V(\mu) = \mu^p` with the power ``p`` given.

    .. math:: d(y, \mu) = 2 \left(\frac{y^{2-p}}{(1-p)(2-p)} - \frac{y\mu^{1-p}}{1-p} +
    \frac{\mu^{2-p}}{2-p}\right)

    Powers 0, 1, 2 and 3 are the Gaussian, Poisson, gamma and inverse Gaussian families: use those. The
    likelihood is available for ``1 < p < 2``.
    """

    power: float = 1.5

    name: ClassVar[str] = "tweedie"
    default_link: ClassVar[str] = "log"
    lower_bound: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        if not np.isfinite(self.power) or 0.0 <= self.power <= 1.0 or self.power == 2.0:
            raise InputError(
                f"power={self.power!r} is no power of the Tweedie family. Expected a number between 1 and 2, "
                "above 2, or below 0. For powers 0, 1, 2 use 'gaussian', 'poisson', 'gamma'."
            )

    @property
    def target_domain(self) -> str:
        """Which targets the family can produce, in words."""
        if self.power < 0.0:
            return "any finite number"
        return "numbers that are not negative" if self.is_compound else "positive numbers"

    @property
    def is_compound(self) -> bool:
        """Whether zero has positive probability: ``1 < p < 2``."""
        return 1.0 < self.power < 2.0

    def variance(self, mean: FloatArray) -> FloatArray:
        """The mean to the power ``p``."""
        answer: FloatArray = mean**self.power
        return answer

    def unit_deviance(self, target: FloatArray, mean: FloatArray) -> FloatArray:
        """``mu**(2-p) ((y/mu)**(2-p) - 1 - (2-p)(y/mu - 1))`` times ``2 / ((1-p)(2-p))``."""
        one, two = 1.0 - self.power, 2.0 - self.power
        ratio = (target - mean) / mean
        positive = target > 0.0
        grown = np.expm1(two * np.log1p(np.where(positive, ratio, 0.0)))
        if self.power < 0.0:
            positive = positive | (target < 0.0)
            grown = np.maximum(target / mean, 0.0) ** two - 1.0
        # At zero the first term is absent, which for 1 < p < 2 leaves -1 - (2-p)(0 - 1) = 1 - p.
        bracket = np.where(positive, grown - two * ratio, one)
        answer: FloatArray = np.maximum(2.0 * mean**two * bracket / (one * two), 0.0)
        return answer

    def saturated_log_likelihood(self, target: FloatArray, weight: FloatArray, dispersion: float) -> FloatArray:
        """``log sum_j W_j - log y + y**(2-p) (1/(1-p) - 1/(2-p)) / phi``; zero at ``y = 0``."""
        answer = np.zeros(target.shape)
        one, two = 1.0 - self.power, 2.0 - self.power
        scale = np.broadcast_to(dispersion / weight, target.shape)
        for start in range(0, target.size, BLOCK_ROWS):
            rows = np.flatnonzero(target[start : start + BLOCK_ROWS] > 0.0) + start
            amount, phi = target[rows], scale[rows]
            saturated = amount**two * (1.0 / one - 1.0 / two) / phi
            answer[rows] = log_series(amount, phi, self.power) - np.log(amount) + saturated
        return answer

    def cdf(self, value: FloatArray, mean: FloatArray, dispersion: FloatArray) -> FloatArray:
        """``sum_n Poisson(n) Gamma(value; n alpha, phi (p-1) mu**(p-1))``, the atom at zero included."""
        p = self.power
        rate = mean ** (2.0 - p) / (dispersion * (2.0 - p))
        scale = dispersion * (p - 1.0) * mean ** (p - 1.0)
        shape = (2.0 - p) / (p - 1.0)
        bounded = np.maximum(value, 0.0)
        total = np.exp(-rate)
        # The Poisson numbers that matter lie within nine standard deviations.
        last = int(np.ceil(np.max(rate + 9.0 * np.sqrt(rate) + 20.0, initial=1.0)))
        first = max(1, int(np.floor(np.min(rate - 9.0 * np.sqrt(rate), initial=1.0))))
        for n in range(first, last + 1):
            probability = np.exp(n * np.log(rate) - rate - gammaln(n + 1.0))
            total = total + probability * gammainc(n * shape, bounded / scale)
            if n > first and np.all((probability < NEGLIGIBLE) & (rate < n)):
                break
        return np.where(value >= 0.0, np.minimum(total, 1.0), 0.0)

    def contains_target(self, target: FloatArray) -> BoolArray:
        """Not negative for ``1 < p < 2``, positive above, anything below 0."""
        if self.power < 0.0:
            return np.isfinite(target)
        return np.isfinite(target) & ((target >= 0.0) if self.is_compound else (target > 0.0))

    def contains_mean(self, mean: FloatArray) -> BoolArray:
        """Positive, and far from where its powers overflow."""
        return (mean > SMALLEST_MEAN) & (mean < LARGEST_MEAN)


def log_series(amount: FloatArray, dispersion: FloatArray, power: float) -> FloatArray:
    """``log sum_j W_j`` of the module's density for positive amounts, one dispersion per row.

    The terms rise to ``j* = y**(2-p) / (phi (2-p))`` and fall like a bell of known width, so the sum starts
    at the largest and runs outwards. Where the bell is wider than the nodes it is summed with a stride: for a
    smooth bell the error of that is far below rounding.

    Examples
    --------
    >>> import numpy as np
    >>> round(float(log_series(np.array([1.5]), np.array([2.0]), 1.3)[0]), 10)
    1.8545330994
    """
    alpha = (2.0 - power) / (power - 1.0)
    log_z = alpha * (np.log(amount) - np.log(power - 1.0)) - (1.0 + alpha) * np.log(dispersion) - np.log(2.0 - power)
    peak = np.maximum(np.round(amount ** (2.0 - power) / (dispersion * (2.0 - power))), 1.0)
    width = np.sqrt(2.0 * LOG_NEGLIGIBLE * peak / (1.0 + alpha)) + 20.0
    stride = np.maximum(np.ceil(width / NODES), 1.0)

    def log_term(j: FloatArray) -> FloatArray:
        bounded = np.maximum(j, 1.0)
        answer: FloatArray = bounded * log_z - gammaln(1.0 + bounded) - gammaln(alpha * bounded)
        return answer

    top = log_term(peak)
    total = np.ones_like(amount)
    for step in range(1, NODES + 1):
        above = log_term(peak + step * stride) - top
        lower = peak - step * stride
        below = np.where(lower >= 1.0, log_term(lower) - top, -np.inf)
        total += np.exp(above) + np.exp(below)
        if max(np.max(above, initial=-np.inf), np.max(below, initial=-np.inf)) < -LOG_NEGLIGIBLE:
            break
    answer: FloatArray = top + np.log(total) + np.log(stride)
    return answer
