r"""Documents in which the counts of some words are missing.

Given class k, the words that were seen come from the words that could be seen: with :math:`o_{ik}` the total
probability of the words whose count is known in document i,

.. math:: \log f_k(x_i) = \sum_t x_{it} \log\theta_{tk} - n_i \log o_{ik}, \qquad n_i = \sum_t x_{it} .

For EM every seen word stands for the unseen draws it took on average to see it: the expected number of draws of a
hidden word t is :math:`n_i\,\theta_{tk} / o_{ik}`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from softcount import kernels
from softcount._types import CodesArray, FloatArray
from softcount.families._base import Params
from softcount.families.blocks import Block, DenseBlock, SparseBlock
from softcount.families.columns import one_hot
from softcount.families.linear import LinearScorer, LinearTally

__all__ = ["MultinomialScorer", "MultinomialTally", "hidden_share"]


def lengths_of(block: DenseBlock | SparseBlock) -> FloatArray:
    """Words seen in each document."""
    total = np.zeros((block.n_rows, 1))
    ones = np.ones((block.n_columns, 1))
    if isinstance(block, SparseBlock):
        kernels.csr_scores(block.indptr, block.indices, block.data, ones, total)
    else:
        kernels.dense_scores(block.numbers, ones, total)
    return np.asarray(total[:, 0])


def seen_probability(block: DenseBlock | SparseBlock, theta: FloatArray) -> FloatArray:
    """Total probability of the words whose count is known, per document and class."""
    share = np.zeros((block.n_rows, theta.shape[1]))
    if isinstance(block, DenseBlock):
        assert block.missing is not None
        kernels.dense_scores(~block.missing, theta, share)
        return share
    assert block.missing is not None
    pattern = block.missing
    kernels.csr_scores(pattern.indptr, pattern.indices, None, theta, share)
    return np.asarray(np.maximum(1.0 - share, 0.0))


def hidden_share(block: DenseBlock | SparseBlock, theta: FloatArray) -> FloatArray:
    r""":math:`n_i \log o_{ik}`, zero where no word could be seen."""
    length = lengths_of(block)[:, None]
    seen = seen_probability(block, theta)
    return np.asarray(length * np.log(np.where(seen > 0.0, seen, 1.0)))


class MultinomialScorer(LinearScorer):
    """Scores documents by the words that were seen among those that could be."""

    def __init__(self, params: Params) -> None:
        super().__init__(params["log_prob"], None, None)

    @cached_property
    def theta(self) -> FloatArray:
        """The probabilities themselves, made only where words are hidden: a wide table is as large as the counts."""
        return np.ascontiguousarray(np.exp(self.slopes))

    def _add(self, block: DenseBlock | SparseBlock, out: FloatArray) -> None:
        super()._add(block, out)
        if block.has_missing:
            out -= hidden_share(block, self.theta)


class MultinomialTally(LinearTally):
    """Counts words, and the draws of hidden words that the seen ones stand for."""

    def __init__(self, block: Block, n_classes: int, params: Params | None) -> None:
        super().__init__(block, n_classes)
        self.theta: FloatArray | None = None
        if params is not None and getattr(block, "has_missing", False):
            self.theta = np.ascontiguousarray(np.exp(params["log_prob"]))

    def add(self, block: DenseBlock | SparseBlock, resp: FloatArray) -> None:
        """Count rows with responsibilities."""
        super().add(block, resp)
        if block.has_missing and self.theta is not None:
            self._add_hidden(block, resp, self.theta)

    def add_known(self, block: DenseBlock | SparseBlock, codes: CodesArray, weight: FloatArray | None) -> None:
        """Count rows of known class."""
        super().add_known(block, codes, weight)
        if block.has_missing and self.theta is not None:
            self._add_hidden(block, one_hot(codes, weight, self.sum.shape[1]), self.theta)

    def _add_hidden(self, block: Any, resp: FloatArray, theta: FloatArray) -> None:
        seen = seen_probability(block, theta)
        draws = resp * lengths_of(block)[:, None] / np.where(seen > 0.0, seen, np.inf)
        if block.evidence is not None:
            draws *= block.evidence[:, None]
        hidden = np.zeros_like(self.sum)
        if isinstance(block, SparseBlock):
            assert block.missing is not None
            pattern = block.missing
            kernels.csr_accumulate(pattern.indptr, pattern.indices, None, draws, hidden)
        else:
            kernels.dense_accumulate(block.missing, draws, hidden)
        self.sum += theta * hidden
