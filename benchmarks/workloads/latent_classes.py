"""Latent classes: survey answers with and without holes, many starts, and what merging equal rows saves.

StepMix starts from random responsibilities; softcount and the NumPy version start from the same parameters, so that all
likelihoods agree after as many iterations. pomegranate computes in float32 and is given its parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import softcount
from benchmarks.measuring import OURS, Contest, Contestant, Goal, Setting, relative_distance, rival

N_ROWS, N_ITEMS, N_LEVELS, N_CLASSES = 100_000, 12, 5, 6


@dataclass(frozen=True)
class Survey:
    """Answers, NaN where there is none, and where everybody starts."""

    X: NDArray[np.float64]
    threads: int

    @cached_property
    def one_hot(self) -> NDArray[np.float64]:
        """A column for each answer to each item; zeros where the answer is missing."""
        return (self.X[:, :, None] == np.arange(N_LEVELS)).reshape(len(self.X), -1).astype(np.float64)

    @cached_property
    def resp(self) -> NDArray[np.float64]:
        """The responsibilities that StepMix draws with seed 0."""
        resp = np.random.RandomState(0).uniform(size=(len(self.X), N_CLASSES))
        resp /= resp.sum(axis=1, keepdims=True)
        return resp

    def conditionals(self, resp: NDArray[np.float64]) -> NDArray[np.float64]:
        """Shares of the answers, shape (item, level, class)."""
        counts = (self.one_hot.T @ resp).reshape(N_ITEMS, N_LEVELS, N_CLASSES)
        counts /= counts.sum(axis=1, keepdims=True)
        return counts

    @cached_property
    def start(self) -> Any:
        """StepMix's first parameters as softcount's: equal weights, shares from its responsibilities."""
        begun = self.model(max_iter=0, init=self.resp, merge_rows=False).fit(self.X)
        return replace(begun.params_, log_weights=np.full(N_CLASSES, -np.log(N_CLASSES)))

    def model(self, **options: Any) -> Any:
        """softcount's latent classes without smoothing, acceleration or reordering."""
        plain = {"alpha": 0.0, "min_categories": N_LEVELS, "order": None, "accelerate": False, "tol": 0.0}
        return softcount.CategoricalMixture(N_CLASSES, n_jobs=self.threads, **plain, **options)

    def numpy_em(self, n_iter: int) -> float:
        """Two matrix products an iteration on one-hot columns; the log-likelihood per row at the end."""
        table = np.log(self.conditionals(self.resp)).reshape(-1, N_CLASSES)
        log_prior = np.full(N_CLASSES, -np.log(N_CLASSES))
        for step in range(n_iter + 1):
            resp = self.one_hot @ table
            resp += log_prior
            top = resp.max(axis=1)
            resp -= top[:, None]
            np.exp(resp, out=resp)
            total = resp.sum(axis=1)
            if step == n_iter:
                return float((top + np.log(total)).mean())
            resp /= total[:, None]
            counts = (self.one_hot.T @ resp).reshape(N_ITEMS, N_LEVELS, N_CLASSES)
            counts /= counts.sum(axis=1, keepdims=True)
            table = np.log(counts, out=counts).reshape(-1, N_CLASSES)
            log_prior = np.log(resp.mean(axis=0))
        raise AssertionError("the loop returns")

    def stepmix(self, n_iter: int, n_init: int = 1) -> Any:
        """StepMix for a number of iterations."""
        from stepmix import StepMix

        kind = "categorical_nan" if np.isnan(self.X).any() else "categorical"
        fixed = {"max_iter": n_iter, "abs_tol": 0.0, "rel_tol": 0.0, "random_state": 0, "progress_bar": 0}
        return StepMix(N_CLASSES, measurement=kind, n_init=n_init, **fixed).fit(self.X)

    def pomegranate(self, n_iter: int) -> Any:
        """pomegranate's mixture of independent categories; with tol=-inf it never stops early."""
        import torch
        from pomegranate.distributions import Categorical
        from pomegranate.gmm import GeneralMixtureModel

        shares = self.conditionals(self.resp).transpose(2, 0, 1).astype(np.float32)
        parts = [Categorical(probs=share) for share in shares]
        given = {"priors": np.full(N_CLASSES, 1.0 / N_CLASSES, dtype=np.float32), "tol": -np.inf}
        return GeneralMixtureModel(parts, max_iter=n_iter, **given).fit(torch.from_numpy(self.X.astype(np.int64)))


