"""Time functions beside each other and print how much faster ours are.

Functions take turns, so that a busy moment hits all of them; the least processor time over the rounds counts, for a
disturbance only ever adds. With more than one thread, wall-clock time counts instead.
"""

import argparse
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from softcount import kernels


@dataclass
class Contest:
    """One line of the table: our function and the rival's, over the same chunks of rows."""

    name: str
    n_rows: int
    rows_per_chunk: int
    # Called with the first and last row of a chunk and the number of the lane (thread) it runs in.
    ours: Callable[[int, int, int], None]
    # Called once for all rows.
    rival: Callable[[], object]
    rival_name: str


def parse_arguments() -> argparse.Namespace:
    """Size, threads and rounds of a run."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows of the workload")
    parser.add_argument("--level", help="instruction-set level of the compiled kernels, such as avx2; the best without")
    parser.add_argument("--rows-per-chunk", type=int, default=kernels.INDEXED_CHUNK_ROWS, help="of sparse EM")
    arguments = parser.parse_args()
    if arguments.level:
        from softcount.kernels import _native

        _native.use_level(arguments.level)
    return arguments


def run(contests: list[Contest], arguments: argparse.Namespace) -> None:
    """Print one line per contest."""
    level = f" ({import_module('softcount.kernels._native').level()})" if kernels.backend() == "native" else ""
    print(f"kernels: {kernels.backend()}{level}, threads: {arguments.threads}, numpy {np.__version__}")
    print(f"{'':34}{'ours ms':>10}{'rival ms':>10}{'ratio':>8}  rival")
    for contest in contests:
        ours, rival = [], []
        for _ in range(arguments.rounds):
            ours.append(_time(lambda c=contest: _all_chunks(c, arguments.threads), arguments.threads))
            rival.append(_time(contest.rival, arguments.threads))
        best, other = min(ours) * 1e3, min(rival) * 1e3
        print(f"{contest.name:34}{best:10.1f}{other:10.1f}{other / best:8.1f}  {contest.rival_name}", flush=True)


def _time(function: Callable[[], object], threads: int) -> float:
    clock = time.process_time if threads == 1 else time.perf_counter
    start = clock()
    function()
    return clock() - start


def _all_chunks(contest: Contest, threads: int) -> None:
    starts = range(0, contest.n_rows, contest.rows_per_chunk)

    def lane(number: int) -> None:
        for start in starts[number::threads]:
            contest.ours(start, min(start + contest.rows_per_chunk, contest.n_rows), number)

    if threads == 1:
        lane(0)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lane, range(threads)))
