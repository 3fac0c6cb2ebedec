"""Bernoulli mixtures of binary images, 784 cells each, per iteration; cells as bytes and as float64."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import softcount
from benchmarks.measuring import OURS, Contest, Contestant, Goal, Setting, relative_distance

N_ROWS, N_CELLS = 60_000, 784
ALPHA = 0.5


def images(n_rows: int, seed: int = 5) -> NDArray[np.uint8]:
    """Blurred prototypes with noise, about a fifth of the cells set."""
    rng = np.random.default_rng(seed)
    shares = np.repeat(rng.beta(0.3, 1.2, size=(30, N_CELLS // 8)), 8, axis=1)
    return (rng.random((n_rows, N_CELLS)) < shares[rng.integers(30, size=n_rows)]).astype(np.uint8)


def numpy_em(X: NDArray[np.float64], resp: NDArray[np.float64], n_iter: int) -> tuple[Any, Any]:
    """Two BLAS products an iteration; log-shares and log-weights after ``n_iter`` of them."""
    for step in range(n_iter + 1):
        counts, weight = X.T @ resp, resp.sum(axis=0)
        shares = (counts + ALPHA) / (weight + 2.0 * ALPHA)
        log_prior = np.log(weight / weight.sum())
        if step == n_iter:
            break
        absent = np.log1p(-shares)
        resp = X @ (np.log(shares) - absent)
        resp += absent.sum(axis=0) + log_prior
        resp -= resp.max(axis=1, keepdims=True)
        np.exp(resp, out=resp)
        resp /= resp.sum(axis=1, keepdims=True)
    return np.log(shares).T, log_prior


def contests(setting: Setting, n_components: int, dtype: str) -> list[Contest]:
    """One number of components, one type of cell."""
    cells = images(setting.rows(N_ROWS))
    X, numbers = cells.astype(dtype), cells.astype(np.float64)
    # Every component keeps a share of every row, so that no answer hangs on rounding.
    resp = np.random.default_rng(6).dirichlet(np.ones(n_components), len(X))
    cache: list[Any] = []

    def ours(n_iter: int) -> Any:
        plain = {"alpha": ALPHA, "accelerate": False, "merge_rows": False, "order": None, "tol": 0.0}
        options = {"init": resp, "max_iter": n_iter, "n_jobs": setting.threads}
        return softcount.BernoulliMixture(n_components, **plain, **options).fit(X)

    def distance(answer: Any) -> float:
        if not cache:
            cache.append(numpy_em(numbers, resp, 5))
        found = answer if isinstance(answer, tuple) else (np.log(answer.probabilities_), answer.params_.log_weights)
        return max(relative_distance(value, right) for value, right in zip(found, cache[0], strict=True))

    theirs = Contestant("NumPy, two products", partial(numpy_em, numbers, resp), distance, 1e-8, (2, 6), Goal(1.5, 3.0))
    return [
        Contest(
            f"Bernoulli mixture, {len(X):,} x {N_CELLS} {dtype}, K={n_components}",
            Contestant(OURS, ours, distance, 1e-8, (2, 6)),
            (theirs,),
            memory_limit_mb=64,
        )
    ]


WORKLOADS = {
    f"bernoulli-images-{n_components}-{dtype}": partial(contests, n_components=n_components, dtype=dtype)
    for n_components in (10, 50)
    for dtype in ("uint8", "float64")
}
