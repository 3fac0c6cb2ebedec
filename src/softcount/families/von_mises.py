"""The von Mises family: directions and times of day, on a circle."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from softcount._types import FloatArray
from softcount.families._base import Params, prepend_size
from softcount.families.columns import ColumnFamily
from softcount.families.supports import is_finite

__all__ = ["VonMises"]

LOG_2PI = float(np.log(2.0 * np.pi))
#: A constant column would have an infinite concentration; with this one the standard deviation is 1e-4 radians.
LARGEST_CONCENTRATION = 1e8


class VonMises(ColumnFamily):
    r"""Von Mises: :math:`p(x) = e^{\kappa \cos(x - \mu)} / (2 \pi I_0(\kappa))`, :math:`u(x) = (\cos x, \sin x)`.

    :math:`\eta = \kappa (\cos\mu, \sin\mu)` and :math:`A(\eta) = \log 2\pi I_0(|\eta|)`. Values are angles in
    radians; angles that differ by a full turn are the same, so the density integrates to one over any turn. Maximum
    likelihood takes :math:`\mu` from the mean direction and solves :math:`I_1(\kappa) / I_0(\kappa) = R`, the length
    of the mean of :math:`u`, by Newton's method. A constant column has no maximum: :math:`\kappa` is at most 1e8.

    Examples
    --------
    >>> family = VonMises()
    >>> float(family.log_prob(0.0, family.parameters(direction=0.0, concentration=1.0)).round(4))
    -1.0738
    """

    name = "von_mises"
    support = "angles in radians"

    def parameters(self, direction: ArrayLike, concentration: ArrayLike) -> Params:
        r"""Parameters from the mean direction :math:`\mu` and the concentration :math:`\kappa \ge 0`."""
        direction, concentration = np.broadcast_arrays(
            np.asarray(direction, dtype=np.float64), np.asarray(concentration, dtype=np.float64)
        )
        return {"direction": np.array(direction), "concentration": np.array(concentration)}

    def natural(self, params: Params) -> FloatArray:
        r""":math:`\kappa (\cos\mu, \sin\mu)`."""
        return np.asarray(params["concentration"][..., None] * self.stats(params["direction"]))

    def from_natural(self, natural: ArrayLike) -> Params:
        r""":math:`\kappa = |\eta|`, :math:`\mu` the angle of :math:`\eta`."""
        eta = np.asarray(natural, dtype=np.float64)
        return {
            "direction": np.arctan2(eta[..., 1], eta[..., 0]),
            "concentration": np.hypot(eta[..., 0], eta[..., 1]),
        }

    def log_normalizer(self, natural: ArrayLike) -> FloatArray:
        r""":math:`A(\eta) = \log 2\pi I_0(|\eta|)`."""
        eta = np.asarray(natural, dtype=np.float64)
        kappa = np.hypot(eta[..., 0], eta[..., 1])
        return np.asarray(LOG_2PI + np.log(special.i0e(kappa)) + kappa)

    def stats(self, x: ArrayLike) -> FloatArray:
        r""":math:`(\cos x, \sin x)`."""
        x = np.asarray(x, dtype=np.float64)
        return np.stack([np.cos(x), np.sin(x)], axis=-1)

    def log_base(self, x: ArrayLike) -> FloatArray:
        """Zero: :math:`h(x) = 1` on the circle."""
        return np.where(self.in_support(x), 0.0, -np.inf)

    def mean_stats(self, params: Params) -> FloatArray:
        r""":math:`\frac{I_1(\kappa)}{I_0(\kappa)} (\cos\mu, \sin\mu)`."""
        return np.asarray(_mean_length(params["concentration"])[..., None] * self.stats(params["direction"]))

    def cov_stats(self, params: Params) -> FloatArray:
        r"""Variances along and across the mean direction, turned to it.

        .. math:: \tfrac12 \Bigl(1 + \frac{I_2}{I_0}\Bigr) - \Bigl(\frac{I_1}{I_0}\Bigr)^2
            \quad\text{and}\quad \tfrac12 \Bigl(1 - \frac{I_2}{I_0}\Bigr)
        """
        kappa = params["concentration"]
        second = special.ive(2, kappa) / special.i0e(kappa)
        along = self.stats(params["direction"])
        across = np.stack([-along[..., 1], along[..., 0]], axis=-1)
        far, near = 0.5 * (1.0 + second) - _mean_length(kappa) ** 2, 0.5 * (1.0 - second)
        return np.asarray(
            far[..., None, None] * along[..., :, None] * along[..., None, :]
            + near[..., None, None] * across[..., :, None] * across[..., None, :]
        )

    def from_mean_stats(self, mean: ArrayLike) -> Params:
        r"""The direction and the length of the mean of :math:`u`."""
        mean = np.asarray(mean, dtype=np.float64)
        length = np.hypot(mean[..., 0], mean[..., 1])
        return {
            "direction": np.arctan2(mean[..., 1], mean[..., 0]),
            "concentration": concentration_from_length(length),
        }

    def log_prob(self, x: ArrayLike, params: Params) -> FloatArray:
        r""":math:`-2\kappa \sin^2\frac{x-\mu}{2} - \log 2\pi - \log(e^{-\kappa} I_0(\kappa))`."""
        direction, kappa = params["direction"], params["concentration"]
        constant = -LOG_2PI - np.log(special.i0e(kappa))
        return self.on_support(x, lambda v: constant - 2.0 * kappa * np.sin(0.5 * (v - direction)) ** 2)

    def entropy(self, params: Params) -> FloatArray:
        r""":math:`\log 2\pi + \log(e^{-\kappa} I_0(\kappa)) + \kappa (1 - I_1(\kappa) / I_0(\kappa))`."""
        kappa = params["concentration"]
        return np.asarray(LOG_2PI + np.log(special.i0e(kappa)) + kappa * (1.0 - _mean_length(kappa)))

    def sample(
        self, params: Params, rng: np.random.Generator, size: int | tuple[int, ...] | None = None
    ) -> NDArray[Any]:
        r"""Draw angles between :math:`-\pi` and :math:`\pi`."""
        shape = prepend_size(size, params["direction"].shape)
        return np.asarray(rng.vonmises(params["direction"], params["concentration"], shape))

    def in_support(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Finite or missing."""
        return is_finite(x)

    def standard(self) -> Params:
        """The uniform distribution on the circle."""
        return self.parameters(0.0, 0.0)


