"""Executors: who runs the passes, and in which order their counts are merged.

An executor has one job, :meth:`Executor.reduce`: run a tally over all chunks and merge the counts. The order of merging
is a fixed tree. Chunks are cut into *segments*, runs of consecutive chunks; inside a segment they are dealt to *lanes*
(chunk ``i`` of the segment goes to lane ``i % n_lanes``); a lane tallies its chunks one after the other into one set of
arrays, the lanes of a segment are merged in order, and the segments in pairs, then pairs of pairs. None of this depends
on how many workers there are or where the rows lie, so one thread, many threads, a file read piece by piece and a
cluster (where a segment is one machine's work) give the same bits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, Self, TypeVar

from softcount.core.conveyor import Conveyor

__all__ = [
    "Executor",
    "Mergeable",
    "ThreadExecutor",
    "for_one_look",
    "lane_count",
    "merge_tree",
    "resolve_n_jobs",
    "tally_segment",
]

T = TypeVar("T")

DEFAULT_LANES = 8
LANE_BYTES = 32 * 2**20
#: Threads that count a stream unless more are asked for; with the one that reads, three chunks are alive.
STREAM_JOBS = 2
#: Numbers that one thread has added up before a second one would be awake.
FEW_NUMBERS = 3 * 2**20


class Mergeable(Protocol):
    """Anything with an addition."""

    def __add__(self, other: Self) -> Self: ...


C = TypeVar("C", bound=Mergeable)


class Executor(Protocol):
    """Runs tallies over chunks."""

    def reduce(self, tally: Callable[[Sequence[T]], C], chunks: Sequence[T], *, counts_bytes: int = 0) -> C:
        """Merge ``tally`` over all lanes of ``chunks``; ``counts_bytes`` is the size of one lane's counts."""
        ...

    def each(self, task: Callable[[T], None], chunks: Sequence[T]) -> None:
        """Run ``task`` on every chunk, for tasks that write into their own slice of an output array."""
        ...


def resolve_n_jobs(n_jobs: int | None) -> int:
    """The number of threads meant by ``n_jobs``: ``None`` all usable cores, negative counts from the last one.

    Examples
    --------
    >>> resolve_n_jobs(3)
    3
    """
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    if n_jobs is None:
        return available
    if n_jobs == 0:
        raise ValueError("n_jobs is 0; use a positive number of threads, -1 for all cores, or None.")
    if n_jobs < 0:
        return max(1, available + 1 + n_jobs)
    return n_jobs


def lane_count(n_chunks: int, counts_bytes: int) -> int:
    """How many lanes to deal the chunks to: few when each lane's counts are large, never more than chunks."""
    affordable = LANE_BYTES // counts_bytes if counts_bytes else DEFAULT_LANES
    return max(1, min(DEFAULT_LANES, max(2, affordable), n_chunks))


def segments_of(chunks: Sequence[Any]) -> list[range]:
    """The segments the chunks name, or all chunks as one."""
    named: list[range] | None = getattr(chunks, "segments", None)
    return [range(len(chunks))] if named is None else named


def merge_tree(parts: Iterable[C]) -> C:
    """Merge neighbors in pairs, then pairs of pairs, as soon as both are there; nobody else needs the parts.

    Examples
    --------
    >>> merge_tree(["a", "b", "c", "d", "e"])
    'abcde'
    """
    waiting: list[tuple[int, C]] = []
    for part in parts:
        level, merged = 0, part
        while waiting and waiting[-1][0] == level:
            merged = _absorbed(waiting.pop()[1], merged)
            level += 1
        waiting.append((level, merged))
    total = waiting.pop()[1]
    while waiting:
        total = _absorbed(waiting.pop()[1], total)
    return total


def tally_segment(
    tally: Callable[[Sequence[T]], C], chunks: Sequence[T], *, n_jobs: int = 1, counts_bytes: int = 0
) -> C:
    """Merged counts of the chunks of one segment, as every executor has to give them."""
    lanes = _lanes_of(chunks, [range(len(chunks))], counts_bytes)
    return merge_in_order(_mapped(tally, lanes, n_jobs), len(lanes))


