r"""Some of the rows, drawn in one pass wherever the rows lie.

Every row has an identity (its position, or a hash of its content) and a priority, which is a hash of the identity and
of a random number. The rows of the lowest priorities are a simple random sample without replacement; which rows these
are depends neither on the order in which they are read nor on who reads them, and the lowest of a part can be found
before the other parts are known. With the content as identity, equal rows are one, and repeating a row changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softcount._types import BoolArray, FloatArray, IntArray
from softcount.core.chunks import Chunk, Chunks, Rows
from softcount.core.execute import Executor
from softcount.core.hashing import Hash, content_hash, mixed, position_hash
from softcount.core.joining import join_blocks, join_labels, join_weights, take_labels, take_rows
from softcount.core.patterns import draw_salt, select_rows, some_rows
from softcount.families.blocks import Block, DenseBlock
from softcount.inputs.labels import Labels

__all__ = ["Draw", "Sample", "Wanted", "draw_rows", "fetch", "gather", "sample_rows", "some_rows_of"]


@dataclass(frozen=True)
class Draw:
    """Rows of the lowest priorities so far, each identity once.

    Attributes
    ----------
    priority, identity : arrays of shape (n_rows,)
    row : array of shape (n_rows,)
        Position of the first row of each identity.
    weight : array of shape (n_rows,)
        Total weight of all rows of each identity.
    limit : int
        Most rows to keep.
    others : float
        Weight of the rows that are not kept.
    """

    priority: Hash
    identity: Hash
    row: IntArray
    weight: FloatArray
    limit: int
    others: float = 0.0

    @property
    def is_complete(self) -> bool:
        """Whether nothing of any weight was left out."""
        return self.others == 0.0

    @classmethod
    def of(
        cls, priority: Hash, identity: Hash, row: IntArray, weight: FloatArray, *, limit: int, others: float = 0.0
    ) -> Draw:
        """Sorted by priority, equal ones taken together, the lowest kept."""
        order = np.lexsort((row, priority))
        sorted_priority = priority[order]
        first = np.ones(order.shape[0], dtype=bool)
        first[1:] = sorted_priority[1:] != sorted_priority[:-1]
        total: FloatArray = np.bincount(np.cumsum(first) - 1, weight[order]).astype(np.float64)
        heads = order[first][:limit]
        left_out = others + float(total[limit:].sum())
        return cls(priority[heads], identity[heads], row[heads], total[:limit], limit, left_out)

    def __add__(self, other: Draw) -> Draw:
        return Draw.of(
            np.concatenate([self.priority, other.priority]),
            np.concatenate([self.identity, other.identity]),
            np.concatenate([self.row, other.row]),
            np.concatenate([self.weight, other.weight]),
            limit=self.limit,
            others=self.others + other.others,
        )


@dataclass(frozen=True)
class _Draws:
    """Several draws at once."""

    parts: Mapping[Any, Draw]

    def __add__(self, other: _Draws) -> _Draws:
        return _Draws({name: part + other.parts[name] for name, part in self.parts.items()})


@dataclass(frozen=True)
class Wanted:
    """What one draw looks at: which rows of a chunk may be drawn, and the random number of its priorities."""

    eligible: Callable[[Chunk], BoolArray]
    salt: int
    limit: int
    by_content: bool = False


def draw_rows(executor: Executor, rows: Rows, wanted: Mapping[Any, Wanted]) -> dict[Any, Draw]:
    """Make all draws in one pass; rows of weight zero are never drawn."""

    def tally(lane: Sequence[Chunk]) -> _Draws:
        total: _Draws | None = None
        for chunk in lane:
            part = _Draws({name: _drawn(chunk, want) for name, want in wanted.items()})
            total = part if total is None else total + part
        assert total is not None
        return total

    return dict(executor.reduce(tally, rows).parts)


def _drawn(chunk: Chunk, want: Wanted) -> Draw:
    eligible = want.eligible(chunk)
    weight = np.ones(chunk.n_rows) if chunk.weight is None else chunk.weight
    local = np.flatnonzero(eligible & (weight > 0.0))
    identity = content_hash(chunk, local) if want.by_content else position_hash(local + chunk.start)
    priority = mixed(identity ^ np.uint64(want.salt))
    others = 0.0
    if not want.by_content and local.size > want.limit:
        # Of rows that differ all the same only the lowest need to be sorted.
        low = np.argpartition(priority, want.limit)[: want.limit]
        others = float(weight[local].sum() - weight[local[low]].sum())
        local, priority, identity = local[low], priority[low], identity[low]
    return Draw.of(priority, identity, local + chunk.start, weight[local], limit=want.limit, others=others)


# ---- gathering
@dataclass(frozen=True)
class _Gathered:
    """Rows picked from some chunks, and their positions."""

    rows: tuple[IntArray, ...]
    blocks: tuple[tuple[Block, ...], ...]
    labels: tuple[Labels | None, ...]

    def __add__(self, other: _Gathered) -> _Gathered:
        return _Gathered(self.rows + other.rows, self.blocks + other.blocks, self.labels + other.labels)


def gather(executor: Executor, rows: Rows, positions: IntArray, weight: FloatArray | None) -> Chunks:
    """The given rows in memory, in the given order, with weights of their own.

    Parameters
    ----------
    executor, rows
        Who runs the pass, and the rows.
    positions : array of shape (n_wanted,)
    weight : array of shape (n_wanted,) or None
    """
    if isinstance(rows, Chunks):
        return select_rows(rows, positions, weight)
    order = np.argsort(positions, kind="stable")
    ascending = positions[order]

    def tally(lane: Sequence[Chunk]) -> _Gathered:
        found = _Gathered((), (), ())
        for chunk in lane:
            low, high = np.searchsorted(ascending, [chunk.start, chunk.start + chunk.n_rows])
            if low < high:
                local = ascending[low:high] - chunk.start
                blocks = tuple(take_rows(block, local) for block in chunk.blocks)
                labels = None if chunk.labels is None else take_labels(chunk.labels, local)
                found += _Gathered((ascending[low:high],), (blocks,), (labels,))
        return found

    found = executor.reduce(tally, rows)
    if not found.rows:
        return _like_rows(tuple(block.rows(0, 0) for block in rows.layout), None, rows)
    blocks = tuple(join_blocks(parts) for parts in zip(*found.blocks, strict=True))
    rank = np.empty(positions.shape[0], dtype=np.int64)
    rank[order] = np.argsort(np.concatenate(found.rows), kind="stable")
    return select_rows(_like_rows(blocks, join_labels(found.labels), rows), rank, weight)


@dataclass(frozen=True)
class _Fetched:
    """Some chunks, each with its position."""

    chunks: tuple[Chunk, ...]

    def __add__(self, other: _Fetched) -> _Fetched:
        return _Fetched(self.chunks + other.chunks)


def fetch(executor: Executor, rows: Rows) -> Chunks:
    """All rows in memory, with their labels and weights."""
    if isinstance(rows, Chunks):
        return rows

    def tally(lane: Sequence[Chunk]) -> _Fetched:
        # Blocks of their own, for those of a chunk that has been counted are emptied.
        return _Fetched(tuple(replace(c, blocks=tuple(b.rows(0, c.n_rows) for b in c.blocks)) for c in lane))

    found = sorted(executor.reduce(tally, rows).chunks, key=lambda chunk: chunk.index)
    blocks = tuple(join_blocks(parts) for parts in zip(*(chunk.blocks for chunk in found), strict=True))
    labels = join_labels([chunk.labels for chunk in found])
    weight = join_weights([chunk.weight for chunk in found], [chunk.n_rows for chunk in found])
    return _like_rows(blocks, labels, rows).with_weight(weight)


def _like_rows(blocks: tuple[Block, ...], labels: Labels | None, rows: Rows) -> Chunks:
    return Chunks(
        tuple(_like(block, shown) for block, shown in zip(blocks, rows.layout, strict=True)),
        labels,
        None,
        rows_per_chunk=rows.rows_per_chunk,
        fewest_chunks=rows.fewest_chunks,
    )


def _like(block: Block, shown: Block) -> Block:
    """Whether cells are missing is a property of all rows."""
    if isinstance(block, DenseBlock) and isinstance(shown, DenseBlock):
        return replace(block, has_missing=shown.has_missing)
    return block


# ---- samples for starting and comparing
@dataclass(frozen=True)
class Sample:
    """Some of the rows, standing for all."""

    rows: Chunks
    is_complete: bool


def sample_rows(
    executor: Executor, rows: Rows, most: int, rng: np.random.Generator, *, distinct: bool = False
) -> Sample:
    """All rows with a label and some of the others, whose weights then stand for all.

    Parameters
    ----------
    executor, rows
        Who runs the passes, and the rows.
    most : int
        Rows without a label to take.
    rng : Generator
    distinct : bool
        Whether equal rows are taken together.
    """
    salt, everything = draw_salt(rng), rows.n_rows
    draws = draw_rows(
        executor,
        rows,
        {
            "known": Wanted(lambda chunk: ~_unlabeled(chunk), salt, everything, distinct),
            "others": Wanted(_unlabeled, salt, most, distinct),
        },
    )
    known, others = draws["known"], draws["others"]
    kept = float(others.weight.sum())
    places = np.concatenate([known.row, others.row])
    weight = np.concatenate([known.weight, others.weight * ((kept + others.others) / max(kept, 1e-300))])
    order_of = np.concatenate([known.identity, others.identity]) if distinct else places
    # Where there are few rows they come in one order, else those with a label first.
    is_other = np.arange(places.shape[0]) >= known.row.shape[0]
    order = np.lexsort((order_of, is_other & (places.shape[0] > most)))
    return Sample(gather(executor, rows, places[order], weight[order]), others.is_complete)


def _unlabeled(chunk: Chunk) -> BoolArray:
    return np.ones(chunk.n_rows, dtype=bool) if chunk.labels is None else chunk.labels.is_unlabeled()


def some_rows_of(executor: Executor, rows: Rows, most: int, rng: np.random.Generator) -> Rows:
    """All rows where they are few, else a sample that stands for them."""
    if isinstance(rows, Chunks):
        return some_rows(rows, most, rng)
    return rows if rows.n_rows <= most else sample_rows(executor, rows, most, rng).rows
