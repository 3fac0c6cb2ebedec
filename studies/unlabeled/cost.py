"""What the default costs beside EM: seconds, iterations and memory, one fit after the other."""

from __future__ import annotations

import sys
import time
import tracemalloc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from softcount.core.candidates import FULL, Candidates
from studies.unlabeled.data_sets import DataSet, load
from studies.unlabeled.draws import Job, draw_labels, with_nan

__all__ = ["Cost", "measure"]

#: Fits are repeated until they took so many seconds together, at most so often; the quickest counts.
ENOUGH, REPEATS = 0.5, 50


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
        Time of the fit; ``"em"`` is what a fit of nothing but the EM inside the default would have taken, kept or not,
        where it was run to its end.
    iterations : dict of method -> int
        Of EM; ``"em"`` as for the seconds.
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


@dataclass(frozen=True)
class _Timed:
    """One fit: its seconds, and the seconds and iterations of the EM in it, if there was any."""

    seconds: float
    used: str
    em: tuple[float, int] | None


def measure(job: Job) -> Cost:
    """Time plain EM and the default on one thread, then look at their memory in fits of their own."""
    data = load(job.name)
    y = with_nan(data, draw_labels(data, job.n_labels, job.seed))
    weights: dict[str, Any] = {"plain": 1.0, "default": "auto"}
    peak = {"rows": _megabytes(data.X)}
    best: dict[str, _Timed] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spent = 0.0
        for _ in range(REPEATS):
            for method, weight in weights.items():
                timed = _timed(data, y, weight)
                spent += timed.seconds
                if method not in best or timed.seconds < best[method].seconds:
                    best[method] = timed
            if spent > ENOUGH:
                break
        for method, weight in weights.items():
            tracemalloc.start()
            data.classifier(unlabeled_weight=weight, n_jobs=1).fit(data.X, y)
            peak[method] = tracemalloc.get_traced_memory()[1] / 1e6
            tracemalloc.stop()
    plain, default = best["plain"], best["default"]
    assert plain.em is not None
    seconds = {method: timed.seconds for method, timed in best.items()}
    iterations = {"plain": plain.em[1]}
    if default.em is not None:
        seconds["em"] = plain.seconds - plain.em[0] + default.em[0]
        iterations["em"] = default.em[1]
    sys.stderr.write(f"{job.name} {job.n_labels} labels, seed {job.seed}: {default.used} {seconds} {peak}\n")
    return Cost(job.name, job.n_labels, job.seed, default.used, seconds, iterations, peak)


def _timed(data: DataSet, y: Any, weight: Any) -> _Timed:
    with _em_inside() as found:
        began = time.perf_counter()
        fit = data.classifier(unlabeled_weight=weight, n_jobs=1).fit(data.X, y)
        seconds = time.perf_counter() - began
    if weight != "auto":
        return _Timed(seconds, "", (fit.history_[-1].seconds, int(fit.n_iter_)))
    return _Timed(seconds, fit.unlabeled_use_, found[0] if found else None)


@contextmanager
def _em_inside() -> Iterator[list[tuple[float, int]]]:
    """Seconds and iterations of the EM that the default runs meanwhile: a fit does not tell them of EM it drops."""
    found: list[tuple[float, int]] = []
    fit = Candidates.fit

    def watched(self: Candidates, name: str, *args: Any) -> Any:
        learned = fit(self, name, *args)
        if name == FULL:
            found.append((learned.fit.history[-1].seconds, learned.fit.n_iter))
        return learned

    Candidates.fit = watched  # type: ignore[method-assign]
    try:
        yield found
    finally:
        Candidates.fit = fit  # type: ignore[method-assign]


def _megabytes(X: Any) -> float:
    arrays = (X.data, X.indices, X.indptr) if hasattr(X, "indptr") else (X,)
    return sum(array.nbytes for array in arrays) / 1e6
