"""Whole fits beside other libraries: what is reached, and how long that takes. Each alone, with one thread."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_iris, make_blobs
from sklearn.mixture import GaussianMixture as Theirs
from threadpoolctl import threadpool_limits

from softcount import GaussianMixture, LatentClass
from studies.mixtures.problems import shared_table
from tests.reference.published_tables import CARCINOMA, all_rows

__all__ = ["rivals"]

N_STARTS = 20
#: Short fits are repeated more often, for what else the machine does weighs more in them.
N_RUNS, N_SHORT_RUNS = 5, 25


def rivals() -> Iterator[str]:
    """A line for every pair."""
    # Of BLAS and OpenMP too: scikit-learn's k-means, from which both start, would take all cores.
    with threadpool_limits(limits=1):
        yield from _lines()


def _lines() -> Iterator[str]:
    yield "| fit | softcount | other | softcount reaches | other reaches |"
    yield "|---|---|---|---|---|"
    blobs = make_blobs(1000, centers=4, n_features=5, cluster_std=2.5, random_state=0)[0]
    for name, X, k in (("iris, K = 3", np.unique(load_iris().data, axis=0), 3), ("1,000 rows, K = 4", blobs, 4)):
        for searched, other in (({}, {}), ({"thorough": True}, {"n_init": N_STARTS})):
            ours = GaussianMixture(k, random_state=0, n_jobs=1, **searched)
            theirs = Theirs(k, random_state=0, **other)
            text = f"Gaussian, {name}, {'thorough (20 starts)' if searched else 'defaults'}"
            n_runs = N_RUNS if searched else N_SHORT_RUNS
            yield _line(text, partial(_score, ours, X), partial(_score, theirs, X), n_runs)
    tables = {"carcinoma": all_rows(CARCINOMA)}
    election = shared_table("lca/poLCA_election.csv")
    if election is not None:
        answers = election.iloc[:, :12].dropna()
        tables["election"] = np.column_stack([answers[item].astype("category").cat.codes for item in answers])
    for name, X in tables.items():
        text = f"{name}, K = 1 to 6, {N_STARTS} starts each (StepMix)"
        yield _line(text, partial(_ours, X), partial(_stepmix, X), 1)


def _score(model: Any, X: Any) -> float:
    return float(model.fit(X).score(X)) * len(X)


def _ours(X: Any) -> float:
    fits = [LatentClass(k, n_init=N_STARTS, random_state=0, n_jobs=1).fit(X) for k in range(1, 7)]
    return sum(fit.log_likelihood_ for fit in fits)


def _stepmix(X: Any) -> float:
    from stepmix import StepMix

    codes = X - X.min(axis=0)
    options = {"measurement": "categorical", "n_init": N_STARTS, "max_iter": 1000, "random_state": 0, "progress_bar": 0}
    return sum(float(StepMix(k, **options).fit(codes).score(codes)) * len(X) for k in range(1, 7))


def _line(name: str, ours: Callable[[], float], theirs: Callable[[], float], n_runs: int) -> str:
    seconds: list[list[float]] = [[], []]
    reached = [0.0, 0.0]
    for _ in range(n_runs):
        # In turn, so that both meet the same machine.
        for i, fit in enumerate((ours, theirs)):
            began = time.perf_counter()
            reached[i] = fit()
            seconds[i].append(time.perf_counter() - began)
    times = [f"{1e3 * statistics.median(part):.1f} ms" for part in seconds]
    return f"| {name} | {times[0]} | {times[1]} | {reached[0]:.3f} | {reached[1]:.3f} |"
