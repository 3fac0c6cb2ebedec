"""EM of multinomial naive Bayes on sparse rows, per iteration: softcount against a careful two-matmul SciPy version.

Both run the same iterations from the same start; their log-likelihoods are compared before anything is timed. Memory is
the process's peak above the data, measured in a process of its own.

    python benchmarks/bench_sparse_em.py [--rows 200000] [--columns 50000] [--nonzeros 60] [--classes 20]
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp


def make_data(rows: int, columns: int, nonzeros: int, classes: int, seed: int = 0) -> tuple[sp.csr_array, np.ndarray]:
    """Sparse counts with Zipf-distributed words and a few words per class; 1 % of the rows have labels."""
    rng = np.random.default_rng(seed)
    lengths = rng.poisson(nonzeros, rows)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    truth = rng.integers(0, classes, rows)
    common = np.minimum((columns * rng.random(indptr[-1]) ** 3).astype(np.int32), columns - 1)
    own = (rng.integers(0, columns // classes, indptr[-1]) * classes + np.repeat(truth, lengths)).astype(np.int32)
    indices = np.where(rng.random(indptr[-1]) < 0.3, own, common).astype(np.int32)
    X = sp.csr_array((np.ones(indptr[-1]), indices, indptr), shape=(rows, columns))
    X.sum_duplicates()
    y = np.full(rows, np.nan)
    known = rng.choice(rows, max(rows // 100, classes), replace=False)
    y[known] = truth[known]
    return X, y


def scipy_em(X: sp.csr_array, y: np.ndarray, n_iter: int, alpha: float = 1.0) -> tuple[list[float], list[float]]:
    """Two matmuls per iteration, everything else in place; objective after each iteration and seconds of each."""
    known = ~np.isnan(y)
    classes = np.unique(y[known]).astype(int)
    codes = y[known].astype(int)
    start = np.zeros((X.shape[0], classes.size))
    start[np.flatnonzero(known), codes] = 1.0
    resp = start.copy()
    XT = X.T
    objectives, seconds = [], []
    for _ in range(n_iter + 1):
        began = time.perf_counter()
        counts = XT @ resp
        counts += alpha
        log_prob = np.log(counts, out=counts)
        log_prob -= np.log(np.exp(log_prob).sum(axis=0))
        weight = resp.sum(axis=0)
        log_prior = np.log(weight / weight.sum())
        scores = X @ log_prob
        scores += log_prior
        labeled = scores[np.flatnonzero(known), codes].sum()
        top = scores.max(axis=1, keepdims=True)
        scores -= top
        np.exp(scores, out=scores)
        total = scores.sum(axis=1, keepdims=True)
        scores /= total
        unlabeled = (top[~known] + np.log(total[~known])).sum()
        scores[known] = start[known]
        resp = scores
        seconds.append(time.perf_counter() - began)
        objectives.append(labeled + unlabeled + alpha * log_prob.sum())
    return objectives, seconds


def softcount_em(X: sp.csr_array, y: np.ndarray, n_iter: int) -> tuple[list[float], list[float]]:
    """Objective after each iteration and seconds of each, from ``history_``."""
    from softcount import MultinomialNB

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MultinomialNB(max_iter=n_iter, tol=0.0, unlabeled_weight=1.0).fit(X, y)
    times = [step.seconds for step in model.history_]
    return [step.objective for step in model.history_], [times[0], *np.diff(times).tolist()]


def peak_above_data(args: argparse.Namespace, which: str) -> float:
    """Peak memory of a fit above the memory once the data are made, in MB, in a process of its own."""
    command = [sys.executable, __file__, "--memory", which, "--rows", str(args.rows), "--columns", str(args.columns)]
    command += ["--nonzeros", str(args.nonzeros), "--classes", str(args.classes)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def current_mb() -> float:
    """Resident memory now."""
    with Path("/proc/self/statm").open() as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() / 2**20


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=50_000)
    parser.add_argument("--nonzeros", type=int, default=60)
    parser.add_argument("--classes", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory", choices=["softcount", "scipy"])
    args = parser.parse_args()
    X, y = make_data(args.rows, args.columns, args.nonzeros, args.classes)
    run = {"softcount": softcount_em, "scipy": scipy_em}
    if args.memory:
        import softcount.estimators.naive_bayes  # noqa: F401  (imports are not part of the fit)

        Path("/proc/self/clear_refs").write_text("5")
        before = current_mb()
        run[args.memory](X, y, 2)
        with Path("/proc/self/status").open() as status:
            peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
        print(peak - before)
        return
    ours, theirs = softcount_em(X, y, 3), scipy_em(X, y, 3)
    gap = max(abs(a - b) / abs(b) for a, b in zip(ours[0], theirs[0], strict=True))
    assert gap < 1e-9, (ours[0], theirs[0])
    times: dict[str, list[float]] = {"softcount": [], "scipy": []}
    for _ in range(args.repeats):
        for name, values in times.items():
            values.extend(run[name](X, y, 3)[1][1:])
    medians = {name: statistics.median(measured) for name, measured in times.items()}
    result = {
        "workload": f"sparse EM {args.rows} x {args.columns}, {X.nnz / args.rows:.0f} nnz/row, K={args.classes}",
        "softcount_ms": 1000 * medians["softcount"],
        "scipy_ms": 1000 * medians["scipy"],
        "ratio": medians["scipy"] / medians["softcount"],
        "likelihood_gap": gap,
        "softcount_peak_mb": peak_above_data(args, "softcount"),
        "scipy_peak_mb": peak_above_data(args, "scipy"),
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
