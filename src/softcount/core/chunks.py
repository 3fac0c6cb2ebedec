"""Chunks: the rows in pieces small enough that what is computed per row stays in the cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

from softcount._types import FloatArray
from softcount.families.blocks import Block, SparseBlock
from softcount.inputs.labels import Labels

__all__ = ["Chunk", "Chunks", "chunk_rows"]

SCRATCH_BYTES = 2 * 2**20
FEWEST_ROWS = 1024
MOST_ROWS = 65536


def chunk_rows(n_components: int) -> int:
    """Rows per chunk: a power of two whose row-by-class scratch fits the cache. Depends on nothing but the model."""
    rows = FEWEST_ROWS
    while rows < MOST_ROWS and 2 * rows * max(n_components, 1) * 8 <= SCRATCH_BYTES:
        rows *= 2
    return rows


@dataclass(frozen=True)
class Chunk:
    """Some consecutive rows: their blocks, labels and weights."""

    index: int
    start: int
    blocks: tuple[Block, ...]
    labels: Labels | None
    weight: FloatArray | None
    n_rows: int


class Chunks(Sequence[Chunk]):
    """All rows, chunk by chunk; views, made when asked for.

    Parameters
    ----------
    blocks : tuple of Block
        The columns of the whole table.
    labels : Labels or None
    weight : array of shape (n_rows,) or None
    rows_per_chunk : int
    """

    def __init__(
        self,
        blocks: tuple[Block, ...],
        labels: Labels | None = None,
        weight: FloatArray | None = None,
        *,
        rows_per_chunk: int,
    ) -> None:
        self.blocks = blocks
        self.labels = labels
        self.weight = weight
        self.n_rows = blocks[0].n_rows
        self.rows_per_chunk = rows_per_chunk
        self._indexed: dict[int, tuple[Block, ...]] | None = None

    def keep_indexed(self) -> Chunks:
        """The same rows, for many passes: sparse blocks keep their entries sorted by column (3 bytes per entry).

        Counting by column then writes each column's counts once per chunk instead of once per entry.
        """
        if self._indexed is not None or not any(isinstance(block, SparseBlock) for block in self.blocks):
            return self
        kept = Chunks(self.blocks, self.labels, self.weight, rows_per_chunk=self.rows_per_chunk)
        kept._indexed = {}
        return kept

    def with_weight(self, weight: FloatArray | None) -> Chunks:
        """The same rows with other weights; what was sorted stays sorted."""
        other = Chunks(self.blocks, self.labels, weight, rows_per_chunk=self.rows_per_chunk)
        other._indexed = self._indexed
        return other

    def _blocks(self, index: int, start: int, stop: int) -> tuple[Block, ...]:
        if self._indexed is None:
            return tuple(block.rows(start, stop) for block in self.blocks)
        if index not in self._indexed:
            rows = (block.rows(start, stop) for block in self.blocks)
            self._indexed[index] = tuple(b.indexed() if isinstance(b, SparseBlock) else b for b in rows)
        return self._indexed[index]

    def __len__(self) -> int:
        return max(1, -(-self.n_rows // self.rows_per_chunk))

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
