"""The Dirichlet family: the parts of a whole, such as the composition of a soil or of a household's spending."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from softcount._errors import InputError
from softcount._types import CodesArray, FloatArray
from softcount.families._base import Params, prepend_size
from softcount.families.beta import Beta
from softcount.families.blocks import Block, DenseBlock, SparseBlock
from softcount.families.columns import ColumnFamily, one_hot, opposed, others_mean
from softcount.families.dirichlet_fit import concentrations, log_density
from softcount.families.statistics import Sums
from softcount.families.supports import is_positive

__all__ = ["Dirichlet"]

#: How far the parts of a whole may be from summing to one.
ROUNDING = 1e-6


class Dirichlet(ColumnFamily):
    r"""Dirichlet: :math:`p(x) = \frac{\Gamma(S)}{\prod_j \Gamma(a_j)} \prod_j x_j^{a_j - 1}`, :math:`S = \sum_j a_j`.

    :math:`u(x) = (\log x_1, \dots, \log x_d)`, :math:`\eta = a - 1` and
    :math:`A(\eta) = \sum_j \log\Gamma(a_j) - \log\Gamma(S)`. The event is the whole vector: the last axis of
    ``concentration`` runs over the parts. As the model of a block's columns (class axis last) the columns of the
    block are the parts, and a row with a missing part says nothing. Maximum likelihood solves
    :math:`\psi(a_j) - \psi(S) = E[\log x_j]` with :math:`S` at most 1e8.

    Examples
    --------
    >>> family = Dirichlet()
    >>> float(family.log_prob([0.2, 0.3, 0.5], family.parameters([1.0, 1.0, 1.0])).round(4))
    0.6931
    """

    name = "dirichlet"
    support = "parts of a whole: positive numbers that sum to 1 over the columns"
    event_ndim = 1

    def parameters(self, concentration: ArrayLike) -> Params:
        """Parameters from the concentrations of the parts, along the last axis."""
        return {"concentration": np.asarray(concentration, dtype=np.float64)}

    def natural(self, params: Params) -> FloatArray:
        r""":math:`a - 1`."""
        return params["concentration"] - 1.0

    def from_natural(self, natural: ArrayLike) -> Params:
        r""":math:`a = \eta + 1`."""
        return {"concentration": np.asarray(natural, dtype=np.float64) + 1.0}

    def log_normalizer(self, natural: ArrayLike) -> FloatArray:
        r""":math:`A(\eta) = \sum_j \log\Gamma(a_j) - \log\Gamma(S)`."""
        a = np.asarray(natural, dtype=np.float64) + 1.0
        return np.asarray(special.gammaln(a).sum(axis=-1) - special.gammaln(a.sum(axis=-1)))

    def stats(self, x: ArrayLike) -> FloatArray:
        r""":math:`\log x`."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(np.asarray(x, dtype=np.float64))

    def log_base(self, x: ArrayLike) -> FloatArray:
        """Zero: :math:`h(x) = 1` on vectors of positive parts that sum to one."""
        return np.where(self.in_support(x).all(axis=-1), 0.0, -np.inf)

    def mean_stats(self, params: Params) -> FloatArray:
        r""":math:`\psi(a_j) - \psi(S)`."""
        a = params["concentration"]
        return np.asarray(special.digamma(a) - special.digamma(a.sum(axis=-1, keepdims=True)))

    def cov_stats(self, params: Params) -> FloatArray:
        r""":math:`\mathrm{diag}(\psi'(a)) - \psi'(S)`."""
        a = params["concentration"]
        own = special.polygamma(1, a)[..., None] * np.eye(a.shape[-1])
        return np.asarray(own - special.polygamma(1, a.sum(axis=-1))[..., None, None])

    def from_mean_stats(self, mean: ArrayLike) -> Params:
        r"""The concentrations with these expected logarithms."""
        return {"concentration": concentrations(np.asarray(mean, dtype=np.float64))}

    def log_prob(self, x: ArrayLike, params: Params) -> FloatArray:
        r""":math:`\sum_j (a_j - 1) \log x_j - A(\eta)`; zero for a vector with a missing part."""
        x = np.asarray(x, dtype=np.float64)
        possible, missing = self.in_support(x).all(axis=-1), np.isnan(x).any(axis=-1)
        known = possible & ~missing
        inside = log_density(np.where(known[..., None], x, 1.0 / x.shape[-1]), params["concentration"])
        return np.asarray(np.where(known, inside, np.where(possible, 0.0, -np.inf)))

    def sample(
        self, params: Params, rng: np.random.Generator, size: int | tuple[int, ...] | None = None
    ) -> NDArray[Any]:
        """Draw vectors of parts."""
        a = params["concentration"]
        shape = prepend_size(size, a.shape)
        # log Gamma(a) variates as Gamma(a + 1) variates times U^(1 / a), which does not underflow.
        logs = np.log(rng.standard_gamma(a + 1.0, shape)) - rng.standard_exponential(shape) / a
        parts = np.exp(logs - np.logaddexp.reduce(logs, axis=-1, keepdims=True))
        return np.asarray(np.maximum(parts, np.finfo(np.float64).tiny))

    def in_support(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Positive, and summing to one over the last axis; missing parts may be anything."""
        x = np.asarray(x, dtype=np.float64)
        missing = np.isnan(x)
        total = np.where(missing, 0.0, x).sum(axis=-1, keepdims=True)
        incomplete = missing.any(axis=-1, keepdims=True)
        whole = np.where(incomplete, total < 1.0 + ROUNDING, np.abs(total - 1.0) <= ROUNDING)
        return np.asarray(is_positive(x) & whole)

    def standard(self) -> Params:
        """Two parts, uniformly distributed."""
        return self.parameters([1.0, 1.0])

    # ---- columns of a block: class axis last, parts first
    def scorer(self, params: Params) -> DirichletScorer:
        """The density of complete rows."""
        return DirichletScorer(self, params)

    def tally(self, block: Block, n_classes: int, params: Params | None = None) -> DirichletTally:
        """Weighted sums of logarithms over complete rows."""
        if isinstance(block, SparseBlock):
            raise InputError("The dirichlet family reads dense columns; this block is sparse. Use X.toarray().")
        return DirichletTally(self, block.n_columns, n_classes)

    def solve(self, statistics: Any, prior: Any, previous: Params | None = None) -> Params:
        """Concentrations from averaged logarithms; a class without weight takes the overall ones."""
        center = self.anchored(prior, statistics.pooled()).center
        mass = statistics["weight"] + prior.alpha
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = np.where(mass > 0.0, (statistics["stats"] + prior.alpha * center) / mass, center)
        return {"concentration": concentrations(mean.T).T}

    def anchored(self, prior: Any, pooled: Any) -> Any:
        """The prior with its pseudo-rows at the overall mean; without any row at that of the uniform member."""
        if prior.center is not None:
            return prior
        weight, n_parts = pooled["weight"], pooled["stats"].shape[0]
        mean = pooled["stats"] / np.where(weight > 0.0, weight, 1.0)
        return replace(
            prior, center=np.where(weight > 0.0, mean, special.digamma(1.0) - special.digamma(float(n_parts)))
        )

    def log_prior(self, params: Params, prior: Any) -> float:
        r""":math:`\sum_k \alpha\,(\eta_k^\top \bar u - A(\eta_k))`: the log-density of the pseudo-rows."""
        if prior.center is None or not np.any(prior.alpha):
            return 0.0
        natural = self._rows(params)
        inside = np.sum(natural * prior.center[:, 0], axis=-1) - self.log_normalizer(natural)
        return float(np.sum(np.broadcast_to(prior.alpha, (1, len(inside)))[0] * inside))

    def draw(self, params: Params, codes: CodesArray, rng: np.random.Generator) -> NDArray[Any]:
        """Rows of parts drawn from the classes ``codes``."""
        return self.sample({"concentration": params["concentration"].T[codes]}, rng)

    def column_scores(self, params: Params, block: Any, weights: FloatArray) -> tuple[Any, FloatArray]:
        r""":math:`\sum_k a_{ik} (a_{jk} - 1) \log x_{ij}` per cell, the normalizers per row."""
        values = np.asarray(block.values, dtype=np.float64)
        impossible = np.asarray(~self.in_support(values).all(axis=1))
        known = np.asarray(~np.isnan(values).any(axis=1)) & ~impossible
        logs = np.log(np.where(known[:, None], values, 1.0))
        shares = np.where(known[:, None], weights, 0.0)
        cells = (shares @ (params["concentration"] - 1.0).T) * logs
        rest = -(shares @ self.log_normalizer(self._rows(params)))
        for k in range(weights.shape[1]):
            lost = impossible & (weights[:, k] != 0.0)
            rest = opposed(rest, np.where(lost, np.copysign(np.inf, -weights[:, k]), 0.0))
        return cells, rest

    def telling(self, params: Params, class_weight: FloatArray) -> FloatArray:
        r"""Signed divergence of each part's own beta distribution from that of the other classes."""
        own = self.take_rows(params)
        rest = concentrations(others_mean(self.mean_stats(own).T, class_weight).T)
        part, other = _single_parts(own["concentration"]), _single_parts(rest)
        gap = Beta().kl(part, other)
        larger = part["a"] * other["b"] >= other["a"] * part["b"]
        return np.asarray(np.where(larger, gap, -gap).T)

    def take_rows(self, params: Params) -> Params:
        """The classes' parameters with the parts on the last axis, as the density wants them."""
        return {"concentration": np.ascontiguousarray(params["concentration"].T)}

    def _rows(self, params: Params) -> FloatArray:
        return self.natural(self.take_rows(params))


def _single_parts(concentration: FloatArray) -> Params:
    """The beta distribution of each part by itself."""
    rest = concentration.sum(axis=-1, keepdims=True) - concentration
    return {"a": concentration, "b": np.maximum(rest, np.finfo(np.float64).tiny)}


class DirichletScorer:
    """Adds the log-densities of complete rows."""

    def __init__(self, family: Dirichlet, params: Params) -> None:
        self.family = family
        self.concentration = np.ascontiguousarray(params["concentration"].T)

    def add(self, block: DenseBlock, out: FloatArray) -> None:
        """Add the scores of the block's rows to ``out``."""
        values = np.asarray(block.values, dtype=np.float64)
        for k, concentration in enumerate(self.concentration):
            out[:, k] += self.family.log_prob(values, {"concentration": concentration})


class DirichletTally:
    """Collects the weighted sums of the logarithms of complete rows."""

    def __init__(self, family: Dirichlet, n_columns: int, n_classes: int) -> None:
        self.family = family
        self.stats = np.zeros((n_columns, n_classes))
        self.weight = np.zeros((1, n_classes))

    def add(self, block: DenseBlock, resp: FloatArray) -> None:
        """Count rows with responsibilities."""
        values = np.asarray(block.values, dtype=np.float64)
        if block.missing is not None:
            complete = ~block.missing.any(axis=1)
            values, resp = values[complete], resp[complete]
        self.stats += self.family.stats(values).T @ resp
        self.weight += resp.sum(axis=0)

    def add_known(self, block: DenseBlock, codes: CodesArray, weight: FloatArray | None) -> None:
        """Count rows of known class."""
        self.add(block, one_hot(codes, weight, self.weight.shape[1]))

    def statistics(self) -> Sums:
        """The sums."""
        return Sums({"stats": self.stats, "weight": self.weight}, signed=frozenset({"stats"}))
