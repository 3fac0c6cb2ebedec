"""Gaussian mixtures, diagonal and full, per iteration from the same start."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import softcount
from benchmarks.measuring import OURS, Contest, Contestant, Goal, Setting, relative_distance, rival

N_ROWS, N_COLUMNS, N_COMPONENTS = 500_000, 16, 10
GOALS = {"diag": Goal(4.0, 8.0), "full": Goal(8.0, 12.0)}
POMEGRANATE_GOAL = Goal(3.0, 4.0)


def contests(setting: Setting, kind: str) -> list[Contest]:
    """One kind of covariance."""
    from sklearn.mixture import GaussianMixture

    rng = np.random.default_rng(3)
    n_rows = setting.rows(N_ROWS)
    X = rng.normal(0.0, 1.0, (N_COMPONENTS, N_COLUMNS))[rng.integers(N_COMPONENTS, size=n_rows)]
    X += rng.normal(size=X.shape)
    means = X[rng.choice(n_rows, N_COMPONENTS, replace=False)]
    unit = np.ones((N_COMPONENTS, N_COLUMNS)) if kind == "diag" else np.stack([np.eye(N_COLUMNS)] * N_COMPONENTS)
    weights = np.full(N_COMPONENTS, 1.0 / N_COMPONENTS)
    given = {
        "weights_init": weights,
        "means_init": means,
        "precisions_init": unit,
        "covariance_type": kind,
        "tol": 0.0,
        "reg_covar": 0.0,
    }
    part = X[:20_000]
    cache: list[float] = []

    def expected() -> float:
        if not cache:
            cache.append(GaussianMixture(N_COMPONENTS, max_iter=5, **given).fit(X).score(part))
        return cache[0]

    def ours(n_iter: int) -> Any:
        options = {"max_iter": n_iter, "n_jobs": setting.threads, "merge_rows": False}
        return softcount.GaussianMixture(N_COMPONENTS, **options, **given).fit(X)

    def theirs(n_iter: int) -> Any:
        return GaussianMixture(N_COMPONENTS, max_iter=n_iter, **given).fit(X)

    def distance(model: Any) -> float:
        return relative_distance(model.score(part), expected())

    rivals: list[Any] = [Contestant("scikit-learn", theirs, distance, 1e-9, (2, 6), GOALS[kind])]
    if setting.with_rivals:
        goal = POMEGRANATE_GOAL if kind == "full" else None
        build = partial(_pomegranate, X, means, kind, expected, goal)
        rivals.append(rival("pomegranate (float32)", "pomegranate", build, goal))
    name = f"Gaussian mixture ({kind}), {n_rows:,} x {N_COLUMNS}, K={N_COMPONENTS}"
    own = Contestant(OURS, ours, distance, 1e-9, (3, 13))
    return [Contest(name, own, tuple(rivals), memory_limit_mb=64)]


def _pomegranate(X: Any, means: Any, kind: str, expected: Any, goal: Goal | None) -> Contestant:
    import torch
    from pomegranate.distributions import Normal
    from pomegranate.gmm import GeneralMixtureModel

    data = torch.from_numpy(X.astype(np.float32))
    unit = np.ones(N_COLUMNS) if kind == "diag" else np.eye(N_COLUMNS)
    priors = np.full(N_COMPONENTS, 1.0 / N_COMPONENTS, dtype=np.float32)

    def fit(n_iter: int) -> Any:
        parts = [Normal(mean.astype(np.float32), unit.astype(np.float32), covariance_type=kind) for mean in means]
        return GeneralMixtureModel(parts, priors=priors, max_iter=n_iter, tol=-np.inf).fit(data)

    def distance(model: Any) -> float:
        return relative_distance(float(model.log_probability(data[:20_000]).double().mean()), expected())

    return Contestant("pomegranate (float32)", fit, distance, 1e-4, (2, 6), goal)


WORKLOADS = {f"gaussian-mixture-{kind}": partial(contests, kind=kind) for kind in GOALS}
