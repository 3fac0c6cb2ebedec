"""What threads, files and a cluster cost: ``python -m studies.streams.scaling [--rows 1000000]``.

The same EM (a Bernoulli mixture of ten components over 30 columns) runs on rows in memory with one and two threads, on
a Parquet file, and on a Dask cluster of two processes on this machine; every answer has to be the same to the last bit.
Then passes on clusters of up to 64 workers are worked out from what was measured: the time a pass counts, what it costs
beside counting per task, and the bytes that go to every worker and come back.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import softcount
from softcount.core.mixture import MixtureParams

COLUMNS, COMPONENTS = 30, 10
#: Bytes a second between machines that the outlook takes for granted: ten gigabits.
NETWORK = 1.25e9
WORKERS = (1, 2, 4, 8, 16, 32, 64)
#: Rows of the outlook, beside those measured.
OUTLOOK = (1_000_000, 10_000_000, 100_000_000)
EMPTY_PASSES = 40
#: How often threads and processes are measured, one after the other; the best of each counts.
TURNS = 3


def make_rows(n_rows: int) -> Any:
    """Answers of ten groups."""
    rng = np.random.default_rng(0)
    shares = rng.beta(0.7, 0.7, size=(COMPONENTS, COLUMNS))
    rows = np.empty((n_rows, COLUMNS), dtype=np.uint8)
    for start in range(0, n_rows, 100_000):
        part = rows[start : start + 100_000]
        z = rng.integers(0, COMPONENTS, part.shape[0])
        part[:] = rng.random(part.shape) < shares[z]
    return rows


def start() -> MixtureParams:
    """Parameters to start from."""
    shares = np.random.default_rng(1).uniform(0.3, 0.7, size=(COLUMNS, COMPONENTS))
    block = {"log_prob": np.log(shares), "log_not": np.log1p(-shares)}
    return MixtureParams(np.full(COMPONENTS, -np.log(COMPONENTS)), (block,))


def timed_fit(rows: Any, n_iter: int, n_jobs: int | None = None) -> tuple[float, Any]:
    """Seconds of an iteration, the median of all after the first, and the model."""
    model = softcount.BernoulliMixture(
        COMPONENTS, init=start(), max_iter=n_iter, tol=0.0, n_jobs=n_jobs, merge_rows=False, order=None
    )
    model.fit(rows)
    seconds = [step.seconds for step in model.history_]
    return statistics.median(b - a for a, b in itertools.pairwise(seconds[1:])), model


class Sizes:
    """Watches what passes send and receive."""

    def __init__(self) -> None:
        self.sent: list[int] = []
        self.received: list[int] = []

    def watch(self, client: Any) -> None:
        """Note the length of every description of a pass, and of every result."""
        mapping, gather = client.map, client.gather

        def mapped(task: Any, *given: Any, **settings: Any) -> Any:
            self.sent.extend(len(value) for values in given for value in values if isinstance(value, bytes))
            return mapping(task, *given, **settings)

        def gathering(futures: Any, *args: Any, **settings: Any) -> Any:
            found = gather(futures, *args, **settings)
            self.received.extend(len(part) for part in found if isinstance(part, bytes))
            return found

        client.map, client.gather = mapped, gathering


def cost_of_tasks(client: Any) -> dict[int, float]:
    """Milliseconds of a pass over groups that hold nothing, by how many there are: a fixed part, and one per task."""
    found = {}
    for n_tasks in (2, 8, 32):
        times = []
        last: list[Any] = []
        for _ in range(EMPTY_PASSES):
            began = time.perf_counter()
            futures = client.map(_nothing, range(n_tasks), pure=False)
            client.gather(futures)
            last = futures  # let go after the next are on their way, as in a fit
            times.append(time.perf_counter() - began)
        del last
        found[n_tasks] = 1e3 * statistics.median(times)
    return found


def _nothing(number: int) -> bytes:
    return b""


def outlook(per_row: float, fixed: float, per_task: float, message: int) -> None:
    """Seconds of a pass by rows and workers: a task each, results that arrive one after the other."""
    sys.stdout.write(f"\noutlook: seconds a pass (speed-up), {message:,} bytes there and back per worker\n")
    sys.stdout.write(f"{'workers':>8}" + "".join(f"{rows:>24,} rows" for rows in OUTLOOK) + "\n")
    for workers in WORKERS:
        line = f"{workers:>8}"
        for rows in OUTLOOK:
            beside = fixed + workers * (per_task + message / NETWORK) if workers > 1 else 0.0
            seconds = rows * per_row / workers + beside
            line += f"{seconds:>18.4f} ({rows * per_row / seconds:5.1f} x)"
        sys.stdout.write(line + "\n")


def main() -> int:
    """Measure, compare, and look ahead."""
    parser = argparse.ArgumentParser(prog="python -m studies.streams.scaling", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--iterations", type=int, default=20)
    args = parser.parse_args()
    import dask.array as da
    import pyarrow as pa
    import pyarrow.parquet as pq
    from distributed import Client, LocalCluster

    rows = make_rows(args.rows)
    found: dict[str, float] = {}
    found["one thread"], alone = timed_fit(rows, args.iterations, 1)
    sizes = Sizes()
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        sizes.watch(client)
        parts = da.from_array(rows, chunks=(-(-args.rows // 8), -1))
        kept = client.persist(parts)
        # Turn by turn: what else the machine does then slows both.
        threads, processes = [], []
        for _ in range(TURNS):
            threads.append(timed_fit(rows, args.iterations, 2)[0])
            seconds, far = timed_fit(kept, args.iterations)
            processes.append(seconds)
        found["two threads"], found["Dask, two processes"] = min(threads), min(processes)
        tasks = cost_of_tasks(client)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        pq.write_table(pa.table({f"c{j}": rows[:, j] for j in range(COLUMNS)}), path, row_group_size=100_000)
        found["Parquet file, two threads"], read = timed_fit(path, max(3, args.iterations // 4), 2)
        size = path.stat().st_size
    for name, seconds in found.items():
        sys.stdout.write(f"{name:28} {1e3 * seconds:8.1f} ms an iteration of {args.rows:,} rows\n")
    by_turn = ", ".join(f"{100.0 * (p / t - 1.0):+.1f} %" for p, t in zip(processes, threads, strict=True))
    over = 100.0 * (found["Dask, two processes"] / found["two threads"] - 1.0)
    sys.stdout.write(f"Dask over two threads: {over:+.1f} % (turn by turn {by_turn})\n")
    times = found["Parquet file, two threads"] / found["two threads"]
    sys.stdout.write(f"Parquet file of {size / 2**20:.1f} MiB over memory: {times:.1f} x\n")
    message = max(sizes.sent) + max(sizes.received)
    sys.stdout.write(f"a pass sends {max(sizes.sent):,} bytes to a task and receives {max(sizes.received):,}\n")
    sys.stdout.write("empty passes: " + ", ".join(f"{n} tasks {ms:.1f} ms" for n, ms in tasks.items()) + "\n")
    per_task = (tasks[32] - tasks[2]) / 30e3
    outlook(found["one thread"] / args.rows, max(1e-3 * tasks[2] - 2.0 * per_task, 0.0), per_task, message)
    same = alone.params_.log_weights.tobytes() == far.params_.log_weights.tobytes()
    short = timed_fit(rows, max(3, args.iterations // 4), 2)[1]
    same &= short.params_.log_weights.tobytes() == read.params_.log_weights.tobytes()
    sys.stdout.write(f"\nthe same bits everywhere: {'yes' if same else 'NO'}\n")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
