"""Rows that are read as they are counted, pass after pass, and never all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol, cast, overload

import numpy as np
from numpy.typing import NDArray

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.chunks import SEGMENT_CHUNKS, Chunk, DistantRows
from softcount.core.facts import Facts
from softcount.core.joining import join_blocks, join_labels, join_weights
from softcount.families.blocks import Block, CodesBlock, DenseBlock
from softcount.inputs.labels import Labels

__all__ = ["Piece", "Pieces", "StreamedRows", "cut_pieces"]


@dataclass(frozen=True)
class Piece:
    """Some consecutive rows, as many as the source gives at a time."""

    blocks: tuple[Block, ...]
    labels: Labels | None
    weight: FloatArray | None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.blocks[0].n_rows

    def rows(self, start: int, stop: int) -> Piece:
        """Some of the rows, in blocks of their own: whoever counts them may empty them."""
        return Piece(
            tuple(block.rows(start, stop) for block in self.blocks),
            None if self.labels is None else self.labels.rows(start, stop),
            None if self.weight is None else self.weight[start:stop],
        )


class Pieces(Protocol):
    """Where rows come from."""

    def pieces(self, rows_per_chunk: int) -> Iterator[Piece]:
        """All rows once more, from the first to the last; pieces of any size, best a share of a chunk."""
        ...


class StreamedRows(DistantRows):
    """Rows in chunks that are read when they are asked for, in their order.

    The chunks are cut where those of rows in memory are, whatever pieces the source gives: both give the same bits.

    Parameters
    ----------
    source : Pieces
    layout : tuple of Block
        Blocks that show kind, columns and missing cells of all rows.
    facts : Facts
    rows_per_chunk, fewest_chunks : int
        As for :class:`~softcount.core.chunks.Chunks`.
    change : callable or None
        What is done to every chunk when it is read.
    on_read : callable or None
        Told the number of rows read so far in this pass.
    """

    def __init__(
        self,
        source: Pieces,
        layout: tuple[Block, ...],
        facts: Facts,
        *,
        rows_per_chunk: int,
        fewest_chunks: int = SEGMENT_CHUNKS,
        change: Callable[[Chunk], Chunk] | None = None,
        on_read: Callable[[int], None] | None = None,
    ) -> None:
        super().__init__(layout, facts, rows_per_chunk=rows_per_chunk, fewest_chunks=fewest_chunks)
        self.source = source
        self._change = change
        self._on_read = on_read

    def mapped(self, change: Callable[[Chunk], Chunk]) -> StreamedRows:
        """The rows with something done to every chunk when it is read."""
        before = self._change
        both = change if before is None else (lambda chunk: change(before(chunk)))
        return StreamedRows(
            self.source,
            self._layout,
            self._facts,
            rows_per_chunk=self.rows_per_chunk,
            fewest_chunks=self.fewest_chunks,
            change=both,
            on_read=self._on_read,
        )

    # ---- reading
    def read(self) -> Iterator[Chunk]:
        """All chunks in their order; a source that has changed since the first pass is an error."""
        cutter = _Cutter(self.rows_per_chunk)
        n_read = index = 0
        for piece in self.source.pieces(self.rows_per_chunk):
            n_read += piece.n_rows
            if n_read > self.n_rows:
                raise _changed(self.n_rows, n_read, "at least ")
            for part in cutter.cut(piece):
                yield self._chunk(index, part)
                index += 1
        if n_read != self.n_rows:
            raise _changed(self.n_rows, n_read)
        rest = cutter.rest()
        if rest is not None:
            yield self._chunk(index, rest)

    def _chunk(self, index: int, part: Piece) -> Chunk:
        start = index * self.rows_per_chunk
        if self._on_read is not None:
            self._on_read(start + part.n_rows)
        chunk = Chunk(index, start, part.blocks, part.labels, part.weight, part.n_rows)
        return chunk if self._change is None else self._change(chunk)

    def __iter__(self) -> Iterator[Chunk]:
        return self.read()

    @overload
    def __getitem__(self, index: int) -> Chunk: ...
    @overload
    def __getitem__(self, index: slice) -> list[Chunk]: ...
    def __getitem__(self, index: int | slice) -> Chunk | list[Chunk]:
        if isinstance(index, slice):
            wanted = range(*index.indices(len(self)))
            found = {i: chunk for i, chunk in enumerate(self.read()) if i in wanted}
            return [found[i] for i in wanted]
        if not 0 <= index < len(self):
            raise IndexError(index)
        return next(islice(self.read(), index, None))


def _changed(before: int, now: int, at_least: str = "") -> InputError:
    return InputError(
        f"The rows changed while they were being learned from: the first pass read {before} rows, and a later one "
        f"{at_least}{now}. Every pass has to give the same rows: do not write to the file meanwhile, and give batches "
        "that start from the beginning each time."
    )


def cut_pieces(pieces: Iterable[Piece], size: int) -> Iterator[Piece]:
    """Pieces of ``size`` rows, the last one perhaps smaller, from pieces of any size."""
    cutter = _Cutter(size)
    for piece in pieces:
        yield from cutter.cut(piece)
    rest = cutter.rest()
    if rest is not None:
        yield rest


class _Cutter:
    """Cuts pieces of any size into chunks of one size."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._taken: list[Piece] = []
        self._tables: list[NDArray[Any] | None] = []
        self._sizes: list[int] = []
        self._filled = 0

    def cut(self, piece: Piece) -> Iterator[Piece]:
        """The chunks that are complete with this piece."""
        start, n_rows = 0, piece.n_rows
        while start < n_rows:
            stop = min(start + self._size - self._filled, n_rows)
            part = piece.rows(start, stop)
            if stop - start == self._size:
                yield part
            else:
                self._take(part)
                if self._filled == self._size:
                    yield self._joined()
            start = stop

    def rest(self) -> Piece | None:
        """The last chunk, which may be shorter."""
        return self._joined() if self._filled else None

    def _take(self, part: Piece) -> None:
        """Dense cells go to where they will stay, so that a chunk is never there twice."""
        if not self._taken:
            self._tables = [_empty_table(block, self._size) for block in part.blocks]
        rows = slice(self._filled, self._filled + part.n_rows)
        blocks: list[Block] = []
        for table, block in zip(self._tables, part.blocks, strict=True):
            if table is None:
                blocks.append(_copied(block))
                continue
            table[rows] = block.codes if isinstance(block, CodesBlock) else cast(DenseBlock, block).values
            blocks.append(block.rows(0, 0))
        self._taken.append(Piece(tuple(blocks), part.labels, part.weight))
        self._sizes.append(part.n_rows)
        self._filled += part.n_rows

    def _joined(self) -> Piece:
        blocks: list[Block] = []
        for position, table in enumerate(self._tables):
            parts = [piece.blocks[position] for piece in self._taken]
            if table is None:
                blocks.append(join_blocks(parts))
            else:
                blocks.append(_with_table(parts[0], table[: self._filled]))
        labels = join_labels([piece.labels for piece in self._taken])
        weight = join_weights([piece.weight for piece in self._taken], self._sizes)
        self._taken, self._tables, self._sizes, self._filled = [], [], [], 0
        return Piece(tuple(blocks), labels, weight)


def _empty_table(block: Block, size: int) -> NDArray[Any] | None:
    if isinstance(block, CodesBlock):
        return np.empty((size, block.n_columns), dtype=block.codes.dtype)
    if isinstance(block, DenseBlock) and block.evidence is None:
        return np.empty((size, block.n_columns), dtype=block.values.dtype)
    return None


def _with_table(block: Block, table: NDArray[Any]) -> Block:
    return replace(block, codes=table) if isinstance(block, CodesBlock) else replace(cast(Any, block), values=table)


def _copied(block: Block) -> Block:
    """The block apart from the batch it is a view of, which is not to be kept alive."""
    return join_blocks([block, block.rows(0, 0)])
