r"""What a generalized linear model needs of its family.

A family here is an exponential *dispersion* model: given the mean :math:`\mu`, the dispersion :math:`\phi`
and a precision weight :math:`w`,

.. math:: \log f(y) = c(y, \phi / w) - \frac{w}{2\phi}\, d(y, \mu), \qquad
          \operatorname{Var}[y] = \frac{\phi}{w} V(\mu),

with the unit deviance :math:`d` and the variance function :math:`V`. The term :math:`c`, the log-likelihood
of a fit that meets every observation, is ``saturated_log_likelihood``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from softcount._errors import InputError
from softcount._types import BoolArray, FloatArray
from softcount.core.glm.links import Link

__all__ = ["LARGEST_MEAN", "SMALLEST_MEAN", "Evaluation", "GLMFamily", "log1p_gap", "relative_entropy_gap"]

#: Means between these have cubes and reciprocals that are numbers.
SMALLEST_MEAN = 1e-100
LARGEST_MEAN = 1e100
# Ten terms of a power series reach 1e-17 within this radius; outside, plain formulas lose at most two digits.
SERIES_RADIUS = 0.02
LOG1P_GAP_SERIES = tuple((-1.0) ** power / power for power in range(2, 12))
ENTROPY_GAP_SERIES = tuple((-1.0) ** power / (power * (power - 1.0)) for power in range(2, 12))
# 0 * log(0) is 0; the logarithm of this number times zero is, too.
ALMOST_MINUS_ONE = float(np.nextafter(-1.0, 0.0))


class Evaluation(NamedTuple):
    r"""Some rows under a linear predictor, each for a weight of one.

    ``root_information`` is :math:`(d\mu/d\eta) / \sqrt{V}`, whose square is the Fisher information about
    :math:`\eta`; ``pearson`` is :math:`(y-\mu)/\sqrt V`. Their product is the score.
    """

    root_information: FloatArray
    pearson: FloatArray
    unit_deviance: FloatArray


@dataclass(frozen=True)
class GLMFamily(ABC):
    """An exponential dispersion model."""

    name: ClassVar[str]
    default_link: ClassVar[str]
    #: The dispersion where the family fixes it, else None: it is estimated.
    fixed_dispersion: ClassVar[float | None] = None
    #: Quasi families have a variance function but no density.
    has_likelihood: ClassVar[bool] = True
    is_discrete: ClassVar[bool] = False
    #: Smallest value of the support, where prediction intervals end.
    lower_bound: ClassVar[float] = -np.inf
    #: Targets of this size, or all smaller than its inverse, leave the means, variances and squares that are numbers.
    largest_size: ClassVar[float] = 1e60

    @property
    def target_domain(self) -> str:
        """Which targets the family can produce, in words."""
        return "any finite number"

    @abstractmethod
    def variance(self, mean: FloatArray) -> FloatArray:
        """The variance function ``V(mu)``."""

    @abstractmethod
    def unit_deviance(self, target: FloatArray, mean: FloatArray) -> FloatArray:
        """``d(y, mu)``: twice the log-likelihood ratio of a perfect fit, for unit weight and dispersion."""

    @abstractmethod
    def saturated_log_likelihood(self, target: FloatArray, weight: FloatArray, dispersion: float) -> FloatArray:
        """``c(y, phi / w)`` per row."""

    @abstractmethod
    def cdf(self, value: FloatArray, mean: FloatArray, dispersion: FloatArray) -> FloatArray:
        """Distribution function of a new observation; ``dispersion`` is ``phi / w``."""

    def contains_target(self, target: FloatArray) -> BoolArray:
        """Which targets the family can produce."""
        return np.isfinite(target)

    def contains_mean(self, mean: FloatArray) -> BoolArray:
        """Which means the family can have."""
        return np.isfinite(mean)

    def contains(self, link: Link, predictor: FloatArray) -> BoolArray:
        """Which linear predictors lead to a mean the family can have."""
        inside = link.contains(predictor)
        if inside.all():
            return self.contains_mean(link.inverse(predictor)[0])
        answer = np.zeros(predictor.shape, dtype=np.bool_)
        answer[inside] = self.contains_mean(link.inverse(predictor[inside])[0])
        return answer

    def evaluate(self, link: Link, target: FloatArray, predictor: FloatArray) -> Evaluation:
        """The rows' information, Pearson residuals and deviances; every predictor must be contained."""
        mean, slope = link.inverse(predictor)
        root_variance = np.sqrt(self.variance(mean))
        return Evaluation(slope / root_variance, (target - mean) / root_variance, self.unit_deviance(target, mean))

    def likelihood_dispersion(
        self, deviance: float, pearson: float, weight: FloatArray, frequency: FloatArray
    ) -> float:
        """The dispersion at which a log-likelihood is reported.

        ``deviance`` is the total deviance and ``pearson`` the Pearson estimate; ``weight`` holds one
        precision weight per observation. The default is the Pearson estimate.
        """
        del deviance, weight, frequency
        return pearson

    def starting_predictor(self, link: Link, target: FloatArray, weight: FloatArray | None) -> float:
        """A linear predictor, the same for all rows, near the mean of the targets."""
        average = float(np.average(target, weights=weight))
        spread = float(np.average(np.abs(target), weights=weight))
        for candidate in (average, 0.9 * average + 0.05, 0.5 * (spread + average), spread, 0.5, 1.0):
            mean = np.array([candidate])
            if not self.contains_mean(mean).all():
                continue
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                predictor = link.link(mean)
            if self.contains(link, predictor).all():
                return float(predictor[0])
        raise InputError(
            f"The {self.name} family with link {link.name!r} found no starting value for targets with mean "
            f"{average!r}. The link cannot express such a mean; choose another link."
        )


def log1p_gap(ratio: FloatArray) -> FloatArray:
    """``r - log(1 + r)`` without cancellation near zero.

    Examples
    --------
    >>> import numpy as np
    >>> float(log1p_gap(np.array([1e-9]))[0])
    4.999999996666...e-19
    """
    return _near_zero(ratio, ratio - np.log1p(ratio), LOG1P_GAP_SERIES)


def relative_entropy_gap(target: FloatArray, mean: FloatArray) -> FloatArray:
    """``y log(y / mu) - (y - mu)`` without cancellation near ``y = mu``, and ``mu`` at ``y = 0``.

    Examples
    --------
    >>> import numpy as np
    >>> relative_entropy_gap(np.array([0.0, 2.0]), np.array([3.0, 2.0]))
    array([3., 0.])
    """
    ratio = np.maximum((target - mean) / mean, ALMOST_MINUS_ONE)
    gap = _near_zero(ratio, (1.0 + ratio) * np.log1p(ratio) - ratio, ENTROPY_GAP_SERIES)
    answer = mean * gap
    zero = target <= 0.0
    if zero.any():
        answer[zero] = mean[zero]
    return answer


def _near_zero(ratio: FloatArray, plain: FloatArray, series: tuple[float, ...]) -> FloatArray:
    """``plain``, but ``r**2`` times the power series where the ratio is close to zero; in place."""
    near = np.flatnonzero(np.abs(ratio) < SERIES_RADIUS)
    if near.size:
        r = ratio[near]
        total = np.full(r.shape, series[-1])
        for coefficient in reversed(series[:-1]):
            total = total * r + coefficient
        plain[near] = r * r * total
    return plain
