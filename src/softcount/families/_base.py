r"""The exponential family: one density, written once.

Every distribution here is

.. math:: p(x \mid \eta) = h(x) \exp\bigl(\eta^\top u(x) - A(\eta)\bigr),

with natural parameter :math:`\eta` (:meth:`Family.natural`), sufficient statistic :math:`u` (:meth:`Family.stats`),
base measure :math:`h` (:meth:`Family.log_base` is its logarithm) and log-normalizer :math:`A`
(:meth:`Family.log_normalizer`). A family holds no data. Its parameters are a dictionary of arrays of one shape, so one
call serves a single distribution as well as a table of them; :meth:`Family.natural` and :meth:`Family.stats` add a last
axis over the components of :math:`u`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcount._types import FloatArray

__all__ = ["Family", "Params"]

#: Parameters by name; all arrays of a column family share one shape, class axis last.
Params: TypeAlias = dict[str, FloatArray]


class Family(ABC):
    """An exponential family of distributions."""

    #: The name under which the registry knows the family.
    name: ClassVar[str]
    #: What a value must be, for error messages.
    support: ClassVar[str]
    #: Axes of one observation: 0 for a number, 1 for a vector.
    event_ndim: ClassVar[int] = 0

    @abstractmethod
    def natural(self, params: Params) -> FloatArray:
        r""":math:`\eta`, with the components of the statistic on the last axis."""

    @abstractmethod
    def from_natural(self, natural: ArrayLike) -> Params:
        r"""The parameters with natural parameter :math:`\eta`."""

    @abstractmethod
    def log_normalizer(self, natural: ArrayLike) -> FloatArray:
        r""":math:`A(\eta)`."""

    @abstractmethod
    def stats(self, x: ArrayLike) -> FloatArray:
        """:math:`u(x)`, with its components on the last axis."""

    @abstractmethod
    def log_base(self, x: ArrayLike) -> FloatArray:
        r""":math:`\log h(x)`; minus infinity outside the support."""

    @abstractmethod
    def mean_stats(self, params: Params) -> FloatArray:
        r""":math:`E[u(x)] = \nabla A(\eta)`."""

    @abstractmethod
    def cov_stats(self, params: Params) -> FloatArray:
        r""":math:`\mathrm{Cov}[u(x)] = \nabla^2 A(\eta)`, on the last two axes."""

    @abstractmethod
    def from_mean_stats(self, mean: ArrayLike) -> Params:
        r"""The parameters whose :math:`E[u(x)]` is ``mean``: maximum likelihood from averaged statistics."""

    @abstractmethod
    def sample(
        self, params: Params, rng: np.random.Generator, size: int | tuple[int, ...] | None = None
    ) -> NDArray[Any]:
        """Draw values; ``size`` is put in front of the parameters' shape."""

    @abstractmethod
    def in_support(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Which values the family can produce (missing values count as possible)."""

    def log_prob(self, x: ArrayLike, params: Params) -> FloatArray:
        r""":math:`\log p(x) = \eta^\top u(x) - A(\eta) + \log h(x)`."""
        natural = self.natural(params)
        stats = self.stats(x)
        with np.errstate(invalid="ignore"):
            terms = np.where(stats == 0.0, 0.0, stats * natural)
        inside = terms.sum(axis=-1) - self.log_normalizer(natural)
        return np.asarray(inside + self.log_base(x))

    def fit(self, x: ArrayLike, weight: ArrayLike | None = None) -> Params:
        """Maximum likelihood from observations along the first axis, by matching the averaged statistics.

        Parameters
        ----------
        x : array-like
            Observations along the first axis.
        weight : array-like of shape (n_samples,), optional
            Weight of each observation.
        """
        stats = self.stats(x)
        if weight is None:
            return self.from_mean_stats(stats.mean(axis=0))
        share = np.asarray(weight, dtype=np.float64)
        return self.from_mean_stats(np.tensordot(share, stats, axes=(0, 0)) / share.sum())


def prepend_size(size: int | tuple[int, ...] | None, shape: tuple[int, ...]) -> tuple[int, ...]:
    """``size`` in front of a parameter shape."""
    if size is None:
        return shape
    return ((size,) if isinstance(size, int) else tuple(size)) + shape
