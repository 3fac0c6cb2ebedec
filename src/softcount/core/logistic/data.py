r"""The rows of a logistic regression and what a pass over them adds up.

With residuals :math:`r_{ik} = w_i (y_{ik} - p_{ik})` and probabilities :math:`p_{ik}`, a pass gives the log-likelihood,
the score and, where asked for, the information

.. math:: g_k = \sum_i r_{ik} x_i, \qquad
          H_{kl} = \sum_i w_i\, p_{ik} (\delta_{kl} - p_{il})\, x_i x_i^\top ,

or the product of the information with one direction, which needs no matrix. With two classes there is one output, the
log odds of the second class. With ``K`` classes there are either ``K - 1`` outputs, differences from the last class
(``reference=True``: nothing is redundant), or ``K`` (an absolute-value penalty is not indifferent to the reference).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from softcount import kernels
from softcount._types import FloatArray
from softcount.core.counts import Counts
from softcount.core.journal import digest_of
from softcount.core.logistic.curved_rows import CurvedRows, WeightedInformation
from softcount.core.logistic.products import Products, product_slices, products_of
from softcount.core.logistic.rows import RowValues, binary_rows, labeled_rows, softmax_rows
from softcount.core.normal_equations import Design, chunk_rows
from softcount.families.statistics import Sums

__all__ = ["LogisticData"]

# Rows times coefficients of the block behind a softmax information matrix.
BLOCK_BYTES = 2 * 2**20
FEWEST_ROWS = 64


@dataclass(frozen=True)
class LogisticData(CurvedRows):
    """All rows: columns, labels, weights and offsets.

    Attributes
    ----------
    design : Design
        The columns, the intercept first.
    target : array
        Two classes: probability of the second class, shape (n_samples,). More: codes of shape (n_samples,), or
        probabilities of shape (n_samples, n_classes).
    n_classes : int
        Two or more.
    weight : array of shape (n_samples,) or None
        Row weights.
    offset : array of shape (n_samples,) or (n_samples, n_classes) or None
        Added to the linear predictor.
    reference : bool
        Whether, with more than two classes, the last one has no coefficients of its own.
    careful : bool
        Whether columns are shifted before they are multiplied (some mean dwarfs its column's spread).
    """

    design: Design
    target: NDArray[Any]
    n_classes: int
    weight: FloatArray | None = None
    offset: FloatArray | None = None
    reference: bool = True
    careful: bool = False

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes, and so one output."""
        return self.n_classes == 2

    @property
    def has_offset(self) -> bool:
        """Whether something is added to the linear predictor."""
        return self.offset is not None

    @property
    def n_outputs(self) -> int:
        """Rows of the coefficients."""
        if self.is_binary:
            return 1
        return self.n_classes - int(self.reference)

    @property
    def n_products(self) -> int:
        """Multiplications of one product of the table with coefficients."""
        table: Any = self.design.table
        stored = len(table.data) if self.design.is_sparse else table.size
        return int(stored) * self.n_outputs

    @cached_property
    def slices(self) -> list[slice]:
        """Chunks of rows; they depend on the shapes alone."""
        return product_slices(self.design, self.n_classes)

    @cached_property
    def _signs(self) -> FloatArray | None:
        """Two classes and no doubt: -1 for the first class, 1 for the second."""
        if not self.is_binary or not np.all((self.target == 0.0) | (self.target == 1.0)):
            return None
        return np.asarray(2.0 * self.target - 1.0)

    def every(self, stride: int) -> LogisticData:
        """Every ``stride``-th row (a view where the table is dense)."""
        if stride == 1:
            return self
        table: Any = self.design.table
        return replace(
            self,
            design=replace(self.design, table=table[::stride]),
            target=self.target[::stride],
            weight=None if self.weight is None else self.weight[::stride],
            offset=None if self.offset is None else self.offset[::stride],
        )

    def with_design(self, design: Design) -> LogisticData:
        """The same rows with other columns."""
        return replace(self, design=design)

    def digest(self) -> str:
        """A short text that other rows would not have."""
        return digest_of(self)

    def class_weights(self) -> FloatArray:
        """Total weight of every class."""
        if self.is_binary:
            second = float(self.target.sum() if self.weight is None else self.weight @ self.target)
            return np.array([self.total_weight - second, second])
        if self.target.ndim == 1:
            return np.bincount(self.target, self.weight, minlength=self.n_classes).astype(np.float64)
        total: FloatArray = self.target.sum(axis=0) if self.weight is None else self.weight @ self.target
        return total

    def rows(self, rows: slice, eta: FloatArray) -> RowValues:
        """Log-likelihood, residuals and probabilities of the outputs; ``eta`` may be overwritten."""
        weight = None if self.weight is None else self.weight[rows]
        target = self.target[rows]
        if self.is_binary:
            if self.offset is not None:
                eta = eta + self.offset[rows]
            if self._signs is not None:
                return labeled_rows(eta, self._signs[rows], weight)
            return binary_rows(eta, target, weight)
        if self.reference:
            eta = np.concatenate([eta, np.zeros((1, eta.shape[1]))])
        if self.offset is not None:
            eta += self.offset[rows].T
        values = softmax_rows(eta, target, weight)
        if not self.reference:
            return values
        return RowValues(values.log_likelihood, values.residual[:-1], values.probability[:-1])

    def tally_score(self, coef: FloatArray, lane: Sequence[slice]) -> Counts:
        """Log-likelihood and score of some chunks."""
        if self._reads_once:
            return self._tally_labeled(coef, lane)
        products = products_of(self.design, coef, careful=self.careful)
        objective = 0.0
        for rows in lane:
            values = self.rows(rows, products.predictor(rows))
            objective += values.log_likelihood
            products.add(rows, values.residual)
        return Counts({"score": Sums({"score": products.total()})}, objective)

    @cached_property
    def _reads_once(self) -> bool:
        """Whether the package's own loop takes these rows: each is read once for both products."""
        table: Any = self.design.table
        if self.design.is_sparse or self._signs is None or (self.careful and self.design.center is not None):
            return False
        return table.dtype == np.float64 and bool(table.flags.c_contiguous)

    def _tally_labeled(self, coef: FloatArray, lane: Sequence[slice]) -> Counts:
        """Log-likelihood and score of dense rows with one of two labels each."""
        table, center = cast("FloatArray", self.design.table), self.design.center
        first = 1 - int(self.design.fit_intercept)
        whole = np.zeros(table.shape[1] + 1)
        whole[first:] = coef[0]
        if center is not None:
            whole[0] -= whole[1:] @ center
        score, log_likelihood = np.zeros_like(whole), np.zeros(1)
        given = (self.offset, self._signs, self.weight)
        for rows in lane:
            offset, sign, weight = (None if part is None else np.ascontiguousarray(part[rows]) for part in given)
            kernels.logistic_score(table[rows], whole, offset, cast("FloatArray", sign), weight, score, log_likelihood)
        if center is not None:
            score[1:] -= score[0] * center
        return Counts({"score": Sums({"score": score[None, first:]})}, float(log_likelihood[0]))

    def tally_information(self, coef: FloatArray, lane: Sequence[slice]) -> Counts:
        """Log-likelihood, score and information of some chunks."""
        products = products_of(self.design, coef, careful=self.careful)
        objective = 0.0
        matrix = WeightedInformation(self.design) if self.is_binary else _SoftmaxInformation(self)
        for rows in lane:
            values = self.rows(rows, products.predictor(rows))
            objective += values.log_likelihood
            products.add(rows, values.residual)
            if isinstance(matrix, WeightedInformation):
                matrix.add(rows, self.curvature(values.probability, rows)[0])
            else:
                matrix.add(rows, values.probability, None if self.weight is None else self.weight[rows])
        parts = {
            "score": Sums({"score": products.total()}),
            "information": Sums({"information": matrix.total()}),
        }
        return Counts(parts, objective)

    def tally_curvature(self, direction: FloatArray, state: FloatArray, lane: Sequence[slice]) -> Sums:
        """The information times ``direction``, given the outputs' probabilities, shape (n_outputs, n_samples)."""
        if self.is_binary:
            return super().tally_curvature(direction, state, lane)
        products = products_of(self.design, direction, careful=self.careful)
        for rows in lane:
            change = products.predictor(rows)
            share = state[:, rows]
            change -= np.einsum("ki,ki->i", share, change)
            change *= share
            if self.weight is not None:
                change *= self.weight[rows]
            products.add(rows, change)
        return Sums({"product": products.total()})

    def tally_bound(self, direction: FloatArray, lane: Sequence[slice]) -> Sums:
        """``X'WX direction / 4``, output by output: the information of rows that could not be less certain."""
        products = products_of(self.design, direction, careful=self.careful)
        for rows in lane:
            change = products.predictor(rows)
            change *= 0.25 if self.weight is None else 0.25 * self.weight[rows]
            products.add(rows, change)
        return Sums({"product": products.total()})

    def curvature(self, state: FloatArray, rows: slice) -> FloatArray:
        """``w p (1 - p)`` of every output: the information's diagonal blocks, row by row."""
        answer = state * (1.0 - state)
        if self.weight is not None:
            answer *= self.weight[rows]
        return answer

    def fill_state(self, coef: FloatArray, out: FloatArray, rows: slice) -> None:
        """Write the outputs' probabilities of one chunk into ``out``, shape (n_outputs, n_samples)."""
        products: Products = products_of(self.design, coef, careful=self.careful)
        out[:, rows] = self.rows(rows, products.predictor(rows)).probability


class _SoftmaxInformation:
    """Running sum of ``w (diag(p) - p p') (x) x x'``, coefficients of one output after the other."""

    def __init__(self, data: LogisticData) -> None:
        # Blocks of many outputs are dense whatever the table is.
        self._design = replace(data.design, unpack=True)
        self._n_columns, self._n_outputs = data.n_columns, data.n_outputs
        size = self._n_columns * self._n_outputs
        self._step = max(FEWEST_ROWS, min(chunk_rows(self._n_columns + 1), BLOCK_BYTES // (8 * size)))
        self._scratch = np.empty((self._step, self._n_columns + 1))
        self._block = np.empty((self._step, size))
        self._outer = np.zeros((size, size))
        self._part = np.empty((size, size))
        self._own = np.zeros((self._n_outputs, self._n_columns, self._n_columns))

    def add(self, rows: slice, probability: FloatArray, weight: FloatArray | None) -> None:
        """Add some rows, in pieces that fit the scratch."""
        for start in range(rows.start, rows.stop, self._step):
            piece = slice(start, min(start + self._step, rows.stop))
            inside = slice(piece.start - rows.start, piece.stop - rows.start)
            self._add(piece, probability[:, inside], None if weight is None else weight[inside])

    def _add(self, rows: slice, share: FloatArray, weight: FloatArray | None) -> None:
        n_rows = rows.stop - rows.start
        ones = np.ones(n_rows)
        columns = self._design.load(rows, self._scratch).weighted(ones, ones)[:, :-1]
        root = share if weight is None else share * np.sqrt(weight)
        block = self._block[:n_rows]
        view = block.reshape(n_rows, self._n_outputs, self._n_columns)
        np.multiply(columns[:, None, :], root.T[:, :, None], out=view)
        # NumPy hands a matrix times its own transpose to a symmetric rank-k update: half the work.
        np.matmul(block.T, block, out=self._part)
        self._outer += self._part
        own_root = np.sqrt(share if weight is None else share * weight)
        np.multiply(columns[:, None, :], own_root.T[:, :, None], out=view)
        for k in range(self._n_outputs):
            scaled = view[:, k]
            self._own[k] += scaled.T @ scaled

    def total(self) -> FloatArray:
        """The sum so far."""
        answer = -self._outer
        for k in range(self._n_outputs):
            block = slice(k * self._n_columns, (k + 1) * self._n_columns)
            answer[block, block] += self._own[k]
        return answer
