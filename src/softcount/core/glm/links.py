r"""Link functions: from the linear predictor :math:`\eta` to the mean :math:`\mu` and back.

Every link gives :math:`(\mu, d\mu/d\eta)` by formulas that keep their digits in both tails. Links onto the
unit interval also give :math:`1-\mu`, :math:`\log\mu` and :math:`\log(1-\mu)` without a subtraction from one,
so that a binomial likelihood stays exact where :math:`\mu` itself rounds to 0 or 1.

==================== ============================= ==============================
name                 :math:`\eta = g(\mu)`         :math:`\mu`
==================== ============================= ==============================
``logit``            log(mu / (1 - mu))            1 / (1 + exp(-eta))
``probit``           quantile of N(0, 1)           distribution function of N(0, 1)
``cloglog``          log(-log(1 - mu))             1 - exp(-exp(eta))
``loglog``           -log(-log(mu))                exp(-exp(-eta))
``cauchit``          tan(pi (mu - 1/2))            1/2 + atan(eta) / pi
``log``              log(mu)                       exp(eta)
``identity``         mu                            eta
``inverse``          1 / mu                        1 / eta
``inverse_squared``  1 / mu**2                     eta**(-1/2), eta > 0
``sqrt``             mu**(1/2)                     eta**2, eta > 0
``Power(p)``         mu**p                         eta**(1/p), eta > 0
==================== ============================= ==============================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from softcount._errors import InputError
from softcount._types import BoolArray, FloatArray

__all__ = ["LINKS", "Link", "Power", "UnitLink", "resolve_link"]

MeanAndSlope: TypeAlias = tuple[FloatArray, FloatArray]

# exp overflows beyond 709.78; a mean that large has long left every likelihood.
LARGEST_LOG = 709.0
SMALLEST_LOG = -745.0


class Link(Protocol):
    """A monotone function from means to linear predictors."""

    @property
    def name(self) -> str:
        """How the link is written."""
        ...

    def link(self, mean: FloatArray) -> FloatArray:
        """The linear predictor of a mean."""
        ...

    def inverse(self, predictor: FloatArray) -> MeanAndSlope:
        """Mean and its derivative by the predictor."""
        ...

    def contains(self, predictor: FloatArray) -> BoolArray:
        """Which predictors have a finite mean on the link's branch."""
        ...


class _EverywhereFinite:
    """What links defined on the whole line share."""

    def contains(self, predictor: FloatArray) -> BoolArray:
        """Every finite predictor."""
        return np.isfinite(predictor)


