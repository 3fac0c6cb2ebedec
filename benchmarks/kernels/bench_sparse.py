"""Sparse counts: one EM iteration, supervised counts and scores, against SciPy's matrix product used with care."""

import numpy as np
from scipy.sparse import csr_array

from benchmarks.kernels.timing import Contest, parse_arguments, run
from softcount import kernels

N_ROWS, N_FEATURES, TOKENS = 200_000, 50_000, 90


def zipf_counts(n_rows: int, rng: np.random.Generator) -> csr_array:
    """Documents of Zipf-distributed words, about 72 different ones each, words in no particular order."""
    frequency = 1.0 / np.arange(1, N_FEATURES + 1)
    cumulative = np.cumsum(frequency / frequency.sum())
    lengths = rng.poisson(TOKENS, size=n_rows)
    words = np.searchsorted(cumulative, rng.random(int(lengths.sum()))).clip(max=N_FEATURES - 1)
    words = rng.permutation(N_FEATURES)[words]
    rows = np.repeat(np.arange(n_rows), lengths)
    X = csr_array((np.ones(words.size), (rows, words)), shape=(n_rows, N_FEATURES))
    X.sum_duplicates()
    return X


def scipy_iteration(X, table, log_prior):
    """Scores, softmax and expected counts for all rows, in place where SciPy allows it."""
    resp = X @ table
    resp += log_prior
    top = resp.max(axis=1)
    resp -= top[:, None]
    np.exp(resp, out=resp)
    total = resp.sum(axis=1)
    resp /= total[:, None]
    return X.T @ resp, float((top + np.log(total)).sum())


def em_contest(X: csr_array, n_classes: int, threads: int, rows_per_chunk: int, *, binary: bool) -> Contest:
    """One iteration of a Bernoulli (binary) or multinomial mixture."""
    rng = np.random.default_rng(n_classes)
    n_rows = X.shape[0]
    table = np.log(rng.random((N_FEATURES, n_classes)) * 0.1 + 1e-3)
    log_prior = np.full(n_classes, -np.log(n_classes))
    data = None if binary else X.data
    starts = range(0, n_rows, rows_per_chunk)
    indexed = kernels.word_index_pays(N_FEATURES, n_classes)
    chunks = {start: (X.indptr[start : start + rows_per_chunk + 1], X.indices, data) for start in starts}
    index = {start: kernels.csr_word_index(*chunks[start], N_FEATURES) for start in starts if indexed}
    scratch = [np.empty((rows_per_chunk, n_classes)) for _ in range(threads)]
    counts = [np.zeros((N_FEATURES, n_classes)) for _ in range(threads)]
    objective = [0.0] * threads

    def ours(start, stop, lane):
        resp = scratch[lane][: stop - start]
        resp[:] = log_prior
        kernels.csr_scores(*chunks[start], table, resp)
        objective[lane] += kernels.normalize_rows(resp, None, log_prior, None)
        if indexed:
            kernels.csr_accumulate_words(index[start], resp, counts[lane])
        else:
            kernels.csr_accumulate(*chunks[start], resp, counts[lane])

    matrix = csr_array((np.ones_like(X.data), X.indices, X.indptr), shape=X.shape) if binary else X
    for start in starts:
        ours(start, min(start + rows_per_chunk, n_rows), 0)
    np.testing.assert_allclose(objective[0], scipy_iteration(matrix, table, log_prior)[1], rtol=1e-12)
    kind = "Bernoulli" if binary else "multinomial"
    return Contest(
        f"{kind} EM, K={n_classes}", n_rows, rows_per_chunk, ours,
        lambda: scipy_iteration(matrix, table, log_prior), "SciPy, two products in place",
    )  # fmt: skip


def supervised_contests(X: csr_array, n_classes: int, threads: int) -> list[Contest]:
    """Counting with known classes, and scoring."""
    rng = np.random.default_rng(0)
    n_rows, rows_per_chunk = X.shape[0], 8192
    codes = rng.integers(0, n_classes, size=n_rows).astype(np.int32)
    table = np.log(rng.random((N_FEATURES, n_classes)))
    counts = [np.zeros((n_classes, N_FEATURES)) for _ in range(threads)]
    scores = np.zeros((n_rows, n_classes))
    member = csr_array((np.ones(n_rows), (np.arange(n_rows), codes)), shape=(n_rows, n_classes))

    def count(start, stop, lane):
        kernels.csr_class_counts(X.indptr[start : stop + 1], X.indices, X.data, codes[start:stop], None, counts[lane])

    def score(start, stop, _):
        kernels.csr_scores(X.indptr[start : stop + 1], X.indices, X.data, table, scores[start:stop])

    return [
        Contest(f"class counts, K={n_classes}", n_rows, rows_per_chunk, count, lambda: member.T @ X, "SciPy Y.T @ X"),
        Contest(f"scores, K={n_classes}", n_rows, rows_per_chunk, score, lambda: X @ table, "SciPy X @ table"),
    ]


def main() -> None:
    """Print the table."""
    arguments = parse_arguments()
    X = zipf_counts(int(N_ROWS * arguments.scale), np.random.default_rng(0))
    how = (arguments.threads, arguments.rows_per_chunk)
    contests = [em_contest(X, k, *how, binary=True) for k in (2, 5, 20, 100)]
    contests.append(em_contest(X, 20, *how, binary=False))
    run(contests + supervised_contests(X, 20, arguments.threads), arguments)


if __name__ == "__main__":
    main()
