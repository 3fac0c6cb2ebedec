"""Running the draws in a few processes, and keeping what they gave, data set by data set."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from studies.unlabeled.cost import Cost, measure
from studies.unlabeled.draws import Job, Result, run

__all__ = ["Kept", "keep", "measure_all", "read_results", "run_all"]


@dataclasses.dataclass(frozen=True)
class Kept:
    """What has been found so far.

    Attributes
    ----------
    results : list of Result
    costs : list of Cost
    minutes : dict of data set -> float
        Processor time of its draws.
    """

    results: list[Result]
    costs: list[Cost]
    minutes: dict[str, float]


def _run_batch(batch: list[Job]) -> tuple[list[Result], float]:
    began = time.process_time()
    results = []
    for job in batch:
        result = run(job)
        figures = "  ".join(f"{method} {value:.3f}" for method, value in result.accuracy.items())
        sys.stderr.write(f"{job.name} {job.n_labels} labels, seed {job.seed}: {figures}\n")
        results.append(result)
    return results, (time.process_time() - began) / 60.0


def _one_thread_each() -> None:
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"


def run_all(batches: list[list[Job]], processes: int) -> Kept:
    """All draws; each process has its own threads to itself."""
    _one_thread_each()
    if processes <= 1:
        found = [_run_batch(batch) for batch in batches]
    else:
        with ProcessPoolExecutor(processes) as pool:
            found = list(pool.map(_run_batch, batches))
    minutes: dict[str, float] = {}
    for batch, (_, spent) in zip(batches, found, strict=True):
        minutes[batch[0].name] = minutes.get(batch[0].name, 0.0) + spent
    return Kept([result for part, _ in found for result in part], [], minutes)


def measure_all(jobs: Iterable[Job]) -> Kept:
    """What the fits cost, one after the other in a process that does nothing else."""
    _one_thread_each()
    with ProcessPoolExecutor(1) as pool:
        return Kept([], list(pool.map(measure, jobs)), {})


def keep(path: Path, found: Kept) -> None:
    """Write down what was found; it takes the place of what was kept of the same data sets."""
    before = read_results(path) if path.is_file() else Kept([], [], {})
    drawn, measured = ({one.name for one in part} for part in (found.results, found.costs))
    results = [r for r in before.results if r.name not in drawn] + found.results
    costs = [c for c in before.costs if c.name not in measured] + found.costs
    path.parent.mkdir(parents=True, exist_ok=True)
    content = dataclasses.asdict(Kept(results, costs, before.minutes | found.minutes))
    path.write_text(json.dumps(content), encoding="utf-8")


def read_results(path: Path) -> Kept:
    """What was kept."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    results = [Result(**fields) for fields in content["results"]]
    return Kept(results, [Cost(**fields) for fields in content["costs"]], content["minutes"])
