"""Unpenalized generalized linear models on dense rows, standard errors and null model included in softcount's time."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import softcount
from benchmarks.measuring import OURS, Contest, Contestant, Setting, rival

N_ROWS, N_COLUMNS = 500_000, 50
#: Largest difference of the mean deviance from the best.
GAP = 1e-8


def contests(setting: Setting, family: str) -> list[Contest]:
    """One family with its usual link."""
    rng = np.random.default_rng(0)
    scale = np.logspace(-1.0, 1.0, N_COLUMNS)
    X = rng.standard_normal((setting.rows(N_ROWS, 2000), N_COLUMNS))
    X[:, 1:] += 0.3 * X[:, :1]
    X *= scale
    predictor = X @ (rng.normal(size=N_COLUMNS) * 0.15 / scale)
    mean = np.exp(predictor)
    y = rng.poisson(mean).astype(float) if family == "poisson" else rng.gamma(2.0, 0.5 * mean)

    def deviance(model: Any) -> float:
        """Mean deviance, computed the same way for all."""
        fitted = np.exp(X @ np.ravel(model.coef_) + float(np.ravel(model.intercept_)[0]))
        if family == "poisson":
            return float(2.0 * (np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0) / fitted), 0.0) - y + fitted).mean())
        return float(2.0 * ((y - fitted) / fitted - np.log(y / fitted)).mean())

    cache: list[float] = []

    def distance(model: Any) -> float:
        if not cache:
            cache.append(deviance(softcount.GLM(family, "log", tol=1e-12, n_jobs=setting.threads).fit(X, y)))
        return abs(deviance(model) - cache[0])

    def build(name: str) -> Contestant:
        if name == "glum":
            from glum import GeneralizedLinearRegressor

            options = {"family": family, "link": "log", "alpha": 0, "gradient_tol": 1e-7}
            return Contestant(name, lambda: GeneralizedLinearRegressor(**options).fit(X, y), distance, GAP)
        from sklearn.linear_model import GammaRegressor, PoissonRegressor

        theirs = {"poisson": PoissonRegressor, "gamma": GammaRegressor}[family]
        return Contestant(name, lambda: theirs(alpha=0, solver="newton-cholesky", tol=1e-6).fit(X, y), distance, GAP)

    own = Contestant(OURS, lambda: softcount.GLM(family, "log", n_jobs=setting.threads).fit(X, y), distance, GAP)
    packages = {"scikit-learn newton-cholesky": "scikit-learn", "glum": "glum"} if setting.with_rivals else {}
    rivals = tuple(rival(name, package, partial(build, name)) for name, package in packages.items())
    return [Contest(f"GLM ({family}), dense {len(y):,} x {N_COLUMNS}", own, rivals, memory_limit_mb=64)]


WORKLOADS = {f"glm-{family}": partial(contests, family=family) for family in ("poisson", "gamma")}
