"""Logistic regression on dense rows: softcount against scikit-learn's solvers and glum, to the same objective gap.

All fit the same L2-penalized model (C=1) to the same arrays, badly scaled columns included. For every rival the loosest
tolerance of a ladder is used whose answer comes within ``--gap`` of the best objective per row, so that nobody wins by
stopping early or loses by being thorough. Runs are interleaved. softcount's time includes validation; standard errors
are in the row that says so. On a busy machine use ``--threads 1`` and compare CPU seconds: BLAS threads that wait for
a core burn time. Memory is the process's peak above the data, each rival in a process of its own.

    python benchmarks/logistic_dense.py [--rows 500000] [--columns 50] [--classes 2 5] [--repeats 5] [--threads 1]
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
from scipy.special import logsumexp
from threadpoolctl import threadpool_limits

OURS, OURS_WITH_ERRORS = "softcount", "softcount, standard errors"
CHOLESKY, LBFGS, GLUM = "scikit-learn newton-cholesky", "scikit-learn lbfgs", "glum"
LADDERS = {
    OURS: [1e-3, 1e-4, 1e-5, 1e-6],
    OURS_WITH_ERRORS: [1e-3, 1e-4, 1e-5, 1e-6],
    CHOLESKY: [1e-3, 1e-4, 1e-5, 1e-6, 1e-8],
    LBFGS: [1e-4, 1e-5, 1e-6, 1e-7],
    GLUM: [1e-3, 1e-4, 1e-5, 1e-6],
}


def make_data(rows: int, columns: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Columns in different units and off zero; labels from a softmax of all of them."""
    rng = np.random.default_rng(seed)
    X = np.empty((rows, columns))
    rng.standard_normal(out=X)
    scale = np.exp(rng.uniform(-2.0, 2.0, columns))
    slopes = rng.standard_normal((columns, classes)) * 1.5 / np.sqrt(columns)
    scores = X @ slopes
    scores += rng.gumbel(size=scores.shape)
    X *= scale
    X += rng.standard_normal(columns)
    return X, scores.argmax(axis=1)


def fitter(name: str, rows: int, threads: int | None) -> Callable[[np.ndarray, np.ndarray, float], Any]:
    """A function that fits the named rival to a tolerance and returns it."""
    if name in (OURS, OURS_WITH_ERRORS):
        from softcount import LogisticRegression

        inference = name == OURS_WITH_ERRORS
        return lambda X, y, tol: LogisticRegression(tol=tol, inference=inference, n_jobs=threads).fit(X, y)
    if name == GLUM:
        from glum import GeneralizedLinearRegressor

        return lambda X, y, tol: GeneralizedLinearRegressor(
            family="binomial", alpha=1.0 / rows, l1_ratio=0, gradient_tol=tol
        ).fit(X, y.astype(np.float64))
    from sklearn.linear_model import LogisticRegression as Theirs

    solver = "lbfgs" if name == LBFGS else "newton-cholesky"
    return lambda X, y, tol: Theirs(solver=solver, tol=tol, max_iter=2000).fit(X, y)


