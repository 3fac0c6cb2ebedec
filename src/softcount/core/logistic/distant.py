"""Rows of a logistic regression, or of a generalized linear model, that are not in memory.

What a pass over all rows adds up is the sum of what it adds up over each chunk, so every tally here is the one of
rows in memory, chunk by chunk. What depends on a row's linear predictors is worked out again in every pass instead of
being kept: nothing as long as the rows is ever made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from softcount._types import FloatArray, IntArray
from softcount.core.chunks import Chunk, DistantRows
from softcount.core.counts import Counts
from softcount.core.execute import Executor
from softcount.core.linear_chunks import SERIAL, DesignForm, RowColumns, RowsElsewhere, rows_at, summed
from softcount.core.logistic.curved_rows import CurvedRows
from softcount.core.logistic.data import LogisticData
from softcount.families.statistics import Sums

__all__ = ["DistantCurvedRows", "DistantLogisticData", "DistantState"]


@dataclass(frozen=True)
class DistantState:
    """What rows are in under some coefficients, worked out where the rows are.

    Attributes
    ----------
    coef : array of shape (n_outputs, n_columns) or None
    level : float
        The state of every row, where there are no coefficients.
    """

    coef: FloatArray | None
    level: float = 0.0

    def of(self, rows: CurvedRows) -> FloatArray:
        """The state of some rows in memory."""
        state: FloatArray = rows.level_states(self.level) if self.coef is None else rows.states(self.coef, SERIAL)
        return state


class DistantCurvedRows(RowsElsewhere, CurvedRows):
    """The passes over rows that are not in memory: those over each chunk, added up.

    Attributes
    ----------
    source, form, columns
        As for :class:`~softcount.core.linear_chunks.RowsElsewhere`.
    n_rows : int
    """

    n_rows: int

    @property
    def slices(self) -> Any:
        """The rows, chunk by chunk."""
        return self.own_chunks

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.n_rows

    def states(self, coef: FloatArray, executor: Executor) -> Any:
        """How to come by the state of the rows."""
        return DistantState(coef)

    def level_states(self, level: float) -> Any:
        """The same where it is one number for all rows and outputs."""
        return DistantState(None, level)

    def some_rows(self, n_wanted: int, state: Any, executor: Executor) -> tuple[CurvedRows, FloatArray]:
        """About so many rows, evenly spaced, in memory, and their state."""
        part = self.taken(np.arange(0, self.n_rows, max(1, self.n_rows // max(n_wanted, 1))), executor)
        return part, state.of(part)

    def taken(self, positions: IntArray, executor: Executor) -> Any:
        """Some rows in memory, by their ascending positions."""
        return self.here(rows_at(executor, self.there(), positions))

    def tally_score(self, coef: FloatArray, lane: Sequence[Any]) -> Counts:
        """Objective and score of some chunks."""
        found: Counts = summed(lambda rows, _: rows.tally_score(coef, rows.slices), lane)
        return found

    def tally_information(self, coef: FloatArray, lane: Sequence[Any]) -> Counts:
        """Objective, score and information of some chunks."""
        found: Counts = summed(lambda rows, _: rows.tally_information(coef, rows.slices), lane)
        return found

    def tally_curvature(self, direction: FloatArray, state: Any, lane: Sequence[Any]) -> Sums:
        """The information times ``direction``."""
        found: Sums = summed(lambda rows, _: rows.tally_curvature(direction, state.of(rows), rows.slices), lane)
        return found

    def tally_diagonal(self, state: Any, lane: Sequence[Any]) -> Sums:
        """The diagonal of the information."""
        found: Sums = summed(lambda rows, _: rows.tally_diagonal(state.of(rows), rows.slices), lane)
        return found


@dataclass(frozen=True)
class DistantLogisticData(DistantCurvedRows, LogisticData):
    """Rows of a logistic regression that are not in memory.

    Attributes
    ----------
    source, form, n_rows, columns
        As for :class:`DistantCurvedRows`.
    totals : array of shape (n_classes,)
        Weight of every class, its factor included.
    factors : array of shape (n_classes,) or None
        What the weight of every row is multiplied by, by its class; None where that has been done.
    """

    source: DistantRows | None = None
    form: DesignForm = field(default_factory=lambda: DesignForm(0))
    n_rows: int = 0
    totals: FloatArray = field(default_factory=lambda: np.zeros(2))
    factors: FloatArray | None = None
    columns: RowColumns = field(default_factory=RowColumns)

    @classmethod
    def of(
        cls,
        source: DistantRows,
        form: DesignForm,
        totals: FloatArray,
        *,
        factors: FloatArray | None,
        reference: bool,
        careful: bool,
        columns: RowColumns,
    ) -> DistantLogisticData:
        """All rows of a source whose second block holds codes or probabilities of classes."""
        n_classes = totals.shape[0]
        target: Any = np.zeros(0) if n_classes == 2 else np.zeros(0, dtype=np.int32)
        if columns.target > 1:
            target = np.zeros((0, n_classes))
        return cls(
            form.empty(),
            target,
            n_classes,
            reference=reference,
            careful=careful,
            source=source,
            form=form,
            n_rows=source.n_rows,
            totals=totals,
            factors=factors,
            columns=columns,
        )

    def here(self, chunk: Chunk) -> LogisticData:
        """The rows of one chunk, in memory."""
        target: Any = self.columns.of(chunk, "target")
        weight = chunk.weight
        if self.factors is not None:
            factor = self.factors[target.astype(np.int32)]
            weight = factor if weight is None else weight * factor
        if self.n_classes > 2 and self.columns.target == 1:
            target = target.astype(np.int32)
        return LogisticData(
            self.form.of(chunk.blocks[0]),
            target,
            self.n_classes,
            weight,
            self.columns.of(chunk, "offset"),
            self.reference,
            self.careful,
        )

    @property
    def has_offset(self) -> bool:
        """Whether something is added to the linear predictor."""
        return self.columns.offset > 0

    @property
    def n_products(self) -> int:
        """Multiplications of one product of the table with coefficients, were it dense."""
        return self.n_rows * self.form.n_features * self.n_outputs

    @cached_property
    def total_weight(self) -> float:
        """Sum of the row weights."""
        return float(self.totals.sum())

    def class_weights(self) -> FloatArray:
        """Total weight of every class."""
        return self.totals

    def every(self, stride: int) -> DistantLogisticData:
        """The rows themselves: to skip some would mean reading them all."""
        return self

    def tally_bound(self, direction: FloatArray, lane: Sequence[Any]) -> Sums:
        """``X'WX direction / 4``."""
        found: Sums = summed(lambda rows, _: rows.tally_bound(direction, rows.slices), lane)
        return found
