"""Whole fits beside other libraries: what is reached, and how long that takes. Each alone, with one thread."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_iris, make_blobs
from sklearn.mixture import GaussianMixture as Theirs

from softcount import GaussianMixture, LatentClass
from studies.mixtures.problems import shared_table
from tests.reference.published_tables import CARCINOMA, all_rows

__all__ = ["rivals"]

N_STARTS, N_RUNS = 20, 5


def rivals() -> Iterator[str]:
    """A line for every pair."""
    yield "| fit | softcount | other | softcount reaches | other reaches |"
    yield "|---|---|---|---|---|"
    tables = {"carcinoma": all_rows(CARCINOMA)}
    election = shared_table("lca/poLCA_election.csv")
    if election is not None:
        tables["election"] = election.iloc[:, :12].dropna().to_numpy()
    for name, X in tables.items():
        yield _line(
            f"{name}, K = 1 to 6, {N_STARTS} starts (StepMix)", lambda X=X: _ours(X), lambda X=X: _stepmix(X), 1
        )
    blobs = make_blobs(1000, centers=4, n_features=5, cluster_std=2.5, random_state=0)[0]
    for name, X, k in (("iris, K = 3", np.unique(load_iris().data, axis=0), 3), ("1,000 rows, K = 4", blobs, 4)):
        yield _line(
            f"GaussianMixture, {name} (scikit-learn)",
            lambda X=X, k=k: _score(GaussianMixture(k, random_state=0, n_jobs=1).fit(X), X),
            lambda X=X, k=k: _score(Theirs(k, random_state=0).fit(X), X),
        )
        yield _line(
            f"GaussianMixture, {name}, thorough (scikit-learn: n_init={N_STARTS})",
            lambda X=X, k=k: _score(GaussianMixture(k, thorough=True, random_state=0, n_jobs=1).fit(X), X),
            lambda X=X, k=k: _score(Theirs(k, n_init=N_STARTS, random_state=0).fit(X), X),
        )


def _score(model: Any, X: Any) -> float:
    return float(model.score(X)) * len(X)


def _ours(X: Any) -> float:
    fits = [LatentClass(k, n_init=N_STARTS, random_state=0, n_jobs=1).fit(X) for k in range(1, 7)]
    return sum(fit.log_likelihood_ for fit in fits)


def _stepmix(X: Any) -> float:
    from stepmix import StepMix

    codes = (X - X.min()).astype(int)
    options = {"measurement": "categorical", "n_init": N_STARTS, "max_iter": 1000, "random_state": 0, "progress_bar": 0}
    return sum(float(StepMix(k, **options).fit(codes).score(codes)) * len(X) for k in range(1, 7))


def _line(name: str, ours: Callable[[], float], theirs: Callable[[], float], n_runs: int = N_RUNS) -> str:
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
