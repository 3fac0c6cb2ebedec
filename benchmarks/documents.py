"""Made-up documents: words by Zipf's law, some of them telling of the document's class."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

#: As many tokens give about 70 different words a row with 50,000 columns.
TOKENS = 95
#: The share of tokens that are typical of the class.
TELLING = 0.05


def word_counts(
    n_rows: int, n_columns: int, n_classes: int, *, tokens: int = TOKENS, seed: int = 0
) -> tuple[csr_array, NDArray[np.int64]]:
    """Counts of words, columns in no particular order, and the class of each row.

    Typical words of class c are the common ones, shifted by c shares of the vocabulary: a class has its own commonest
    words, and no column belongs to one class alone.
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n_rows)
    truth[:n_classes] = np.arange(n_classes)
    lengths = rng.poisson(tokens, n_rows)
    words = _zipf(n_columns, int(lengths.sum()), rng)
    shift = (np.repeat(truth, lengths) * (n_columns // n_classes)) * (rng.random(words.size) < TELLING)
    words = rng.permutation(n_columns)[(words + shift) % n_columns].astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    X = csr_array((np.ones(words.size), words, indptr), shape=(n_rows, n_columns))
    X.sum_duplicates()
    # A copy of the right length: what summing leaves behind would count as memory of the data.
    return csr_array((X.data[: X.nnz].copy(), X.indices[: X.nnz].copy(), X.indptr), shape=X.shape), truth


def binary(X: csr_array) -> csr_array:
    """The same pattern with a one in every cell."""
    return csr_array((np.ones(X.nnz), X.indices, X.indptr), shape=X.shape)


def unit_tfidf(X: csr_array) -> csr_array:
    """Damped counts, weighted down for common words, in rows of unit length."""
    n_rows, n_columns = X.shape
    seen = np.bincount(X.indices, minlength=n_columns)
    data = (1.0 + np.log(X.data)) * (1.0 + np.log((1.0 + n_rows) / (1.0 + seen)))[X.indices]
    row = np.repeat(np.arange(n_rows), np.diff(X.indptr))
    data /= np.sqrt(np.bincount(row, data**2, minlength=n_rows))[row]
    return csr_array((data, X.indices, X.indptr), shape=X.shape)


def few_labels(truth: NDArray[np.int64], n_classes: int, share: float, seed: int = 0) -> NDArray[np.float64]:
    """Classes of a share of the rows, every class among them; NaN for the rest."""
    rng = np.random.default_rng(seed)
    y = np.full(truth.size, np.nan)
    known = rng.choice(truth.size, int(share * truth.size), replace=False)
    y[known] = truth[known]
    y[:n_classes] = truth[:n_classes]
    return y


def texts(n_texts: int, letters: str, *, words: int = 100, n_words: int = 100_000, seed: int = 0) -> list[str]:
    """Sentences of made-up words of these letters."""
    rng = np.random.default_rng(seed)
    listed = _made_up_words(n_words, letters, rng)
    picks = _zipf(n_words, n_texts * words, rng).reshape(n_texts, words)
    return [" ".join([listed[i] for i in row]).capitalize() + "." for row in picks.tolist()]


def messages(
    n_messages: int, n_classes: int = 2, *, words: int = 70, telling: float = 0.3, n_words: int = 100_000, seed: int = 0
) -> tuple[list[str], NDArray[np.int64]]:
    """Sentences of made-up words, and their classes, of which a share of the words tells as in :func:`word_counts`."""
    rng = np.random.default_rng(seed)
    listed = _made_up_words(n_words, "etaoinshrdlucmfw", rng)
    truth = rng.integers(0, n_classes, n_messages)
    lengths = rng.poisson(words, n_messages)
    picks = _zipf(n_words, int(lengths.sum()), rng)
    shift = np.repeat(truth, lengths) * (n_words // n_classes) * (rng.random(picks.size) < telling)
    chosen = ((picks + shift) % n_words).tolist()
    ends = np.concatenate([[0], np.cumsum(lengths)]).tolist()
    return [" ".join([listed[i] for i in chosen[a:b]]).capitalize() + "." for a, b in pairwise(ends)], truth


def _made_up_words(n_words: int, letters: str, rng: np.random.Generator) -> list[str]:
    lengths = rng.integers(2, 11, n_words)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    run = "".join(rng.choice(list(letters), int(starts[-1])))
    return [run[a:b] for a, b in pairwise(starts.tolist())]


def _zipf(n: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    cumulative = np.cumsum(1.0 / np.arange(1, n + 1))
    # Rounding may put a draw behind the last number.
    return np.searchsorted(cumulative / cumulative[-1], rng.random(size)).clip(max=n - 1)
