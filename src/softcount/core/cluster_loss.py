"""What is done when a cluster loses something in the middle of a fit: try again, or say how to go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

__all__ = ["asked", "gathered", "persistently", "worker_threads"]

R = TypeVar("R")

#: How often something is tried again when the cluster loses what it needs.
MOST_ATTEMPTS = 5
PAUSE_SECONDS = 0.5
#: How often is looked whether the scheduler is still there while it is asked something.
LOOK_SECONDS = 0.1


def persistently(run: Callable[[], R], client: Any) -> R:
    """Run something on a cluster again when that lost what it cannot make again by itself.

    Parameters
    ----------
    run : callable
        May be run any number of times.
    client : distributed.Client
        Once it has lost its scheduler nothing is tried again.
    """
    for attempt in range(MOST_ATTEMPTS):
        try:
            return run()
        except Exception as error:
            # A client that has lost its scheduler says so by errors of many kinds.
            is_lost = client.status != "running"
            if not (is_lost or _is_passing(error)):
                raise
            if is_lost or attempt == MOST_ATTEMPTS - 1:
                raise ConnectionError(
                    f"The Dask cluster was lost in the middle of its work ({_first_line(error)}). A fit made inside "
                    "softcount.checkpoints(folder) can be taken up by checkpoints(folder, resume=True), on a new "
                    "cluster too; on the command line by --checkpoint DIR --resume."
                ) from error
            time.sleep(PAUSE_SECONDS * (attempt + 1))
    raise AssertionError("unreachable")


def gathered(client: Any, futures: Any) -> Any:
    """What some tasks gave; an error at once, and not after Dask's time-out, where the scheduler is gone.

    Parameters
    ----------
    client : distributed.Client
    futures : list of distributed.Future
        Just submitted.
    """
    # When its scheduler is gone a client cancels the futures it has; those it makes later wait until it gives up.
    if client.status != "running":
        raise ConnectionError(f"the client is {client.status}")
    return client.gather(futures)


def asked(client: Any, question: Callable[[], R]) -> R:
    """What the scheduler answers; an error soon, and not after Dask's time-out, where the scheduler is gone.

    Parameters
    ----------
    client : distributed.Client
    question : callable
        Blocks until there is an answer.
    """
    answers: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()

    def ask() -> None:
        try:
            answers.put((question(), None))
        except BaseException as error:
            answers.put((None, error))

    # A thread of its own, which nobody waits for: Dask tries to reach a scheduler that is gone for half a minute.
    threading.Thread(target=ask, daemon=True).start()
    while True:
        try:
            answer, error = answers.get(timeout=LOOK_SECONDS)
        except Empty:
            if client.status != "running":
                raise ConnectionError(f"the client is {client.status}") from None
            continue
        if error is not None:
            raise error
        found: R = answer
        return found


def worker_threads(client: Any) -> dict[str, int]:
    """The threads of every worker, by its address.

    Parameters
    ----------
    client : distributed.Client
    """
    return persistently(lambda: dict(asked(client, client.nthreads)), client)


def _is_passing(error: Exception) -> bool:
    # KilledWorker: a task was on several workers when they died. By its name, for Dask is imported elsewhere.
    return isinstance(error, (CancelledError, OSError, TimeoutError)) or type(error).__name__ == "KilledWorker"


def _first_line(error: Exception) -> str:
    """What an error says, without the messages that some of them carry along."""
    said = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
