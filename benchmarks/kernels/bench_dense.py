"""Categories, dense binary cells and Gaussian rows against the best forms known in NumPy."""

import numpy as np

from benchmarks.kernels.timing import Contest, parse_arguments, run
from softcount import kernels


def softmax(scores):
    """Responsibilities in place, and the log-likelihood."""
    top = scores.max(axis=1)
    scores -= top[:, None]
    np.exp(scores, out=scores)
    total = scores.sum(axis=1)
    scores /= total[:, None]
    return float((top + np.log(total)).sum())


def latent_class(scale: float, threads: int, missing: float) -> Contest:
    """One EM iteration of a latent-class model: 12 items of 5 levels, 6 classes."""
    rng = np.random.default_rng(0)
    n, d, levels, k, rows_per_chunk = int(100_000 * scale), 12, 5, 6, 4096
    codes = rng.integers(0, levels, size=(n, d)).astype(np.int8)
    codes[rng.random(codes.shape) < missing] = -1
    offsets = np.arange(d + 1) * levels
    table = np.log(rng.dirichlet(np.ones(levels), size=(d, k)).transpose(0, 2, 1).reshape(-1, k).copy())
    log_prior = np.full(k, -np.log(k))
    one_hot = (codes[:, :, None] == np.arange(levels)).reshape(n, -1).astype(np.float64)
    scratch = [np.empty((rows_per_chunk, k)) for _ in range(threads)]
    counts = [np.zeros_like(table) for _ in range(threads)]

    def ours(start, stop, lane):
        resp = scratch[lane][: stop - start]
        resp[:] = log_prior
        kernels.codes_scores(codes[start:stop], offsets, table, resp)
        kernels.normalize_rows(resp, None, log_prior, None)
        kernels.codes_accumulate(codes[start:stop], offsets, resp, counts[lane])

    def rival():
        resp = one_hot @ table
        resp += log_prior
        softmax(resp)
        return one_hot.T @ resp

    ours(0, min(rows_per_chunk, n), 0)
    return Contest(f"latent classes, {missing:.0%} missing", n, rows_per_chunk, ours, rival, "NumPy one-hot products")


