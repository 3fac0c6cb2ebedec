"""Kill fits at random moments, take them up, compare bits: ``python -m studies.checkpoints [--kills 100]``.

Every fit runs in a process of its own, with checkpoints after every iteration, and is sent SIGKILL at a moment drawn
evenly from the time that the fit takes. A second process takes it up and may be killed as well; the last one runs to
the end, and what it ends with is compared, to the last bit, with a fit that nothing interrupted.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import softcount
from studies.checkpoints.jobs import JOBS, bits_of

#: How often a fit is killed before it may run to the end.
MOST_KILLS = 3


@dataclass(frozen=True)
class Usual:
    """What a job ends with when nothing interrupts it, and how long it takes with checkpoints."""

    bits: str
    seconds: float


def digest_of_bits(model: Any) -> str:
    """A short text that a model with another bit anywhere would not have."""
    return hashlib.sha256(repr(sorted(bits_of(model).items())).encode()).hexdigest()


def fit_in_folder(name: str, folder: str, answer: Any, seconds: float) -> None:
    """Fit, or go on, in a process of its own; the answer goes through a pipe."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with softcount.checkpoints(folder, resume=True, seconds=seconds):
            model = JOBS[name]()
    answer.send(digest_of_bits(model))


class Runner:
    """Starts fits and kills them."""

    def __init__(self, seconds: float, seed: int) -> None:
        self.processes = multiprocessing.get_context("fork")
        self.seconds = seconds
        self.rng = np.random.default_rng(seed)
        self.usual: dict[str, Usual] = {}

    def run(self, name: str, folder: str, kill_after: float | None) -> str | None:
        """The bits a fit ends with, or None if it was killed before that."""
        receiver, sender = self.processes.Pipe(duplex=False)
        child = self.processes.Process(target=fit_in_folder, args=(name, folder, sender, self.seconds))
        child.start()
        sender.close()
        if kill_after is not None:
            child.join(kill_after)
            if child.is_alive() and child.pid is not None:
                os.kill(child.pid, signal.SIGKILL)
        child.join()
        try:
            return str(receiver.recv())
        except EOFError:
            return None

    def learn(self, name: str) -> Usual:
        """Run a job without checkpoints and with them, uninterrupted."""
        if name not in self.usual:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                bits = digest_of_bits(JOBS[name]())
            with tempfile.TemporaryDirectory() as folder:
                began = time.perf_counter()
                found = self.run(name, folder, None)
                self.usual[name] = Usual(bits, time.perf_counter() - began)
            if found != bits:
                raise SystemExit(f"{name}: the fit with checkpoints differs from the one without")
        return self.usual[name]

    def kill_and_take_up(self, name: str) -> tuple[int, bool, int]:
        """How often a fit was killed, whether it ended with the usual bits, and half-written files it left behind."""
        usual = self.learn(name)
        with tempfile.TemporaryDirectory() as folder:
            kills = 0
            for _ in range(int(self.rng.integers(1, MOST_KILLS + 1))):
                found = self.run(name, folder, float(self.rng.uniform(0.0, usual.seconds)))
                if found is not None:
                    break
                kills += 1
            else:
                found = None
            bits = found or self.run(name, folder, None)
            left = sum(1 for path in Path(folder).rglob("*.part"))
        return kills, bits == usual.bits, left


def main() -> int:
    """Kill until enough kills are counted."""
    parser = argparse.ArgumentParser(prog="python -m studies.checkpoints", description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0.0, help="seconds between two checkpoints")
    parser.add_argument("--jobs", nargs="+", choices=list(JOBS), default=list(JOBS))
    args = parser.parse_args()
    runner = Runner(args.seconds, args.seed)
    kills: Counter[str] = Counter()
    fits: Counter[str] = Counter()
    same: Counter[str] = Counter()
    half_files = turn = 0
    while kills.total() < args.kills:
        name = args.jobs[turn % len(args.jobs)]
        turn += 1
        killed, is_same, left = runner.kill_and_take_up(name)
        kills[name] += killed
        fits[name] += killed > 0
        same[name] += killed > 0 and is_same
        half_files += left
    for name in args.jobs:
        sys.stdout.write(f"{name:28} {kills[name]:4d} kills, {same[name]} of {fits[name]} fits equal to the last bit\n")
    sys.stdout.write(
        f"{'all':28} {kills.total():4d} kills, {same.total()} of {fits.total()} fits equal to the last bit; "
        f"{half_files} unfinished files left behind\n"
    )
    return 0 if same.total() == fits.total() else 1


if __name__ == "__main__":
    sys.exit(main())
