r"""Complete-data scores of a mixture's parameters, block by block, and how what is reported depends on them.

Every family is exponential, so in a natural parameter :math:`\eta` the score of a row under component k is
:math:`u(x) - E_k[u]` and its complete information :math:`\mathrm{Cov}_k[u]`, whatever the row. Numbers are taken in the
coordinates :math:`L^{-1}(u - E[u])` with :math:`LL^\top = \mathrm{Cov}[u]`, whose information is the identity, so
that columns of any unit can stand side by side; categories keep one indicator per value.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from softcount._errors import InputError
from softcount._types import BoolArray, FloatArray
from softcount.core.components import BOUNDARY
from softcount.families._base import Params
from softcount.families.bernoulli import Bernoulli
from softcount.families.blocks import Block, CodesBlock, SparseBlock
from softcount.families.categorical import Categorical
from softcount.families.columns import PseudoCounts
from softcount.families.gaussian import Gaussian
from softcount.families.moment_prior import MomentPrior
from softcount.families.poisson import Poisson

__all__ = ["ScoreTable", "score_table"]

#: Step of a numerical derivative, in standard deviations of a statistic.
STEP = 1e-5
#: A variance this close to its smallest allowed value lies on the boundary.
NEAR_BOUND = 1.01


class ScoreTable(Protocol):
    """What a block adds to the scores of the rows. Tables of results have the block's parameters' names and shapes."""

    #: Scores per row and component.
    width: int

    def scores(self, block: Any, component: int) -> tuple[FloatArray, FloatArray]:
        """Scores of the rows, (n_rows, width), and 1 where each column is observed, (n_rows, n_columns)."""
        ...

    def information(self, weight: FloatArray, component: int) -> FloatArray:
        """Complete information (width, width) of observed weight ``weight`` (n_columns,), and of the prior."""
        ...

    def gradients(self, component: int) -> FloatArray:
        """Derivatives of what is reported, (n_reported, width)."""
        ...

    def on_boundary(self, component: int) -> BoolArray:
        """Which of the reported numbers lie on the edge of what is possible, (n_reported,)."""
        ...

    def is_fixed(self, component: int) -> BoolArray:
        """Which of the scores belong to a parameter held at such an edge, (width,)."""
        ...

    def table(self, values: FloatArray) -> Params:
        """Numbers (n_reported, n_components) laid out as the block's parameters are."""
        ...


def score_table(family: Any, params: Params, prior: Any) -> ScoreTable:
    """The score table of a block, or an error where its family has none."""
    if isinstance(family, Categorical):
        return _Values(family, params, prior)
    if family.event_ndim:
        raise InputError(
            f"Standard errors are worked out for columns with a distribution each, but there is a {family.name} block. "
            "Use a bootstrap: fit again to rows drawn with replacement."
        )
    if getattr(family, "shared", False) or getattr(family, "spherical", False):
        raise InputError(
            "Standard errors are not worked out for variances that several components or columns share. Use "
            "shared_variance=False, or a bootstrap."
        )
    if isinstance(prior, MomentPrior) and any(np.any(part) for part in (prior.weight, prior.scatter, prior.dof)):
        raise InputError("Standard errors are not worked out with an explicit prior of Gaussian columns; leave it out.")
    return _Measurements(params, prior) if isinstance(family, Gaussian) else _Numbers(family, params, prior)