class UnitLink(_EverywhereFinite, ABC):
    """A link onto the unit interval."""

    @abstractmethod
    def both(self, predictor: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean, one minus the mean, and the slope; each to full relative precision."""

    @abstractmethod
    def log_both(self, predictor: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Logs of the mean and of one minus the mean."""

    def inverse(self, predictor: FloatArray) -> MeanAndSlope:
        """Mean and slope."""
        mean, _, slope = self.both(predictor)
        return mean, slope


@dataclass(frozen=True)
class Logit(UnitLink):
    """``eta = log(mu / (1 - mu))``.

    Examples
    --------
    >>> import numpy as np
    >>> mean, slope = Logit().inverse(np.array([0.0, -700.0]))
    >>> float(mean[1]) == float(np.exp(-700.0))
    True
    """

    name: str = "logit"

    def link(self, mean: FloatArray) -> FloatArray:
        """``log(mu) - log(1 - mu)``."""
        answer: FloatArray = np.log(mean) - np.log1p(-mean)
        return answer

    def both(self, predictor: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """With ``e = exp(-|eta|)``: the smaller of the two is ``e / (1 + e)``, the other ``1 / (1 + e)``."""
        small = np.exp(-np.abs(predictor))
        large = 1.0 / (1.0 + small)
        small *= large
        positive = predictor > 0.0
        return np.where(positive, large, small), np.where(positive, small, large), small * large

    def log_both(self, predictor: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``log(1 - mu) = -log(1 + exp(eta))`` and ``log(mu) = eta + log(1 - mu)``, never overflowing."""
        rest = np.log1p(np.exp(-np.abs(predictor)))
        return np.minimum(predictor, 0.0) - rest, -np.maximum(predictor, 0.0) - rest


@dataclass(frozen=True)
class Probit(UnitLink):
    """``eta`` is the standard normal quantile of ``mu``."""

    name: str = "probit"

    def link(self, mean: FloatArray) -> FloatArray:
        """Quantile of the standard normal."""
        answer: FloatArray = ndtri(mean)
        return answer

    def both(self, predictor: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Distribution function on either side, and the density."""
        bounded = np.clip(predictor, -40.0, 40.0)  # beyond, the density is less than any positive number
        density = np.exp(-0.5 * bounded * bounded) / np.sqrt(2.0 * np.pi)
        return ndtr(predictor), ndtr(-predictor), density

    def log_both(self, predictor: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log distribution function on either side."""
        return log_ndtr(predictor), log_ndtr(-predictor)


@dataclass(frozen=True)
class CLogLog(UnitLink):
    """``eta = log(-log(1 - mu))``."""

    name: str = "cloglog"

    def link(self, mean: FloatArray) -> FloatArray:
        """``log(-log(1 - mu))``."""
        answer: FloatArray = np.log(-np.log1p(-mean))
        return answer

    def both(self, predictor: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """With ``t = exp(eta)``: ``1 - exp(-t)``, ``exp(-t)`` and ``exp(eta - t)``."""
        hazard = np.exp(np.clip(predictor, SMALLEST_LOG, LARGEST_LOG))
        return (
            -np.expm1(-hazard),
            np.exp(-hazard),
            np.exp(np.clip(predictor, SMALLEST_LOG, LARGEST_LOG) - hazard),
        )

    def log_both(self, predictor: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``log(1 - mu) = -t``; ``log(mu) = log(1 - exp(-t))``, which is ``eta - t/2`` for small ``t``."""
        hazard = np.exp(np.clip(predictor, SMALLEST_LOG, LARGEST_LOG))
        bounded = np.maximum(hazard, 1e-16)
        by_complement = np.log1p(-np.exp(-np.maximum(hazard, 0.5)))
        log_mean = np.where(
            hazard < 1e-8,
            predictor - 0.5 * hazard,
            np.where(hazard < np.log(2.0), np.log(-np.expm1(-bounded)), by_complement),
        )
        return log_mean, -hazard


@dataclass(frozen=True)
class LogLog(UnitLink):
    """``eta = -log(-log(mu))``: the complementary log-log link of the other outcome, mirrored."""

    name: str = "loglog"

    def link(self, mean: FloatArray) -> FloatArray:
        """``-log(-log(mu))``."""
        answer: FloatArray = -np.log(-np.log(mean))
        return answer

    def both(self, predictor: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Those of the complementary log-log link at ``-eta``, exchanged."""
        complement, mean, slope = CLogLog().both(-predictor)
        return mean, complement, slope

    def log_both(self, predictor: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Those of the complementary log-log link at ``-eta``, exchanged."""
        log_complement, log_mean = CLogLog().log_both(-predictor)
        return log_mean, log_complement


@dataclass(frozen=True)
class Cauchit(UnitLink):
    """``eta = tan(pi (mu - 1/2))``."""

    name: str = "cauchit"

    def link(self, mean: FloatArray) -> FloatArray:
        """``-1 / tan(pi mu)``, which keeps the digits of a small mean."""
        answer: FloatArray = np.where(mean < 0.25, -1.0 / np.tan(np.pi * mean), np.tan(np.pi * (mean - 0.5)))
        return answer

    def both(self, predictor: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The angles of ``(-eta, 1)`` and ``(eta, 1)`` over pi."""
        mean = np.arctan2(1.0, -predictor) / np.pi
        complement = np.arctan2(1.0, predictor) / np.pi
        bounded = np.clip(predictor, -1e150, 1e150)  # whose square is a number
        return mean, complement, 1.0 / (np.pi * (1.0 + bounded * bounded))

    def log_both(self, predictor: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Logs of the two angles."""
        mean, complement, _ = self.both(predictor)
        return _log_near_one(mean, complement), _log_near_one(complement, mean)


@dataclass(frozen=True)
class Log:
    """``eta = log(mu)``."""

    name: str = "log"

    def link(self, mean: FloatArray) -> FloatArray:
        """``log(mu)``."""
        answer: FloatArray = np.log(mean)
        return answer

    def inverse(self, predictor: FloatArray) -> MeanAndSlope:
        """``exp(eta)``, which is its own slope."""
        mean = np.exp(np.clip(predictor, SMALLEST_LOG, LARGEST_LOG))
        return mean, mean

    def contains(self, predictor: FloatArray) -> BoolArray:
        """Predictors whose exponential is a number."""
        # A comparison with NaN is false, which is what is wanted.
        return (predictor > SMALLEST_LOG) & (predictor < LARGEST_LOG)


@dataclass(frozen=True)
class Identity(_EverywhereFinite):
    """``eta = mu``."""

    name: str = "identity"

    def link(self, mean: FloatArray) -> FloatArray:
        """``mu``."""
        return mean

    def inverse(self, predictor: FloatArray) -> MeanAndSlope:
        """``eta`` and 1."""
        return predictor, np.ones_like(predictor)


@dataclass(frozen=True)
class Inverse:
    """``eta = 1 / mu``."""

    name: str = "inverse"

    def link(self, mean: FloatArray) -> FloatArray:
        """``1 / mu``."""
        answer: FloatArray = 1.0 / mean
        return answer

    def inverse(self, predictor: FloatArray) -> MeanAndSlope:
        """``1 / eta`` and ``-1 / eta**2``."""
        with np.errstate(divide="ignore", over="ignore"):
            mean = 1.0 / predictor
            return mean, -mean * mean

    def contains(self, predictor: FloatArray) -> BoolArray:
        """Every finite predictor but zero."""
        return np.isfinite(predictor) & (np.abs(predictor) > 1e-150)


@dataclass(frozen=True)
class Power:
    """``eta = mu ** exponent`` for positive means; ``Power(0)`` would be the log, so use that.

    Examples
    --------
    >>> import numpy as np
    >>> Power(3.0).inverse(np.array([8.0]))[0]
    array([2.])
    """

    exponent: float
    label: str = ""

    def __post_init__(self) -> None:
        if self.exponent == 0.0 or not np.isfinite(self.exponent):
            raise InputError(
                f"Power link with exponent {self.exponent!r}: expected a finite number other than 0. "
                "The limit at 0 is the link 'log'."
            )

    @property
    def name(self) -> str:
        """``sqrt``, ``inverse_squared`` or ``power(exponent)``."""
        return self.label or f"power({self.exponent:g})"

    def link(self, mean: FloatArray) -> FloatArray:
        """``mu ** exponent``."""
        answer: FloatArray = mean**self.exponent
        return answer

    def inverse(self, predictor: FloatArray) -> MeanAndSlope:
        """``eta ** (1 / exponent)`` and its derivative; predictors off the branch count as a tiny one."""
        root = 1.0 / self.exponent
        bounded = np.maximum(predictor, 1e-300)
        with np.errstate(over="ignore"):
            return bounded**root, root * bounded ** (root - 1.0)

    def contains(self, predictor: FloatArray) -> BoolArray:
        """Positive predictors whose mean is a number."""
        with np.errstate(over="ignore"):
            mean = np.maximum(predictor, 1e-300) ** (1.0 / self.exponent)
        return (predictor > 1e-300) & np.isfinite(predictor) & np.isfinite(mean)


def _log_near_one(value: FloatArray, complement: FloatArray) -> FloatArray:
    """``log(value)``, through the complement where the value is close to one."""
    far = np.log(np.where(value > 0.5, 1.0, value))
    near = np.log1p(-np.where(value > 0.5, complement, 0.0))
    return np.where(value > 0.5, near, far)


LINKS: dict[str, Link] = {
    link.name: link
    for link in (
        Logit(),
        Probit(),
        CLogLog(),
        LogLog(),
        Cauchit(),
        Log(),
        Identity(),
        Inverse(),
        Power(-2.0, "inverse_squared"),
        Power(0.5, "sqrt"),
    )
}


def resolve_link(link: str | Link) -> Link:
    """The link meant by a name, or the link itself.

    Examples
    --------
    >>> resolve_link("probit")
    Probit(name='probit')
    """
    if not isinstance(link, str):
        return link
    if link not in LINKS:
        raise InputError(
            f"link={link!r} is not a link. Expected one of {', '.join(sorted(LINKS))}, or Power(exponent)."
        )
    return LINKS[link]
