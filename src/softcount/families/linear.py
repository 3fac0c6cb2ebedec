r"""Families with a log-density affine in the data, :math:`u(x) = x`: Bernoulli, Poisson and more.

Then :math:`\sum_j \log p(x_{ij} \mid k) = \sum_j c_{jk} + \sum_j x_{ij} t_{jk} + \text{(no class in it)}`
is one matrix product, and the statistics are :math:`X^\top R`; both work on sparse rows without ever
looking at a zero.
"""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from softcount import kernels
from softcount._types import BoolArray, CodesArray, FloatArray
from softcount.families._base import Family, Params, inner
from softcount.families.blocks import Block, DenseBlock, SparseBlock
from softcount.families.columns import ColumnFamily, PseudoCounts, one_hot, opposed
from softcount.families.rowwise import add_to_rows, sum_of_rows
from softcount.families.statistics import Sums

__all__ = ["LinearFamily"]


#: Observed weights below this share of a class's weight are what subtraction leaves of nothing.
ROUNDING = 1e-12


class LinearFamily(ColumnFamily):
    r"""A column family with :math:`u(x) = x`.

    With :class:`~softcount.families.columns.PseudoCounts`, ``alpha`` pseudo-rows at the column's overall mean
    :math:`\bar x_j` give

    .. math:: E_{jk}[x] = \frac{\sum_i r_{ik} x_{ij} + \alpha \bar x_j}{w_{jk} + \alpha} .
    """

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
        return LinearTally(block, n_classes)

    def solve(self, statistics: Any, prior: Any, previous: Params | None = None) -> Params:
        """Parameters from averaged cells; a class without weight in a column takes the overall mean."""
        center = self.anchored(prior, statistics.pooled()).center
        mass = statistics["weight"] + prior.alpha
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = (statistics["sum"] + prior.alpha * center) / mass
        mean = np.where(mass > 0.0, mean, center)[..., None]
        return self.from_mean_stats(self.inside(mean, np.broadcast_to(center[..., None], mean.shape)))

    def anchored(self, prior: Any, pooled: Any) -> Any:
        """The prior with its pseudo-rows at the overall mean.

        A column of zeros has no mean above zero to put them at, and without one no smoothing would ever make
        another number possible: they are put at the mean of :meth:`barely`.
        """
        if prior.center is not None:
            return prior
        weight, total = pooled["weight"], pooled["sum"]
        mean = total / np.where(weight > 0.0, weight, 1.0)
        return replace(prior, center=np.where(total > 0.0, mean, self.barely(weight)))

    def barely(self, weight: FloatArray) -> FloatArray:
        """The mean ascribed to a column of zeros: half an event in all its rows; without any row, one."""
        return np.asarray(0.5 / np.maximum(weight, 0.5))

    def log_prior(self, params: Params, prior: PseudoCounts) -> float:
        r""":math:`\sum a\,(\eta \bar x - A(\eta))`: the log-density of the pseudo-rows."""
        if prior.center is None:
            return 0.0
        natural = self.natural(params)
        inside = inner(prior.center[..., None], natural) - self.log_normalizer(natural)
        alpha = np.broadcast_to(prior.alpha, inside.shape)
        return float((alpha * np.where(alpha > 0.0, inside, 0.0)).sum())

    def column_scores(self, params: Params, block: Any, weights: FloatArray) -> tuple[Any, FloatArray]:
        """Evidence per stored cell; the constants of a sparse row's columns belong to the row."""
        if not isinstance(block, SparseBlock):
            return self._dense_column_scores(params, block, weights), np.zeros(block.n_rows)
        slopes, constants = self.table(params)
        cells, rest = _sparse_column_scores(block, slopes, constants, weights)
        required = self.must_be_one(params)
        if required is not None:
            lacking = _lacks_one(block, required) & (weights != 0.0)
            for k in range(weights.shape[1]):
                rest = opposed(rest, np.where(lacking[:, k], np.copysign(np.inf, -weights[:, k]), 0.0))
        return cells, rest

    def _dense_column_scores(self, params: Params, block: DenseBlock, weights: FloatArray) -> FloatArray:
        """Evidence per cell, without what contains no class: fractions of a count have that as well."""
        slopes, constants = self.table(params)
        required = self.must_be_one(params)
        values = np.asarray(block.numbers, dtype=np.float64)
        cells = np.zeros(values.shape)
        for k in range(weights.shape[1]):
            evidence = inner(values[..., None], slopes[:, k, None])
            if constants is not None:
                evidence += constants[:, k]
            if required is not None:
                evidence[(values == 0.0) & (required[:, k] > 0.0)] = -np.inf
            cells = opposed(cells, inner(weights[:, k, None, None], evidence[..., None]))
        if block.missing is not None:
            cells[block.missing] = 0.0
        return cells

    def linear_form(self, params: Params) -> tuple[FloatArray, FloatArray] | None:
        """The slopes and the summed constants."""
        slopes, constants = self.table(params)
        return slopes, (np.zeros(slopes.shape[1]) if constants is None else constants.sum(axis=0))


