"""Fitting and answering on a Dask cluster: the workers keep the rows and count them, the loop stays at home.

The rows lie on the workers in groups (:mod:`softcount.core.cluster_rows`). In every pass each group is one task; what
comes back are its counts, which are merged here in the order of the tree by which one machine merges
(:mod:`softcount.core.execute`). A cluster therefore gives the bits of one machine, whatever its size, and nothing as
long as the rows ever leaves the workers.

A worker that dies takes its groups and its share of the running pass with it: Dask builds the groups again on the
others from the user's own partitions, and only that pass is repeated.

This is the one file that imports Dask.
"""

from __future__ import annotations

import atexit
import logging
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from softcount._errors import InputError
from softcount._optional import need
from softcount.core.chunks import Chunk
from softcount.core.cluster_loss import asked, gathered, persistently, worker_threads
from softcount.core.cluster_rows import TASK_RETRIES, ClusterRows, Group, aligned, changed
from softcount.core.execute import Mergeable, ThreadExecutor, merge_tree, tally_segment

__all__ = [
    "DaskExecutor",
    "client_at",
    "close_client",
    "current_client",
    "delayed_parts",
    "in_turn",
    "lazy_rows",
    "made_there",
    "on_partitions",
]

C = TypeVar("C", bound=Mergeable)
R = TypeVar("R")

#: A pass whose description (parameters included) is larger than this is sent to every worker once, not with every task.
BROADCAST_BYTES = 2**18
#: Counts of a pass that take no more than this stay on the cluster until the next pass has been sent.
KEPT_BYTES = 2**20
#: Parts that are begun for every thread before the first is asked for.
AHEAD = 2
LOOPBACK = "127.0.0.1"

_own_client: Any = None


def current_client() -> Any:
    """The Dask client in use, or one of a cluster of processes on this machine, which is kept for later fits.

    Everything the local cluster opens listens on this machine's loopback address alone, and serves no pages. It ends
    with this process.
    """
    global _own_client  # noqa: PLW0603  (one cluster per process is the point)
    need("distributed", "A cluster", "'softcount[dask]'")
    import dask
    from distributed import Client, LocalCluster, get_client

    try:
        return get_client()
    except ValueError:
        pass
    if _own_client is not None and _own_client.status == "running":
        return _own_client
    # Untyped, as far as mypy can tell.
    make_cluster: Any = LocalCluster
    make_client: Any = Client
    no_pages: dict[str, list[str]] = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}
    with dask.config.set(no_pages):
        cluster = make_cluster(
            host=LOOPBACK,
            threads_per_worker=1,
            dashboard_address=f"{LOOPBACK}:0",
            worker_dashboard_address=f"{LOOPBACK}:0",
            scheduler_kwargs={"dashboard": False},
        )
    _own_client = make_client(cluster, set_as_default=False)
    atexit.register(_end, _own_client, cluster)
    return _own_client


def client_at(address: str) -> Any:
    """A client of the cluster whose scheduler listens at an address.

    Parameters
    ----------
    address : str
        Such as "tcp://10.0.0.5:8786", or "tls://..." with the certificates that Dask's configuration names.
    """
    from distributed import Client

    make_client: Any = Client
    return make_client(address, set_as_default=False)


def close_client(client: Any) -> None:
    """Close a client; of one that has lost its scheduler nothing more is told than the error of whoever used it.

    Parameters
    ----------
    client : distributed.Client
    """
    log = logging.getLogger("distributed.client")
    before = log.level
    if client.status != "running":
        log.setLevel(logging.CRITICAL)
    try:
        client.close()
    finally:
        log.setLevel(before)


def delayed_parts(task: Callable[..., Any], parts: Sequence[tuple[Any, ...]]) -> list[Any]:
    """``task(*part)`` of every part, as delayed objects.

    Parameters
    ----------
    task : callable
    parts : sequence of tuple
    """
    from dask.delayed import delayed

    run = delayed(task, pure=True)
    return [run(*part) for part in parts]


def _end(client: Any, cluster: Any) -> None:
    client.close()
    cluster.close()


# ---- the user's partitions
def _tasks(task: Callable[..., Any], partitions: Sequence[tuple[Any, ...]], arguments: tuple[Any, ...]) -> list[Any]:
    """``task(packed arguments, *partition)`` for every partition, as delayed objects."""
    from dask.delayed import delayed

    described = delayed(_packed(arguments), pure=True)
    run = delayed(_on_partition, pure=False)
    return [run(task, described, *partition) for partition in partitions]


def _on_partition(task: Callable[..., R], described: bytes, *partition: Any) -> R:
    return task(*partition, *pickle.loads(described))


def on_partitions(
    client: Any, task: Callable[..., R], partitions: Sequence[tuple[Any, ...]], *arguments: Any
) -> list[R]:
    """``task(*partition, *arguments)`` of every partition, run where it lies; the small results in their order.

    Parameters
    ----------
    client : distributed.Client
    task : callable
    partitions : sequence of tuple
        Delayed objects or values.
    *arguments
        What every task is given besides.
    """

    def run() -> list[R]:
        futures = client.compute(_tasks(_packed_result, partitions, (task, arguments)), retries=TASK_RETRIES)
        return [pickle.loads(part) for part in gathered(client, futures)]

    return persistently(run, client)


def _packed_result(*given: Any) -> bytes:
    *partition, task, arguments = given
    return _packed(task(*partition, *arguments))


