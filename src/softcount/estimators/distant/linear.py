"""Linear models on rows that are not in memory: a first look at columns and targets, then passes over numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.chunks import DistantRows, chunk_rows, segment_chunks
from softcount.core.column_moments import FAR_FROM_ZERO
from softcount.core.facts import Facts
from softcount.core.linear_chunks import DesignForm, RowColumns
from softcount.core.streamed import Piece
from softcount.estimators._linear_table import check_finite, column_names, read_table
from softcount.estimators.distant.sources import rows_of, surveyed
from softcount.estimators.distant.surveys import BlockSurvey, check_same_columns, like_layout
from softcount.estimators.distant.training import blank, weights_of
from softcount.families.blocks import Block, DenseBlock, SparseBlock
from softcount.inputs.batches import Batch, at

__all__ = ["DistantTable", "NumberSurvey", "TargetReader", "Vector", "look_at"]

#: Columns of values beyond these are rescaled, for their squares would leave the range of floating point.
EXTREME = (1e-100, 1e100)
#: A mean this many standard deviations from zero: columns have to be shifted before they are multiplied.
CAREFUL = 1e3


@dataclass(frozen=True)
class Vector:
    """Weight, mean and scatter of a row of numbers, with their extremes; those of two parts add up (Chan et al.).

    Attributes
    ----------
    weight : float
    mean, scatter, low, high : arrays of shape (n_columns,)
    size : array of shape (n_columns,)
        Mean absolute value.

    Examples
    --------
    >>> import numpy as np
    >>> both = Vector.of(np.array([[1.0], [2.0]])) + Vector.of(np.array([[-6.0]]))
    >>> both.mean, both.size, both.scatter, both.low
    (array([-1.]), array([3.]), array([38.]), array([-6.]))
    """

    weight: float
    mean: FloatArray
    scatter: FloatArray
    low: FloatArray
    high: FloatArray
    size: FloatArray

    @classmethod
    def of(cls, values: FloatArray, weight: FloatArray | None = None) -> Vector:
        """Of some rows; those of weight zero do not count."""
        if weight is not None and not weight.all():
            values, weight = values[weight > 0.0], weight[weight > 0.0]
        n_rows, n_columns = values.shape
        nothing = np.zeros(n_columns)
        if not n_rows:
            return cls(0.0, nothing, nothing, nothing + np.inf, nothing - np.inf, nothing)
        share = np.ones(n_rows) if weight is None else weight
        total = float(share.sum())
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.asarray(share @ values, dtype=np.float64) / total
            scatter = np.asarray(share @ np.square(values - mean), dtype=np.float64)
            size = np.asarray(share @ np.abs(values), dtype=np.float64) / total
        low, high = (np.asarray(f(values, axis=0), dtype=np.float64) for f in (np.min, np.max))
        return cls(total, mean, scatter, low, high, size)

    def __add__(self, other: Vector) -> Vector:
        total = self.weight + other.weight
        if not total > 0.0:
            return self
        share = other.weight / total
        gap = other.mean - self.mean
        with np.errstate(over="ignore", invalid="ignore"):
            scatter = self.scatter + other.scatter + gap * gap * (self.weight * share)
        return Vector(
            total,
            self.mean + share * gap,
            scatter,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.size + share * (other.size - self.size),
        )

    @property
    def largest(self) -> FloatArray:
        """Largest absolute values."""
        return np.asarray(np.maximum(np.maximum(np.abs(self.low), np.abs(self.high)), 0.0))


class TargetReader(ABC):
    """What a linear model makes of ``y`` and what comes beside it: a look at some rows, and later numbers."""

    @property
    def columns(self) -> RowColumns:
        """What :meth:`read` gives; known once all rows have been looked at."""
        return RowColumns()

    def weight(self, batch: Batch, n_rows: int) -> FloatArray | None:
        """What every row of a batch counts."""
        return weights_of(batch.weight, n_rows)

    @abstractmethod
    def look(self, batch: Batch, n_rows: int, weight: FloatArray | None) -> Any:
        """What the targets of a batch look like; it adds up."""

    @abstractmethod
    def read(self, batch: Batch, n_rows: int) -> tuple[FloatArray, FloatArray | None]:
        """Numbers for every row of a batch, in so many columns as :attr:`columns` says, and the rows' weights."""


