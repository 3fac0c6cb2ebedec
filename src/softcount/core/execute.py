"""Executors: who runs the passes, and in which order their counts are merged.

An executor has one job, :meth:`Executor.reduce`: run a tally over all chunks and merge the counts. Chunks are dealt to
a fixed number of *lanes* (chunk ``i`` goes to lane ``i % n_lanes``); a lane tallies its chunks one after the other into
one set of arrays, and the lanes are merged in order. Neither the chunks nor the lanes depend on how many workers there
are, so one thread and many threads give the same bits, and no more than ``n_lanes`` sets of counts are ever alive.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, Self, TypeVar

__all__ = ["Executor", "Mergeable", "ThreadExecutor", "resolve_n_jobs"]

T = TypeVar("T")

DEFAULT_LANES = 8
LANE_BYTES = 32 * 2**20


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


class ThreadExecutor:
    """Threads over lanes of chunks; the calling thread alone when there is one lane or one job.

    Parameters
    ----------
    n_jobs : int or None
        Threads to use; ``None`` means all usable cores. The result does not depend on it.

    Examples
    --------
    >>> ThreadExecutor(2).reduce(sum, [1, 2, 3, 4])
    10
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = resolve_n_jobs(n_jobs)

    def reduce(self, tally: Callable[[Sequence[T]], C], chunks: Sequence[T], *, counts_bytes: int = 0) -> C:
        """Merge ``tally`` over all lanes, in lane order."""
        n_lanes = lane_count(len(chunks), counts_bytes)
        lanes = [_Lane(chunks, start, n_lanes) for start in range(n_lanes)]
        total: C | None = None
        for part in self._map(tally, lanes):
            total = part if total is None else total + part
        assert total is not None
        return total

    def each(self, task: Callable[[T], None], chunks: Sequence[T]) -> None:
        """Run ``task`` on every chunk."""
        for _ in self._map(task, chunks):
            pass

    def _map(self, function: Callable[[T], C | None], items: Sequence[T]):  # type: ignore[no-untyped-def]
        if self.n_jobs == 1 or len(items) == 1:
            yield from map(function, items)
            return
        with ThreadPoolExecutor(min(self.n_jobs, len(items))) as pool:
            yield from pool.map(function, items)


class _Lane(Sequence[T]):
    """Every ``step``-th chunk from ``start`` on, made when asked for."""

    def __init__(self, chunks: Sequence[T], start: int, step: int) -> None:
        self._chunks = chunks
        self._indices = range(start, len(chunks), step)

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        return self._chunks[self._indices[index]]
