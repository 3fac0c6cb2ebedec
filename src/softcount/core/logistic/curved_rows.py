r"""What Newton's method without a matrix needs of the rows, whatever the model of a row is.

A model whose objective depends on a row through its linear predictors alone has the curvature

.. math:: H v = \sum_i c_i(\eta_i)\, (x_i^\top v)\, x_i ,

so products with a direction, and the diagonal, are passes over the rows. Logistic regression
(:mod:`softcount.core.logistic.data`) and generalized linear models (:mod:`softcount.core.glm.rows`) differ in
:math:`c_i` alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from softcount._types import FloatArray
from softcount.core.counts import Counts
from softcount.core.execute import Executor
from softcount.core.logistic.products import csr_rows, products_of
from softcount.core.normal_equations import Design, GramTally
from softcount.families.statistics import Sums

__all__ = ["CurvedRows", "WeightedInformation", "row_states"]


class CurvedRows(ABC):
    """All rows of a model, and the passes over them.

    Attributes
    ----------
    design : Design
        The columns, the intercept first.
    weight : array of shape (n_samples,) or None
        Row weights.
    careful : bool
        Whether columns are shifted before they are multiplied (some mean dwarfs its column's spread).
    """

    design: Design
    weight: FloatArray | None
    careful: bool
    #: Whether the rows are not in memory, so that nothing as long as they are may be made.
    is_distant: ClassVar[bool] = False

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """Rows of the coefficients."""

    @property
    @abstractmethod
    def slices(self) -> list[slice]:
        """Chunks of rows; they depend on the shapes alone."""

    @abstractmethod
    def every(self, stride: int) -> Self:
        """Every ``stride``-th row."""

    @abstractmethod
    def with_design(self, design: Design) -> Self:
        """The same rows with other columns."""

    @abstractmethod
    def tally_score(self, coef: FloatArray, lane: Sequence[slice]) -> Counts:
        """Objective and score of some chunks."""

    @abstractmethod
    def tally_information(self, coef: FloatArray, lane: Sequence[slice]) -> Counts:
        """Objective, score and information of some chunks."""

    @abstractmethod
    def fill_state(self, coef: FloatArray, out: FloatArray, rows: slice) -> None:
        """Write what the curvature of one chunk's rows depends on into ``out``, shape (n_outputs, n_samples)."""

    @abstractmethod
    def curvature(self, state: FloatArray, rows: slice) -> FloatArray:
        """``c_i`` of one chunk's rows, weights included, from their part of the state; shape (n_outputs, n_rows)."""

    @property
    def n_columns(self) -> int:
        """Columns of the coefficients, the intercept's included."""
        return self.design.n_columns

    @property
    def n_coefficients(self) -> int:
        """Size of the coefficients."""
        return self.n_outputs * self.n_columns

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.design.n_samples

    @cached_property
    def total_weight(self) -> float:
        """Sum of the row weights."""
        return float(self.n_samples if self.weight is None else self.weight.sum())

    def information_bytes(self) -> int:
        """Size of one lane's information."""
        return 2 * 8 * (self.n_coefficients + 1) ** 2

    def tally_curvature(self, direction: FloatArray, state: FloatArray, lane: Sequence[slice]) -> Sums:
        """The information times ``direction``, given the state of all rows."""
        products = products_of(self.design, direction, careful=self.careful)
        for rows in lane:
            change = products.predictor(rows)
            change *= self.curvature(state[:, rows], rows)
            products.add(rows, change)
        return Sums({"product": products.total()})

    def states(self, coef: FloatArray, executor: Executor) -> Any:
        """The state of all rows, shape (n_outputs, n_samples); of rows that are not in memory how to come by it."""
        answer = np.empty((self.n_outputs, self.n_samples))
        executor.each(lambda rows: self.fill_state(coef, answer, rows), self.slices)
        return answer

    def level_states(self, level: float) -> Any:
        """The same where it is one number for all rows and outputs."""
        return np.full((self.n_outputs, self.n_samples), level)

    def some_rows(self, n_wanted: int, state: Any, executor: Executor) -> tuple[CurvedRows, FloatArray]:
        """About so many rows, evenly spaced, and their part of the state."""
        stride = max(1, self.n_samples // max(n_wanted, 1))
        return self.every(stride), state[:, ::stride]

    def tally_diagonal(self, state: FloatArray, lane: Sequence[slice]) -> Sums:
        """The diagonal of the information, shape (n_outputs, n_columns)."""
        total = np.zeros((self.n_outputs, self.n_columns))
        first = int(self.design.fit_intercept)
        for rows in lane:
            curvature = self.curvature(state[:, rows], rows)
            total[:, first:] += _squares(self.design, rows, curvature)
            if first:
                total[:, 0] += curvature.sum(axis=1)
        return Sums({"diagonal": total})


def row_states(data: CurvedRows, coef: FloatArray, executor: Executor) -> Any:
    """The state of all rows, shape (n_outputs, n_samples): probabilities, or the rows' information."""
    return data.states(coef, executor)


@dataclass
class WeightedInformation:
    """Running sum of ``c x x'`` for one output."""

    design: Design

    def __post_init__(self) -> None:
        self._scratch = self.design.scratch()
        self._tally = GramTally(self.design.n_columns)
        self._step = len(self._scratch) or self.design.n_samples

    def add(self, rows: slice, curvature: FloatArray) -> None:
        """Add some rows, in pieces that fit the scratch; ``curvature`` is used up."""
        root = np.sqrt(curvature, out=curvature)
        for start in range(rows.start, rows.stop, self._step):
            piece = slice(start, min(start + self._step, rows.stop))
            part = root[piece.start - rows.start : piece.stop - rows.start]
            self.design.load(piece, self._scratch).add_to(self._tally, part, np.zeros(part.shape))

    def total(self) -> FloatArray:
        """The sum so far."""
        gram: FloatArray = self._tally.counts()["gram"]
        return gram


def _squares(design: Design, rows: slice, weight: FloatArray) -> FloatArray:
    """``sum_i weight_ki x_ij**2`` of the shifted columns."""
    if design.is_sparse:
        part: Any = csr_rows(design.table, rows, transposed=True)
        part.data = np.square(part.data, dtype=np.float64)
        return np.asarray((part @ weight.T).T)
    part = np.asarray(design.table)[rows]
    shifted = part if design.center is None else part - design.center
    return np.asarray(weight @ np.square(shifted, dtype=np.float64))
