"""The kernels in NumPy and SciPy: what the compiled ones must equal, and what serves without a compiler."""

from softcount.kernels.fallback.codes import codes_accumulate, codes_class_counts, codes_pass, codes_scores
from softcount.kernels.fallback.csr import (
    csr_accumulate,
    csr_accumulate_words,
    csr_class_counts,
    csr_repeats,
    csr_scores,
    csr_word_index,
)
from softcount.kernels.fallback.dense import dense_accumulate, dense_class_counts, dense_scores
from softcount.kernels.fallback.gaussian import gaussian_class_moments, gaussian_moments, gaussian_scores
from softcount.kernels.fallback.gaussian_full import gaussian_full_moments, gaussian_full_scores
from softcount.kernels.fallback.logistic import logistic_score
from softcount.kernels.fallback.normalize import normalize_rows
from softcount.kernels.fallback.range import number_range

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
