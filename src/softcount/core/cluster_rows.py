"""Rows that the workers of a cluster keep, group by group, on the grid that rows in memory have.

A *group* is a run of consecutive segments, a power of two of them: its merged counts are a subtree of the tree in which
one machine merges (:mod:`softcount.core.execute`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, overload

import numpy as np

from softcount.core.chunks import SEGMENT_CHUNKS, Chunk, DistantRows
from softcount.core.cluster_loss import gathered, persistently, worker_threads
from softcount.core.facts import Facts
from softcount.core.streamed import Piece, cut_pieces
from softcount.families.blocks import Block, SparseBlock

__all__ = ["ClusterRows", "Group", "aligned", "changed", "lay_out"]

#: How often a cluster may run a task again by itself, each time after losing the worker that ran it.
TASK_RETRIES = 5


@dataclass(frozen=True)
class Group:
    """Consecutive segments that one task counts."""

    segments: tuple[tuple[Chunk, ...], ...]


class ClusterRows(DistantRows):
    """Rows in chunks that the workers of a cluster keep.

    Parameters
    ----------
    client : distributed.Client
    groups : sequence of distributed.Future
        Each the :class:`Group` of consecutive segments, as many as all groups but the last have.
    layout : tuple of Block
        Blocks that show kind, columns and missing cells of all rows.
    facts : Facts
    rows_per_chunk, fewest_chunks : int
        As for :class:`~softcount.core.chunks.Chunks`.
    changes : tuple of callable
        What is done to every chunk when it is counted, one after the other.
    executor : Executor or None
        Who counts them.
    """

    def __init__(
        self,
        client: Any,
        groups: Sequence[Any],
        layout: tuple[Block, ...],
        facts: Facts,
        *,
        rows_per_chunk: int,
        fewest_chunks: int = SEGMENT_CHUNKS,
        changes: tuple[Callable[[Chunk], Chunk], ...] = (),
        executor: Any = None,
    ) -> None:
        super().__init__(layout, facts, rows_per_chunk=rows_per_chunk, fewest_chunks=fewest_chunks)
        self.client = client
        self.groups = tuple(groups)
        self.changes = changes
        self.executor = executor

    def mapped(self, change: Callable[[Chunk], Chunk]) -> ClusterRows:
        """The rows with something done to every chunk when it is counted."""
        return ClusterRows(
            self.client,
            self.groups,
            self._layout,
            self._facts,
            rows_per_chunk=self.rows_per_chunk,
            fewest_chunks=self.fewest_chunks,
            changes=(*self.changes, change),
            executor=self.executor,
        )

    @overload
    def __getitem__(self, index: int) -> Chunk: ...
    @overload
    def __getitem__(self, index: slice) -> list[Chunk]: ...
    def __getitem__(self, index: int | slice) -> Chunk | list[Chunk]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        size: int = len(self.segments[0]) * _group_size(len(self.segments), len(self.groups))
        group = self.groups[index // size]

        def run() -> Chunk:
            found: Chunk = gathered(self.client, [self.client.submit(_one_chunk, group, index, list(self.changes))])[0]
            return found

        return persistently(run, self.client)


def _one_chunk(group: Group, index: int, changes: list[Callable[[Chunk], Chunk]]) -> Chunk:
    # In a list: Dask before 2024.12 runs what stands first in a tuple.
    chunk = next(chunk for segment in group.segments for chunk in segment if chunk.index == index)
    return changed(chunk, changes)


def changed(chunk: Chunk, changes: Sequence[Callable[[Chunk], Chunk]]) -> Chunk:
    """The chunk after all of the changes."""
    for change in changes:
        chunk = change(chunk)
    return chunk


def _group_size(n_segments: int, n_groups: int) -> int:
    """Segments per group: the power of two that makes that many groups."""
    size = 1
    while -(-n_segments // size) > n_groups:
        size *= 2
    return size


def _most_groups(threads: int) -> int:
    """Groups to make at the most: a few per thread where the threads are no power of two, to even out their loads."""
    power = 1 << (threads - 1).bit_length()
    return power if power == threads else 4 * power


def lay_out(
    client: Any,
    pieces: Sequence[Any],
    sizes: Sequence[int],
    layout: tuple[Block, ...],
    facts: Facts,
    *,
    rows_per_chunk: int,
    fewest_chunks: int = SEGMENT_CHUNKS,
    executor: Any = None,
) -> ClusterRows:
    """Put the rows of some pieces on the grid, in groups that the workers keep.

    Parameters
    ----------
    client : distributed.Client
    pieces : sequence of distributed.Future
        The rows in their order, each a :class:`~softcount.core.streamed.Piece`.
    sizes : sequence of int
        Rows of each piece.
    layout, facts, rows_per_chunk, fewest_chunks, executor
        As for :class:`ClusterRows`.
    """
    grid: Any = {"rows_per_chunk": rows_per_chunk, "fewest_chunks": fewest_chunks}
    segments = ClusterRows(client, (), layout, facts, **grid).segments
    # The address of every worker, once for every thread.
    places = [address for address, n_threads in worker_threads(client).items() for _ in range(n_threads)]
    n_groups = min(_most_groups(max(1, len(places))), len(segments))
    size = _group_size(len(segments), n_groups)
    ends = [0]
    for n_rows in sizes:
        ends.append(ends[-1] + n_rows)
    is_spread = len(sizes) < len(places)
    groups: list[Any] = []
    for first in range(0, len(segments), size):
        members = segments[first : first + size]
        start = members[0].start * rows_per_chunk
        stop = min(members[-1].stop * rows_per_chunk, facts.n_rows)
        taken = [i for i in range(len(sizes)) if ends[i] < stop and ends[i + 1] > start]
        cuts = [(max(start - ends[i], 0), min(stop, ends[i + 1]) - ends[i]) for i in taken]
        how: dict[str, Any] = {"pure": False, "retries": TASK_RETRIES}
        parts = [pieces[i] for i in taken]
        if is_spread:
            # Fewer pieces than threads: rows are cut where they lie, and go to workers that would have nothing to do.
            parts = [client.submit(_cut, part, cut, **how) for part, cut in zip(parts, cuts, strict=True)]
            cuts = [(0, stop - start) for start, stop in cuts]
            place = places[len(groups) * len(places) // n_groups % len(places)]
            how = {**how, "workers": [place], "allow_other_workers": True}
        groups.append(client.submit(_make_group, parts, cuts, members, rows_per_chunk, **how))
    return ClusterRows(client, groups, layout, facts, executor=executor, **grid)


def _cut(piece: Piece, cut: tuple[int, int]) -> Piece:
    """Some rows of a piece."""
    return piece.rows(*cut)


def _make_group(
    pieces: list[Piece],
    cuts: list[tuple[int, int]],
    members: list[range],
    rows_per_chunk: int,
) -> Group:
    """Cut a group's rows into chunks; sparse blocks are sorted by column here, where they stay."""
    parts = (piece.rows(*cut) for piece, cut in zip(pieces, cuts, strict=True))
    first = members[0].start
    chunks = []
    for number, part in enumerate(cut_pieces(parts, rows_per_chunk)):
        index = first + number
        blocks = tuple(_kept(aligned(block)) for block in part.blocks)
        labels, weight = aligned(part.labels), aligned(part.weight)
        chunks.append(Chunk(index, index * rows_per_chunk, blocks, labels, weight, part.n_rows))
    segments = tuple(tuple(chunks[m.start - first : m.stop - first]) for m in members)
    return Group(segments)


def aligned(value: Any) -> Any:
    """The same with arrays that begin where numbers may: those that came over the network begin anywhere."""
    if isinstance(value, np.ndarray):
        return np.require(value, requirements="A")
    if is_dataclass(value) and not isinstance(value, type):
        before = {f.name: getattr(value, f.name) for f in fields(value) if f.init}
        after = {name: aligned(part) for name, part in before.items()}
        return value if all(after[name] is before[name] for name in before) else replace(value, **after)
    if type(value) is tuple:
        parts = tuple(aligned(part) for part in value)
        return value if all(a is b for a, b in zip(parts, value, strict=True)) else parts
    return value


def _kept(block: Block) -> Block:
    return block.indexed() if isinstance(block, SparseBlock) else block