def merge_in_order(parts: Iterable[C], size: int) -> C:
    """The next ``size`` parts, merged one after the other; nobody else needs them."""
    rest = iter(parts)
    total = next(rest)
    for _ in range(size - 1):
        # A part is given up before the next one is made, for no name keeps it.
        total = _absorbed(total, next(rest))
    return total


def _absorbed(total: C, part: C) -> C:
    """Their sum, which where they are counts may lie where ``total`` lay: large tables are not made a third time."""
    absorb: Callable[[C], C] | None = getattr(total, "absorb", None)
    return total + part if absorb is None else absorb(part)


def _lanes_of(chunks: Sequence[T], segments: list[range], counts_bytes: int) -> list[_Lane[T]]:
    lanes = []
    for segment in segments:
        step = lane_count(len(segment), counts_bytes)
        lanes += [_Lane(chunks, segment[first::step]) for first in range(step)]
    return lanes


def _mapped(function: Callable[[Any], C], items: Sequence[Any], n_jobs: int) -> Iterable[C]:
    if n_jobs == 1 or len(items) == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(min(n_jobs, len(items))) as pool:
        yield from pool.map(function, items)


class ThreadExecutor:
    """Threads over lanes of chunks; the calling thread alone when there is one lane or one job.

    Rows that are read as they are counted are read by one more thread, one chunk ahead.

    Parameters
    ----------
    n_jobs : int or None
        Threads to use; ``None`` means all usable cores, and two for rows that are read as they are counted. The result
        does not depend on it.

    Examples
    --------
    >>> ThreadExecutor(2).reduce(sum, [1, 2, 3, 4])
    10
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = resolve_n_jobs(n_jobs)
        self.stream_jobs = min(self.n_jobs, STREAM_JOBS) if n_jobs is None else self.n_jobs

    def reduce(self, tally: Callable[[Sequence[T]], C], chunks: Sequence[T], *, counts_bytes: int = 0) -> C:
        """Merge ``tally`` over all lanes in the order of the tree; rows that lie elsewhere are counted there."""
        elsewhere: Executor | None = getattr(chunks, "executor", None)
        if elsewhere is not None:
            return elsewhere.reduce(tally, chunks, counts_bytes=counts_bytes)
        segments = segments_of(chunks)
        sizes = [lane_count(len(segment), counts_bytes) for segment in segments]
        if hasattr(chunks, "read"):
            parts = iter(Conveyor(chunks, segments, sizes, self.stream_jobs).tallied(tally))
        else:
            parts = iter(_mapped(tally, _lanes_of(chunks, segments, counts_bytes), self.n_jobs))
        return merge_tree(merge_in_order(parts, size) for size in sizes)

    def each(self, task: Callable[[T], None], chunks: Sequence[T]) -> None:
        """Run ``task`` on every chunk."""
        if not hasattr(chunks, "read"):
            for _ in _mapped(task, chunks, self.n_jobs):  # type: ignore[type-var]  # nothing is merged
                pass
            return

        def run(lane: Sequence[T]) -> None:
            for chunk in lane:
                task(chunk)

        for _ in Conveyor(chunks, [range(len(chunks))], [self.stream_jobs], self.stream_jobs).tallied(run):
            pass


def for_one_look(executor: Any, chunks: Sequence[Any], numbers: float) -> Any:
    """Who runs a pass that only adds up ``numbers`` numbers in memory: the calling thread alone where they are few.

    Examples
    --------
    >>> for_one_look(ThreadExecutor(2), [[1.0, 2.0], [3.0]], 3).n_jobs
    1
    """
    in_memory = not hasattr(chunks, "read") and getattr(chunks, "executor", None) is None
    if isinstance(executor, ThreadExecutor) and in_memory and numbers < FEW_NUMBERS:
        return ThreadExecutor(1)
    return executor


class _Lane(Sequence[T]):
    """Some of the chunks, made when asked for."""

    def __init__(self, chunks: Sequence[T], indices: range) -> None:
        self._chunks = chunks
        self._indices = indices

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        return self._chunks[self._indices[index]]
