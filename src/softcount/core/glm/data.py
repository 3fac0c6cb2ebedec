"""The rows of a generalized linear model, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, cast, overload

import numpy as np

from softcount._types import FloatArray
from softcount.core.column_moments import column_deviations
from softcount.core.execute import Executor
from softcount.core.journal import digest_of
from softcount.core.linear_chunks import OwnRows
from softcount.core.normal_equations import Design

__all__ = ["GLMChunk", "GLMData", "RowWeights", "each_chunk", "fitting_scratch"]


@dataclass(frozen=True)
class RowWeights:
    """The weights of the rows, apart; None stands for ones.

    Attributes
    ----------
    frequency : array or None
        How often the row was observed.
    precision : array or None
        What divides the row's dispersion: the precision weight, or the number of trials.
    multiplicity : array or None
        A factor of the row's log-likelihood beside the frequency: precision weights of rows with trials.
    """

    frequency: FloatArray | None = None
    precision: FloatArray | None = None
    multiplicity: FloatArray | None = None

    def total(self) -> FloatArray | None:
        """The product: the weight of a row's deviance."""
        product: FloatArray | None = None
        for weight in (self.frequency, self.precision, self.multiplicity):
            if weight is not None:
                product = weight if product is None else product * weight
        return product

    def n_observations(self, n_rows: int) -> float:
        """Rows with a weight, each counted as often as it was observed."""
        total = self.total()
        if total is None:
            return float(n_rows)
        frequency = np.ones(n_rows) if self.frequency is None else self.frequency
        return float(frequency[total > 0.0].sum())


@dataclass(frozen=True)
class GLMChunk:
    """Some rows of a model: which rows of the design, their targets, weights, offsets, and how often they were seen."""

    design: Design
    rows: slice
    target: FloatArray
    weight: FloatArray | None
    offset: FloatArray | None
    often: FloatArray | None = None


@dataclass(frozen=True)
class GLMData(Sequence[GLMChunk]):
    """All rows of a model, as a sequence of chunks that are views, made when asked for.

    Attributes
    ----------
    design : Design
        The columns.
    target : array of shape (n_samples,)
        Observations; proportions for a binomial family.
    weight : array of shape (n_samples,) or None
        Product of frequency weight, precision weight and number of trials; None means one everywhere.
    offset : array of shape (n_samples,) or None
        Added to the linear predictor.
    parts : RowWeights
        The factors of the weight.
    """

    design: Design
    target: FloatArray
    weight: FloatArray | None = None
    offset: FloatArray | None = None
    parts: RowWeights = field(default_factory=RowWeights)

    #: Whether the rows are not in memory, so that nothing as long as they are may be made.
    is_distant: ClassVar[bool] = False

    @cached_property
    def _slices(self) -> list[slice]:
        return self.design.slices()

    @property
    def chunks(self) -> Sequence[GLMChunk]:
        """What passes go over."""
        return self

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.target.size)

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.n_samples if self.weight is None else self.weight.sum())

    @property
    def mean_target(self) -> float:
        """Weighted mean of the targets."""
        return float(np.average(self.target, weights=self.weight))

    @property
    def n_observations(self) -> float:
        """Rows with a weight, each counted as often as it was observed."""
        return self.parts.n_observations(self.n_samples)

    @property
    def has_offset(self) -> bool:
        """Whether something is added to the linear predictor."""
        return self.offset is not None

    def offset_levels(self) -> tuple[float, float, float]:
        """Mean, smallest and largest offset."""
        assert self.offset is not None
        return float(self.offset.mean()), float(self.offset.min()), float(self.offset.max())

    def all_have_means(self, family: Any, link: Any, predictor: float, executor: Executor) -> bool:
        """Whether a predictor, the same for all rows but for their offsets, is that of a mean in every row."""
        predictors = np.full(1, predictor) if self.offset is None else predictor + self.offset
        return bool(family.contains(link, predictors).all())

    def spread_targets(self) -> tuple[FloatArray, FloatArray | None]:
        """Targets and weights with the mean and variance of all: these themselves."""
        return self.target, self.weight

    def sized_targets(self) -> tuple[FloatArray, FloatArray | None]:
        """Targets and weights with the mean and mean absolute value of all: these themselves."""
        return self.target, self.weight

    def deviations(self, executor: Executor) -> FloatArray:
        """Standard deviation of every column; 1 for the intercept."""
        return column_deviations(self.design, executor)

    def digest(self) -> str:
        """A short text that other rows would not have."""
        return digest_of(self)

    def __len__(self) -> int:
        return len(self._slices)

    @overload
    def __getitem__(self, index: int) -> GLMChunk: ...
    @overload
    def __getitem__(self, index: slice) -> list[GLMChunk]: ...
    def __getitem__(self, index: int | slice) -> GLMChunk | list[GLMChunk]:
        if isinstance(index, slice):
            return [self._chunk(rows) for rows in self._slices[index]]
        return self._chunk(self._slices[index])

    def __iter__(self) -> Iterator[GLMChunk]:
        return (self._chunk(rows) for rows in self._slices)

    def every(self, stride: int) -> GLMData:
        """Every ``stride``-th row."""
        return GLMData(
            replace(self.design, table=cast("Any", self.design.table)[::stride]),
            self.target[::stride],
            None if self.weight is None else self.weight[::stride],
            None if self.offset is None else self.offset[::stride],
        )

    def unpacked(self) -> GLMData:
        """The same rows; chunks of a sparse table will be unpacked, as orthogonal factorization needs."""
        return replace(self, design=replace(self.design, unpack=True))

    def without_columns(self) -> GLMData:
        """The same rows with an empty table: what a null model sees."""
        empty = Design(np.empty((self.target.size, 0)), self.design.fit_intercept)
        return replace(self, design=empty)

    def _chunk(self, rows: slice) -> GLMChunk:
        return GLMChunk(
            self.design,
            rows,
            self.target[rows],
            None if self.weight is None else self.weight[rows],
            None if self.offset is None else self.offset[rows],
            None if self.parts.frequency is None else self.parts.frequency[rows],
        )


def each_chunk(lane: Iterable[GLMChunk | OwnRows[GLMData]]) -> Iterator[GLMChunk]:
    """The chunks of a lane; those of rows that are not in memory are cut from what is read at a time."""
    for item in lane:
        if isinstance(item, OwnRows):
            yield from item.rows
        else:
            yield item


def fitting_scratch(scratch: FloatArray | None, chunk: GLMChunk) -> FloatArray:
    """The block if it holds the chunk's rows, else another."""
    if scratch is not None and len(scratch) >= chunk.rows.stop - chunk.rows.start:
        return scratch
    return chunk.design.scratch()
