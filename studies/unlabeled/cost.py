"""What the default costs beside EM: seconds, iterations and memory, one fit after the other."""

from __future__ import annotations

import sys
import time
import tracemalloc
import warnings
from dataclasses import dataclass
from typing import Any

from studies.unlabeled.data_sets import load
from studies.unlabeled.draws import Job, draw_labels, with_nan

__all__ = ["Cost", "measure"]

#: Fits quicker than this are repeated, and the quickest counts.
QUICK, REPEATS = 0.2, 5


@dataclass(frozen=True)
class Cost:
    """What one draw cost.

    Attributes
    ----------
    name, n_labels, seed
        The job.
    used : str
        How the default used the unlabeled rows.
    seconds : dict of method -> float
        Time of the fit; ``"em"`` is what a fit of nothing but the EM inside the default would have taken, where it was
        the one kept.
    iterations : dict of method -> int
        Of EM.
    peak : dict of method -> float
        Most megabytes of Python's and NumPy's memory at a time that the fit asked for, beside the rows; and ``"rows"``,
        what these take.
    """

    name: str
    n_labels: int
    seed: int
    used: str
    seconds: dict[str, float]
    iterations: dict[str, int]
    peak: dict[str, float]


def measure(job: Job) -> Cost:
    """Time plain EM and the default on one thread, then look at their memory in fits of their own."""
    data = load(job.name)
    y = with_nan(data, draw_labels(data, job.n_labels, job.seed))
    weights: dict[str, Any] = {"plain": 1.0, "default": "auto"}
    seconds: dict[str, float] = {}
    iterations: dict[str, int] = {}
    peak = {"rows": _megabytes(data.X)}
    fits: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method, weight in weights.items():
            for repeat in range(REPEATS):
                began = time.perf_counter()
                fit = data.classifier(unlabeled_weight=weight, n_jobs=1).fit(data.X, y)
                took = time.perf_counter() - began
                if repeat == 0 or took < seconds[method]:
                    fits[method], seconds[method] = fit, took
                if took > QUICK:
                    break
            iterations[method] = int(fits[method].n_iter_)
        for method, weight in weights.items():
            tracemalloc.start()
            data.classifier(unlabeled_weight=weight, n_jobs=1).fit(data.X, y)
            peak[method] = tracemalloc.get_traced_memory()[1] / 1e6
            tracemalloc.stop()
    used = fits["default"].unlabeled_use_
    if used == "full":
        around = seconds["plain"] - fits["plain"].history_[-1].seconds
        seconds["em"] = around + fits["default"].history_[-1].seconds
    else:
        del iterations["default"]
    sys.stderr.write(f"{job.name} {job.n_labels} labels, seed {job.seed}: {used} {seconds} {peak}\n")
    return Cost(job.name, job.n_labels, job.seed, used, seconds, iterations, peak)


def _megabytes(X: Any) -> float:
    arrays = (X.data, X.indices, X.indptr) if hasattr(X, "indptr") else (X,)
    return sum(array.nbytes for array in arrays) / 1e6
