"""Chunks: the rows in pieces small enough that what is computed per row stays in the cache."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np

from softcount._types import FloatArray
from softcount.core.facts import Facts
from softcount.families.blocks import Block, SparseBlock
from softcount.inputs.labels import Labels
from softcount.kernels import word_index_pays

if TYPE_CHECKING:
    from softcount.core.patterns import Patterns

__all__ = [
    "Chunk",
    "Chunks",
    "DistantRows",
    "Rows",
    "chunk_rows",
    "row_width",
    "scratch_bytes",
    "segment_chunks",
    "table_bytes",
]

SCRATCH_BYTES = 2 * 2**20
#: Sparse rows are counted word by word: the longer the chunk, the more often a word is in it. Twice this per thread.
SPARSE_SCRATCH_BYTES = 16 * 2**20
#: Numbers of a chunk itself, beside its scratch: three chunks of a stream are alive at a time.
MOST_CELLS = 2**21
FEWEST_ROWS = 1024
MOST_ROWS = 65536
#: A segment has at least this many chunks, and there are at most so many segments (to the rounding of the first).
SEGMENT_CHUNKS = 8
MOST_SEGMENTS = 64
#: Tables of counts this large are made and merged once per chunk without being noticed.
MERGED_BYTES = 2**19
#: What a stored entry counts for: a value of eight bytes, and a place of four.
STORED_NUMBERS = 1.5


def scratch_bytes(layout: Sequence[Block]) -> int:
    """What the row-by-class scratch of a chunk may take: the cache of a core, or for sparse rows that of all cores."""
    return SPARSE_SCRATCH_BYTES if any(isinstance(block, SparseBlock) for block in layout) else SCRATCH_BYTES


def chunk_rows(n_components: int, width: float = 0.0, scratch: int = SCRATCH_BYTES) -> int:
    """Rows per chunk: a power of two whose row-by-class scratch fits the cache, and which is not too large itself.

    It depends on the model and the shape of the table alone, not on who counts.

    Parameters
    ----------
    n_components : int
    width : float
        Numbers per row, from :func:`row_width`.
    scratch : int
        Bytes, from :func:`scratch_bytes`.
    """
    rows = FEWEST_ROWS
    while (
        rows < MOST_ROWS and 2 * rows * max(n_components, 1) * 8 <= scratch and 2 * rows * max(width, 1.0) <= MOST_CELLS
    ):
        rows *= 2
    return rows


def row_width(blocks: Sequence[Block]) -> float:
    """Numbers of eight bytes that a row holds, on average: its cells, or its stored entries with their places."""
    width = 0.0
    for block in blocks:
        if isinstance(block, SparseBlock):
            width += STORED_NUMBERS * int(block.indptr[-1] - block.indptr[0]) / max(block.n_rows, 1)
        else:
            width += block.n_columns
    return width


def segment_chunks(counts_bytes: int) -> int:
    """Fewest chunks per segment: more where a set of counts is so large that merging it often would be noticed."""
    return max(SEGMENT_CHUNKS, counts_bytes // MERGED_BYTES)


def table_bytes(families: Sequence[Any], blocks: Sequence[Any], n_components: int) -> int:
    """About how many bytes one set of counts takes, which bounds how many are kept alive at a time."""
    rows = 0
    for family, block in zip(families, blocks, strict=True):
        offsets = getattr(family, "offsets", None)
        if offsets is not None and len(offsets) > 1:
            rows += int(offsets[-1])
        else:
            rows += block.n_columns * (block.n_columns if not family.counts_incomplete_rows else 1)
    return 8 * rows * n_components


@dataclass(frozen=True)
class Chunk:
    """Some consecutive rows: their blocks, labels and weights."""

    index: int
    start: int
    blocks: tuple[Block, ...]
    labels: Labels | None
    weight: FloatArray | None
    n_rows: int


class Rows(Sequence[Chunk]):
    """All rows of a fit as chunks, wherever they lie: in memory, in files, on other machines.

    The grid (which rows are a chunk, which chunks a segment) depends on the model and the shape of the table alone, so
    every kind of rows gives the same bits.

    Attributes
    ----------
    n_rows : int
    rows_per_chunk : int
    fewest_chunks : int
        Fewest chunks of a segment.
    """

    n_rows: int
    rows_per_chunk: int
    fewest_chunks: int

    # ---- what each kind of rows says
    @property
    @abstractmethod
    def layout(self) -> tuple[Block, ...]:
        """Blocks that show kind, columns and missing cells; how many rows they hold says nothing."""

    @property
    @abstractmethod
    def facts(self) -> Facts:
        """What a fit has to know about all rows before it starts."""

    @abstractmethod
    def keep_indexed(self, n_components: int) -> Self:
        """The same rows, for many passes with so many components."""

    # ---- the grid
    def __len__(self) -> int:
        return max(1, -(-self.n_rows // self.rows_per_chunk))

    @property
    def segments(self) -> list[range]:
        """Positions of the chunks of each segment: runs of chunks whose counts are complete before they are merged."""
        n_chunks = len(self)
        size = max(self.fewest_chunks, -(-n_chunks // MOST_SEGMENTS))
        return [range(start, min(start + size, n_chunks)) for start in range(0, n_chunks, size)]

    # ---- in words
    @property
    def has_labels(self) -> bool:
        """Whether anything is said about classes."""
        return self.facts.labeled is not None

    @property
    def has_fixed_labels(self) -> bool:
        """Whether rows of probabilities are responsibilities."""
        return self.facts.fixed

    @property
    def all_known(self) -> bool:
        """Whether every row has exactly one class, or fixed responsibilities."""
        return self.has_labels and self.facts.n_open == 0

    @property
    def total_weight(self) -> float:
        """Sum of the row weights."""
        return self.facts.total_weight

    def class_support(self, n_classes: int) -> FloatArray:
        """The weight of the rows that speak for each class; zeros where there are no labels."""
        support = self.facts.support
        return np.zeros(n_classes) if support is None else support


class DistantRows(Rows):
    """Rows that are not in this process's memory all at once: in files, or on other machines.

    What has to be known of all of them was found by a first pass.
    """

    def __init__(
        self, layout: tuple[Block, ...], facts: Facts, *, rows_per_chunk: int, fewest_chunks: int = SEGMENT_CHUNKS
    ) -> None:
        self._layout = layout
        self._facts = facts
        self.n_rows = facts.n_rows
        self.rows_per_chunk = rows_per_chunk
        self.fewest_chunks = fewest_chunks

    @property
    def layout(self) -> tuple[Block, ...]:
        """Blocks that show kind, columns and missing cells."""
        return self._layout

    @property
    def facts(self) -> Facts:
        """What the first pass found."""
        return self._facts

    def keep_indexed(self, n_components: int) -> Self:
        """The rows themselves: sorting them by column is left to whoever keeps them in memory."""
        return self

    def with_facts(self, facts: Facts) -> Self:
        """The rows with other facts, which what is done to them has changed."""
        changed = copy(self)
        changed._facts = facts
        return changed

    @abstractmethod
    def mapped(self, change: Callable[[Chunk], Chunk]) -> DistantRows:
        """The rows with something done to every chunk when it is counted."""


class Chunks(Rows):
    """Rows in memory, chunk by chunk; views, made when asked for.

    Parameters
    ----------
    blocks : tuple of Block
        The columns of the whole table.
    labels : Labels or None
    weight : array of shape (n_rows,) or None
    rows_per_chunk : int
    fewest_chunks : int
        Fewest chunks of a segment, from :func:`segment_chunks`.
    """

    def __init__(
        self,
        blocks: tuple[Block, ...],
        labels: Labels | None = None,
        weight: FloatArray | None = None,
        *,
        rows_per_chunk: int,
        fewest_chunks: int = SEGMENT_CHUNKS,
    ) -> None:
        self.blocks = blocks
        self.labels = labels
        self.weight = weight
        self.n_rows = blocks[0].n_rows
        self.rows_per_chunk = rows_per_chunk
        self.fewest_chunks = fewest_chunks
        self._indexed: dict[int, tuple[Block, ...]] | None = None
        #: Left here by :func:`~softcount.core.patterns.find_patterns`.
        self.patterns: Patterns | None = None
        #: Left here by :func:`~softcount.core.seeding.coordinates`, for every start asks for them.
        self.coordinates: dict[tuple[type, ...], list[Any]] = {}

    def like(self, blocks: tuple[Block, ...], labels: Labels | None, weight: FloatArray | None) -> Chunks:
        """Other rows on the same grid."""
        grid: Any = {"rows_per_chunk": self.rows_per_chunk, "fewest_chunks": self.fewest_chunks}
        return Chunks(blocks, labels, weight, **grid)

    @property
    def layout(self) -> tuple[Block, ...]:
        """The blocks themselves."""
        return self.blocks

    @cached_property
    def facts(self) -> Facts:
        """What a fit has to know about all rows before it starts."""
        return Facts.of(self.n_rows, self.labels, self.weight)

    @property
    def has_labels(self) -> bool:
        """Whether anything is said about classes."""
        return self.labels is not None

    @property
    def has_fixed_labels(self) -> bool:
        """Whether rows of probabilities are responsibilities."""
        return self.labels is not None and self.labels.fixed

    @property
    def all_known(self) -> bool:
        """Whether every row has exactly one class, or fixed responsibilities."""
        return self.labels is not None and self.labels.all_known()

    def keep_indexed(self, n_components: int) -> Chunks:
        """The same rows, for many passes: sparse blocks keep their entries sorted by column (3 bytes per entry).

        Counting by column then writes each column's counts once per chunk instead of once per entry. Where the counts
        of so many components stay in a core's cache nothing is sorted.
        """
        sparse = (block for block in self.blocks if isinstance(block, SparseBlock))
        if self._indexed is not None or not any(word_index_pays(block.n_columns, n_components) for block in sparse):
            return self
        kept = self.like(self.blocks, self.labels, self.weight)
        kept._indexed = {}
        return kept

    def with_weight(self, weight: FloatArray | None) -> Chunks:
        """The same rows with other weights; what was sorted stays sorted."""
        other = self.like(self.blocks, self.labels, weight)
        other._indexed = self._indexed
        return other

    def _blocks(self, index: int, start: int, stop: int) -> tuple[Block, ...]:
        if self._indexed is None:
            return tuple(block.rows(start, stop) for block in self.blocks)
        if index not in self._indexed:
            rows = (block.rows(start, stop) for block in self.blocks)
            self._indexed[index] = tuple(b.indexed() if isinstance(b, SparseBlock) else b for b in rows)
        return self._indexed[index]

    @overload
    def __getitem__(self, index: int) -> Chunk: ...
    @overload
    def __getitem__(self, index: slice) -> list[Chunk]: ...
    def __getitem__(self, index: int | slice) -> Chunk | list[Chunk]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        start = index * self.rows_per_chunk
        stop = min(start + self.rows_per_chunk, self.n_rows)
        return Chunk(
            index,
            start,
            self._blocks(index, start, stop),
            None if self.labels is None else self.labels.rows(start, stop),
            None if self.weight is None else self.weight[start:stop],
            stop - start,
        )
