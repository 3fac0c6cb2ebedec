"""The binomial family for proportions out of given numbers of trials, and its quasi version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import betainc, gammaln, xlog1py, xlogy

from softcount._types import BoolArray, FloatArray
from softcount.core.glm.families._base import Evaluation, GLMFamily
from softcount.core.glm.links import Link, UnitLink

__all__ = ["BinomialFamily", "QuasiBinomialFamily"]

# Below the smallest normal number a product of the two probabilities is no divisor any more.
SMALLEST_VARIANCE = 1e-300


@dataclass(frozen=True)
class BinomialFamily(GLMFamily):
    r""":math:`V(\mu) = \mu (1 - \mu)`; the target is a proportion, the precision weight its number of trials.

    .. math:: d(y, \mu) = 2 \left(y \log\frac{y}{\mu} + (1 - y) \log\frac{1 - y}{1 - \mu}\right)

    With a link onto the unit interval all of it is computed from the linear predictor, so it stays exact
    where the mean rounds to 0 or 1.
    """

    name: ClassVar[str] = "binomial"
    default_link: ClassVar[str] = "logit"
    fixed_dispersion: ClassVar[float | None] = 1.0
    is_discrete: ClassVar[bool] = True
    lower_bound: ClassVar[float] = 0.0

    @property
    def target_domain(self) -> str:
        """Which targets the family can produce, in words."""
        return "proportions between 0 and 1 (or two columns: successes and failures)"

    def variance(self, mean: FloatArray) -> FloatArray:
        """``mu (1 - mu)``."""
        return mean * (1.0 - mean)

    def unit_deviance(self, target: FloatArray, mean: FloatArray) -> FloatArray:
        """Twice the relative entropy of the two proportions."""
        cross = np.asarray(xlogy(target, mean) + xlog1py(1.0 - target, -mean), dtype=np.float64)
        return np.maximum(2.0 * (_negative_entropy(target) - cross), 0.0)

    def evaluate(self, link: Link, target: FloatArray, predictor: FloatArray) -> Evaluation:
        """As the base does, through the link's own tails where it has them."""
        if not isinstance(link, UnitLink):
            return super().evaluate(link, target, predictor)
        mean, complement, slope = link.both(predictor)
        log_mean, log_complement = link.log_both(predictor)
        failures = 1.0 - target
        root_variance = np.sqrt(np.maximum(mean * complement, SMALLEST_VARIANCE))
        deviance = 2.0 * (_negative_entropy(target) - target * log_mean - failures * log_complement)
        # y - mu = y (1 - mu) - (1 - y) mu, which for y = 1 is the complement itself.
        residual = target * complement - failures * mean
        return Evaluation(slope / root_variance, residual / root_variance, np.maximum(deviance, 0.0))

    def saturated_log_likelihood(self, target: FloatArray, weight: FloatArray, dispersion: float) -> FloatArray:
        """Of ``w y`` successes in ``w`` trials with probability ``y``; zero for targets 0 and 1."""
        successes = weight * target
        choices = gammaln(weight + 1.0) - gammaln(successes + 1.0) - gammaln(weight - successes + 1.0)
        answer: FloatArray = (choices + weight * _negative_entropy(target)) / dispersion
        return answer

    def cdf(self, value: FloatArray, mean: FloatArray, dispersion: FloatArray) -> FloatArray:
        """Of the proportion of successes in ``1 / dispersion`` trials."""
        trials = np.round(1.0 / dispersion)
        successes = np.clip(np.floor(value * trials + 1e-9), 0.0, trials)
        below = betainc(np.maximum(trials - successes, 1.0), successes + 1.0, 1.0 - mean)
        return np.where(value < 0.0, 0.0, np.where(successes < trials, below, 1.0))

    def contains_target(self, target: FloatArray) -> BoolArray:
        """Between 0 and 1."""
        return (target >= 0.0) & (target <= 1.0)

    def contains_mean(self, mean: FloatArray) -> BoolArray:
        """Between 0 and 1, both excluded."""
        return (mean > 0.0) & (mean < 1.0)

    def contains(self, link: Link, predictor: FloatArray) -> BoolArray:
        """Every finite predictor of a link onto the unit interval, though its mean may round to 0 or 1."""
        if isinstance(link, UnitLink):
            return link.contains(predictor)
        return super().contains(link, predictor)


@dataclass(frozen=True)
class QuasiBinomialFamily(BinomialFamily):
    """The binomial family's equations with the dispersion estimated: no likelihood, wider intervals."""

    name: ClassVar[str] = "quasibinomial"
    fixed_dispersion: ClassVar[float | None] = None
    has_likelihood: ClassVar[bool] = False


def _negative_entropy(target: FloatArray) -> FloatArray | float:
    """``y log y + (1 - y) log(1 - y)``, which is zero at both ends."""
    if not np.any((target > 0.0) & (target < 1.0)):
        return 0.0
    return np.asarray(xlogy(target, target) + xlog1py(1.0 - target, -target), dtype=np.float64)