@dataclass(frozen=True)
class NumberSurvey:
    """A first look at some rows.

    Attributes
    ----------
    n_rows, n_used : int
        Rows, and those of weight above zero.
    total_weight : float
    names : tuple or None
    n_features : int
    block : BlockSurvey
    columns : Vector
        Of the cells; of sparse cells what is stored, as if it were one row.
    target : object
        What the estimator's reader of targets found.
    """

    n_rows: int
    n_used: int
    total_weight: float
    names: tuple[Any, ...] | None
    n_features: int
    block: BlockSurvey
    columns: Vector
    target: Any

    def __add__(self, other: NumberSurvey) -> NumberSurvey:
        check_same_columns((self.names, self.n_features), (other.names, other.n_features))
        return NumberSurvey(
            self.n_rows + other.n_rows,
            self.n_used + other.n_used,
            self.total_weight + other.total_weight,
            self.names,
            self.n_features,
            self.block + other.block,
            self.columns + other.columns,
            self.target + other.target,
        )


@dataclass(frozen=True)
class _Look:
    """The first look at a batch."""

    estimator: Any
    reader: TargetReader

    def __call__(self, batch: Batch) -> NumberSurvey:
        with at(batch.where):
            own = blank(self.estimator)
            table: Any = read_table(own, batch.X, reset=True)
            check_finite(table, column_names(own))
            n_rows = table.shape[0]
            weight = self.reader.weight(batch, n_rows)
            names = getattr(own, "feature_names_in_", None)
            used = n_rows if weight is None else int(np.count_nonzero(weight > 0.0))
            if batch.y is None:
                raise InputError("There is no target: name the column of y, or give tuples (X, y).")
            return NumberSurvey(
                n_rows,
                used,
                float(n_rows if weight is None else weight.sum()),
                None if names is None else tuple(names.tolist()),
                table.shape[1],
                BlockSurvey.of(_block(table)),
                Vector.of(_extremes(table) if sp.issparse(table) else table),
                self.reader.look(batch, n_rows, weight),
            )


def _block(table: Any) -> Block:
    if sp.issparse(table):
        part = cast("Any", table)
        return SparseBlock(part.indptr.astype(np.int64), part.indices, part.data, part.shape[1])
    return DenseBlock(np.asarray(table))


def _divided(table: Any, scale: FloatArray) -> Any:
    """The table with its columns divided by something."""
    divided: Any = table.astype(np.float64)
    if not sp.issparse(divided):
        return divided / scale
    stored = cast("Any", divided)
    stored.data = stored.data / scale[stored.indices]
    return stored


def _extremes(table: Any) -> FloatArray:
    """Smallest and largest entries of every column of a sparse table, as two rows."""
    rows = [np.asarray(found.toarray(), dtype=np.float64).ravel() for found in (table.min(axis=0), table.max(axis=0))]
    return np.stack(rows)


@dataclass(frozen=True)
class _Reader:
    """Reads batches as blocks of numbers: the columns, then the target and what else there is."""

    estimator: Any
    target: TargetReader
    layout: tuple[Block, ...]
    scale: FloatArray | None

    def piece(self, batch: Batch) -> Piece:
        """The batch as rows to count."""
        with at(batch.where):
            table: Any = read_table(self.estimator, batch.X, reset=False)
            check_finite(table, column_names(self.estimator))
            if self.scale is not None:
                table = _divided(table, self.scale)
            n_rows = table.shape[0]
            numbers, weight = self.target.read(batch, n_rows)
            block = like_layout(_block(table), self.layout[0])
            return Piece((block, DenseBlock(numbers.reshape(n_rows, -1))), None, weight)


