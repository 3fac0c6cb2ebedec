"""The negative binomial family: how many failures come before a given number of successes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.families._base import Params, prepend_size
from softcount.families.blocks import Block
from softcount.families.gamma_function import log_gamma_ratio
from softcount.families.linear import LinearFamily, stored_log_base
from softcount.families.log_factorials import mean_log_binomial
from softcount.families.supports import is_count

__all__ = ["FailureCounts", "NegativeBinomial"]


class FailureCounts(LinearFamily):
    """Failures before the ``size``-th success: what the negative binomial and the geometric family share.

    Parameters are ``log_success`` and ``log_failure``, the logarithms of the probabilities of success and failure, so
    that neither tail loses digits.
    """

    size: float = 1.0
    support = "counts 0, 1, 2, ..."

    def parameters(self, prob: ArrayLike) -> Params:
        """Parameters from the probability of success."""
        prob = np.asarray(prob, dtype=np.float64)
        with np.errstate(divide="ignore"):
            return {"log_success": np.log(prob), "log_failure": np.log1p(-prob)}

    def natural(self, params: Params) -> FloatArray:
        r""":math:`\eta = \log(1-p)`."""
        return params["log_failure"][..., None]

    def from_natural(self, natural: ArrayLike) -> Params:
        r""":math:`1 - p = e^\eta`."""
        eta = np.asarray(natural, dtype=np.float64)[..., 0]
        return {"log_success": _log_one_minus_exp(eta), "log_failure": eta}

    def log_normalizer(self, natural: ArrayLike) -> FloatArray:
        r""":math:`A(\eta) = -r \log(1 - e^\eta)`."""
        return -self.size * _log_one_minus_exp(np.asarray(natural, dtype=np.float64)[..., 0])

    def stats(self, x: ArrayLike) -> FloatArray:
        """:math:`u(x) = x`."""
        return np.asarray(x, dtype=np.float64)[..., None]

    def log_base(self, x: ArrayLike) -> FloatArray:
        r""":math:`\log\binom{x + r - 1}{x}`."""
        inside = self.in_support(x)
        x = np.where(inside, x, 0.0).astype(np.float64)
        # Whichever of the two gamma functions with r is farther from its neighbor is left alone.
        many = log_gamma_ratio(x + 1.0, self.size - 1.0) - special.gammaln(self.size)
        few = log_gamma_ratio(self.size, x) - special.gammaln(x + 1.0)
        return np.asarray(np.where(inside, np.where(x > self.size, many, few), -np.inf))

    def mean_stats(self, params: Params) -> FloatArray:
        r""":math:`E[x] = r (1-p) / p`."""
        return np.asarray(self.size * np.exp(params["log_failure"] - params["log_success"]))[..., None]

    def cov_stats(self, params: Params) -> FloatArray:
        r""":math:`r (1-p) / p^2`."""
        return np.asarray(self.size * np.exp(params["log_failure"] - 2.0 * params["log_success"]))[..., None, None]

    def from_mean_stats(self, mean: ArrayLike) -> Params:
        r""":math:`p = r / (r + m)`; a mean of zero allows only zeros."""
        mean = np.asarray(mean, dtype=np.float64)[..., 0]
        with np.errstate(divide="ignore"):
            return {"log_success": -np.log1p(mean / self.size), "log_failure": -np.log1p(self.size / mean)}

    def mean_log_base(self, params: Params) -> FloatArray:
        r""":math:`E[\log\binom{x + r - 1}{x}]`."""
        return mean_log_binomial(self.size, np.exp(params["log_failure"] - params["log_success"]))

    def sample(
        self, params: Params, rng: np.random.Generator, size: int | tuple[int, ...] | None = None
    ) -> NDArray[Any]:
        """Draw counts."""
        odds = np.exp(params["log_failure"] - params["log_success"])
        shape = prepend_size(size, odds.shape)
        return np.asarray(rng.poisson(odds * rng.gamma(self.size, size=shape)), dtype=np.float64)

    def in_support(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Whole numbers of zero or more, or missing."""
        return is_count(x)

    def standard(self) -> Params:
        """Mean one."""
        return self.from_mean_stats([1.0])

    # ---- columns of a block
    def table(self, params: Params) -> tuple[FloatArray, FloatArray | None]:
        r"""Slopes :math:`\log(1-p_{jk})`, constants :math:`r \log p_{jk}`."""
        return params["log_failure"], self.size * params["log_success"]

    def row_base(self, block: Block) -> FloatArray | None:
        r""":math:`\sum_j \log\binom{x_{ij} + r - 1}{x_{ij}}`, which contains no class."""
        return stored_log_base(self, block)

    def n_parameters(self, params: Params) -> int:
        """One per column and class; the size is given."""
        return params["log_success"].size


@dataclass(frozen=True)
class NegativeBinomial(FailureCounts):
    r"""Negative binomial with fixed size: :math:`p(x) = \binom{x + r - 1}{x} p^r (1-p)^x`.

    Its natural parameter is :math:`\eta = \log(1-p)` and :math:`A(\eta) = -r \log(1 - e^\eta)`. Counts that vary more
    than Poisson counts with the same mean :math:`m = r(1-p)/p` do: their variance is :math:`m + m^2/r`.

    Parameters
    ----------
    size : float
        The number of successes :math:`r`; any positive number. It is fixed: with a free size the
        distributions are not an exponential family.

    Examples
    --------
    >>> family = NegativeBinomial(size=2.0)
    >>> float(family.log_prob(3, family.parameters(0.5)).round(4))
    -2.0794
    """

    size: float = 1.0

    name = "negative_binomial"

    def __post_init__(self) -> None:
        if not (np.isfinite(self.size) and self.size > 0.0):
            raise InputError(f"size is {self.size!r}; a negative binomial family needs a positive number.")


def _log_one_minus_exp(eta: FloatArray) -> FloatArray:
    r""":math:`\log(1 - e^\eta)` for :math:`\eta < 0`, exact on both ends."""
    with np.errstate(divide="ignore"):
        return np.asarray(
            np.where(eta > -0.5, np.log(-np.expm1(np.maximum(eta, -1.0))), np.log1p(-np.exp(np.minimum(eta, -0.1))))
        )