class LinearScorer:
    """Adds ``X @ slopes + constants`` over the observed cells."""

    def __init__(self, slopes: FloatArray, constants: FloatArray | None, required: FloatArray | None) -> None:
        self.slopes = np.ascontiguousarray(slopes)
        self.constants = constants
        self.constant = None if constants is None else sum_of_rows(constants)
        self.required = None if required is None else np.ascontiguousarray(required)

    def add(self, block: DenseBlock | SparseBlock, out: FloatArray) -> None:
        """Add the scores of the block's rows to ``out``."""
        if block.evidence is None:
            self._add(block, out)
            return
        scores = np.zeros_like(out)
        self._add(block, scores)
        scores *= block.evidence[:, None]
        out += scores

    def for_complete_rows(self) -> LinearScorer:
        """The same without the constants of single cells, which only rows with missing ones need."""
        other = copy(self)
        other.constants = None
        return other

    def _add(self, block: DenseBlock | SparseBlock, out: FloatArray) -> None:
        _product(block, self.slopes, out)
        if self.constant is not None:
            add_to_rows(out, self.constant)
        if self.constants is not None:
            _missing_product(block, self.constants, out, -1.0)
        if self.required is not None:
            out[_lacks_one(block, self.required)] = -np.inf


class LinearTally:
    """Collects ``X.T @ resp`` and the weight of the observed cells."""

    def __init__(self, block: Block, n_classes: int) -> None:
        self.sum = np.zeros((block.n_columns, n_classes))
        #: Sums of sparse rows of known class, class axis first.
        self.by_class: FloatArray | None = None
        self.counts_responsibilities = False
        observed_rows = block.n_columns if _has_missing(block) else 1
        self.weight = np.zeros((observed_rows, n_classes))
        #: Weight of all rows, from which the missing cells of sparse rows are subtracted.
        self.total = np.zeros(n_classes)

    def add(self, block: DenseBlock | SparseBlock, resp: FloatArray) -> None:
        """Count rows with responsibilities."""
        if block.evidence is not None:
            resp = resp * block.evidence[:, None]
        self.counts_responsibilities = True
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
            if self.by_class is None:
                self.by_class = np.zeros(self.sum.shape[::-1])
            kernels.csr_class_counts(block.indptr, block.indices, block.data, codes, weight, self.by_class)
        else:
            self.counts_responsibilities = True
            kernels.dense_class_counts(block.numbers, codes, weight, self.sum)
        n_classes = self.weight.shape[1]
        if not _has_missing(block):
            self.total += np.bincount(codes + 1, weight, minlength=n_classes + 1)[1:]
            return
        self._add_weight(block, one_hot(codes, weight, n_classes))

    def _add_weight(self, block: DenseBlock | SparseBlock, resp: FloatArray) -> None:
        if isinstance(block, DenseBlock) and block.missing is not None:
            kernels.dense_accumulate(~block.missing, resp, self.weight)
            return
        self.total += sum_of_rows(resp)
        if isinstance(block, SparseBlock) and block.missing is not None:
            pattern = block.missing
            kernels.csr_accumulate(pattern.indptr, pattern.indices, None, -resp, self.weight)

    def statistics(self) -> Sums:
        """The sums, and the observed weight per class (one row) or per cell (with missing values)."""
        weight = self.weight + self.total
        # Where nothing was observed, subtracting the missing cells of sparse rows leaves rounding: not a weight.
        observed = weight > ROUNDING * self.total
        return Sums({"sum": self._sum(), "weight": np.where(observed, weight, 0.0)})

    def _sum(self) -> FloatArray:
        if self.by_class is None:
            return self.sum
        by_class = self.by_class.T
        return self.sum + by_class if self.counts_responsibilities else by_class


def stored_log_base(family: Family, block: Block) -> FloatArray:
    r""":math:`\sum_j \log h(x_{ij})` of every row, for a family with :math:`h(0) = 1`: zeros need no look."""
    if isinstance(block, SparseBlock):
        if block.data is None:
            return np.asarray(np.diff(block.indptr) * family.log_base(1.0), dtype=np.float64)
        entries = family.log_base(block.data[int(block.indptr[0]) : int(block.indptr[-1])])
        rows = np.repeat(np.arange(block.n_rows), np.diff(block.indptr))
        return np.asarray(np.bincount(rows, entries, minlength=block.n_rows), dtype=np.float64)
    assert isinstance(block, DenseBlock)
    return np.asarray(family.log_base(block.numbers).sum(axis=1))


def _has_missing(block: Block) -> bool:
    return isinstance(block, DenseBlock | SparseBlock) and block.has_missing


def _lacks_one(block: DenseBlock | SparseBlock, required: FloatArray) -> BoolArray:
    """Which rows lack a one that a class demands; a missing cell may be one."""
    hits = np.zeros((block.n_rows, required.shape[1]))
    _product(block, required, hits)
    _missing_product(block, required, hits, 1.0)
    return np.asarray(hits < required.sum(axis=0))


def _product(block: DenseBlock | SparseBlock, table: FloatArray, out: FloatArray) -> None:
    if isinstance(block, SparseBlock):
        kernels.csr_scores(block.indptr, block.indices, block.data, table, out)
    else:
        kernels.dense_scores(block.numbers, table, out)


def _missing_product(block: DenseBlock | SparseBlock, table: FloatArray, out: FloatArray, sign: float) -> None:
    if isinstance(block, SparseBlock):
        if block.missing is not None:
            pattern = block.missing
            kernels.csr_scores(pattern.indptr, pattern.indices, None, np.multiply(sign, table, order="C"), out)
    elif block.missing is not None:
        kernels.dense_scores(block.missing, np.multiply(sign, table, order="C"), out)


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
        evidence = inner(data[:, None], slopes[columns, k, None])
        cells = opposed(cells, inner(share[rows, None], evidence[:, None]))
        if constants is not None:
            rest += share * constants[:, k].sum()
            if block.missing is not None:
                lost = np.zeros((block.n_rows, 1))
                _missing_product(block, constants[:, k : k + 1], lost, 1.0)
                rest -= share * lost[:, 0]
    shape = (block.n_rows, block.n_columns)
    return csr_array((cells, columns, block.indptr - start), shape=shape), rest