def survey(n_rows: int, missing: float, threads: int, seed: int = 0) -> Survey:
    """Answers of six classes of people, a share of them missing."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(N_LEVELS), size=(N_CLASSES, N_ITEMS)).cumsum(axis=-1)
    truth = rng.integers(N_CLASSES, size=n_rows)
    X = (rng.random((n_rows, N_ITEMS, 1)) > shares[truth]).sum(axis=-1).clip(0, N_LEVELS - 1).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    return Survey(X, threads)


def iterations(setting: Setting, missing: float) -> list[Contest]:
    """Time of an iteration, everybody from the same start."""
    data = survey(setting.rows(N_ROWS), missing, setting.threads)
    n_rows = len(data.X)
    cache: list[float] = []

    def expected() -> float:
        if not cache:
            cache.append(data.numpy_em(5))
        return cache[0]

    def ours(n_iter: int) -> Any:
        return data.model(max_iter=n_iter, init=data.start).fit(data.X)

    rivals = []
    if setting.with_rivals:
        gemm = "NumPy, one-hot products"
        rivals = [
            _stepmix(data, (2, 6), lambda model: relative_distance(model.score(data.X), expected()),
                     Goal(50.0, 100.0) if missing else None),
            Contestant(gemm, data.numpy_em, lambda found: relative_distance(found, expected()), 1e-10, (5, 25),
                       Goal(3.0, 5.0) if missing else None),
        ]  # fmt: skip
        if not missing:
            rivals.append(_pomegranate(data, expected))
    name = f"latent classes, {n_rows:,} x {N_ITEMS} x {N_LEVELS}, K={N_CLASSES}, "
    distance = lambda model: relative_distance(model.log_likelihood_ / n_rows, expected())  # noqa: E731
    return [
        Contest(
            name + (f"{missing:.0%} missing" if missing else "nothing missing"),
            Contestant(OURS, ours, distance, 1e-10, (10, 60)),
            tuple(rivals),
            memory_limit_mb=64,
        )
    ]


def _stepmix(data: Survey, span: tuple[int, int], distance: Any, goal: Goal | None) -> Any:
    def build() -> Contestant:
        import stepmix  # noqa: F401  (only to see whether it is there)

        return Contestant("StepMix", data.stepmix, distance, 1e-8, span, goal)

    return rival("StepMix", "stepmix", build, goal)


def _pomegranate(data: Survey, expected: Any) -> Any:
    goal = Goal(10.0, 16.0)

    def build() -> Contestant:
        import pomegranate  # noqa: F401  (only to see whether it is there)
        import torch

        def distance(model: Any) -> float:
            values = model.log_probability(torch.from_numpy(data.X.astype(np.int64))).double()
            return relative_distance(float(values.mean()), expected())

        # float32: sums of 100,000 rows are right to four digits or so.
        return Contestant("pomegranate (float32)", data.pomegranate, distance, 1e-4, (5, 25), goal)

    return rival("pomegranate (float32)", "pomegranate", build, goal)


def restarts(setting: Setting, missing: float) -> list[Contest]:
    """1,000 rows, fifty random starts of fifty iterations each."""
    data = survey(1000, missing, setting.threads, seed=1)
    n_init = max(int(50 * min(setting.scale, 1.0)), 5)
    goal = Goal(50.0, 100.0)

    def ours() -> Any:
        return data.model(n_init=n_init, n_final=n_init, max_iter=50, random_state=0, merge_rows=False).fit(data.X)

    def likelihood(weights: Any, shares: Any) -> float:
        """Log-likelihood per row of weights (class) and shares (item, level, class)."""
        scores = data.one_hot @ np.log(np.maximum(shares, 1e-300)).reshape(-1, N_CLASSES) + np.log(weights)
        return float(np.logaddexp.reduce(scores, axis=1).mean())

    def own_distance(model: Any) -> float:
        resp = model.predict_proba(data.X)
        stated = model.log_likelihood_ / len(data.X)
        # One more M-step of a fit that has all but converged changes nothing: the stated value is that of its answers.
        return relative_distance(stated, likelihood(resp.mean(axis=0), data.conditionals(resp)))

    def their_distance(model: Any) -> float:
        resp = model.predict_proba(data.X)
        return relative_distance(model.score(data.X), likelihood(resp.mean(axis=0), data.conditionals(resp)))

    def build() -> Contestant:
        import stepmix  # noqa: F401  (only to see whether it is there)

        return Contestant("StepMix", lambda: data.stepmix(50, n_init), their_distance, 1e-3, goal=goal)

    holes = f"{missing:.0%} missing" if missing else "nothing missing"
    name = f"latent classes, 1,000 x {N_ITEMS} x {N_LEVELS}, {holes}, {n_init} starts of 50 iterations"
    rivals = (rival("StepMix", "stepmix", build, goal),) if setting.with_rivals else ()
    return [Contest(name, Contestant(OURS, ours, own_distance, 1e-3), rivals)]


def repeated_rows(setting: Setting) -> list[Contest]:
    """Yes/no answers to ten items by many people, 1,024 different rows at most: merged, and not merged."""
    n_rows = setting.rows(1_000_000)
    rng = np.random.default_rng(2)
    truth = rng.integers(3, size=n_rows)
    X = (rng.random((n_rows, 10)) < rng.uniform(0.1, 0.9, (3, 10))[truth]).astype(np.int8)

    def fit(merge: bool | None) -> Any:
        options = {"n_init": 4, "tol": 1e-8, "random_state": 0, "merge_rows": merge, "n_jobs": setting.threads}
        return softcount.LatentClass(3, **options).fit(X)

    cache: list[float] = []

    def distance(model: Any) -> float:
        if not cache:
            cache.append(fit(None).log_likelihood_)
        return relative_distance(model.log_likelihood_, cache[0])

    unmerged = Contestant("softcount, rows not merged", lambda: fit(False), distance, 1e-6)
    name = f"latent classes, {n_rows:,} x 10 yes/no, 4 starts"
    return [Contest(name, Contestant(OURS, lambda: fit(None), distance, 1e-6), (unmerged,))]


WORKLOADS = {
    "latent-classes-missing": lambda setting: iterations(setting, 0.1),
    "latent-classes-complete": lambda setting: iterations(setting, 0.0),
    "latent-classes-restarts": lambda setting: restarts(setting, 0.1) + restarts(setting, 0.0),
    "latent-classes-repeated": repeated_rows,
}
