"""Kill workers, schedulers and clients of a Dask cluster: ``python -m studies.checkpoints.clusters [--kills 30]``.

A scheduler and two workers run in processes of their own, and so does every fit, with checkpoints after every
iteration. At a moment drawn evenly from the time that the fit takes, one of them is sent SIGKILL. A fit that lost a
worker has to end by itself. A fit that lost its scheduler has to say so, and soon; it is then taken up on a new
cluster. A fit that was killed itself is taken up on the same cluster. Every one has to end with the bits of one that
nothing interrupted.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client

import softcount
from studies.checkpoints.__main__ import digest_of_bits
from studies.checkpoints.machines import Machines

N_ROWS = 4000
PARTS = 8
#: Seconds after which a fit counts as one that hangs.
PATIENCE = 120.0
STEP = 0.1
VICTIMS = ("worker", "scheduler", "client")


def _answers() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, N_ROWS)
    return (rng.random((N_ROWS, 8)) < np.array([0.2, 0.5, 0.8])[kind, None]).astype(np.uint8), kind


def _on_dask(values: Any) -> Any:
    return da.from_array(values, chunks=(N_ROWS // PARTS, *[-1] * (values.ndim - 1)))


def mixture(rows: Callable[[Any], Any]) -> Any:
    """EM without labels, several starts."""
    X, _ = _answers()
    settings: Any = {"n_init": 2, "max_iter": 20, "tol": 0.0, "random_state": 0, "merge_rows": False}
    return softcount.BernoulliMixture(3, **settings).fit(rows(X))


def unlabeled(rows: Callable[[Any], Any]) -> Any:
    """EM with some labels."""
    X, kind = _answers()
    names = np.array(["a", "b", "c"], dtype=object)[kind]
    names[np.random.default_rng(1).random(N_ROWS) < 0.8] = None
    return softcount.BernoulliNB(unlabeled_weight=1.0, tol=0.0, max_iter=30).fit(rows(X), rows(names))


def logistic(rows: Callable[[Any], Any]) -> Any:
    """Newton's method for three classes."""
    X, kind = _answers()
    return softcount.LogisticRegression().fit(rows(X.astype(float)), rows(kind))


JOBS = {job.__name__: job for job in (mixture, unlabeled, logistic)}


def fit_on(address: str, name: str, folder: str, answer: Any) -> None:
    """Fit, or go on, in a process of its own; it says when it begins, and what it ended with."""
    with (
        warnings.catch_warnings(),
        Client(address, set_as_default=False) as client,
        client.as_current(),
    ):
        warnings.simplefilter("ignore")
        answer.send(("begun", time.time()))
        try:
            with softcount.checkpoints(folder, resume=True, seconds=0.0):
                model = JOBS[name](_on_dask)
        except ConnectionError as error:
            answer.send(("lost", time.time(), str(error)))
            # A client waits for a scheduler that is gone before it closes.
            os._exit(1)
        answer.send(("done", time.time(), digest_of_bits(model)))


@dataclass
class Tally:
    """What came of kills of one kind."""

    kills: int = 0
    fits: int = 0
    same: int = 0
    waits: list[float] = field(default_factory=list)


class Killer:
    """Starts fits and kills what they need."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.processes = multiprocessing.get_context("fork")
        self.machines = Machines()
        self.usual: dict[str, tuple[str, float]] = {}
        self.found = {victim: Tally() for victim in VICTIMS}

    def run(self, name: str, folder: str, victim: str | None = None, seconds: float = 0.0) -> tuple[str, float, str]:
        """How a fit ended (done, lost, killed, hangs), seconds since the kill or the beginning, and what it said."""
        receiver, sender = self.processes.Pipe(duplex=False)
        child = self.processes.Process(target=fit_on, args=(self.machines.address, name, folder, sender))
        child.start()
        sender.close()
        try:
            _, since = receiver.recv()
            if victim is not None:
                child.join(seconds)
                if child.is_alive():
                    since = time.time()
                    pids = {
                        "worker": self.machines.workers[0].pid,
                        "scheduler": self.machines.scheduler.pid,
                        "client": child.pid,
                    }
                    os.kill(pids[victim] or 0, signal.SIGKILL)
                    self.found[victim].kills += 1
            # In small steps: time for which this process is suspended does not count.
            if not any(receiver.poll(STEP) for _ in range(round(PATIENCE / STEP))):
                child.kill()
                return "hangs", PATIENCE, ""
            how, at, said = receiver.recv()
            return str(how), at - since, str(said)
        except EOFError:
            return "killed", 0.0, ""
        finally:
            child.join(PATIENCE)
            self._repair()

    def _repair(self) -> None:
        """A new cluster where the scheduler is gone, a new worker where one is."""
        if self.machines.scheduler.poll() is not None:
            self.machines.end()
            self.machines = Machines()
        elif self.machines.workers[0].poll() is not None:
            self.machines.workers.pop(0)
            self.machines.add_worker()

    def learn(self, name: str) -> tuple[str, float]:
        """The bits of a fit that nothing interrupts, and the seconds that it takes."""
        if name not in self.usual:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                JOBS[name](lambda values: values)  # the processes forked from this one have imported what they need
            found = set()
            for _ in range(2):  # in the first the workers import it
                with tempfile.TemporaryDirectory() as folder:
                    how, seconds, bits = self.run(name, folder)
                found.add((how, bits))
            if len(found) > 1 or how != "done":
                raise SystemExit(f"{name}: {how}, and two fits that nothing interrupted differ: {len(found)}")
            self.usual[name] = bits, seconds
        return self.usual[name]

    def turn(self, name: str, victim: str) -> None:
        """Kill once, and see how it ends."""
        bits, usual = self.learn(name)
        tally = self.found[victim]
        with tempfile.TemporaryDirectory() as folder:
            before = tally.kills
            how, seconds, found = self.run(name, folder, victim, float(self.rng.uniform(0.0, usual)))
            if tally.kills == before:
                return  # it was quicker
            tally.fits += 1
            if victim != "client":
                tally.waits.append(seconds)
            is_told = victim == "scheduler" and how == "lost" and "resume=True" in found
            if is_told or (victim, how) == ("client", "killed"):
                how, _, found = self.run(name, folder)
            is_same = how == "done" and found == bits
            tally.same += is_same
            if not is_same:
                sys.stdout.write(f"{name}, {victim} killed: {how} {found[:300]}\n")


def main() -> int:
    """Kill until enough kills are counted."""
    parser = argparse.ArgumentParser(prog="python -m studies.checkpoints.clusters", description=__doc__)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--victims", nargs="+", choices=VICTIMS, default=VICTIMS)
    args = parser.parse_args()
    killer = Killer(args.seed)
    try:
        number = 0
        while sum(tally.kills for tally in killer.found.values()) < args.kills:
            killer.turn(list(JOBS)[number // len(args.victims) % len(JOBS)], args.victims[number % len(args.victims)])
            number += 1
    finally:
        killer.machines.end()
    ends = {"worker": "ended", "scheduler": "said so", "client": ""}
    for victim, tally in killer.found.items():
        after = f"; {ends[victim]} after at most {max(tally.waits):.1f} s" if tally.waits else ""
        sys.stdout.write(
            f"{victim:10} {tally.kills:3d} kills, {tally.same} of {tally.fits} equal to the last bit{after}\n"
        )
    return 0 if all(tally.same == tally.fits for tally in killer.found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
