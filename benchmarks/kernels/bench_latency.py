"""What one row costs: microseconds for a call of each kernel, arguments checked."""

import timeit

import numpy as np

from softcount import kernels


def main() -> None:
    """Print one line per kernel."""
    rng = np.random.default_rng(0)
    words, table = rng.integers(0, 50_000, 72).astype(np.int32), rng.normal(size=(50_000, 20))
    indptr, scores, log_prior = np.array([0, 72], np.int32), np.zeros((1, 20)), np.full(20, -3.0)
    codes, offsets = rng.integers(0, 5, size=(1, 12)).astype(np.int8), np.arange(13) * 5
    X, mean = rng.normal(size=(1, 32)), rng.normal(size=(32, 5))
    precision, few = mean**2 + 0.1, np.zeros((1, 5))
    calls = {
        "csr_scores, 72 words, K=20": lambda: kernels.csr_scores(indptr, words, None, table, scores),
        "normalize_rows, K=20": lambda: kernels.normalize_rows(scores, None, log_prior, None),
        "codes_scores, 12 items, K=5": lambda: kernels.codes_scores(codes, offsets, table[:60, :5].copy(), few),
        "dense_scores, 32 cells, K=5": lambda: kernels.dense_scores(X, mean, few),
        "gaussian_scores, 32 cells, K=5": lambda: kernels.gaussian_scores(X, mean, precision, few),
    }
    print(f"kernels: {kernels.backend()}")
    for name, call in calls.items():
        seconds = min(timeit.repeat(call, number=2000, repeat=7)) / 2000
        print(f"{name:34}{seconds * 1e6:8.2f} us")


if __name__ == "__main__":
    main()
