r"""Families whose log-density is affine in the data: Bernoulli, multinomial, Poisson, and others with :math:`u(x) = x`.

Then :math:`\sum_j \log p(x_{ij} \mid k) = \sum_j c_{jk} + \sum_j x_{ij} t_{jk} + \text{(no class in it)}` is one matrix
product, and the statistics are :math:`X^\top R`; both work on sparse rows without ever looking at a zero.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from softcount import kernels
from softcount._types import CodesArray, FloatArray
from softcount.families._base import Params
from softcount.families.blocks import Block, DenseBlock, SparseBlock
from softcount.families.columns import ColumnFamily
from softcount.families.statistics import Sums

__all__ = ["LinearFamily"]


class LinearFamily(ColumnFamily):
    """A column family with :math:`u(x) = x`."""

    reads_sparse = True

    @abstractmethod
    def table(self, params: Params) -> tuple[FloatArray, FloatArray | None]:
        """Slopes ``t`` and constants ``c``, both (n_columns, n_classes); ``None`` for no constants."""

    def must_be_one(self, params: Params) -> FloatArray | None:
        """Where a cell of zero is impossible (a Bernoulli probability of one), as a 0/1 table, or None."""
        return None

    def scorer(self, params: Params) -> LinearScorer:
        """The product with the slopes, and the constants summed once."""
        slopes, constants = self.table(params)
        return LinearScorer(slopes, constants, self.must_be_one(params))

    def tally(self, block: Block, n_classes: int, params: Params | None = None) -> LinearTally:
        """Weighted sums of the cells."""
        assert not isinstance(block, SparseBlock) or self.reads_sparse  # noqa: S101
        return LinearTally(block, n_classes)

    def column_scores(self, params: Params, block: Any, weights: FloatArray) -> tuple[Any, FloatArray]:
        """Evidence per stored cell; the constants of a sparse row's columns belong to the row."""
        slopes, constants = self.table(params)
        if isinstance(block, SparseBlock):
            return _sparse_column_scores(block, slopes, constants, weights)
        return super().column_scores(params, block, weights)

    def linear_form(self, params: Params) -> tuple[FloatArray, FloatArray] | None:
        """The slopes and the summed constants."""
        slopes, constants = self.table(params)
        return slopes, (np.zeros(slopes.shape[1]) if constants is None else constants.sum(axis=0))


class LinearScorer:
    """Adds ``X @ slopes + constants`` over the observed cells."""

    def __init__(self, slopes: FloatArray, constants: FloatArray | None, required: FloatArray | None) -> None:
        self.slopes = np.ascontiguousarray(slopes)
        self.constants = None if constants is None else np.ascontiguousarray(constants)
        self.constant = np.zeros(slopes.shape[1]) if constants is None else constants.sum(axis=0)
        self.required = required

    def add(self, block: DenseBlock | SparseBlock, out: FloatArray) -> None:
        """Add the scores of the block's rows to ``out``."""
        if block.evidence is None:
            self._add(block, out)
            return
        scores = np.zeros_like(out)
        self._add(block, scores)
        scores *= block.evidence[:, None]
        out += scores

    def _add(self, block: DenseBlock | SparseBlock, out: FloatArray) -> None:
        _product(block, self.slopes, out)
        out += self.constant
        if self.constants is not None:
            _missing_product(block, self.constants, out, -1.0)
        if self.required is not None:
            hits = np.zeros_like(out)
            _product(block, self.required, hits)
            _missing_product(block, self.required, hits, 1.0)
            out[hits < self.required.sum(axis=0)] = -np.inf


