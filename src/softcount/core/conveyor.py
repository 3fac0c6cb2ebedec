"""Counting chunks while the next one is being read.

One thread reads chunks in their order and hands each to its lane; lanes count in threads of their own, as many at a
time as there are jobs. At most one chunk more than there are jobs is alive: it is read while the others are counted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, TypeVar

__all__ = ["Conveyor"]

R = TypeVar("R")

_END, _STOP = object(), object()


class _StoppedError(Exception):
    """Some other thread failed, or the user pressed Ctrl-C."""


class _FedLane:
    """The chunks of one lane, as they come; it can be gone through once."""

    def __init__(self, conveyor: Conveyor) -> None:
        self._conveyor = conveyor
        self.queue: SimpleQueue[Any] = SimpleQueue()

    def __iter__(self) -> Iterator[Any]:
        while True:
            item = self.queue.get()
            if item is _END:
                return
            self._conveyor.counting.acquire()
            try:
                if item is _STOP or self._conveyor.stopped.is_set():
                    raise _StoppedError
                yield item
            finally:
                release_chunk(item)
                self._conveyor.counting.release()
                self._conveyor.alive.release()


class Conveyor:
    """One pass over chunks that are read one after the other.

    Parameters
    ----------
    chunks : object with ``read()``
        An iterator over the chunks in their order.
    segments : list of range
        Positions of the chunks of each segment.
    lanes : list of int
        Number of lanes of each segment.
    n_jobs : int
        Chunks counted at a time.
    """

    def __init__(self, chunks: Any, segments: list[range], lanes: list[int], n_jobs: int) -> None:
        self._chunks = chunks
        self._segments = segments
        self._lanes = lanes
        self.counting = threading.Semaphore(n_jobs)
        self.alive = threading.Semaphore(n_jobs + 1)
        self.stopped = threading.Event()
        self._open: list[_FedLane] = []
        self._started: SimpleQueue[Any] = SimpleQueue()

    def tallied(self, tally: Callable[[Sequence[Any]], R]) -> Iterator[R]:
        """The counts of every lane, in order."""
        with ThreadPoolExecutor(2 * max(self._lanes)) as pool:
            reader = threading.Thread(target=self._feed, args=(tally, pool), name="softcount-reader", daemon=True)
            reader.start()
            futures: list[Future[R]] = []
            try:
                for _ in range(sum(self._lanes)):
                    future = self._started.get()
                    if isinstance(future, BaseException):
                        raise future
                    futures.append(future)
                    yield future.result()
                reader.join()
            except BaseException as error:
                self._stop()
                reader.join()
                raise self._cause(error, futures) from None

    def _cause(self, error: BaseException, futures: list[Future[Any]]) -> BaseException:
        """What went wrong first: lanes that were only told to stop do not count."""
        if not isinstance(error, _StoppedError):
            return error
        while not self._started.empty():
            item = self._started.get()
            if isinstance(item, BaseException):
                return item
            futures.append(item)
        causes = (future.exception() for future in futures)
        return next((e for e in causes if e is not None and not isinstance(e, _StoppedError)), error)

    def _feed(self, tally: Callable[[Any], Any], pool: ThreadPoolExecutor) -> None:
        """The reader's thread: read, hand over, and say when a lane is complete."""
        try:
            chunks = iter(self._chunks.read())
            for segment, n_lanes in zip(self._segments, self._lanes, strict=True):
                self._open = [_FedLane(self) for _ in range(n_lanes)]
                for lane in self._open:
                    self._started.put(pool.submit(self._run, tally, lane))
                for position in range(len(segment)):
                    self.alive.acquire()
                    if self.stopped.is_set():
                        self._stop()
                        return
                    self._open[position % n_lanes].queue.put(next(chunks))
                for lane in self._open:
                    lane.queue.put(_END)
            self.alive.acquire()
            # The end has to be read as well: it is there that rows too many or too few show.
            for _ in chunks:
                raise RuntimeError("More chunks were read than there are.")
        except BaseException as error:
            self._started.put(error)
            self._stop()

    def _run(self, tally: Callable[[Any], Any], lane: _FedLane) -> Any:
        try:
            return tally(lane)
        except BaseException:
            self._stop()
            raise

    def _stop(self) -> None:
        """Wake everybody who waits."""
        self.stopped.set()
        self.alive.release(2)
        self.counting.release(2 * max(self._lanes))
        for lane in self._open:
            lane.queue.put(_STOP)


def release_chunk(chunk: Any) -> None:
    """Empty a chunk that has been counted.

    A lane that waits for its next chunk still holds the last one by name; emptied, it holds nothing.
    """
    if hasattr(chunk, "forget"):
        chunk.forget()
        return
    for block in getattr(chunk, "blocks", ()):
        vars(block).clear()
