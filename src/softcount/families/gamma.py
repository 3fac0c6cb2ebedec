"""The gamma family: positive numbers with a long right tail, such as amounts, sizes and durations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from softcount._types import FloatArray
from softcount.families._base import Params, prepend_size
from softcount.families.columns import ColumnFamily
from softcount.families.gamma_function import (
    log_minus_digamma,
    relative_gap,
    shape_from_gap,
    stirling_remainder,
)
from softcount.families.supports import is_positive

__all__ = ["Gamma"]

LOG_2PI = float(np.log(2.0 * np.pi))
#: A constant column would have an infinite shape; with this one the standard deviation is 1e-5 of the mean.
LARGEST_SHAPE = 1e10
LARGEST_RATE = 1e300
SMALLEST_MEAN = 1e-290


class Gamma(ColumnFamily):
    r"""Gamma: :math:`p(x) = \frac{\beta^a}{\Gamma(a)} x^{a-1} e^{-\beta x}`, :math:`u(x) = (x, \log x)`.

    :math:`\eta = (-\beta, a - 1)` and :math:`A(\eta) = \log\Gamma(a) - a \log\beta`. Maximum likelihood solves
    :math:`\log a - \psi(a) = \log E[x] - E[\log x]` by Newton's method, and :math:`\beta = a / E[x]`. A constant
    column has no maximum: the shape :math:`a` is at most 1e10.

    Examples
    --------
    >>> family = Gamma()
    >>> float(family.log_prob(2.0, family.parameters(shape=3.0, rate=1.0)).round(4))
    -1.3069
    """

    name = "gamma"
    support = "numbers above zero"

    def parameters(self, shape: ArrayLike, rate: ArrayLike) -> Params:
        """Parameters from shape and rate; the mean is their quotient."""
        shape, rate = np.broadcast_arrays(np.asarray(shape, dtype=np.float64), np.asarray(rate, dtype=np.float64))
        return {"shape": np.array(shape), "rate": np.array(rate)}

    def natural(self, params: Params) -> FloatArray:
        r""":math:`(-\beta, a - 1)`."""
        return np.stack([-params["rate"], params["shape"] - 1.0], axis=-1)

    def from_natural(self, natural: ArrayLike) -> Params:
        r""":math:`a = \eta_2 + 1`, :math:`\beta = -\eta_1`."""
        eta = np.asarray(natural, dtype=np.float64)
        return {"shape": eta[..., 1] + 1.0, "rate": -eta[..., 0]}

    def log_normalizer(self, natural: ArrayLike) -> FloatArray:
        r""":math:`A(\eta) = \log\Gamma(\eta_2 + 1) - (\eta_2 + 1) \log(-\eta_1)`."""
        eta = np.asarray(natural, dtype=np.float64)
        shape = eta[..., 1] + 1.0
        return np.asarray(special.gammaln(shape) - shape * np.log(-eta[..., 0]))

    def stats(self, x: ArrayLike) -> FloatArray:
        r""":math:`(x, \log x)`."""
        x = np.asarray(x, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.stack([x, np.log(x)], axis=-1)

    def log_base(self, x: ArrayLike) -> FloatArray:
        """Zero: :math:`h(x) = 1` on the positive numbers."""
        return np.where(self.in_support(x), 0.0, -np.inf)

    def mean_stats(self, params: Params) -> FloatArray:
        r""":math:`(a / \beta, \psi(a) - \log\beta)`."""
        shape, rate = params["shape"], params["rate"]
        return np.stack([shape / rate, special.digamma(shape) - np.log(rate)], axis=-1)

    def cov_stats(self, params: Params) -> FloatArray:
        r""":math:`\begin{pmatrix} a/\beta^2 & 1/\beta \\ 1/\beta & \psi'(a) \end{pmatrix}`."""
        shape, rate = params["shape"], params["rate"]
        rows = [
            np.stack([shape / rate**2, 1.0 / rate], axis=-1),
            np.stack([1.0 / rate, special.polygamma(1, shape)], axis=-1),
        ]
        return np.stack(rows, axis=-2)

    def from_mean_stats(self, mean: ArrayLike) -> Params:
        r"""The shape from :math:`\log E[x] - E[\log x]`."""
        mean = np.asarray(mean, dtype=np.float64)
        first = np.maximum(mean[..., 0], SMALLEST_MEAN)
        gap = np.maximum(np.log(first) - mean[..., 1], 0.5 / LARGEST_SHAPE)
        shape = shape_from_gap(gap)
        with np.errstate(over="ignore"):
            return {"shape": shape, "rate": np.minimum(shape / first, LARGEST_RATE)}

    def log_prob(self, x: ArrayLike, params: Params) -> FloatArray:
        r"""The density with its logarithm taken about the mean :math:`m = a / \beta`.

        .. math:: -\log x - a \Bigl(\frac{x}{m} - 1 - \log\frac{x}{m}\Bigr) + \tfrac12\log\frac{a}{2\pi} - r(a)

        with the remainder :math:`r` of Stirling's formula: no digits are lost, however large the shape.
        """
        shape = params["shape"]
        mean = shape / params["rate"]
        constant = 0.5 * (np.log(shape) - LOG_2PI) - stirling_remainder(shape)
        return self.on_support(x, lambda v: constant - np.log(v) - shape * relative_gap(v, mean))

    def entropy(self, params: Params) -> FloatArray:
        r""":math:`\tfrac12\log(2\pi a) + r(a) + (a - 1)(\log a - \psi(a)) - \log\beta`."""
        shape, rate = params["shape"], params["rate"]
        gap = (shape - 1.0) * log_minus_digamma(shape)
        return np.asarray(0.5 * (LOG_2PI + np.log(shape)) + stirling_remainder(shape) + gap - np.log(rate))

    def sample(
        self, params: Params, rng: np.random.Generator, size: int | tuple[int, ...] | None = None
    ) -> NDArray[Any]:
        """Draw positive numbers."""
        shape = params["shape"]
        draws = rng.standard_gamma(shape, prepend_size(size, shape.shape)) / params["rate"]
        # With a small shape many draws are too small for floating point.
        return np.maximum(draws, np.finfo(np.float64).tiny)

    def in_support(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Finite numbers above zero, or missing."""
        return is_positive(x)

    def standard(self) -> Params:
        """Shape and rate one."""
        return self.parameters(1.0, 1.0)
