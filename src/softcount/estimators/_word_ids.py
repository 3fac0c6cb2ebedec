"""Documents as lists of word ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from softcount._errors import InputError

__all__ = ["is_nested", "is_ragged", "word_ids_to_counts"]

#: A vocabulary larger than this needs at least one token for every hundred words.
LARGEST_VOCABULARY = 10**7


def is_nested(X: Any) -> bool:
    """Whether X is a sequence of sequences, as documents given by their word ids are."""
    if isinstance(X, np.ndarray):
        if X.dtype != object or X.ndim != 1:
            return False
    elif not isinstance(X, (list, tuple)):
        return False
    return len(X) > 0 and all(_is_document(row) for row in X)


def is_ragged(X: Any) -> bool:
    """Whether X holds documents as word ids rather than a table of counts.

    Lists of different lengths cannot be a table. Lists of one length are one, unless they come in a one-dimensional
    array of objects, which is no table either.
    """
    return is_nested(X) and (isinstance(X, np.ndarray) or len({len(row) for row in X}) > 1)


def _is_document(row: Any) -> bool:
    if isinstance(row, np.ndarray):
        return row.ndim == 1
    return isinstance(row, Sequence) and not isinstance(row, (str, bytes))


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
        flat = np.concatenate([np.asarray(row, dtype=np.float64) for row in documents if len(row)] or [np.empty(0)])
    except (TypeError, ValueError):
        raise InputError(
            f"X is a list of documents of different lengths, so its entries are word ids, but {_first_text(documents)} "
            "Turn words into ids first, for example with scikit-learn's CountVectorizer."
        ) from None
    rows = np.repeat(np.arange(len(documents)), lengths)
    wrong = ~((flat >= 0) & (flat == np.floor(flat)) & (flat < 2**31))
    if wrong.any():
        entry = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"Document {int(rows[entry])} holds the word id {flat[entry]}; word ids are whole numbers 0, 1, 2, ... "
            "(Rows of different lengths are read as word ids, not as a table of counts.)"
        )
    ids = flat.astype(np.int64)
    if n_words is None:
        n_words = int(ids.max(initial=0)) + 1
        if n_words > LARGEST_VOCABULARY and n_words > 100 * ids.size:
            row = int(rows[int(np.argmax(ids))])
            raise InputError(
                f"Document {row} holds the word id {n_words - 1}, so the vocabulary would have {n_words} words for "
                f"{ids.size} tokens. Number the words 0, 1, 2, ... without gaps."
            )
    else:
        kept = ids < n_words
        ids, rows = ids[kept], rows[kept]
    counts = csr_array((np.ones(ids.shape[0]), (rows, ids)), shape=(len(documents), n_words))
    counts.sum_duplicates()
    return counts


def _first_text(documents: Sequence[Any]) -> str:
    """Which document holds something other than a number."""
    for number, row in enumerate(documents):
        for entry in row:
            try:
                float(entry)
            except (TypeError, ValueError):
                return f"document {number} holds {entry!r}."
    return "some are not numbers."
