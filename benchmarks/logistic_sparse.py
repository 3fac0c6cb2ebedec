"""Logistic regression on wide sparse rows: softcount against scikit-learn's solvers, to the same objective gap.

Rows look like documents: words by Zipf's law, as counts or as tf-idf of unit length, labels from a fifth of the words.
All fit the same L2-penalized model (C=1). For every rival the loosest tolerance of a ladder is used whose answer comes
within ``--gap`` of the best objective per row; one that needs more than ``--patience`` seconds for it is left out, with
the gap it had reached. Runs are interleaved. No solver here forms a matrix of all columns (glum does, and cannot take
part). Memory is the process's peak above the data, each rival in a process of its own.

    python benchmarks/logistic_sparse.py [--rows 200000] [--columns 50000] [--kinds tfidf counts] [--repeats 3]
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
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

OURS = "softcount"
LADDERS = {
    OURS: [1e-3, 1e-4, 1e-5],
    "scikit-learn lbfgs": [1e-4, 1e-5, 1e-6, 1e-7],
    "scikit-learn newton-cg": [1e-4, 1e-5, 1e-6, 1e-7],
    "scikit-learn saga": [1e-3, 1e-4, 1e-5],
}
KINDS = ("tfidf", "counts")
WORDS_PER_ROW = 97


def make_data(rows: int, columns: int, kind: str, seed: int = 0) -> tuple[sp.csr_matrix, np.ndarray]:
    """Documents and labels."""
    rng = np.random.default_rng(seed)
    shares = 1.0 / np.arange(1, columns + 1)
    lengths = rng.poisson(WORDS_PER_ROW, rows)
    words = np.searchsorted(np.cumsum(shares / shares.sum()), rng.random(int(lengths.sum())))
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    indices = np.minimum(words, columns - 1).astype(np.int32)
    X = sp.csr_matrix((np.ones(len(indices)), indices, indptr), shape=(rows, columns))
    X.sum_duplicates()
    if kind == "tfidf":
        seen = np.bincount(X.indices, minlength=columns)
        X.data = (1.0 + np.log(X.data)) * (1.0 + np.log((1.0 + rows) / (1.0 + seen)))[X.indices]
        per_row = np.repeat(np.arange(rows), np.diff(X.indptr))
        X.data /= np.sqrt(np.bincount(per_row, X.data**2, minlength=rows))[per_row]
    predictor = X @ (rng.standard_normal(columns) * (rng.random(columns) < 0.2))
    predictor = 2.0 * (predictor - predictor.mean()) / predictor.std()
    return X, (rng.random(rows) < 1.0 / (1.0 + np.exp(-predictor))).astype(np.int64)


def fitter(name: str, threads: int | None) -> Callable[[Any, np.ndarray, float], Any]:
    """A function that fits the named rival to a tolerance and returns it."""
    if name == OURS:
        from softcount import LogisticRegression

        return lambda X, y, tol: LogisticRegression(tol=tol, n_jobs=threads).fit(X, y)
    from sklearn.linear_model import LogisticRegression as Theirs

    solver = name.removeprefix("scikit-learn ")
    return lambda X, y, tol: Theirs(solver=solver, tol=tol, max_iter=5000, random_state=0).fit(X, y)


def objective(model: Any, X: Any, y: np.ndarray) -> float:
    """Penalized negative log-likelihood per row, computed the same way for all."""
    coef = np.ravel(model.coef_)
    margin = np.where(y == 1, 1.0, -1.0) * (X @ coef + float(np.ravel(model.intercept_)[0]))
    return (float(np.logaddexp(0.0, -margin).sum()) + 0.5 * float(coef @ coef)) / len(y)


def tune(X: Any, y: np.ndarray, chosen: argparse.Namespace) -> dict[str, float]:
    """For each rival the loosest tolerance that comes within the gap, where it has the patience."""
    from softcount import LogisticRegression

    best = objective(LogisticRegression(tol=1e-8, n_jobs=chosen.threads).fit(X, y), X, y)
    found = {}
    for name, ladder in LADDERS.items():
        for tol in ladder:
            began = time.perf_counter()
            gap = objective(fitter(name, chosen.threads)(X, y, tol), X, y) - best
            took = time.perf_counter() - began
            if gap <= chosen.gap:
                found[name] = tol
                break
            if took > chosen.patience:
                print(f"{name} left out: {took:.0f} s with tol={tol:g}, gap {gap:.1e}")
                break
    return found


def compare(chosen: argparse.Namespace, kind: str) -> None:
    """Tune all rivals, time them in turn, and print a table."""
    X, y = make_data(chosen.rows, chosen.columns, kind)
    size = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 2**20
    print(f"\n{kind}, {chosen.rows} x {chosen.columns}, {X.nnz / chosen.rows:.0f} words a row, {size:.0f} MB")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tolerances = tune(X, y, chosen)
        seconds: dict[str, list[float]] = {name: [] for name in tolerances}
        work: dict[str, list[float]] = {name: [] for name in tolerances}
        models: dict[str, Any] = {}
        for _ in range(chosen.repeats):
            for name, tol in tolerances.items():
                began, spent = time.perf_counter(), time.process_time()
                models[name] = fitter(name, chosen.threads)(X, y, tol)
                seconds[name].append(time.perf_counter() - began)
                work[name].append(time.process_time() - spent)
    objectives = {name: objective(model, X, y) for name, model in models.items()}
    best = min(objectives.values())
    ours, our_work = statistics.median(seconds[OURS]), statistics.median(work[OURS])
    print(f"{'':24s} {'tol':>6s} {'seconds':>8s} {'ratio':>6s} {'CPU s':>7s} {'ratio':>6s} {'gap':>8s} {'MB':>7s}")
    for name, tol in tolerances.items():
        wall, spent = statistics.median(seconds[name]), statistics.median(work[name])
        extra = peak_memory(name, chosen, kind, tol)
        print(
            f"{name:24s} {tol:6.0e} {wall:8.2f} {wall / ours:6.2f} {spent:7.2f} {spent / our_work:6.2f} "
            f"{objectives[name] - best:8.1e} {extra:7.1f}"
        )


def peak_memory(name: str, chosen: argparse.Namespace, kind: str, tol: float) -> float:
    """Megabytes the process's peak rises above the data while it fits, in a fresh process."""
    command = [sys.executable, __file__, "--peak", name, "--tol", str(tol), "--kinds", kind]
    command += ["--rows", str(chosen.rows), "--columns", str(chosen.columns)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(run.stdout)["megabytes"])


def peak_kilobytes() -> float:
    """Highest resident size of this process so far."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return float(line.split()[1])
    raise SystemExit("Peak memory is read from /proc/self/status, which this system does not have.")


def print_peak(chosen: argparse.Namespace) -> None:
    """Fit once and print how far the peak rose; the peak of making the data is forgotten first."""
    X, y = make_data(chosen.rows, chosen.columns, chosen.kinds[0])
    fit = fitter(chosen.peak, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(X[:500], y[:500], chosen.tol)
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        before = peak_kilobytes()
        fit(X, y, chosen.tol)
    print(json.dumps({"megabytes": (peak_kilobytes() - before) / 1024.0}))


def main() -> None:
    """Run the comparison for every kind of table asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=50_000)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, help="threads of everyone; all cores by default")
    parser.add_argument("--patience", type=float, default=120.0)
    parser.add_argument("--gap", type=float, default=1e-8)
    parser.add_argument("--peak", choices=list(LADDERS), help=argparse.SUPPRESS)
    parser.add_argument("--tol", type=float, default=1e-4, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.peak:
        print_peak(chosen)
        return
    with threadpool_limits(chosen.threads):
        for kind in chosen.kinds:
            compare(chosen, kind)


if __name__ == "__main__":
    main()