def made_there(client: Any, task: Callable[..., Any], partitions: Sequence[tuple[Any, ...]], *arguments: Any) -> Any:
    """Futures of ``task(*partition, *arguments)``, whose results stay on the cluster."""
    return client.compute(_tasks(task, partitions, arguments), retries=TASK_RETRIES)


def in_turn(client: Any, task: Callable[..., R], parts: Iterable[tuple[Any, ...]], *arguments: Any) -> Iterator[R]:
    """``task(*part, *arguments)`` of part after part, in their order; no more are begun than keep the workers busy.

    Parameters
    ----------
    client : distributed.Client
    task : callable
    parts : iterable of tuple
        Small values, such as the name of a file and the place in it.
    *arguments
        What every task is given besides.
    """
    described = _packed((task, arguments))
    sent: Any = described
    if len(described) > BROADCAST_BYTES:
        sent = persistently(lambda: _broadcast(client, described), client)
    begun: deque[tuple[tuple[Any, ...], Any]] = deque()

    def begin(part: tuple[Any, ...]) -> Any:
        return client.submit(_of_part, sent, list(part), pure=False, retries=TASK_RETRIES)

    def first() -> R:
        part, future = begun.popleft()
        futures = [future]

        def run() -> R:
            found: R = pickle.loads(gathered(client, [futures.pop() if futures else begin(part)])[0])
            return found

        return persistently(run, client)

    most = AHEAD * max(1, sum(worker_threads(client).values()))
    for part in parts:
        begun.append((part, begin(part)))
        if len(begun) >= most:
            yield first()
    while begun:
        yield first()


def _broadcast(client: Any, described: bytes) -> Any:
    """Send something to every worker once."""
    return asked(client, lambda: client.scatter(described, broadcast=True, hash=False))


def _of_part(described: bytes, part: list[Any]) -> bytes:
    task, arguments = pickle.loads(described)
    return _packed(task(*part, *arguments))


def lazy_rows(
    task: Callable[..., Any],
    partitions: Sequence[tuple[Any, ...]],
    sizes: Sequence[int] | None,
    example: np.ndarray[Any, Any],
    *arguments: Any,
) -> Any:
    """A Dask array of what ``task(*partition, *arguments)`` answers, worked out when it is asked for.

    Parameters
    ----------
    task : callable
    partitions : sequence of tuple
    sizes : sequence of int or None
        Rows of each partition; None where they are not known.
    example : array
        An answer for no rows, whose type and further dimensions all answers have.
    *arguments
        What every task is given besides.
    """
    import dask.array

    from_delayed: Any = dask.array.from_delayed
    concatenate: Any = dask.array.concatenate
    parts = []
    for number, answer in enumerate(_tasks(task, partitions, arguments)):
        n_rows = np.nan if sizes is None else sizes[number]
        parts.append(from_delayed(answer, (n_rows, *example.shape[1:]), meta=example))
    return concatenate(parts, axis=0, allow_unknown_chunksizes=sizes is None)


# ---- passes over them
@dataclass(frozen=True)
class _Pass:
    """What a pass does with every group."""

    tally: Callable[[Sequence[Any]], Any]
    changes: tuple[Callable[[Chunk], Chunk], ...]
    counts_bytes: int


def _count_group(group: Group, described: bytes) -> bytes:
    """The counts of a group: its segments' counts, merged as everywhere."""
    job: _Pass = pickle.loads(described)

    def counts_of(segment: tuple[Chunk, ...]) -> Any:
        # A group that another worker has handed over comes out of a network buffer as well.
        chunks = [changed(aligned(chunk), job.changes) for chunk in segment]
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
        self._last: list[Any] = []

    def reduce(self, tally: Callable[[Sequence[Any]], C], chunks: Sequence[Any], *, counts_bytes: int = 0) -> C:
        """Merge ``tally`` over all groups in the order of the tree."""
        if not isinstance(chunks, ClusterRows):
            return self._here.reduce(tally, chunks, counts_bytes=counts_bytes)
        job = _Pass(tally, chunks.changes, counts_bytes)
        parts: list[C] = persistently(lambda: self._counted(chunks.groups, job), self.client)
        return merge_tree(parts)

    def each(self, task: Callable[[Any], None], chunks: Sequence[Any]) -> None:
        """Run ``task`` on every chunk, here: it writes into this process's arrays."""
        if isinstance(chunks, ClusterRows):
            raise InputError("Rows on a cluster cannot be answered one by one here; ask for a lazy answer instead.")
        self._here.each(task, chunks)

    def _counted(self, groups: Sequence[Any], job: _Pass) -> list[Any]:
        described = _packed(job)
        sent: Any = described
        if len(groups) > 1 and len(described) > BROADCAST_BYTES:
            sent = _broadcast(self.client, described)
        # One message for all tasks: what follows a message of the client's waits for ten milliseconds.
        sends = [sent] * len(groups)
        futures = self.client.map(_count_group, groups, sends, pure=False, retries=TASK_RETRIES)
        # For the same reason the last pass is let go after the next is on its way.
        self._last = []
        try:
            parts = gathered(self.client, futures)
        except BaseException:
            self.client.cancel(futures)
            raise
        if sum(map(len, parts)) <= KEPT_BYTES:
            self._last = futures
        return [pickle.loads(part) for part in parts]