@dataclass(frozen=True)
class DistantTable:
    """The numbers of rows that are not in memory.

    Attributes
    ----------
    survey : NumberSurvey
    form : DesignForm
        Columns are shifted where that pays, or always.
    scale : array of shape (n_features,) or None
        What the columns are divided by.
    careful : bool
        Whether some mean dwarfs its column's spread.
    make : callable
        Gives the rows from a reader of targets, the outputs per row, and the size of a set of counts.
    """

    survey: NumberSurvey
    form: DesignForm
    scale: FloatArray | None
    careful: bool
    make: Callable[[TargetReader, int, int], DistantRows]


def look_at(
    estimator: Any,
    X: Any,
    y: Any,
    weight: Any,
    reader: TargetReader,
    *,
    fit_intercept: bool,
    always_center: bool,
    may_scale: bool = True,
    beside: Mapping[str, Any] | None = None,
) -> DistantTable:
    """A first pass over all rows; the estimator learns its columns.

    Parameters
    ----------
    estimator : estimator
    X, y, weight
        What the user gave.
    reader : TargetReader
    fit_intercept : bool
    always_center : bool
        Whether columns are shifted even where it does not pay.
    may_scale : bool
        Whether columns of extreme values may be divided by something.
    beside : dict, optional
        What else is taken about the rows, by name.
    """
    given, survey = surveyed(estimator, X, y, weight, _Look(blank(estimator), reader), beside=beside)
    if not survey.total_weight > 0.0:
        raise InputError("All sample weights are zero: there is no row to fit to.")
    learner = blank(estimator)
    for own in (learner, estimator):
        own.n_features_in_ = survey.n_features
        if survey.names is not None:
            own.feature_names_in_ = np.array(survey.names, dtype=object)
        elif hasattr(own, "feature_names_in_"):
            del own.feature_names_in_
    is_sparse = survey.block.kind is SparseBlock
    scale = _scale_of(survey.columns.largest) if may_scale else None
    center, careful = None, False
    if not is_sparse and fit_intercept:
        unit = 1.0 if scale is None else scale
        means = survey.columns.mean / unit
        deviation = np.sqrt(survey.columns.scatter / max(survey.columns.weight, 1.0)) / unit
        deviation = np.where(np.isfinite(deviation), deviation, survey.columns.largest / unit)
        if always_center or bool(np.any(np.abs(means) > FAR_FROM_ZERO * deviation)):
            center = means
            careful = bool(np.any(np.abs(means) > CAREFUL * deviation))
    shown = survey.block if scale is None else replace(survey.block, dtype=np.dtype(np.float64))
    facts = Facts(survey.n_rows, survey.total_weight, survey.n_rows, survey.n_used)
    width = survey.block.width(survey.n_rows)

    def make(target: TargetReader, n_outputs: int, counts_bytes: int) -> DistantRows:
        n_numbers = target.columns.total
        layout = (shown.layout(), DenseBlock(np.empty((0, n_numbers))))
        rows_per_chunk = chunk_rows(n_outputs, width + n_numbers)
        grid = {"rows_per_chunk": rows_per_chunk, "fewest_chunks": segment_chunks(counts_bytes)}
        rows: DistantRows = rows_of(given, _Reader(learner, target, layout, scale), layout, facts, grid)
        return rows

    form = DesignForm(survey.n_features, fit_intercept, center, is_sparse)
    return DistantTable(survey, form, scale, careful, make)


def _scale_of(largest: FloatArray) -> NDArray[Any] | None:
    """Powers of two that bring columns of extreme values into range; None where there are none."""
    extreme = (largest > EXTREME[1]) | ((largest > 0.0) & (largest < EXTREME[0]))
    if not extreme.any():
        return None
    return np.where(extreme, np.exp2(np.floor(np.log2(np.where(extreme, largest, 1.0)))), 1.0)
