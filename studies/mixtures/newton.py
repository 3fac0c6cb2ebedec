"""Whether Newton's method finishes sooner than leaping EM: both from where 15 or 50 iterations of one start ended."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount import LatentClass
from softcount.core.chunks import Chunks
from softcount.core.information import observed_inverse
from softcount.core.mixture import MixtureModel, MixtureParams
from softcount.core.patterns import find_patterns, select_rows
from softcount.core.row_scores import RowScores, layout_of
from softcount.core.simulate import marginal_log_likelihood
from studies.mixtures.problems import shared_table
from tests.reference.published_tables import CARCINOMA, CHEATING, all_rows

__all__ = ["newton"]

NEAR, MOST_STEPS, MOST_HALVINGS = 1e-6, 40, 12


def newton() -> Iterator[str]:
    """A line for every start."""
    yield "| table | from iteration | seed | Newton's steps | ms | leaping EM, iterations | ms |"
    yield "|---|---|---|---|---|---|---|"
    tables = [("carcinoma", 3, all_rows(CARCINOMA)), ("carcinoma", 4, all_rows(CARCINOMA))]
    tables += [("cheating", 2, all_rows(CHEATING))]
    election = shared_table("lca/poLCA_election.csv")
    if election is not None:
        tables.append(("election", 3, election.iloc[:, :12].dropna().to_numpy()))
    for name, k, X in tables:
        for n_before in (15, 50):
            for seed in range(3):
                yield f"| {name}, K = {k} | {n_before} | {seed} | {_both(k, X, n_before, seed)} |"


def _both(k: int, X: NDArray[Any], n_before: int, seed: int) -> str:
    begun = LatentClass(k, random_state=seed, n_init=1, max_iter=n_before, tol=0.0, n_jobs=1).fit(X)
    began = time.perf_counter()
    ended = LatentClass(k, init=begun, n_jobs=1).fit(X)
    spent = 1e3 * (time.perf_counter() - began)
    n_leaps = next(step.iteration for step in ended.history_ if step.objective > ended.log_likelihood_ - NEAR)
    rows = begun._rows(X)
    patterns = find_patterns(rows)
    chunks = select_rows(rows, patterns.rows, patterns.weight)
    began = time.perf_counter()
    n_steps, left = _climb(begun.model_, begun.params_, begun._executor(), chunks, ended.log_likelihood_)
    words = str(n_steps) if left <= NEAR else f"{left:.2g} short after {n_steps}"
    return f"{words} | {1e3 * (time.perf_counter() - began):.0f} | {n_leaps} | {spent:.0f}"


def _climb(model: MixtureModel, params: MixtureParams, executor: Any, chunks: Chunks, goal: float) -> tuple[int, float]:
    """Steps that were taken, and what is missing to the goal after them."""
    value = marginal_log_likelihood(model, params, chunks)
    for step in range(MOST_STEPS):
        if goal - value <= NEAR:
            return step, goal - value
        layout = layout_of(model, params)
        inverse = observed_inverse(model, params, layout, executor, chunks)
        gradient = np.zeros(layout.size)
        for chunk in chunks:
            rows = RowScores.of(model, params, layout, chunk)
            gradient += rows.weight @ rows.scores()
        way, length = inverse @ gradient, 1.0
        for _ in range(MOST_HALVINGS):
            moved = _moved(model, params, length * way)
            found = marginal_log_likelihood(model, moved, chunks)
            if found >= value:
                break
            length /= 2.0
        else:
            return step, goal - value
        params, value = moved, found
    return MOST_STEPS, goal - value


def _moved(model: MixtureModel, params: MixtureParams, way: NDArray[np.float64]) -> MixtureParams:
    """Parameters a way further in the logarithms of all probabilities."""
    n = model.n_components
    family: Any = model.families[0]
    log_weights = params.log_weights + way[:n]
    log_prob = params.blocks[0]["log_prob"] + way[n:].reshape(n, -1).T
    for start, size in zip(family.offsets[:-1], family.n_values, strict=True):
        log_prob[start : start + size] -= np.logaddexp.reduce(log_prob[start : start + size], axis=0)
    return model.make_params(log_weights - np.logaddexp.reduce(log_weights), ({"log_prob": log_prob},))
