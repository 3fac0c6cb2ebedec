"""Rows of a linear model that are not in memory: chunks that become rows of a design when they are counted.

The first block of a chunk holds the columns, the second the target and what else is known of a row. Whatever goes
through all rows of such a model is a sum (or a smallest, a largest) over chunks of what the same code says about the
rows of one chunk.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import scipy.sparse as sp

from softcount._types import FloatArray, IntArray
from softcount.core.chunks import Chunk, DistantRows
from softcount.core.execute import Executor, ThreadExecutor
from softcount.core.joining import join_blocks, join_weights, take_rows
from softcount.core.journal import rows_digest
from softcount.core.normal_equations import Design
from softcount.families.blocks import Block, DenseBlock, SparseBlock

__all__ = [
    "SERIAL",
    "DesignForm",
    "Largest",
    "OwnRows",
    "RowColumns",
    "RowsElsewhere",
    "over_chunks",
    "rows_at",
    "summed",
]

R = TypeVar("R")

#: Rows of one chunk are counted by the thread that holds it.
SERIAL = ThreadExecutor(1)


@dataclass(frozen=True)
class DesignForm:
    """How the columns of a chunk become those of a design.

    Attributes
    ----------
    n_features : int
    fit_intercept : bool
    center : array of shape (n_features,) or None
    is_sparse : bool
    unpack : bool
        As for :class:`~softcount.core.normal_equations.Design`.
    """

    n_features: int
    fit_intercept: bool = True
    center: FloatArray | None = None
    is_sparse: bool = False
    unpack: bool = False

    def of(self, block: Block) -> Design:
        """The design of some rows."""
        if not self.n_features:
            return Design(np.empty((block.n_rows, 0)), self.fit_intercept)
        if isinstance(block, SparseBlock):
            begin, end = int(block.indptr[0]), int(block.indptr[-1])
            data = np.ones(end - begin) if block.data is None else block.data[begin:end]
            arrays = (data, block.indices[begin:end], block.indptr - begin)
            table: Any = sp.csr_array(arrays, shape=(block.n_rows, self.n_features))
        else:
            assert isinstance(block, DenseBlock)  # tables of linear models hold numbers
            table = block.values
        return Design(table, self.fit_intercept, self.center, self.unpack)

    def empty(self) -> Design:
        """The design without a row: its columns alone."""
        shape = (0, self.n_features)
        table: Any = sp.csr_array(shape) if self.is_sparse else np.empty(shape)
        return Design(table, self.fit_intercept, self.center, self.unpack)


@dataclass
class OwnRows(Generic[R]):
    """The rows of one chunk as a model counts them.

    Attributes
    ----------
    start : int
        Position of the first of them among all rows.
    rows : R
        Has a ``design``.
    """

    start: int
    rows: R

    def forget(self) -> None:
        """Let go of the rows, which have been counted: somebody who waits may hold them by name."""
        rows: Any = self.rows
        vars(rows.design).clear()
        vars(rows).clear()


@dataclass(frozen=True)
class RowColumns:
    """How many columns of a chunk's second block hold what, one kind after the other.

    Attributes
    ----------
    target, offset : int
        More than one where there is one for every class.
    frequency, precision, multiplicity : int
        1 where the factors of a row's weight are needed apart.
    """

    target: int = 1
    offset: int = 0
    frequency: int = 0
    precision: int = 0
    multiplicity: int = 0

    @property
    def total(self) -> int:
        """All columns of the block."""
        return sum(vars(self).values())

    def of(self, chunk: Chunk, kind: str) -> Any:
        """What is held of one kind: a vector, a matrix where it has several columns, or None."""
        kinds = list(vars(self))
        start = sum(getattr(self, name) for name in kinds[: kinds.index(kind)])
        n_columns: int = getattr(self, kind)
        if not n_columns:
            return None
        block = chunk.blocks[1]
        assert isinstance(block, DenseBlock)  # whoever reads the rows makes it so
        part = block.values[:, start] if n_columns == 1 else block.values[:, start : start + n_columns]
        return np.ascontiguousarray(part)


class RowsElsewhere:
    """Rows of a model that are not in memory; a pass over them is what it is over the rows of each chunk, added up.

    Attributes
    ----------
    source : DistantRows or None
        The rows; left behind when this is sent to where they are.
    form : DesignForm
    columns : RowColumns
        What is known of a row beside its columns.
    """

    is_distant: ClassVar[bool] = True
    source: DistantRows | None
    form: DesignForm
    columns: RowColumns

    def __getstate__(self) -> dict[str, Any]:
        return {**{name: value for name, value in vars(self).items() if name != "own_chunks"}, "source": None}

    @abstractmethod
    def here(self, chunk: Chunk) -> Any:
        """The rows of one chunk, in memory."""

    def _own(self, chunk: Chunk) -> Any:
        return OwnRows(chunk.start, self.here(chunk))

    def there(self) -> DistantRows:
        """The rows where they are."""
        assert self.source is not None  # it stays where passes are started
        return self.source

    @cached_property
    def own_chunks(self) -> Any:
        """The rows, each chunk as its own rows in memory when it is counted."""
        without: Any = replace(self, source=None)  # type: ignore[type-var]  # every subclass is a dataclass
        return self.there().mapped(without._own)

    def each(self, executor: Executor, measure: Callable[[Any, int], Any]) -> Any:
        """What ``measure(rows, start)`` says of every chunk, added up."""
        return over_chunks(executor, self.own_chunks, measure)

    def digest(self) -> str:
        """A short text that other rows would not have."""
        return rows_digest(self.there())


def summed(measure: Callable[[R, int], Any], lane: Iterable[OwnRows[R]]) -> Any:
    """What ``measure(rows, start)`` says of every chunk of a lane, added up."""
    total: Any = None
    for own in lane:
        part = measure(own.rows, own.start)
        total = part if total is None else total + part
    return total


def over_chunks(executor: Executor, rows: Any, measure: Callable[[Any, int], Any], *, counts_bytes: int = 0) -> Any:
    """What ``measure(rows, start)`` says of every chunk, added up in the order of the tree.

    Parameters
    ----------
    executor : Executor
    rows : DistantRows
        Mapped to :class:`OwnRows`.
    measure : callable
    counts_bytes : int
        Size of what it says.
    """
    found: Any = executor.reduce(lambda lane: summed(measure, lane), rows, counts_bytes=counts_bytes)
    return found


@dataclass(frozen=True)
class Largest:
    """A number of which the largest counts.

    Examples
    --------
    >>> (Largest(2.0) + Largest(3.0)).value
    3.0
    """

    value: float

    def __add__(self, other: Largest) -> Largest:
        return Largest(max(self.value, other.value))


@dataclass(frozen=True)
class _Picked:
    """Some rows of some chunks, and their positions."""

    positions: tuple[IntArray, ...]
    blocks: tuple[tuple[Block, ...], ...]
    weights: tuple[FloatArray | None, ...]

    def __add__(self, other: _Picked) -> _Picked:
        return _Picked(self.positions + other.positions, self.blocks + other.blocks, self.weights + other.weights)


def rows_at(executor: Executor, rows: DistantRows, positions: IntArray) -> Chunk:
    """The rows at some ascending positions, in memory, as one chunk.

    Parameters
    ----------
    executor, rows
        Who runs the pass, and the rows, not mapped.
    positions : array of int
        Ascending.
    """

    def tally(lane: Iterable[Chunk]) -> _Picked:
        found = _Picked((), (), ())
        for chunk in lane:
            low, high = np.searchsorted(positions, [chunk.start, chunk.start + chunk.n_rows])
            if low < high:
                local = positions[low:high] - chunk.start
                blocks = tuple(take_rows(block, local) for block in chunk.blocks)
                weight = None if chunk.weight is None else chunk.weight[local]
                found += _Picked((positions[low:high],), (blocks,), (weight,))
        return found

    found = executor.reduce(tally, rows)
    # Lanes take turns, so their rows come out of order.
    order = np.argsort(np.concatenate(found.positions), kind="stable")
    sizes = [part.shape[0] for part in found.positions]
    blocks = tuple(take_rows(join_blocks(parts), order) for parts in zip(*found.blocks, strict=True))
    weight = join_weights(list(found.weights), sizes)
    return Chunk(0, 0, blocks, None, None if weight is None else weight[order], positions.shape[0])
