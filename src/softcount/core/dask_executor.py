"""Fitting on a Dask cluster: the workers keep the rows and count them, the loop stays at home.

The rows lie on the workers in *groups*: runs of consecutive segments, a power of two of them, so that the merged counts
of a group are a subtree of the tree in which one machine merges (:mod:`softcount.core.execute`). In every pass each
group is one task; what comes back are its counts, which are merged here in the order of the tree. A cluster therefore
gives the bits of one machine, whatever its size, and nothing as long as the rows ever leaves the workers.

A worker that dies takes its groups and its share of the running pass with it: Dask builds the groups again on the
others from the user's own partitions, and only that pass is repeated.

This is the one file that imports Dask.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar, overload

import numpy as np

from softcount._errors import InputError
from softcount.core.chunks import SEGMENT_CHUNKS, Chunk, DistantRows
from softcount.core.execute import Mergeable, ThreadExecutor, merge_tree, tally_segment
from softcount.core.facts import Facts
from softcount.core.streamed import Piece, cut_pieces
from softcount.families.blocks import Block, SparseBlock

__all__ = ["DaskExecutor", "DaskRows", "cluster_client", "is_dask", "lay_out", "on_partitions"]

C = TypeVar("C", bound=Mergeable)
R = TypeVar("R")

#: A pass whose description (parameters included) is larger than this is sent to every worker once, not with every task.
BROADCAST_BYTES = 2**18
#: How often a pass is tried again when the cluster loses what it needs.
MOST_ATTEMPTS = 5
#: How often Dask may run a task again by itself, each time after losing the worker that ran it.
TASK_RETRIES = 5
PAUSE_SECONDS = 0.5
LOOPBACK = "127.0.0.1"


def is_dask(value: Any) -> bool:
    """Whether this is a Dask collection or delayed object, told without importing Dask."""
    return hasattr(value, "__dask_graph__") and hasattr(value, "__dask_keys__")


@contextmanager
def cluster_client() -> Iterator[Any]:
    """The Dask client in use, or one of a cluster of processes on this machine that ends with the block.

    Everything the local cluster opens listens on this machine's loopback address alone, and serves no pages.
    """
    import dask
    from distributed import Client, LocalCluster, get_client

    try:
        in_use = get_client()
    except ValueError:
        in_use = None
    if in_use is not None:
        yield in_use
        return
    # Untyped, as far as mypy can tell.
    make_cluster: Any = LocalCluster
    make_client: Any = Client
    no_pages: dict[str, list[str]] = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}
    with (
        dask.config.set(no_pages),
        make_cluster(
            host=LOOPBACK,
            threads_per_worker=1,
            dashboard_address=f"{LOOPBACK}:0",
            worker_dashboard_address=f"{LOOPBACK}:0",
            scheduler_kwargs={"dashboard": False},
        ) as cluster,
        make_client(cluster, set_as_default=False) as client,
    ):
        yield client


def on_partitions(client: Any, task: Callable[..., R], partitions: Sequence[Any], *arguments: Any) -> list[R]:
    """``task(partition, *arguments)`` on every partition, where it lies; the small results in their order."""
    futures = [client.submit(task, partition, *arguments, pure=False, retries=TASK_RETRIES) for partition in partitions]
    return list(client.gather(futures))


# ---- rows on the workers
@dataclass(frozen=True)
class _Group:
    """Consecutive segments that one task counts."""

    segments: tuple[tuple[Chunk, ...], ...]


class DaskRows(DistantRows):
    """Rows in chunks that the workers of a cluster keep.

    Parameters
    ----------
    client : distributed.Client
    groups : sequence of distributed.Future
        Each the :class:`_Group` of consecutive segments, as many as all groups but the last have.
    layout : tuple of Block
        Blocks that show kind, columns and missing cells of all rows.
    facts : Facts
    rows_per_chunk, fewest_chunks : int
        As for :class:`~softcount.core.chunks.Chunks`.
    changes : tuple of callable
        What is done to every chunk when it is counted, one after the other.
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
    ) -> None:
        super().__init__(layout, facts, rows_per_chunk=rows_per_chunk, fewest_chunks=fewest_chunks)
        self.client = client
        self.groups = tuple(groups)
        self.changes = changes

    def mapped(self, change: Callable[[Chunk], Chunk]) -> DaskRows:
        """The rows with something done to every chunk when it is counted."""
        return DaskRows(
            self.client,
            self.groups,
            self._layout,
            self._facts,
            rows_per_chunk=self.rows_per_chunk,
            fewest_chunks=self.fewest_chunks,
            changes=(*self.changes, change),
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
        found: Chunk = self.client.submit(_one_chunk, self.groups[index // size], index, self.changes).result()
        return found


def _one_chunk(group: _Group, index: int, changes: tuple[Callable[[Chunk], Chunk], ...]) -> Chunk:
    chunk = next(chunk for segment in group.segments for chunk in segment if chunk.index == index)
    return _changed(chunk, changes)


def _changed(chunk: Chunk, changes: tuple[Callable[[Chunk], Chunk], ...]) -> Chunk:
    for change in changes:
        chunk = change(chunk)
    return chunk


def _group_size(n_segments: int, n_groups: int) -> int:
    """Segments per group: the power of two that makes that many groups."""
    size = 1
    while -(-n_segments // size) > n_groups:
        size *= 2
    return size


def _most_groups(client: Any) -> int:
    """Groups to make at the most: a few per thread where the threads are no power of two, to even out their loads."""
    threads: int = max(1, sum(client.nthreads().values()))
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
) -> DaskRows:
    """Put the rows of some pieces on the grid, in groups that the workers keep.

    Parameters
    ----------
    client : distributed.Client
    pieces : sequence of distributed.Future
        The rows in their order, each a :class:`~softcount.core.streamed.Piece`.
    sizes : sequence of int
        Rows of each piece.
    layout, facts, rows_per_chunk, fewest_chunks
        As for :class:`DaskRows`.
    """
    empty = DaskRows(client, (), layout, facts, rows_per_chunk=rows_per_chunk, fewest_chunks=fewest_chunks)
    segments = empty.segments
    n_groups = min(_most_groups(client), len(segments))
    size = _group_size(len(segments), n_groups)
    ends = [0]
    for n_rows in sizes:
        ends.append(ends[-1] + n_rows)
    groups = []
    for first in range(0, len(segments), size):
        members = segments[first : first + size]
        start = members[0].start * rows_per_chunk
        stop = min(members[-1].stop * rows_per_chunk, facts.n_rows)
        taken = [i for i in range(len(sizes)) if ends[i] < stop and ends[i + 1] > start]
        cuts = [(max(start - ends[i], 0), min(stop, ends[i + 1]) - ends[i]) for i in taken]
        task = client.submit(
            _make_group,
            [pieces[i] for i in taken],
            cuts,
            members,
            rows_per_chunk,
            pure=False,
            retries=TASK_RETRIES,
        )
        groups.append(task)
    return DaskRows(client, groups, layout, facts, rows_per_chunk=rows_per_chunk, fewest_chunks=fewest_chunks)


def _make_group(
    pieces: list[Piece],
    cuts: list[tuple[int, int]],
    members: list[range],
    rows_per_chunk: int,
) -> _Group:
    """Cut a group's rows into chunks; sparse blocks are sorted by column here, where they stay."""
    parts = (piece.rows(*cut) for piece, cut in zip(pieces, cuts, strict=True))
    first = members[0].start
    chunks = []
    for number, part in enumerate(cut_pieces(parts, rows_per_chunk)):
        index = first + number
        blocks = tuple(_kept(_aligned(block)) for block in part.blocks)
        labels, weight = _aligned(part.labels), _aligned(part.weight)
        chunks.append(Chunk(index, index * rows_per_chunk, blocks, labels, weight, part.n_rows))
    segments = tuple(tuple(chunks[m.start - first : m.stop - first]) for m in members)
    return _Group(segments)


def _aligned(value: Any) -> Any:
    """The same with arrays that begin where numbers may: those that came over the network begin anywhere."""
    if isinstance(value, np.ndarray):
        return np.require(value, requirements="A")
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _aligned(getattr(value, f.name)) for f in fields(value) if f.init})
    return value


def _kept(block: Block) -> Block:
    return block.indexed() if isinstance(block, SparseBlock) else block


# ---- passes over them
@dataclass(frozen=True)
class _Pass:
    """What a pass does with every group."""

    tally: Callable[[Sequence[Any]], Any]
    changes: tuple[Callable[[Chunk], Chunk], ...]
    counts_bytes: int


def _count_group(group: _Group, described: bytes) -> bytes:
    """The counts of a group: its segments' counts, merged as everywhere."""
    job: _Pass = pickle.loads(described)

    def counts_of(segment: tuple[Chunk, ...]) -> Any:
        chunks = [_changed(chunk, job.changes) for chunk in segment] if job.changes else segment
        return tally_segment(job.tally, chunks, counts_bytes=job.counts_bytes)

    return _packed(merge_tree(counts_of(segment) for segment in group.segments))


def _packed(value: Any) -> bytes:
    """The value in one run of bytes, whose arrays are whole and aligned again when it is unpacked."""
    import cloudpickle

    packed: bytes = cloudpickle.dumps(value, protocol=4)
    return packed


class DaskExecutor:
    """Passes over rows that a cluster keeps; rows in this process's memory are counted by its threads.

    Parameters
    ----------
    client : distributed.Client
    n_jobs : int or None
        Threads for rows in memory.
    """

    def __init__(self, client: Any, n_jobs: int | None = None) -> None:
        self.client = client
        self._here = ThreadExecutor(n_jobs)

    def reduce(self, tally: Callable[[Sequence[Any]], C], chunks: Sequence[Any], *, counts_bytes: int = 0) -> C:
        """Merge ``tally`` over all groups in the order of the tree."""
        if not isinstance(chunks, DaskRows):
            return self._here.reduce(tally, chunks, counts_bytes=counts_bytes)
        job = _Pass(tally, chunks.changes, counts_bytes)
        parts: list[C] = _persistently(lambda: self._counted(chunks.groups, job), self.client)
        return merge_tree(parts)

    def each(self, task: Callable[[Any], None], chunks: Sequence[Any]) -> None:
        """Run ``task`` on every chunk, here: it writes into this process's arrays."""
        if isinstance(chunks, DaskRows):
            raise InputError("Rows on a cluster cannot be answered one by one here; ask for a lazy answer instead.")
        self._here.each(task, chunks)

    def _counted(self, groups: Sequence[Any], job: _Pass) -> list[Any]:
        described = _packed(job)
        sent: Any = described
        if len(groups) > 1 and len(described) > BROADCAST_BYTES:
            sent = self.client.scatter(described, broadcast=True, hash=False)
        futures = [self.client.submit(_count_group, group, sent, pure=False, retries=TASK_RETRIES) for group in groups]
        try:
            return [pickle.loads(part) for part in self.client.gather(futures)]
        except BaseException:
            self.client.cancel(futures)
            raise


def _persistently(run: Callable[[], R], client: Any) -> R:
    """Run a pass again when the cluster lost something on the way that it cannot make again by itself."""
    from concurrent.futures import CancelledError

    from distributed.scheduler import KilledWorker

    for attempt in range(MOST_ATTEMPTS):
        try:
            return run()
        except (CancelledError, KilledWorker, OSError, TimeoutError) as error:
            if attempt == MOST_ATTEMPTS - 1 or client.status != "running":
                raise ConnectionError(
                    f"The Dask cluster was lost during a pass over the rows ({type(error).__name__}: {error}). With "
                    "checkpoint=… the fit can be taken up where it was by resume=…, on a new cluster too."
                ) from error
            time.sleep(PAUSE_SECONDS * (attempt + 1))
    raise AssertionError("unreachable")
