"""The column-sorted pattern of one chunk of a sparse matrix."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MAX_CHUNK_ROWS = 65536
"""A row number inside a chunk is stored in 16 bits."""

INDEXED_CHUNK_ROWS = 16384
"""The best length of chunks counted by word: long enough for words to repeat, short enough for the cache."""

SMALL_TABLE_BYTES = 3 << 19
"""Tables of counts up to this size stay in a core's own cache, however they are gone through."""


def word_index_pays(n_features: int, n_classes: int) -> bool:
    """Return whether many passes over the same sparse rows are faster with each chunk's :class:`WordIndex`.

    It is where the table of counts is too large for the cache; otherwise counting row by row is as fast and needs
    no index.
    """
    return 8 * n_features * n_classes > SMALL_TABLE_BYTES


@dataclass(frozen=True, slots=True)
class WordIndex:
    """Non-zeros of a chunk of rows, sorted by column ("word"): at most 3 bytes per non-zero.

    Only the columns that occur in the chunk are listed, so that the cost of going through the index depends
    on the chunk's non-zeros and not on the width of the matrix.

    Attributes
    ----------
    words : ndarray of int32, shape (n_words,)
        The columns that occur, ascending.
    starts : ndarray of int32, shape (n_words + 1,)
        The entries of ``words[j]`` are ``rows[starts[j]:starts[j + 1]]``.
    rows : ndarray of uint16, shape (n_entries,)
        Row numbers relative to the chunk, ascending within a word.
    counts : ndarray of uint8, shape (n_entries,), or None
        The values; None when every value is 1.
    n_rows : int
        Rows in the chunk.
    n_features : int
        Columns of the matrix.
    """

    words: NDArray[np.int32]
    starts: NDArray[np.int32]
    rows: NDArray[np.uint16]
    counts: NDArray[np.uint8] | None
    n_rows: int
    n_features: int

    @property
    def nbytes(self) -> int:
        """Bytes the index occupies."""
        counts = 0 if self.counts is None else self.counts.nbytes
        return self.words.nbytes + self.starts.nbytes + self.rows.nbytes + counts
