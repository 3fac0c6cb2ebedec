"""A cluster whose scheduler and workers are processes of their own, to be killed one by one."""

import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

__all__ = ["Machines"]

LOOPBACK = "127.0.0.1"
#: Seconds within which a scheduler has to be there.
PATIENCE = 60.0


class Machines:
    """A scheduler and its workers on the loopback address; nothing starts a process again that has ended.

    Parameters
    ----------
    n_workers : int
    """

    def __init__(self, n_workers: int = 2) -> None:
        with TemporaryDirectory() as folder:
            place = Path(folder) / "scheduler.json"
            self.scheduler = _started("scheduler", "--port", "0", "--scheduler-file", str(place))
            self.address = _address_in(place, self.scheduler)
        self.workers: list[subprocess.Popen[bytes]] = []
        for _ in range(n_workers):
            self.add_worker()

    def add_worker(self) -> None:
        """Start one more worker, of one thread."""
        self.workers.append(_started("worker", self.address, "--nthreads", "1", "--no-nanny", "--worker-port", "0"))

    def end(self) -> None:
        """Kill what still runs."""
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


def _started(what: str, *arguments: str) -> subprocess.Popen[bytes]:
    # Without a dashboard there is still a port for its address.
    here = ["--host", LOOPBACK, "--no-dashboard", "--dashboard-address", f"{LOOPBACK}:0"]
    command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *arguments, *here]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _address_in(place: Path, scheduler: subprocess.Popen[bytes]) -> str:
    """Where the scheduler listens, once it has written that down."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and scheduler.poll() is None:
        try:
            return str(json.loads(place.read_text())["address"])
        except (OSError, ValueError, KeyError):  # not there, or not all of it
            time.sleep(0.02)
    raise TimeoutError(f"The scheduler was not there after {PATIENCE:g} seconds.")
