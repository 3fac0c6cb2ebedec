"""Mixtures and latent classes beside their rivals: seconds per iteration, whole searches, and what merging rows saves.

Rivals start where softcount starts and run as many iterations; their log-likelihoods are compared before anything is
timed. A time per iteration is the slope between two numbers of iterations, so reading and starting do not count.

    python benchmarks/bench_mixtures.py [--small] [--repeats 3] [--jobs 2]
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.mixture import GaussianMixture as SklearnMixture

from softcount import CategoricalMixture, GaussianMixture, LatentClass


def seconds(work: Callable[[], Any], repeats: int) -> float:
    """Median time of a call."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def per_iteration(fit: Callable[[int], Any], few: int, many: int, repeats: int) -> float:
    """Milliseconds per iteration: the slope between ``few`` and ``many`` iterations."""
    return 1e3 * (seconds(lambda: fit(many), repeats) - seconds(lambda: fit(few), repeats)) / (many - few)


def report(what: str, own: float, rival: float, unit: str, check: str) -> None:
    """One line of the table."""
    print(f"{what:<58} {own:>10.2f} {rival:>10.2f} {unit:<6} {rival / own:>7.1f}x   {check}", flush=True)


def stepmix_fit(X: np.ndarray, measurement: str, n_components: int, max_iter: int, n_init: int = 1) -> Any:
    """StepMix for a number of iterations."""
    from stepmix import StepMix

    model = StepMix(
        n_components=n_components,
        measurement=measurement,
        n_init=n_init,
        max_iter=max_iter,
        abs_tol=0.0,
        rel_tol=0.0,
        random_state=0,
        progress_bar=0,
    )
    return model.fit(X)


def from_stepmix_start(X: np.ndarray, n_components: int, n_values: int) -> Any:
    """Parameters that StepMix starts from with seed 0."""
    resp = np.random.RandomState(0).uniform(size=(X.shape[0], n_components))
    resp /= resp.sum(axis=1, keepdims=True)
    begun = CategoricalMixture(
        n_components, alpha=0.0, min_categories=n_values, init=resp, max_iter=0, order=None, merge_rows=False
    ).fit(X)
    return replace(begun.params_, log_weights=np.full(n_components, -np.log(n_components)))


def latent_classes(rows: int, repeats: int, jobs: int) -> None:
    """100,000 rows of twelve items with five answers, six classes, a tenth of the answers missing."""
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.ones(5), size=(6, 12))
    z = rng.integers(6, size=rows)
    cumulative = theta.cumsum(axis=-1)
    X = (rng.random((rows, 12, 1)) > cumulative[z]).sum(axis=-1).clip(0, 4).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    start = from_stepmix_start(X, 6, 5)

    def own(max_iter: int) -> Any:
        model = CategoricalMixture(
            6,
            alpha=0.0,
            min_categories=5,
            init=start,
            max_iter=max_iter,
            tol=0.0,
            order=None,
            accelerate=False,
            n_jobs=jobs,
        )
        return model.fit(X)

    ours, theirs = own(10), stepmix_fit(X, "categorical_nan", 6, 10)
    gap = abs(ours.log_likelihood_ / rows - theirs.score(X)) / abs(theirs.score(X))
    mine = per_iteration(own, 10, 60, repeats)
    other = per_iteration(lambda n: stepmix_fit(X, "categorical_nan", 6, n), 2, 6, repeats)
    report(f"latent classes, {rows} x 12 x 5, K=6, 10 % missing", mine, other, "ms/it", f"likelihoods differ {gap:.0e}")


def restarts(repeats: int, jobs: int) -> None:
    """1,000 rows, fifty starts of fifty iterations each."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 5, (1000, 12)).astype(float)
    model = CategoricalMixture(
        6, alpha=0.0, n_init=50, n_final=50, max_iter=50, tol=0.0, accelerate=False, n_jobs=jobs, random_state=0
    )
    mine = seconds(lambda: model.fit(X), repeats)
    other = seconds(lambda: stepmix_fit(X, "categorical", 6, 50, n_init=50), 1)
    report("50 starts of 50 iterations, 1000 x 12 x 5, K=6", mine, other, "s", "starts differ")
    search = LatentClass(6, random_state=0, n_jobs=jobs)
    mine = seconds(lambda: search.fit(X), repeats)
    found = search.log_likelihood_ / 1000 - stepmix_fit(X, "categorical", 6, 50, n_init=50).score(X)
    report("the same by LatentClass() with its default search", mine, other, "s", f"log-lik. per row {found:+.4f}")


def repeated_rows(rows: int, repeats: int, jobs: int) -> None:
    """Yes/no answers to ten items by many people: 1,024 different rows at most."""
    rng = np.random.default_rng(2)
    z = rng.integers(3, size=rows)
    X = (rng.random((rows, 10)) < rng.uniform(0.1, 0.9, (3, 10))[z]).astype(np.int64)
    fits = {
        merge: LatentClass(3, n_init=10, merge_rows=merge, n_jobs=jobs, random_state=0, tol=1e-9)
        for merge in (None, False)
    }
    mine, other = (seconds(lambda m=model: m.fit(X), 1 + (repeats > 1)) for model in fits.values())
    gap = abs(fits[None].log_likelihood_ - fits[False].log_likelihood_) / rows
    report(f"10 starts, {rows} x 10 yes/no: merged, not merged", mine, other, "s", f"per row {gap:.0e}")


def gaussians(rows: int, repeats: int, jobs: int) -> None:
    """500,000 rows of sixteen numbers, ten components."""
    rng = np.random.default_rng(3)
    centers = rng.normal(0.0, 3.0, (10, 16))
    X = centers[rng.integers(10, size=rows)] + rng.normal(size=(rows, 16))
    means = X[rng.choice(rows, 10, replace=False)]
    for kind, few, many in (("diag", 3, 13), ("full", 3, 8)):
        precision = np.ones((10, 16)) if kind == "diag" else np.broadcast_to(np.eye(16), (10, 16, 16)).copy()
        given = {
            "covariance_type": kind,
            "weights_init": np.full(10, 0.1),
            "means_init": means,
            "precisions_init": precision,
            "tol": 0.0,
        }

        def own(max_iter: int, given: dict[str, Any] = given) -> Any:
            return GaussianMixture(10, max_iter=max_iter, n_jobs=jobs, merge_rows=False, **given).fit(X)

        def rival(max_iter: int, given: dict[str, Any] = given) -> Any:
            return SklearnMixture(10, max_iter=max_iter, **given).fit(X)

        part = X[:20_000]
        gap = abs(own(5).score(part) - rival(5).score(part))
        mine, other = per_iteration(own, few, many, repeats), per_iteration(rival, few, many, repeats)
        report(f"Gaussian mixture ({kind}), {rows} x 16, K=10", mine, other, "ms/it", f"per row {gap:.0e}")


def main() -> None:
    """Run everything and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="a tenth of the rows")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=None, help="threads; all usable cores by default")
    options = parser.parse_args()
    share = 10 if options.small else 1
    warnings.simplefilter("ignore")
    print(f"{'workload':<58} {'softcount':>10} {'rival':>10} {'':<6} {'ratio':>8}")
    latent_classes(100_000 // share, options.repeats, options.jobs)
    restarts(options.repeats, options.jobs)
    repeated_rows(1_000_000 // share, options.repeats, options.jobs)
    gaussians(500_000 // share, options.repeats, options.jobs)


if __name__ == "__main__":
    main()
