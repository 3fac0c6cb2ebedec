"""Generalized linear models on dense rows: softcount against scikit-learn's Newton-Cholesky solver and glum.

All fit the same unpenalized model to the same arrays; runs are interleaved, and every answer's objective
(mean deviance) is compared with the best one, so that nobody wins by stopping early. CPU seconds of all
threads together are what to compare on a busy machine. softcount's time includes validation, standard errors
and the null model. Memory is the process's peak above the data, each rival in a process of its own.

    python benchmarks/glm_dense.py [--rows 500000] [--columns 50] [--families binomial poisson] [--repeats 5]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

RIVALS = ("softcount", "softcount, 1 thread", "scikit-learn newton-cholesky", "glum")
FAMILIES = ("binomial", "poisson", "gamma")


def make_data(rows: int, columns: int, family: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Correlated columns in different units, made in place so that the process's peak is the data."""
    rng = np.random.default_rng(seed)
    X = np.empty((rows, columns))
    rng.standard_normal(out=X)
    X[:, 1:] += 0.3 * X[:, :1]
    X *= np.logspace(-1.0, 1.0, columns)
    predictor = X @ (rng.normal(size=columns) * 0.15 / np.logspace(-1.0, 1.0, columns))
    if family == "binomial":
        return X, (rng.uniform(size=rows) < 1.0 / (1.0 + np.exp(-predictor))).astype(np.float64)
    if family == "poisson":
        return X, rng.poisson(np.exp(predictor)).astype(np.float64)
    return X, rng.gamma(2.0, 0.5 * np.exp(predictor))


def fitter(name: str, family: str) -> Callable[[np.ndarray, np.ndarray], Any]:
    """A function that fits the named rival and returns it."""
    link = "logit" if family == "binomial" else "log"
    if name.startswith("softcount"):
        from softcount import GLM

        n_jobs = 1 if "1 thread" in name else None
        return lambda X, y: GLM(family, link, n_jobs=n_jobs).fit(X, y)
    if name == "glum":
        from glum import GeneralizedLinearRegressor

        return lambda X, y: GeneralizedLinearRegressor(family=family, link=link, alpha=0, gradient_tol=1e-7).fit(X, y)
    if family == "binomial":
        from sklearn.linear_model import LogisticRegression

        return lambda X, y: LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-6).fit(X, y)
    from sklearn.linear_model import GammaRegressor, PoissonRegressor

    rival = PoissonRegressor if family == "poisson" else GammaRegressor
    return lambda X, y: rival(alpha=0, solver="newton-cholesky", tol=1e-6).fit(X, y)


def objective(model: Any, family: str, X: np.ndarray, y: np.ndarray) -> float:
    """Mean deviance of a fitted model, computed the same way for all."""
    from softcount.core.glm.families import resolve_family
    from softcount.core.glm.links import LINKS

    intercept = float(np.ravel(model.intercept_)[0])
    predictor = X @ np.ravel(model.coef_) + intercept
    link = LINKS["logit" if family == "binomial" else "log"]
    return float(resolve_family(family).evaluate(link, y, predictor).unit_deviance.mean())


def peak_memory(name: str, family: str, rows: int, columns: int) -> float:
    """Megabytes the process's peak rises above the data while it fits, in a fresh process."""
    command = [sys.executable, __file__, "--peak", name, "--families", family]
    command += ["--rows", str(rows), "--columns", str(columns)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(run.stdout)["megabytes"])


def peak_kilobytes() -> float:
    """Highest resident size of this process; ``getrusage`` would include that of the process that started it."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return float(line.split()[1])
    raise SystemExit("Peak memory is read from /proc/self/status, which this system does not have.")


def print_peak(name: str, family: str, rows: int, columns: int) -> None:
    """Fit once and print how far the peak rose; libraries are loaded by a tiny fit first."""
    X, y = make_data(rows, columns, family)
    fit = fitter(name, family)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(X[:2000].copy(), y[:2000].copy())
        before = peak_kilobytes()
        fit(X, y)
    print(json.dumps({"megabytes": (peak_kilobytes() - before) / 1024.0}))


def compare(family: str, rows: int, columns: int, repeats: int) -> None:
    """Time all rivals in turn, and print a table."""
    X, y = make_data(rows, columns, family)
    fits = {name: fitter(name, family) for name in RIVALS}
    seconds: dict[str, list[float]] = {name: [] for name in RIVALS}
    work: dict[str, list[float]] = {name: [] for name in RIVALS}
    models: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for fit in fits.values():
            fit(X[:2000], y[:2000])
        for _ in range(repeats):
            for name, fit in fits.items():
                began, spent = time.perf_counter(), time.process_time()
                models[name] = fit(X, y)
                seconds[name].append(time.perf_counter() - began)
                work[name].append(time.process_time() - spent)
    objectives = {name: objective(model, family, X, y) for name, model in models.items()}
    best = min(objectives.values())
    ours = statistics.median(seconds["softcount"])
    print(f"\n{family}, {rows} x {columns}, {X.nbytes / 2**20:.0f} MB, median of {repeats} interleaved runs")
    print(f"{'':30s} {'seconds':>8s} {'fastest':>8s} {'CPU s':>7s} {'ratio':>6s} {'gap':>9s} {'extra MB':>9s}")
    for name in RIVALS:
        median = statistics.median(seconds[name])
        extra = peak_memory(name, family, rows, columns)
        print(
            f"{name:30s} {median:8.3f} {min(seconds[name]):8.3f} "
            f"{statistics.median(work[name]):7.3f} {median / ours:6.2f} "
            f"{objectives[name] - best:9.1e} {extra:9.1f}"
        )


def main() -> None:
    """Run the comparison for every family asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--peak", choices=RIVALS, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.peak:
        print_peak(chosen.peak, chosen.families[0], chosen.rows, chosen.columns)
        return
    for family in chosen.families:
        compare(family, chosen.rows, chosen.columns, chosen.repeats)


if __name__ == "__main__":
    main()
