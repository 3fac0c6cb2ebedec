r"""Scores of single rows: of the weights of the components, and of the parameters of their columns.

With the complete-data score :math:`u_{ik}` of row i under component k and its responsibilities :math:`r_{ik}`, the
score of the row is :math:`s_i = \sum_k r_{ik} u_{ik}`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softcount._types import FloatArray
from softcount.core.chunks import Chunk
from softcount.core.membership import covariates, design_of, row_shares
from softcount.core.mixture import MixtureModel, MixtureParams
from softcount.core.score_tables import ScoreTable, score_table

__all__ = ["Layout", "RowScores", "beside", "layout_of", "scratch_rows"]

SCRATCH_NUMBERS = 2**20


@dataclass(frozen=True)
class Layout:
    """The blocks that have score tables, and where the scores lie: the weights' first, then component by component."""

    tables: tuple[ScoreTable, ...]
    blocks: tuple[int, ...]
    covariates: int | None
    n_components: int
    n_covariates: int

    @property
    def head(self) -> int:
        """Scores of the weights."""
        return self.n_components * self.n_covariates

    @property
    def per_component(self) -> int:
        """Scores of the parameters of one component."""
        return sum(table.width for table in self.tables)

    @property
    def size(self) -> int:
        """All scores."""
        return self.head + self.n_components * self.per_component

    def design(self, chunk: Chunk) -> FloatArray:
        """The covariates of the rows; ones where there are none."""
        place = self.covariates
        return np.ones((chunk.n_rows, 1)) if place is None else design_of(chunk.blocks[place])


def layout_of(model: MixtureModel, params: MixtureParams) -> Layout:
    """Where the scores of a mixture's parameters lie."""
    place = covariates(model)
    blocks = tuple(b for b in range(len(model.families)) if b != place)
    tables = tuple(score_table(model.families[b], params.blocks[b], model.priors[b]) for b in blocks)
    n_covariates = 1 if place is None else params.blocks[place]["coef"].shape[0]
    return Layout(tables, blocks, place, model.n_components, n_covariates)


@dataclass(frozen=True)
class RowScores:
    """Responsibilities of some rows, and what their scores under every component are made of."""

    model: MixtureModel
    layout: Layout
    chunk: Chunk
    share: FloatArray
    weight: FloatArray
    design: FloatArray
    sizes: FloatArray

    @classmethod
    def of(cls, model: MixtureModel, params: MixtureParams, layout: Layout, chunk: Chunk) -> RowScores:
        """The responsibilities that the rows have in a fit."""
        resp = model.log_joint(params, chunk, fitting=True)
        model.assign(resp, chunk, params.log_weights)
        weight = resp.sum(axis=1)
        share = resp / np.where(weight > 0.0, weight, 1.0)[:, None]
        sizes = row_shares(model, params, chunk)
        if sizes is None:
            sizes = np.broadcast_to(np.exp(params.log_weights), resp.shape)
        return cls(model, layout, chunk, share, weight, layout.design(chunk), sizes)

    def of_component(self, k: int) -> tuple[FloatArray, FloatArray, list[FloatArray]]:
        """Complete-data scores of the weights and of component k's parameters, and which columns were observed."""
        n = self.share.shape[1]
        of_weights = beside(np.eye(n)[k] - self.sizes, self.design)
        if self.model.class_prior is not None:
            of_weights = np.zeros_like(of_weights)
        pairs = zip(self.layout.tables, self.layout.blocks, strict=True)
        found = [table.scores(self.chunk.blocks[b], k) for table, b in pairs]
        return of_weights, np.concatenate([values for values, _ in found], axis=1), [cells for _, cells in found]

    def scores(self) -> FloatArray:
        """The rows' scores, shape (n_rows, n_parameters)."""
        head, width = self.layout.head, self.layout.per_component
        score = np.zeros((self.chunk.n_rows, self.layout.size))
        for k in range(self.share.shape[1]):
            of_weights, complete, _ = self.of_component(k)
            score[:, :head] += self.share[:, k, None] * of_weights
            score[:, head + k * width : head + (k + 1) * width] = self.share[:, k, None] * complete
        return score


def beside(by_component: FloatArray, design: FloatArray) -> FloatArray:
    """The products of the columns of both, component by component, shape (n_rows, n_components * n_covariates)."""
    if design.shape[1] == 1:
        return np.asarray(by_component * design)
    return np.asarray(by_component[:, :, None] * design[:, None, :]).reshape(design.shape[0], -1)


def scratch_rows(size: int) -> int:
    """How many rows have their scores of ``size`` parameters in memory at a time."""
    return max(256, SCRATCH_NUMBERS // (1 + size))
