"""Documents as lists of word ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from softcount._errors import InputError

__all__ = ["is_ragged", "word_ids_to_counts"]


def is_ragged(X: Any) -> bool:
    """Whether X is a sequence of sequences of different lengths: documents as word ids rather than a table."""
    if isinstance(X, np.ndarray):
        if X.dtype != object or X.ndim != 1:
            return False
    elif not isinstance(X, (list, tuple)):
        return False
    if len(X) == 0 or not all(
        isinstance(row, (Sequence, np.ndarray)) and not isinstance(row, str) for row in X
    ):
        return False
    if any(np.ndim(row) > 1 for row in X if isinstance(row, np.ndarray)):
        return False
    lengths = {len(row) for row in X}
    return len(lengths) > 1


def word_ids_to_counts(documents: Sequence[Any], n_words: int | None) -> csr_array:
    """Counts of the word ids of each document.

    Parameters
    ----------
    documents : sequence of sequences of int
    n_words : int or None
        Size of the vocabulary; ids beyond it were not seen in training and are left out. ``None`` learns it.
    """
    lengths = np.array([len(row) for row in documents])
    try:
        flat = np.concatenate(
            [np.asarray(row, dtype=np.float64) for row in documents if len(row)] or [np.empty(0)]
        )
    except (TypeError, ValueError):
        raise InputError(
            "X is a list of documents of different lengths, so its entries are word ids, but some are not numbers. "
            "Turn words into ids first, for example with scikit-learn's CountVectorizer."
        ) from None
    rows = np.repeat(np.arange(len(documents)), lengths)
    wrong = ~((flat >= 0) & (flat == np.floor(flat)) & (flat < 2**31))
    if wrong.any():
        entry = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"Document {int(rows[entry])} holds the word id {flat[entry]!r}; word ids are whole numbers 0, 1, 2, ... "
            "(Rows of different lengths are read as word ids, not as a table of counts.)"
        )
    ids = flat.astype(np.int64)
    if n_words is None:
        n_words = int(ids.max(initial=0)) + 1
    else:
        kept = ids < n_words
        ids, rows = ids[kept], rows[kept]
    counts = csr_array((np.ones(ids.shape[0]), (rows, ids)), shape=(len(documents), n_words))
    counts.sum_duplicates()
    return counts