def concentration_from_length(length: FloatArray) -> FloatArray:
    r"""The :math:`\kappa` with :math:`I_1(\kappa)/I_0(\kappa)` equal to ``length``, at most 1e8.

    Newton's method from Banerjee's approximation :math:`R (2 - R^2) / (1 - R^2)`.
    """
    # Beyond this 1 / (2 kappa), what is missing from a length of one, is rounding.
    largest = 1.0 - 0.5 / LARGEST_CONCENTRATION
    inside = np.minimum(length, largest)
    kappa = inside * (2.0 - inside**2) / (1.0 - inside**2)
    for _ in range(12):
        ratio = _mean_length(kappa)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.where(kappa > 1e-6, 1.0 - ratio * ratio - ratio / kappa, 0.5)
        # Far out the slope is 1 / (2 kappa^2), but as computed only rounding.
        slope = np.where(kappa > 1e4, 0.5 / np.maximum(kappa, 1.0) ** 2, slope)
        kappa = np.clip(kappa - (ratio - inside) / slope, 0.5 * kappa, 2.0 * kappa)
    return np.asarray(np.where(length >= largest, LARGEST_CONCENTRATION, np.minimum(kappa, LARGEST_CONCENTRATION)))


def _mean_length(kappa: FloatArray) -> FloatArray:
    r""":math:`I_1(\kappa) / I_0(\kappa)`."""
    return np.asarray(special.i1e(kappa) / special.i0e(kappa))
