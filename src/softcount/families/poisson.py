"""The Poisson family: how many events happened."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from softcount._types import FloatArray
from softcount.families._base import Params, prepend_size
from softcount.families.blocks import Block
from softcount.families.gamma_function import relative_gap, stirling_remainder
from softcount.families.linear import LinearFamily, stored_log_base
from softcount.families.log_factorials import mean_log_factorial
from softcount.families.supports import is_count

__all__ = ["Poisson"]

#: From here on four terms of the entropy's asymptotic series are exact to rounding.
LARGE_RATE = 1e3


class Poisson(LinearFamily):
    r"""Poisson: :math:`p(x) = \lambda^x e^{-\lambda} / x!`, :math:`\eta = \log\lambda`, :math:`A = e^\eta`.

    Examples
    --------
    >>> family = Poisson()
    >>> float(family.log_prob(2, family.parameters(3.0)).round(4))
    -1.4959
    """

    name = "poisson"
    support = "counts 0, 1, 2, ..."

    def parameters(self, rate: ArrayLike) -> Params:
        """Parameters from the rate."""
        return {"rate": np.asarray(rate, dtype=np.float64)}

    def natural(self, params: Params) -> FloatArray:
        r""":math:`\eta = \log\lambda`."""
        with np.errstate(divide="ignore"):
            return np.log(params["rate"])[..., None]

    def from_natural(self, natural: ArrayLike) -> Params:
        r""":math:`\lambda = e^\eta`."""
        return {"rate": np.exp(np.asarray(natural, dtype=np.float64)[..., 0])}

    def log_normalizer(self, natural: ArrayLike) -> FloatArray:
        r""":math:`A(\eta) = e^\eta`."""
        return np.exp(np.asarray(natural, dtype=np.float64)[..., 0])

    def stats(self, x: ArrayLike) -> FloatArray:
        """:math:`u(x) = x`."""
        return np.asarray(x, dtype=np.float64)[..., None]

    def log_base(self, x: ArrayLike) -> FloatArray:
        r""":math:`-\log x!`."""
        x = np.asarray(x, dtype=np.float64)
        inside = self.in_support(x)
        return np.asarray(np.where(inside, -special.gammaln(np.where(inside, x, 0.0) + 1.0), -np.inf))

    def mean_stats(self, params: Params) -> FloatArray:
        r""":math:`E[x] = \lambda`."""
        return np.asarray(params["rate"])[..., None]

    def cov_stats(self, params: Params) -> FloatArray:
        r""":math:`\mathrm{Var}[x] = \lambda`."""
        return np.asarray(params["rate"])[..., None, None]

    def from_mean_stats(self, mean: ArrayLike) -> Params:
        r""":math:`\lambda` is the mean."""
        return self.parameters(np.asarray(mean, dtype=np.float64)[..., 0])

    def log_prob(self, x: ArrayLike, params: Params) -> FloatArray:
        r""":math:`x \log\lambda - \lambda - \log x!`; a rate of zero allows only zero."""
        rate = params["rate"]

        def log_density(x: FloatArray) -> FloatArray:
            # Stirling's formula: the large parts of x log x and log x! never appear.
            events = np.maximum(x, 1.0)
            with np.errstate(divide="ignore"):
                gap = events * relative_gap(rate, events)
            some = -gap - 0.5 * np.log(2.0 * np.pi * events) - stirling_remainder(events)
            return np.where(x > 0.0, some, -rate)

        return self.on_support(x, log_density)

    def mean_log_base(self, params: Params) -> FloatArray:
        r""":math:`-E[\log x!]`."""
        return -mean_log_factorial(params["rate"])

    def entropy(self, params: Params) -> FloatArray:
        r""":math:`\lambda - \lambda\log\lambda + E[\log x!]`.

        Of large rates :math:`\tfrac12\log(2\pi e\lambda) - \frac{1}{12\lambda} - \frac{1}{24\lambda^2} - \dots`, where
        nothing cancels.
        """
        rate = params["rate"]
        large = np.maximum(rate, LARGE_RATE)
        series = 1.0 / 12.0 + (1.0 / 24.0 + 19.0 / (360.0 * large)) / large
        normal = 0.5 * np.log(2.0 * math.pi * math.e * large) - series / large
        small = np.minimum(rate, LARGE_RATE)
        return np.asarray(
            np.where(rate > LARGE_RATE, normal, small - special.xlogy(small, small) + mean_log_factorial(small))
        )

    def kl(self, params: Params, other: Params) -> FloatArray:
        r""":math:`\lambda \log(\lambda / \lambda') - \lambda + \lambda'`."""
        rate, rate_other = params["rate"], other["rate"]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(rate > 0.0, relative_gap(rate_other, rate), 0.0)
            return np.asarray(np.where(rate > 0.0, rate * ratio, rate_other))

    def sample(
        self, params: Params, rng: np.random.Generator, size: int | tuple[int, ...] | None = None
    ) -> NDArray[Any]:
        """Draw counts."""
        rate = params["rate"]
        return rng.poisson(rate, prepend_size(size, rate.shape)).astype(np.float64)

    def in_support(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Whole numbers of zero or more, or missing."""
        return is_count(x)

    def standard(self) -> Params:
        """One event."""
        return self.parameters(1.0)

    # ---- columns of a block
    def table(self, params: Params) -> tuple[FloatArray, FloatArray | None]:
        r"""Slopes :math:`\log\lambda_{jk}`, constants :math:`-\lambda_{jk}`."""
        with np.errstate(divide="ignore"):
            return np.log(params["rate"]), -params["rate"]

    def row_base(self, block: Block) -> FloatArray | None:
        r""":math:`-\sum_j \log x_{ij}!`, which contains no class."""
        return stored_log_base(self, block)