class LinearTally:
    """Collects ``X.T @ resp`` and the weight of the observed cells."""

    def __init__(self, block: Block, n_classes: int) -> None:
        self.sum = np.zeros((block.n_columns, n_classes))
        observed_rows = block.n_columns if _has_missing(block) else 1
        self.weight = np.zeros((observed_rows, n_classes))

    def add(self, block: DenseBlock | SparseBlock, resp: FloatArray) -> None:
        """Count rows with responsibilities."""
        if block.evidence is not None:
            resp = resp * block.evidence[:, None]
        if isinstance(block, SparseBlock):
            if block.words is not None:
                kernels.csr_accumulate_words(block.words, resp, self.sum)
            else:
                kernels.csr_accumulate(block.indptr, block.indices, block.data, resp, self.sum)
        else:
            kernels.dense_accumulate(block.numbers, resp, self.sum)
        self._add_weight(block, resp)

    def add_known(self, block: DenseBlock | SparseBlock, codes: CodesArray, weight: FloatArray | None) -> None:
        """Count rows of known class."""
        if block.evidence is not None:
            weight = block.evidence if weight is None else weight * block.evidence
        if isinstance(block, SparseBlock):
            kernels.csr_class_counts(block.indptr, block.indices, block.data, codes, weight, self.sum)
        else:
            kernels.dense_class_counts(block.numbers, codes, weight, self.sum)
        known = codes >= 0
        n_classes = self.weight.shape[1]
        if not _has_missing(block):
            self.weight += np.bincount(
                codes[known], None if weight is None else weight[known], minlength=n_classes
            )
            return
        resp = np.zeros((codes.shape[0], n_classes))
        rows = np.flatnonzero(known)
        resp[rows, codes[rows]] = 1.0 if weight is None else weight[rows]
        self._add_weight(block, resp)

    def _add_weight(self, block: DenseBlock | SparseBlock, resp: FloatArray) -> None:
        self.weight += resp.sum(axis=0)
        if isinstance(block, SparseBlock):
            if block.missing is not None:
                pattern = block.missing
                kernels.csr_accumulate(pattern.indptr, pattern.indices, None, -resp, self.weight)
        elif block.missing is not None:
            kernels.dense_accumulate(block.missing, -resp, self.weight)

    def statistics(self) -> Sums:
        """The sums, and the observed weight per class (one row) or per cell (with missing values)."""
        # Subtracting the missing cells can leave -1e-17 where nothing was observed.
        return Sums({"sum": self.sum, "weight": np.maximum(self.weight, 0.0)})


def _has_missing(block: Block) -> bool:
    return isinstance(block, DenseBlock | SparseBlock) and block.has_missing


def _product(block: DenseBlock | SparseBlock, table: FloatArray, out: FloatArray) -> None:
    if isinstance(block, SparseBlock):
        kernels.csr_scores(block.indptr, block.indices, block.data, table, out)
    else:
        kernels.dense_scores(block.numbers, table, out)


def _missing_product(
    block: DenseBlock | SparseBlock, table: FloatArray, out: FloatArray, sign: float
) -> None:
    if isinstance(block, SparseBlock):
        if block.missing is not None:
            pattern = block.missing
            kernels.csr_scores(pattern.indptr, pattern.indices, None, sign * table, out)
    elif block.missing is not None:
        kernels.dense_scores(block.missing, sign * table, out)


def _sparse_column_scores(
    block: SparseBlock, slopes: FloatArray, constants: FloatArray | None, weights: FloatArray
) -> tuple[Any, FloatArray]:
    from scipy.sparse import csr_array

    start, stop = int(block.indptr[0]), int(block.indptr[-1])
    columns = block.indices[start:stop]
    rows = np.repeat(np.arange(block.n_rows), np.diff(block.indptr))
    data = np.ones(stop - start) if block.data is None else np.asarray(block.data[start:stop], dtype=np.float64)
    rest = np.zeros(block.n_rows)
    cells = np.zeros(stop - start)
    for k in range(weights.shape[1]):
        share = weights[:, k]
        with np.errstate(invalid="ignore"):
            evidence = np.where((data == 0.0) | (share[rows] == 0.0), 0.0, data * slopes[columns, k])
            cells += np.where(evidence == 0.0, 0.0, share[rows] * evidence)
        if constants is not None:
            rest += share * constants[:, k].sum()
            if block.missing is not None:
                lost = np.zeros((block.n_rows, 1))
                _missing_product(block, constants[:, k : k + 1], lost, 1.0)
                rest -= share * lost[:, 0]
    shape = (block.n_rows, block.n_columns)
    return csr_array((cells, columns, block.indptr - start), shape=shape), rest
