r"""Approximate inverses of the penalized information, to start quasi-Newton and conjugate-gradient steps from.

For up to a few thousand coefficients it is the information of a part of the rows, as a matrix. For more, no matrix of
all columns is ever formed: the few hundred columns with the largest diagonal get one of their own, per output, and
every other column stands alone,

.. math:: B_k = \begin{pmatrix} H_{AA} + \Lambda & 0 \\ 0 & \operatorname{diag}(H + \Lambda) \end{pmatrix} .

In text the columns in ``A`` are the frequent words: they are the ones whose columns overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from softcount._types import BoolArray, FloatArray, IntArray
from softcount.core.execute import Executor
from softcount.core.logistic.curved_rows import CurvedRows
from softcount.core.logistic.newton import factor_system
from softcount.core.logistic.penalty import LogisticPenalty
from softcount.core.symmetric_solve import Factor

__all__ = ["BlockPreconditioner", "ExplicitPreconditioner", "Preconditioner"]

#: Columns with a matrix of their own, and rows per such column that it is estimated from.
BLOCK_COLUMNS = 300
ROWS_PER_COLUMN = 20


class Preconditioner(Protocol):
    """An approximate inverse of the penalized information."""

    def solve(self, gradient: FloatArray) -> FloatArray:
        """``B^-1 gradient``, shape (n_outputs, n_columns)."""
        ...

    def matrix(self) -> FloatArray:
        """The information alone, where it is a matrix."""
        ...


@dataclass(frozen=True)
class ExplicitPreconditioner:
    """A matrix for all coefficients.

    Attributes
    ----------
    information : array of shape (n_coefficients, n_coefficients)
        Of the log-likelihood, on the scale of all rows.
    factor : Factor
        Of the penalized information of the coefficients kept.
    kept : bool array of shape (n_coefficients,)
    """

    information: FloatArray
    factor: Factor
    kept: BoolArray

    @classmethod
    def of(cls, information: FloatArray, penalty: LogisticPenalty, kept: BoolArray) -> ExplicitPreconditioner:
        """Factor the penalized information of the kept coefficients."""
        whole = penalty.add_curvature(information)[np.ix_(kept, kept)]
        return cls(information, factor_system(whole), kept)

    def solve(self, gradient: FloatArray) -> FloatArray:
        """``B^-1 gradient``."""
        answer = np.zeros(gradient.size)
        answer[self.kept] = self.factor.solve(gradient.ravel()[self.kept])
        return answer.reshape(gradient.shape)

    def matrix(self) -> FloatArray:
        """The information alone."""
        return self.information


@dataclass(frozen=True)
class BlockPreconditioner:
    """A matrix for some columns, per output, and the diagonal for the others.

    Attributes
    ----------
    columns : array of shape (n_block,)
        Columns of the blocks.
    factors : sequence of Factor
        One per output.
    inverse_diagonal : array of shape (n_outputs, n_columns)
        Zero for columns that say nothing.
    """

    columns: IntArray
    factors: Sequence[Factor]
    inverse_diagonal: FloatArray

    @classmethod
    def of(
        cls,
        data: CurvedRows,
        penalty: LogisticPenalty,
        kept: BoolArray,
        state: FloatArray,
        executor: Executor,
    ) -> BlockPreconditioner:
        """At the point where the rows have this state, shape (n_outputs, n_samples)."""
        diagonal = executor.reduce(lambda lane: data.tally_diagonal(state, lane), data.slices)["diagonal"]
        diagonal = np.where(kept, diagonal + penalty.diagonal(), 0.0)
        weight = diagonal.max(axis=0)
        if data.design.fit_intercept:
            weight[0] = np.inf
        n_block = min(BLOCK_COLUMNS, int(np.count_nonzero(weight)))
        columns = np.sort(np.argpartition(-weight, n_block - 1)[:n_block]) if n_block else np.zeros(0, np.int64)
        part, its_state = data.some_rows(ROWS_PER_COLUMN * max(n_block, 1), state, executor)
        block = _dense_columns(part, columns)
        curvature = part.curvature(its_state, slice(0, part.n_samples))
        scale = data.total_weight / part.total_weight if part.total_weight > 0.0 else 1.0
        factors = []
        for k in range(data.n_outputs):
            scaled = block * np.sqrt(scale * curvature[k])[:, None]
            matrix = scaled.T @ scaled
            own = np.diag_indices_from(matrix)
            matrix[own] += penalty.diagonal()[k, columns]
            # A column that the part happens not to show keeps the diagonal of all rows.
            matrix[own] = np.maximum(matrix[own], 1e-3 * diagonal[k, columns])
            factors.append(factor_system(matrix))
        inverse = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0.0)
        return cls(columns, factors, inverse)

    def solve(self, gradient: FloatArray) -> FloatArray:
        """``B^-1 gradient``."""
        answer = self.inverse_diagonal * gradient
        for k, factor in enumerate(self.factors):
            answer[k, self.columns] = factor.solve(gradient[k, self.columns])
        return answer

    def matrix(self) -> FloatArray:
        """There is none: that is the point."""
        raise TypeError("BlockPreconditioner holds no matrix of all columns; use ExplicitPreconditioner.")


def _dense_columns(data: CurvedRows, columns: IntArray) -> FloatArray:
    """Some columns of the design, shifted."""
    first = int(data.design.fit_intercept)
    own = columns[columns >= first] - first
    table: Any = data.design.table
    part = table[:, own].toarray() if data.design.is_sparse else np.array(table[:, own], dtype=np.float64)
    if data.design.center is not None:
        part = part - data.design.center[own]
    ones = [np.ones((part.shape[0], 1))] if own.size < columns.size else []
    return np.concatenate([*ones, part], axis=1).astype(np.float64, copy=False)