def objective(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Penalized negative log-likelihood per row, computed the same way for all."""
    coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    penalty = 0.5 * float(np.sum(coef * coef))
    if len(coef) == 1:
        margin = np.where(y == 1, 1.0, -1.0) * (X @ coef[0] + intercept[0])
        return (float(np.logaddexp(0.0, -margin).sum()) + penalty) / len(y)
    scores = X @ coef.T + intercept
    return (float((logsumexp(scores, axis=1) - scores[np.arange(len(y)), y]).sum()) + penalty) / len(y)


def rivals_for(classes: int, *, with_lbfgs: bool) -> list[str]:
    """Who can fit this problem; glum has two classes only, and lbfgs takes minutes on columns like these."""
    names = [OURS, OURS_WITH_ERRORS, CHOLESKY]
    return [*names, *([GLUM] if classes == 2 else []), *([LBFGS] if with_lbfgs else [])]


def tune(names: list[str], X: np.ndarray, y: np.ndarray, gap: float, threads: int | None) -> dict[str, float]:
    """For each rival the loosest tolerance that comes within the gap of the best objective."""
    from softcount import LogisticRegression

    best = objective(LogisticRegression(tol=1e-10, inference=False).fit(X, y), X, y)
    chosen = {}
    for name in names:
        fit = fitter(name, len(y), threads)
        for tol in LADDERS[name]:
            chosen[name] = tol
            if objective(fit(X, y, tol), X, y) - best <= gap:
                break
    return chosen


def compare(chosen: argparse.Namespace, classes: int) -> None:
    """Tune all rivals, time them in turn, and print a table."""
    rows, columns, repeats = chosen.rows, chosen.columns, chosen.repeats
    X, y = make_data(rows, columns, classes)
    names = rivals_for(classes, with_lbfgs=chosen.lbfgs)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    work: dict[str, list[float]] = {name: [] for name in names}
    models: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tolerances = tune(names, X, y, chosen.gap, chosen.threads)
        for _ in range(repeats):
            for name in names:
                fit = fitter(name, rows, chosen.threads)
                began, spent = time.perf_counter(), time.process_time()
                models[name] = fit(X, y, tolerances[name])
                seconds[name].append(time.perf_counter() - began)
                work[name].append(time.process_time() - spent)
    objectives = {name: objective(model, X, y) for name, model in models.items()}
    best = min(objectives.values())
    ours, our_work = statistics.median(seconds[OURS]), statistics.median(work[OURS])
    print(f"\n{classes} classes, {rows} x {columns}, {X.nbytes / 2**20:.0f} MB, median of {repeats} interleaved runs")
    print(f"{'':30s} {'tol':>6s} {'seconds':>8s} {'ratio':>6s} {'CPU s':>7s} {'ratio':>6s} {'gap':>8s} {'MB':>7s}")
    for name in names:
        wall, spent = statistics.median(seconds[name]), statistics.median(work[name])
        extra = peak_memory(name, rows, columns, classes, tolerances[name])
        print(
            f"{name:30s} {tolerances[name]:6.0e} {wall:8.3f} {wall / ours:6.2f} {spent:7.3f} {spent / our_work:6.2f} "
            f"{objectives[name] - best:8.1e} {extra:7.1f}"
        )


def peak_memory(name: str, rows: int, columns: int, classes: int, tol: float) -> float:
    """Megabytes the process's peak rises above the data while it fits, in a fresh process."""
    command = [sys.executable, __file__, "--peak", name, "--tol", str(tol), "--classes", str(classes)]
    command += ["--rows", str(rows), "--columns", str(columns)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(run.stdout)["megabytes"])


def peak_kilobytes() -> float:
    """Highest resident size of this process so far."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return float(line.split()[1])
    raise SystemExit("Peak memory is read from /proc/self/status, which this system does not have.")


def print_peak(name: str, rows: int, columns: int, classes: int, tol: float) -> None:
    """Fit once and print how far the peak rose; libraries are loaded by a tiny fit first."""
    X, y = make_data(rows, columns, classes)
    fit = fitter(name, rows, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(X[:3000].copy(), y[:3000].copy(), tol)
        before = peak_kilobytes()
        fit(X, y, tol)
    print(json.dumps({"megabytes": (peak_kilobytes() - before) / 1024.0}))


def main() -> None:
    """Run the comparison for every number of classes asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 5])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, help="threads of everyone; all cores by default")
    parser.add_argument("--gap", type=float, default=1e-8)
    parser.add_argument("--lbfgs", action="store_true", help="let scikit-learn's lbfgs take part as well")
    parser.add_argument("--peak", choices=list(LADDERS), help=argparse.SUPPRESS)
    parser.add_argument("--tol", type=float, default=1e-4, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.peak:
        print_peak(chosen.peak, chosen.rows, chosen.columns, chosen.classes[0], chosen.tol)
        return
    with threadpool_limits(chosen.threads):
        for classes in chosen.classes:
            compare(chosen, classes)


if __name__ == "__main__":
    main()