def bernoulli(scale: float, threads: int, k: int, dtype: str) -> Contest:
    """One EM iteration of a Bernoulli mixture on binary images: 784 cells, a fifth of them set."""
    rng = np.random.default_rng(0)
    n, d, rows_per_chunk = int(60_000 * scale), 784, 4096
    X = (rng.random((n, d)) < np.repeat(rng.beta(0.3, 1.2, size=d // 8), 8)).astype(dtype)
    numbers = X.astype(np.float64)
    table, log_prior = rng.normal(size=(d, k)), np.full(k, -np.log(k))
    scratch = [np.empty((rows_per_chunk, k)) for _ in range(threads)]
    counts = [np.zeros_like(table) for _ in range(threads)]

    def ours(start, stop, lane):
        resp = scratch[lane][: stop - start]
        resp[:] = log_prior
        kernels.dense_scores(X[start:stop], table, resp)
        kernels.normalize_rows(resp, None, log_prior, None)
        kernels.dense_accumulate(X[start:stop], resp, counts[lane])

    def rival():
        resp = numbers @ table
        resp += log_prior
        softmax(resp)
        return numbers.T @ resp

    return Contest(f"Bernoulli 784, K={k}, {dtype}", n, rows_per_chunk, ours, rival, "NumPy, two products")


def gaussian_mixture(scale: float, threads: int) -> list[Contest]:
    """Scores and moments of Gaussian mixtures: 16 columns, 10 classes, diagonal and full."""
    rng = np.random.default_rng(0)
    n, d, k, rows_per_chunk = int(500_000 * scale), 16, 10, 4096
    X, mean, precision = rng.normal(size=(n, d)), rng.normal(size=(d, k)), rng.random((d, k)) + 0.5
    factors, means = np.triu(rng.normal(size=(k, d, d))), mean.T.copy()
    log_prior, log_det = np.full(k, -np.log(k)), np.zeros(k)
    scratch = [np.empty((rows_per_chunk, k)) for _ in range(threads)]
    moments = [[np.zeros((d, k)) for _ in range(3)] for _ in range(threads)]
    full = [[np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d))] for _ in range(threads)]

    def diagonal(start, stop, lane):
        resp = scratch[lane][: stop - start]
        resp[:] = log_prior
        kernels.gaussian_scores(X[start:stop], mean, precision, resp)
        kernels.normalize_rows(resp, None, log_prior, None)
        kernels.gaussian_moments(X[start:stop], resp, mean, *moments[lane])

    def diagonal_rival():
        resp = (X**2) @ (-0.5 * precision) + X @ (mean * precision) - 0.5 * (mean**2 * precision).sum(axis=0)
        softmax(resp)
        return X.T @ resp, (X**2).T @ resp

    def general(start, stop, lane):
        resp = scratch[lane][: stop - start]
        resp[:] = log_prior
        kernels.gaussian_full_scores(X[start:stop], means, factors, log_det, resp)
        kernels.normalize_rows(resp, None, log_prior, None)
        kernels.gaussian_full_moments(X[start:stop], resp, means, *full[lane])

    def general_rival():
        resp = np.empty((n, k))
        for c in range(k):
            whitened = (X - means[c]) @ factors[c]
            resp[:, c] = -0.5 * np.einsum("ij,ij->i", whitened, whitened)
        softmax(resp)
        return [(resp[:, c, None] * X).T @ X for c in range(k)]

    return [
        Contest("Gaussian mixture, diagonal", n, rows_per_chunk, diagonal, diagonal_rival, "NumPy products"),
        Contest("Gaussian mixture, full", n, rows_per_chunk, general, general_rival, "NumPy product per class"),
    ]


def gaussian_naive_bayes(scale: float, threads: int) -> list[Contest]:
    """Moments of known classes and class probabilities: 32 columns, 5 classes."""
    rng = np.random.default_rng(0)
    n, d, k, rows_per_chunk = int(1_000_000 * scale), 32, 5, 4096
    X, mean, precision = rng.normal(size=(n, d)), rng.normal(size=(d, k)), rng.random((d, k)) + 0.5
    codes, log_prior = rng.integers(0, k, size=n).astype(np.int32), np.full(k, -np.log(k))
    moments = [[np.zeros((d, k)) for _ in range(3)] for _ in range(threads)]
    proba = np.empty((n, k))

    def fit(start, stop, lane):
        kernels.gaussian_class_moments(X[start:stop], codes[start:stop], None, mean, *moments[lane])

    def fit_rival():
        return [(X[codes == c].mean(axis=0), X[codes == c].var(axis=0)) for c in range(k)]

    def predict(start, stop, _):
        proba[start:stop] = log_prior
        kernels.gaussian_scores(X[start:stop], mean, precision, proba[start:stop])
        kernels.normalize_rows(proba[start:stop], None, log_prior, None)

    def predict_rival():
        scores = (X**2) @ (-0.5 * precision) + X @ (mean * precision) - 0.5 * (mean**2 * precision).sum(axis=0)
        softmax(scores)

    return [
        Contest("Gaussian NB, fit", n, rows_per_chunk, fit, fit_rival, "NumPy mean and var per class"),
        Contest("Gaussian NB, probabilities", n, rows_per_chunk, predict, predict_rival, "NumPy products"),
    ]


def main() -> None:
    """Print the table."""
    arguments = parse_arguments()
    scale, threads = arguments.scale, arguments.threads
    contests = [latent_class(scale, threads, missing) for missing in (0.1, 0.0)]
    contests += [bernoulli(scale, threads, k, dtype) for dtype in ("uint8", "float64") for k in (10, 50)]
    run(contests + gaussian_mixture(scale, threads) + gaussian_naive_bayes(scale, threads), arguments)


if __name__ == "__main__":
    main()
