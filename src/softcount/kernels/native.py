"""The compiled kernels: the names, arguments and answers of :mod:`softcount.kernels.fallback`.

What each of them computes is documented there. Arrays are used where they lie; only a table of samples
that is not laid out row by row, or has an unusual number type, is copied, and then only the chunk at hand.
"""

import numpy as np

from softcount.kernels import _native
from softcount.kernels.arrays import ClassCodes, FloatArray, IndexArray, NumberArray
from softcount.kernels.number_range import NumberRange
from softcount.kernels.word_index import WordIndex

__all__ = [
    "codes_accumulate",
    "codes_class_counts",
    "codes_pass",
    "codes_scores",
    "csr_accumulate",
    "csr_accumulate_words",
    "csr_class_counts",
    "csr_repeats",
    "csr_scores",
    "csr_word_index",
    "dense_accumulate",
    "dense_class_counts",
    "dense_scores",
    "gaussian_class_moments",
    "gaussian_full_moments",
    "gaussian_full_scores",
    "gaussian_moments",
    "gaussian_scores",
    "logistic_score",
    "normalize_rows",
    "number_range",
]


def csr_scores(
    indptr: IndexArray, indices: IndexArray, data: NumberArray | None, table: FloatArray, out: FloatArray
) -> None:
    """Add ``X @ table`` for one chunk of sparse rows; see the fallback."""
    _native.csr_scores(indptr, indices, data, table, out)


def csr_accumulate(
    indptr: IndexArray, indices: IndexArray, data: NumberArray | None, resp: FloatArray, out: FloatArray
) -> None:
    """Add ``X.T @ resp`` for one chunk of sparse rows; see the fallback."""
    _native.csr_accumulate(indptr, indices, data, resp, out)


def csr_class_counts(
    indptr: IndexArray,
    indices: IndexArray,
    data: NumberArray | None,
    class_codes: ClassCodes,
    weight: FloatArray | None,
    out: FloatArray,
) -> None:
    """Add the weighted column sums of each known class; see the fallback."""
    _native.csr_class_counts(indptr, indices, data, class_codes, weight, out)


def csr_repeats(indptr: IndexArray, indices: IndexArray, n_features: int) -> bool:
    """Whether some row lists a column more than once; see the fallback."""
    return _native.csr_repeats(indptr, indices, None, np.full(n_features, -1, np.int32))


def csr_word_index(
    indptr: IndexArray, indices: IndexArray, data: NumberArray | None, n_features: int
) -> WordIndex | None:
    """Sort the non-zeros of one chunk by column; see the fallback."""
    n_rows, n_entries = indptr.shape[0] - 1, int(indptr[-1]) - int(indptr[0])
    n_words = min(n_entries, n_features)
    words, starts = np.empty(n_words, np.int32), np.empty(n_words + 1, np.int32)
    rows, counts = np.empty(n_entries, np.uint16), np.empty(n_entries, np.uint8)
    cursor = np.empty(n_features, np.int32)
    found = _native.csr_word_index(indptr, indices, data, cursor, words, starts, rows, counts)
    if found is None:
        return None
    n_words, n_entries, has_counts = found
    # Copies, so that the memory of what was not needed is given back.
    return WordIndex(
        words=words[:n_words].copy(),
        starts=starts[: n_words + 1].copy(),
        rows=rows if rows.size == n_entries else rows[:n_entries].copy(),
        counts=counts[:n_entries].copy() if has_counts else None,
        n_rows=n_rows,
        n_features=n_features,
    )


def csr_accumulate_words(index: WordIndex, resp: FloatArray, out: FloatArray) -> None:
    """Do what csr_accumulate does, from the column-sorted index of the chunk; see the fallback."""
    _native.csr_accumulate_words(index.words, index.starts, index.rows, index.counts, resp, out)


def codes_scores(codes: NumberArray, offsets: NumberArray, table: FloatArray, out: FloatArray) -> None:
    """Add, for every cell that is present, the table row of its level; see the fallback."""
    _native.codes_scores(_row_by_row(codes), offsets, table, out)


def codes_accumulate(codes: NumberArray, offsets: NumberArray, resp: FloatArray, out: FloatArray) -> None:
    """Add each row's responsibilities to the levels of its cells; see the fallback."""
    _native.codes_accumulate(_row_by_row(codes), offsets, resp, out)


def codes_class_counts(
    codes: NumberArray,
    offsets: NumberArray,
    class_codes: ClassCodes,
    weight: FloatArray | None,
    out: FloatArray,
) -> None:
    """Add each row's weight to the levels of its cells, in the column of its class; see the fallback."""
    _native.codes_class_counts(_row_by_row(codes), offsets, class_codes, weight, out)


