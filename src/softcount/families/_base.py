r"""The exponential family: one density, written once.

Every distribution here is

.. math:: p(x \mid \eta) = h(x) \exp\bigl(\eta^\top u(x) - A(\eta)\bigr),

with natural parameter :math:`\eta` (:meth:`Family.natural`), sufficient statistic :math:`u`
(:meth:`Family.stats`), base measure :math:`h` (:meth:`Family.log_base` is its logarithm) and log-normalizer
:math:`A` (:meth:`Family.log_normalizer`). A family holds no data. Its parameters are a dictionary of arrays
of one shape, so one call serves a single distribution as well as a table of them; :meth:`Family.natural`
and :meth:`Family.stats` add a last axis over the components of :math:`u`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcount._errors import InputError
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
    #: Some value of the support; it stands in for others while a formula is evaluated that they would upset.
    inner_point: ClassVar[float] = 1.0

    # ---- what a family defines ----------------------------------------------------------------------------
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
        """:math:`u(x)`, with its components on the last axis; of a value outside the support, anything."""

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
        r"""The parameters whose :math:`E[u(x)]` is ``mean``: maximum likelihood from averaged statistics.

        Where ``mean`` lies on the boundary (a constant column) and no member of the family has it, the
        nearest member inside the limits that the family documents.
        """

    @abstractmethod
    def sample(
        self, params: Params, rng: np.random.Generator, size: int | tuple[int, ...] | None = None
    ) -> NDArray[Any]:
        """Draw values; ``size`` is put in front of the parameters' shape."""

    @abstractmethod
    def in_support(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Which values the family can produce (missing values count as possible)."""

    def missing(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Which values are missing: NaN."""
        x = np.asarray(x)
        return np.asarray(np.isnan(x) if x.dtype.kind == "f" else np.zeros(x.shape, dtype=bool))

    # ---- what follows from it -----------------------------------------------------------------------------
    def log_prob(self, x: ArrayLike, params: Params) -> FloatArray:
        r""":math:`\log p(x) = \eta^\top u(x) - A(\eta) + \log h(x)`.

        Minus infinity outside the support. A missing value has log-probability zero: it could be anything,
        and everything together has probability one.
        """
        natural = self.natural(params)
        log_normalizer = self.log_normalizer(natural)
        return self.on_support(x, lambda v: inner(self.stats(v), natural) - log_normalizer + self.log_base(v))

    def on_support(self, x: ArrayLike, log_density: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """``log_density`` of the numbers inside the support, minus infinity outside, zero where missing."""
        x = np.asarray(x)
        missing = self.missing(x)
        known = self.in_support(x) & ~missing
        inside = log_density(np.where(known, x, self.inner_point).astype(np.float64))
        return np.asarray(np.where(known, inside, np.where(missing, 0.0, -np.inf)))

    def entropy(self, params: Params) -> FloatArray:
        r""":math:`-E[\log p(x)] = A(\eta) - \eta^\top E[u(x)] - E[\log h(x)]` in nats."""
        natural = self.natural(params)
        explained = inner(self.mean_stats(params), natural)
        return np.asarray(self.log_normalizer(natural) - explained - self.mean_log_base(params))

    def mean_log_base(self, params: Params) -> FloatArray:
        r""":math:`E[\log h(x)]`; zero where :math:`h = 1`."""
        return np.zeros(np.shape(self.log_normalizer(self.natural(params))))

    def kl(self, params: Params, other: Params) -> FloatArray:
        r"""Divergence of ``params`` from ``other``, never negative.

        .. math:: \mathrm{KL}(p \,\|\, q) = (\eta_p - \eta_q)^\top E_p[u(x)] - A(\eta_p) + A(\eta_q)
        """
        natural, natural_other = self.natural(params), self.natural(other)
        with np.errstate(invalid="ignore"):
            gap = inner(self.mean_stats(params), natural - natural_other)
            gap = gap - self.log_normalizer(natural) + self.log_normalizer(natural_other)
        return np.maximum(gap, 0.0)

    def fit(self, x: ArrayLike, weight: ArrayLike | None = None) -> Params:
        """Maximum likelihood from observations along the first axis, by matching the averaged statistics.

        Parameters
        ----------
        x : array-like
            Observations along the first axis. Missing numbers are left out; vectors must be complete.
        weight : array-like of shape (n_samples,), optional
            Weight of each observation; ``k`` means ``k`` copies of it.
        """
        total, mass = self.totals(x, weight)
        if np.any(mass <= 0.0):
            raise InputError(f"A {self.name} distribution cannot be fitted to missing values alone.")
        return self.from_mean_stats(total / mass[..., None])

    def totals(self, x: ArrayLike, weight: ArrayLike | None = None) -> tuple[FloatArray, FloatArray]:
        r""":math:`\sum_i w_i u(x_i)` over the first axis, and the weight of what was not missing."""
        x, share = self.checked(x, weight)
        if self.event_ndim:
            return np.tensordot(share, self.stats(x), axes=(0, 0)), np.asarray(share.sum())
        missing = self.missing(x)
        share = np.where(missing, 0.0, share.reshape(-1, *(1,) * (x.ndim - 1)))
        stats = self.stats(np.where(missing, self.inner_point, x))
        return (share[..., None] * stats).sum(axis=0), np.asarray(share.sum(axis=0))

    def checked(self, x: ArrayLike, weight: ArrayLike | None) -> tuple[NDArray[Any], FloatArray]:
        """Observations that the family can produce, and one weight for each of them, or an error."""
        x = np.asarray(x)
        wrong = ~self.in_support(x)
        if wrong.any():
            where = tuple(int(i) for i in np.argwhere(wrong)[0])
            raise InputError(
                f"x{list(where)} is {x[where].item()!r}, but values of {self.name} data are {self.support}."
            )
        if self.event_ndim and self.missing(x).any():
            row = int(np.argwhere(self.missing(x))[0][0])
            raise InputError(
                f"Row {row} of x has missing entries. This takes complete vectors only: leave the row out, "
                "or fit a mixture of one component, which averages over what is missing."
            )
        if x.ndim <= self.event_ndim or x.shape[0] == 0:
            raise InputError(f"x has shape {x.shape}; at least one observation along the first axis is needed.")
        share = np.ones(x.shape[0]) if weight is None else np.asarray(weight, dtype=np.float64)
        if share.shape != x.shape[:1] or not np.all(np.isfinite(share)) or np.any(share < 0.0):
            raise InputError(f"weight must hold {x.shape[0]} finite numbers of zero or more, one per row of x.")
        if not share.any():
            raise InputError("All weights are zero: there is nothing to fit to.")
        return x, share


def inner(stats: FloatArray, natural: FloatArray) -> FloatArray:
    """Inner product over the last axis in which zero times infinity is zero."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(stats == 0.0, 0.0, stats * natural).sum(axis=-1))


def prepend_size(size: int | tuple[int, ...] | None, shape: tuple[int, ...]) -> tuple[int, ...]:
    """``size`` in front of a parameter shape."""
    if size is None:
        return shape
    return ((size,) if isinstance(size, int) else tuple(size)) + shape
