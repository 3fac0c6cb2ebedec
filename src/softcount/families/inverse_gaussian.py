"""The inverse Gaussian family: the time a drifting particle takes to reach a level."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from softcount._types import FloatArray
from softcount.families._base import Params, prepend_size
from softcount.families.columns import ColumnFamily
from softcount.families.gamma_function import relative_gap
from softcount.families.supports import is_positive

__all__ = ["InverseGaussian"]

LOG_2PI = float(np.log(2.0 * np.pi))
#: A constant column would have an infinite shape; with this multiple of the mean the standard deviation is 1e-5 of it.
LARGEST_RATIO = 1e10
LARGEST_RECIPROCAL = 1e300


class InverseGaussian(ColumnFamily):
    r"""Inverse Gaussian: :math:`p(x) = \sqrt{\frac{\lambda}{2\pi x^3}} \exp\frac{-\lambda(x-\mu)^2}{2\mu^2 x}`.

    :math:`u(x) = (x, 1/x)`, :math:`\eta = (-\lambda/(2\mu^2), -\lambda/2)` and
    :math:`A(\eta) = -2\sqrt{\eta_1\eta_2} - \tfrac12\log(-2\eta_2)`. Maximum likelihood is :math:`\mu = E[x]`,
    :math:`1/\lambda = E[1/x] - 1/\mu`. A constant column has no maximum: :math:`\lambda / \mu` is at most 1e10.

    Examples
    --------
    >>> family = InverseGaussian()
    >>> float(family.log_prob(1.0, family.parameters(mean=1.0, shape=1.0)).round(4))
    -0.9189
    """

    name = "inverse_gaussian"
    support = "numbers above zero"

    def parameters(self, mean: ArrayLike, shape: ArrayLike) -> Params:
        r"""Parameters from mean :math:`\mu` and shape :math:`\lambda`; the variance is :math:`\mu^3/\lambda`."""
        mean, shape = np.broadcast_arrays(np.asarray(mean, dtype=np.float64), np.asarray(shape, dtype=np.float64))
        return {"mean": np.array(mean), "shape": np.array(shape)}

    def natural(self, params: Params) -> FloatArray:
        r""":math:`(-\lambda/(2\mu^2), -\lambda/2)`."""
        mean, shape = params["mean"], params["shape"]
        return np.stack([-0.5 * shape / mean / mean, -0.5 * shape], axis=-1)

    def from_natural(self, natural: ArrayLike) -> Params:
        r""":math:`\lambda = -2\eta_2`, :math:`\mu = \sqrt{\eta_2/\eta_1}`."""
        eta = np.asarray(natural, dtype=np.float64)
        return {"mean": np.sqrt(eta[..., 1] / eta[..., 0]), "shape": -2.0 * eta[..., 1]}

    def log_normalizer(self, natural: ArrayLike) -> FloatArray:
        r""":math:`A(\eta) = -2\sqrt{\eta_1\eta_2} - \tfrac12\log(-2\eta_2)`."""
        eta = np.asarray(natural, dtype=np.float64)
        return np.asarray(-2.0 * np.sqrt(eta[..., 0] * eta[..., 1]) - 0.5 * np.log(-2.0 * eta[..., 1]))

    def stats(self, x: ArrayLike) -> FloatArray:
        """:math:`(x, 1/x)`."""
        x = np.asarray(x, dtype=np.float64)
        with np.errstate(divide="ignore", over="ignore"):
            return np.stack([x, np.minimum(1.0 / x, LARGEST_RECIPROCAL)], axis=-1)

    def log_base(self, x: ArrayLike) -> FloatArray:
        r""":math:`-\tfrac12\log 2\pi - \tfrac32\log x`."""
        inside = self.in_support(x)
        return np.asarray(np.where(inside, -0.5 * LOG_2PI - 1.5 * np.log(np.where(inside, x, 1.0)), -np.inf))

    def mean_stats(self, params: Params) -> FloatArray:
        r""":math:`(\mu, 1/\mu + 1/\lambda)`."""
        mean, shape = params["mean"], params["shape"]
        return np.stack([mean, 1.0 / mean + 1.0 / shape], axis=-1)

    def cov_stats(self, params: Params) -> FloatArray:
        r"""Variances :math:`\mu^3/\lambda`, :math:`1/(\lambda\mu) + 2/\lambda^2`, covariance :math:`-\mu/\lambda`."""
        mean, shape = params["mean"], params["shape"]
        cross = -mean / shape
        rows = [
            np.stack([mean**3 / shape, cross], axis=-1),
            np.stack([cross, 1.0 / (shape * mean) + 2.0 / shape**2], axis=-1),
        ]
        return np.stack(rows, axis=-2)

    def from_mean_stats(self, mean: ArrayLike) -> Params:
        r""":math:`\mu = E[x]`, :math:`\lambda = \mu / (\mu E[1/x] - 1)`."""
        mean = np.asarray(mean, dtype=np.float64)
        first = np.maximum(mean[..., 0], 1.0 / LARGEST_RECIPROCAL)
        spread = np.maximum(first * mean[..., 1] - 1.0, 1.0 / LARGEST_RATIO)
        return {"mean": first, "shape": first / spread}

    def log_prob(self, x: ArrayLike, params: Params) -> FloatArray:
        r""":math:`\tfrac12\log\frac{\lambda}{2\pi x^3} - \frac{\lambda}{2\mu} \frac{x-\mu}{\mu} \frac{x-\mu}{x}`."""
        mean, shape = params["mean"], params["shape"]

        def log_density(x: FloatArray) -> FloatArray:
            with np.errstate(over="ignore"):
                distance = 0.5 * (shape / mean) * ((x - mean) / mean) * ((x - mean) / x)
            return np.asarray(0.5 * (np.log(shape) - LOG_2PI) - 1.5 * np.log(x) - distance)

        return self.on_support(x, log_density)

    def mean_log_base(self, params: Params) -> FloatArray:
        r""":math:`E[\log x] = \log\mu - e^{z} E_1(z)` with :math:`z = 2\lambda/\mu`."""
        mean_log = np.log(params["mean"]) - _scaled_exp1(2.0 * params["shape"] / params["mean"])
        return np.asarray(-0.5 * LOG_2PI - 1.5 * mean_log)

    def kl(self, params: Params, other: Params) -> FloatArray:
        r""":math:`\tfrac12(r - 1 - \log r + \lambda'\mu(1/\mu - 1/\mu')^2)` with :math:`r = \lambda'/\lambda`."""
        shift = other["shape"] * (params["mean"] - other["mean"]) ** 2 / params["mean"] / other["mean"] ** 2
        ratio = relative_gap(other["shape"], params["shape"])
        return np.asarray(0.5 * (ratio + shift))

    def sample(
        self, params: Params, rng: np.random.Generator, size: int | tuple[int, ...] | None = None
    ) -> NDArray[Any]:
        """Draw positive numbers."""
        shape = prepend_size(size, params["mean"].shape)
        draws = rng.wald(params["mean"], params["shape"], shape)
        return np.maximum(draws, 1.0 / LARGEST_RECIPROCAL)

    def in_support(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Finite numbers above zero, or missing."""
        return is_positive(x)

    def standard(self) -> Params:
        """Mean and shape one."""
        return self.parameters(1.0, 1.0)


def _scaled_exp1(z: FloatArray) -> FloatArray:
    r""":math:`e^z E_1(z)`; for large z by its continued fraction, because :math:`e^z` overflows."""
    large = np.maximum(z, 50.0)
    fraction = np.zeros_like(large)
    for step in range(12, 0, -1):
        fraction = step * step / (large + 2.0 * step + 1.0 - fraction)
    small = np.minimum(z, 50.0)
    return np.asarray(np.where(z > 50.0, 1.0 / (large + 1.0 - fraction), np.exp(small) * special.exp1(small)))