class _Values:
    """Categories: an indicator per value."""

    def __init__(self, family: Categorical, params: Params, prior: PseudoCounts) -> None:
        self.offsets = family.offsets
        self.width = int(family.offsets[-1])
        self.prob = np.exp(params["log_prob"])
        # A row kept for values nobody has seen is no parameter.
        self.prob[family.unseen_rows] = 0.0
        self.pseudo = np.array(np.broadcast_to(np.asarray(prior.alpha, dtype=np.float64), self.prob.shape))
        self.pseudo[family.unseen_rows] = 0.0
        self.column = np.repeat(np.arange(self.offsets.shape[0] - 1), np.diff(self.offsets))
        self.same_column = self.column[:, None] == self.column

    def scores(self, block: CodesBlock, component: int) -> tuple[FloatArray, FloatArray]:
        codes = block.codes.astype(np.int64)
        observed = (codes >= 0) & (codes < np.diff(self.offsets))
        rows, columns = np.nonzero(observed)
        scores: FloatArray = np.where(observed[:, self.column], -self.prob[:, component], 0.0)
        scores[rows, self.offsets[columns] + codes[rows, columns]] += 1.0
        return scores, observed.astype(np.float64)

    def information(self, weight: FloatArray, component: int) -> FloatArray:
        pseudo = np.bincount(self.column, self.pseudo[:, component], minlength=weight.shape[0])
        return np.asarray((weight + pseudo)[self.column][:, None] * self.gradients(component))

    def gradients(self, component: int) -> FloatArray:
        prob = self.prob[:, component]
        return np.asarray((np.diag(prob) - np.outer(prob, prob)) * self.same_column)

    def on_boundary(self, component: int) -> BoolArray:
        # A column with one value has nothing to estimate.
        alone = np.diff(self.offsets)[self.column] < 2
        return np.asarray(self.is_fixed(component) & ~alone)

    def is_fixed(self, component: int) -> BoolArray:
        prob = self.prob[:, component]
        return np.asarray((prob < BOUNDARY) | (prob > 1.0 - BOUNDARY))

    def table(self, values: FloatArray) -> Params:
        return {"log_prob": values}


class _Numbers:
    """Any family of one number per cell, in whitened statistics."""

    def __init__(self, family: Any, params: Params, prior: Any) -> None:
        self.family, self.params = family, params
        self.mean = family.mean_stats(params)
        self.n_columns, self.n_components, self.n_stats = self.mean.shape
        self.width = self.n_columns * self.n_stats
        cov = np.asarray(family.cov_stats(params), dtype=np.float64)
        # Where a parameter lies on the boundary its statistic does not vary.
        still = np.diagonal(cov, axis1=-2, axis2=-1) <= 0.0
        cov = cov + still[..., None] * np.eye(self.n_stats)
        self.lower = np.linalg.cholesky(cov)
        self.unlower = np.linalg.inv(self.lower)
        self.still: BoolArray = np.asarray(still.any(axis=-1))
        other = prior.alpha if getattr(prior, "other", None) is None else prior.other
        alpha = prior.alpha + other if isinstance(family, Bernoulli) else prior.alpha
        self.pseudo = np.broadcast_to(np.asarray(alpha, dtype=np.float64), (self.n_columns, self.n_components))

    def scores(self, block: Block, component: int) -> tuple[FloatArray, FloatArray]:
        values, observed = _cells(block)
        inside = np.where(observed, values, self.family.inner_point)
        centered = self.family.stats(inside) - self.mean[:, component]
        whitened = np.einsum("jab,njb->nja", self.unlower[:, component], centered)
        whitened[:, self.still[:, component]] = 0.0
        return (whitened * observed[..., None]).reshape(values.shape[0], self.width), observed.astype(np.float64)

    def information(self, weight: FloatArray, component: int) -> FloatArray:
        own = (weight + self.pseudo[:, component]) * ~self.still[:, component]
        return np.diag(np.repeat(own, self.n_stats))

    def gradients(self, component: int) -> FloatArray:
        if isinstance(self.family, Bernoulli | Poisson):
            return np.diag(self.lower[:, component, 0, 0])
        natural = self.family.natural(self.params)[:, component]
        reported = len(self.params)
        out = np.zeros((self.n_columns, reported, self.n_columns, self.n_stats))
        for a in range(self.n_stats):
            step = STEP * self.unlower[:, component, a, :]
            up, down = self.family.from_natural(natural + step), self.family.from_natural(natural - step)
            for i, name in enumerate(self.params):
                slope = (np.asarray(up[name]) - np.asarray(down[name])) / (2.0 * STEP)
                out[np.arange(self.n_columns), i, np.arange(self.n_columns), a] = slope
        return out.reshape(self.n_columns * reported, self.width)

    def on_boundary(self, component: int) -> BoolArray:
        return np.repeat(self._edge(component), 1 if isinstance(self.family, Bernoulli | Poisson) else len(self.params))

    def is_fixed(self, component: int) -> BoolArray:
        return np.repeat(self._edge(component), self.n_stats)

    def _edge(self, component: int) -> BoolArray:
        edge = self.still[:, component]
        if isinstance(self.family, Bernoulli):
            edge = edge | (np.abs(self.mean[:, component, 0] - 0.5) > 0.5 - BOUNDARY)
        return np.asarray(edge)

    def table(self, values: FloatArray) -> Params:
        if isinstance(self.family, Bernoulli):
            return {"log_prob": values}
        shaped = values.reshape(self.n_columns, -1, values.shape[-1])
        return {name: shaped[:, i] for i, name in enumerate(self.params)}


