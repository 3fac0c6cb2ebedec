"""Running the draws in a few processes, and keeping what they gave."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from studies.unlabeled.draws import Job, Result, run

__all__ = ["read_results", "run_all", "write_results"]


def _run_batch(batch: list[Job]) -> list[Result]:
    results = []
    for job in batch:
        result = run(job)
        figures = "  ".join(f"{method} {value:.3f}" for method, value in result.accuracy.items())
        sys.stderr.write(f"{job.name} {job.n_labels} labels, seed {job.seed}: {figures}\n")
        results.append(result)
    return results


def run_all(batches: list[list[Job]], processes: int) -> list[Result]:
    """All draws; each process has its own threads to itself."""
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
    if processes <= 1:
        return [result for batch in batches for result in _run_batch(batch)]
    with ProcessPoolExecutor(processes) as pool:
        return [result for batch in pool.map(_run_batch, batches) for result in batch]


def write_results(path: Path, results: list[Result], skipped: list[str], minutes: float) -> None:
    """Keep the results as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"minutes": minutes, "skipped": skipped, "results": [dataclasses.asdict(result) for result in results]}
    path.write_text(json.dumps(content), encoding="utf-8")


def read_results(path: Path) -> tuple[list[Result], list[str], float]:
    """Results, skipped sets and minutes of processor time of the last whole run."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return [Result(**fields) for fields in content["results"]], content["skipped"], content["minutes"]
