"""The exponential family member of that name: how long until an event that never ages."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcount._types import FloatArray
from softcount.families._base import Params, prepend_size
from softcount.families.linear import LinearFamily
from softcount.families.supports import is_non_negative

__all__ = ["Exponential"]

#: The mean of a class in a column is at least this share of the column's overall mean.
SMALLEST_SHARE = 1e-9
#: Means below this have no rate in floating point.
SMALLEST_MEAN = 1e-290


class Exponential(LinearFamily):
    r"""Exponential: :math:`p(x) = \lambda e^{-\lambda x}`, :math:`\eta = -\lambda`, :math:`A(\eta) = -\log(-\eta)`.

    The likelihood of nothing but zeros grows without bound with the rate. In a table a class's mean is
    therefore kept at or above one billionth of the column's overall mean, and a column of zeros counts as
    having mean one.

    Examples
    --------
    >>> family = Exponential()
    >>> float(family.log_prob(2.0, family.parameters(0.5)).round(4))
    -1.6931
    """

    name = "exponential"
    support = "numbers of zero or more"

    def parameters(self, rate: ArrayLike) -> Params:
        """Parameters from the rate, one over the mean."""
        return {"rate": np.asarray(rate, dtype=np.float64)}

    def natural(self, params: Params) -> FloatArray:
        r""":math:`\eta = -\lambda`."""
        return -params["rate"][..., None]

    def from_natural(self, natural: ArrayLike) -> Params:
        r""":math:`\lambda = -\eta`."""
        return {"rate": -np.asarray(natural, dtype=np.float64)[..., 0]}

    def log_normalizer(self, natural: ArrayLike) -> FloatArray:
        r""":math:`A(\eta) = -\log(-\eta)`."""
        return -np.log(-np.asarray(natural, dtype=np.float64)[..., 0])

    def stats(self, x: ArrayLike) -> FloatArray:
        """:math:`u(x) = x`."""
        return np.asarray(x, dtype=np.float64)[..., None]

    def log_base(self, x: ArrayLike) -> FloatArray:
        """Zero: :math:`h(x) = 1` on the non-negative numbers."""
        return np.where(self.in_support(x), 0.0, -np.inf)

    def mean_stats(self, params: Params) -> FloatArray:
        r""":math:`E[x] = 1 / \lambda`."""
        return 1.0 / params["rate"][..., None]

    def cov_stats(self, params: Params) -> FloatArray:
        r""":math:`1 / \lambda^2`."""
        return 1.0 / params["rate"][..., None, None] ** 2

    def from_mean_stats(self, mean: ArrayLike) -> Params:
        r""":math:`\lambda` is one over the mean."""
        return self.parameters(1.0 / np.maximum(np.asarray(mean, dtype=np.float64)[..., 0], SMALLEST_MEAN))

    def sample(
        self, params: Params, rng: np.random.Generator, size: int | tuple[int, ...] | None = None
    ) -> NDArray[Any]:
        """Draw waiting times."""
        rate = params["rate"]
        return np.asarray(rng.standard_exponential(prepend_size(size, rate.shape)) / rate)

    def in_support(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Finite numbers of zero or more, or missing."""
        return is_non_negative(x)

    def standard(self) -> Params:
        """Rate one."""
        return self.parameters(1.0)

    # ---- columns of a block
    def table(self, params: Params) -> tuple[FloatArray, FloatArray | None]:
        r"""Slopes :math:`-\lambda_{jk}`, constants :math:`\log\lambda_{jk}`."""
        return -params["rate"], np.log(params["rate"])

    def inside(self, mean: FloatArray, center: FloatArray) -> FloatArray:
        """Means of at least a billionth of the overall mean."""
        return np.maximum(mean, SMALLEST_SHARE * center)

    def barely(self, weight: FloatArray) -> FloatArray:
        """The mean ascribed to a column of zeros: one."""
        return np.ones_like(weight)