class _Measurements:
    """Gaussian columns: the deviation and its square, in standard deviations, so that no digits cancel."""

    def __init__(self, params: Params, prior: MomentPrior) -> None:
        self.mean, self.var = params["mean"], params["var"]
        self.n_columns = self.mean.shape[0]
        self.width = 2 * self.n_columns
        self.floor = float(prior.floor or 0.0)
        self.bound = np.zeros(self.n_columns) if prior.bound is None else np.asarray(prior.bound)

    def scores(self, block: Block, component: int) -> tuple[FloatArray, FloatArray]:
        values, observed = _cells(block)
        spread = np.sqrt(self.var[:, component])
        z = np.where(observed, (values - self.mean[:, component]) / spread, 0.0)
        # A floor adds to every square what it adds to the variance.
        square = (z * z + self.floor / self.var[:, component] - 1.0) * observed / np.sqrt(2.0)
        return np.stack([z, square], axis=2).reshape(values.shape[0], self.width), observed.astype(np.float64)

    def information(self, weight: FloatArray, component: int) -> FloatArray:
        return np.diag(np.repeat(weight, 2))

    def gradients(self, component: int) -> FloatArray:
        var = self.var[:, component]
        return np.diag(np.stack([np.sqrt(var), np.sqrt(2.0) * var], axis=1).reshape(-1))

    def on_boundary(self, component: int) -> BoolArray:
        edge: BoolArray = np.asarray(self.var[:, component] <= NEAR_BOUND * self.bound)
        return np.stack([np.zeros_like(edge), edge], axis=1).reshape(-1)

    def is_fixed(self, component: int) -> BoolArray:
        return self.on_boundary(component)

    def table(self, values: FloatArray) -> Params:
        shaped = values.reshape(self.n_columns, 2, -1)
        return {"mean": shaped[:, 0], "var": shaped[:, 1]}


def _cells(block: Any) -> tuple[FloatArray, FloatArray]:
    """The numbers of the block, and where they are observed."""
    if isinstance(block, SparseBlock):
        values = _dense(block)
        observed = np.ones(values.shape, dtype=bool) if block.missing is None else _dense(block.missing) == 0.0
        return values, observed
    values = np.asarray(block.numbers, dtype=np.float64)
    return values, np.ones(values.shape, dtype=bool) if block.missing is None else ~block.missing


def _dense(block: SparseBlock) -> FloatArray:
    from scipy.sparse import csr_array

    start, stop = int(block.indptr[0]), int(block.indptr[-1])
    data = np.ones(stop - start) if block.data is None else np.asarray(block.data[start:stop], dtype=np.float64)
    shape = (block.n_rows, block.n_columns)
    table: Any = csr_array((data, block.indices[start:stop], block.indptr - start), shape=shape)
    return np.asarray(table.toarray())
