"""The Poisson family: how many events happened."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, xlogy

from softcount._types import FloatArray
from softcount.families._base import Params, prepend_size
from softcount.families.blocks import Block, SparseBlock
from softcount.families.columns import PseudoCounts
from softcount.families.linear import LinearFamily

__all__ = ["Poisson"]


class Poisson(LinearFamily):
    r"""Poisson: :math:`p(x) = \lambda^x e^{-\lambda} / x!`, :math:`\eta = \log\lambda`, :math:`A(\eta) = e^\eta`.

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
        return np.asarray(np.where(inside, -gammaln(np.where(inside, x, 0.0) + 1.0), -np.inf))

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
        x = np.asarray(x, dtype=np.float64)
        rate = params["rate"]
        return np.asarray(xlogy(x, rate) - rate + self.log_base(x))

    def sample(
        self, params: Params, rng: np.random.Generator, size: int | tuple[int, ...] | None = None
    ) -> NDArray[Any]:
        """Draw counts."""
        rate = params["rate"]
        return rng.poisson(rate, prepend_size(size, rate.shape)).astype(np.float64)

    def in_support(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Whole numbers of zero or more, or missing."""
        x = np.asarray(x)
        if x.dtype.kind in "ub":
            return np.ones(x.shape, dtype=bool)
        return np.asarray(((x >= 0) & (x == np.floor(x)) & ~np.isinf(x)) | np.isnan(x))

    # ---- columns of a block
    def table(self, params: Params) -> tuple[FloatArray, FloatArray | None]:
        r"""Slopes :math:`\log\lambda_{jk}`, constants :math:`-\lambda_{jk}`."""
        with np.errstate(divide="ignore"):
            return np.log(params["rate"]), -params["rate"]

    def row_base(self, block: Block) -> FloatArray | None:
        r""":math:`-\sum_j \log x_{ij}!`, which contains no class."""
        if isinstance(block, SparseBlock):
            start, stop = int(block.indptr[0]), int(block.indptr[-1])
            if block.data is None:
                return np.zeros(block.n_rows)
            entries = gammaln(np.asarray(block.data[start:stop], dtype=np.float64) + 1.0)
            total = np.concatenate([[0.0], np.cumsum(entries)])
            bounds = block.indptr - start
            return -(total[bounds[1:]] - total[bounds[:-1]])
        return -gammaln(np.asarray(block.numbers, dtype=np.float64) + 1.0).sum(axis=1)

    def solve(self, statistics: Any, prior: PseudoCounts, previous: Params | None = None) -> Params:
        r""":math:`\lambda_{jk} = (s_{jk} + a \bar x_j) / (w_{jk} + a)`: ``alpha`` pseudo-rows at the overall mean."""
        center = self.anchored(prior, statistics.pooled()).center
        assert center is not None  # noqa: S101
        mass = statistics["weight"] + prior.alpha
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = (statistics["sum"] + prior.alpha * center) / mass
        return {"rate": np.where(mass > 0.0, rate, np.broadcast_to(center, rate.shape))}

    def anchored(self, prior: PseudoCounts, pooled: Any) -> PseudoCounts:
        """The prior with its pseudo-rows at the overall mean."""
        if prior.center is not None:
            return prior
        weight = pooled["weight"]
        center = pooled["sum"] / np.where(weight > 0.0, weight, 1.0)
        return PseudoCounts(prior.alpha, prior.other, center)

    def log_prior(self, params: Params, prior: PseudoCounts) -> float:
        r""":math:`\sum a (\bar x \log\lambda - \lambda)`: a Gamma density up to its constant."""
        if prior.center is None:
            return 0.0
        inside = xlogy(prior.center, params["rate"]) - params["rate"]
        alpha = np.broadcast_to(prior.alpha, inside.shape)
        return float(np.where(alpha > 0.0, alpha * inside, 0.0).sum())

    def n_parameters(self, params: Params) -> int:
        """One rate per column and class."""
        return int(params["rate"].size)

    def telling(self, params: Params, class_weight: FloatArray) -> FloatArray:
        r"""Signed :math:`\mathrm{KL}(\lambda_{jk} \,\|\, \lambda_{j,-k})`."""
        rate = params["rate"]
        share = class_weight / class_weight.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = np.where(share < 1.0, ((rate @ share)[:, None] - share * rate) / (1.0 - share), rate)
            rest = np.maximum(rest, 0.0)
            gap = np.where(rate > 0.0, rate * (np.log(rate) - np.log(rest)), 0.0) - rate + rest
        return np.asarray(np.where(rate >= rest, gap, -gap))