def codes_pass(
    codes: NumberArray,
    offsets: NumberArray,
    table: FloatArray,
    log_weights: FloatArray,
    row_weight: FloatArray | None,
    counts: FloatArray,
    class_weight: FloatArray,
    log_likelihood: FloatArray,
) -> None:
    """One pass of EM over rows without labels, for one or several runs; see the fallback."""
    _native.codes_pass(
        _row_by_row(codes), offsets, table, log_weights, row_weight, counts, class_weight, log_likelihood
    )


def dense_scores(X: NumberArray, table: FloatArray, out: FloatArray) -> None:
    """Add ``X @ table``; see the fallback."""
    _native.dense_scores(_row_by_row(X), table, out)


def dense_accumulate(X: NumberArray, resp: FloatArray, out: FloatArray) -> None:
    """Add ``X.T @ resp``; see the fallback."""
    _native.dense_accumulate(_row_by_row(X), resp, out)


def dense_class_counts(X: NumberArray, class_codes: ClassCodes, weight: FloatArray | None, out: FloatArray) -> None:
    """Add the weighted column sums of each known class; see the fallback."""
    _native.dense_class_counts(_row_by_row(X), class_codes, weight, out)


def gaussian_scores(X: NumberArray, mean: FloatArray, precision: FloatArray, out: FloatArray) -> None:
    """Add the log-density of each row's observed cells under each class; see the fallback."""
    _native.gaussian_scores(_real(X), mean, precision, out)


def gaussian_moments(
    X: NumberArray,
    resp: FloatArray,
    center: FloatArray,
    weight_out: FloatArray,
    sum_out: FloatArray,
    square_out: FloatArray,
) -> None:
    """Add the weighted moments of each column about a center; see the fallback."""
    _native.gaussian_moments(_real(X), resp, center, weight_out, sum_out, square_out)


def gaussian_class_moments(
    X: NumberArray,
    class_codes: ClassCodes,
    weight: FloatArray | None,
    center: FloatArray,
    weight_out: FloatArray,
    sum_out: FloatArray,
    square_out: FloatArray,
) -> None:
    """Add the moments of each column for known classes; see the fallback."""
    _native.gaussian_class_moments(_real(X), class_codes, weight, center, weight_out, sum_out, square_out)


def gaussian_full_scores(
    X: NumberArray, mean: FloatArray, precision_chol: FloatArray, log_det: FloatArray, out: FloatArray
) -> None:
    """Add the log-density of each row under each class's full Gaussian; see the fallback."""
    _native.gaussian_full_scores(_real(X), mean, precision_chol, log_det, out)


def gaussian_full_moments(
    X: NumberArray,
    resp: FloatArray,
    center: FloatArray,
    weight_out: FloatArray,
    sum_out: FloatArray,
    scatter_out: FloatArray,
) -> None:
    """Add weighted first and second moments of the rows about each class's center; see the fallback."""
    _native.gaussian_full_moments(_real(X), resp, center, weight_out, sum_out, scatter_out)


def logistic_score(
    X: FloatArray,
    coef: FloatArray,
    offset: FloatArray | None,
    sign: FloatArray,
    weight: FloatArray | None,
    score: FloatArray,
    log_likelihood: FloatArray,
) -> None:
    """Add score and log-likelihood of dense rows of two classes; see the fallback."""
    _native.logistic_score(X, coef, offset, sign, weight, score, log_likelihood)


def normalize_rows(
    scores: FloatArray,
    row_weight: FloatArray | None,
    fallback_log_prob: FloatArray,
    log_norm_out: FloatArray | None,
) -> float:
    """Turn joint log-probabilities into weighted responsibilities, in place; see the fallback."""
    return _native.normalize_rows(scores, row_weight, fallback_log_prob, log_norm_out)


def number_range(numbers: NumberArray) -> NumberRange:
    """Return the least and the greatest number, the total, and whether any is missing; see the fallback."""
    return NumberRange(*_native.number_range(_row_by_row(numbers)))


def _row_by_row(X: NumberArray) -> NumberArray:
    """Return X as the compiled loops read it: C-contiguous, in one of the processor's own number types."""
    if X.flags.c_contiguous and X.dtype.isnative and X.dtype.char in "?bBhHiIlLqQfd":
        return X
    of_our_types = X.dtype.newbyteorder("=") if X.dtype.char in "?bBhHiIlLqQfd" else np.dtype(np.float64)
    return np.ascontiguousarray(X, of_our_types)


def _real(X: NumberArray) -> NumberArray:
    """Return X as C-contiguous float64 or float32."""
    if X.dtype.char in "fd":
        return _row_by_row(X)
    return np.ascontiguousarray(X, np.float64)
