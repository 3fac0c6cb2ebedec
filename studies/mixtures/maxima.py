"""How many seeds lead to the highest maximum known, with the settings that are the default."""

from __future__ import annotations

import time
from collections.abc import Iterator

from sklearn.base import clone

from studies.mixtures.problems import problems

__all__ = ["maxima"]

#: A log-likelihood this close to the best one is it: half of the last digit that is compared.
NEAR = 1e-3


def maxima(n_seeds: int, only: str = "") -> Iterator[str]:
    """A line for every table whose name holds ``only``, as it is done."""
    yield "| table and model | best known | seeds that reach it | lowest | ms per fit |"
    yield "|---|---|---|---|---|"
    for problem in problems():
        if only not in problem.name:
            continue
        began = time.perf_counter()
        found = [
            clone(problem.model).set_params(random_state=seed, n_jobs=1).fit(problem.X).log_likelihood_
            for seed in range(n_seeds)
        ]
        spent = 1e3 * (time.perf_counter() - began) / n_seeds
        reached = sum(1 for value in found if value > problem.best - NEAR)
        best, lowest = max(*found, problem.best), min(found)
        yield f"| {problem.name} | {best:.4f} | {reached} of {n_seeds} | {lowest:.4f} | {spent:.0f} |"
