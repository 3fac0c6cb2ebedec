"""What counting the words of texts gives."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from softcount.kernels.arrays import IndexArray


@dataclass(frozen=True, slots=True)
class WordCounts:
    """Counts in compressed sparse rows, a row for each document and its columns ascending.

    Attributes
    ----------
    indptr : ndarray of int32, or int64 if there are 2^31 entries or more, shape (n_documents + 1,)
    indices : ndarray of int32, shape (n_entries,)
    data : ndarray of int64, shape (n_entries,)
    """

    indptr: IndexArray
    indices: NDArray[np.int32]
    data: NDArray[np.int64]


class WordCounter(Protocol):
    """Counts words in the columns of one vocabulary."""

    def __call__(self, documents: Sequence[str], n_threads: int = 1) -> WordCounts:
        """Count the words of each document that are in the vocabulary."""
        ...


def row_starts(row_lengths: NDArray[np.int64]) -> IndexArray:
    """Return ``indptr`` for rows of these lengths, in 32 bits where that is enough."""
    indptr = np.concatenate([[0], np.cumsum(row_lengths)]).astype(np.int64)
    return indptr.astype(np.int32) if int(indptr[-1]) < 2**31 else indptr


def check_documents(documents: Sequence[str]) -> None:
    """Raise TypeError for a single text, or for an element that is not one."""
    if isinstance(documents, str):
        raise TypeError("documents is a single text, expected a sequence of texts.")
    if set(map(type, documents)) <= {str}:
        return
    for i, document in enumerate(documents):
        if not isinstance(document, str):
            raise TypeError(f"documents[{i}] is of type {type(document).__name__}, expected str.")


def check_vocabulary(vocabulary: Sequence[str]) -> None:
    """Raise ValueError if a word has two columns."""
    if len(set(vocabulary)) == len(vocabulary):
        return
    seen: dict[str, int] = {}
    for column, word in enumerate(vocabulary):
        if word in seen:
            raise ValueError(f"The vocabulary has {word!r} in column {seen[word]} and in column {column}.")
        seen[word] = column
