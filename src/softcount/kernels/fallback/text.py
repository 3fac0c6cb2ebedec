"""Words and their counts, found with ``re``."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from softcount.kernels.word_counts import (
    WordCounter,
    WordCounts,
    check_documents,
    check_vocabulary,
    row_starts,
)

WORD = re.compile(r"(?u)\b\w\w+\b")


def learn_words(documents: Sequence[str], n_threads: int = 1) -> tuple[list[str], WordCounts]:
    r"""Count the words of each document; a word is what ``(?u)\b\w\w+\b`` finds in the lower-cased text.

    The same words and counts as scikit-learn's ``CountVectorizer`` with its default parameters.

    Parameters
    ----------
    documents : sequence of str
        Texts.
    n_threads : int
        Threads to use; the answer does not depend on it.

    Returns
    -------
    vocabulary : list of str
        All words, sorted by code points; the word of each column.
    counts : WordCounts
        How often each document has each word.

    Examples
    --------
    >>> vocabulary, counts = learn_words(["To be, or not to be", "Let it be"])
    >>> vocabulary
    ['be', 'it', 'let', 'not', 'or', 'to']
    >>> counts.indptr.tolist(), counts.indices.tolist(), counts.data.tolist()
    ([0, 4, 7], [0, 3, 4, 5, 0, 1, 2], [2, 1, 1, 2, 1, 1, 1])
    """
    check_documents(documents)
    found = [Counter(WORD.findall(document.lower())) for document in documents]
    vocabulary = sorted({word for words in found for word in words})
    return vocabulary, _in_columns(found, {word: column for column, word in enumerate(vocabulary)})


def word_counter(vocabulary: Sequence[str]) -> WordCounter:
    """Return a function that counts the words of documents in the columns of a vocabulary.

    Parameters
    ----------
    vocabulary : sequence of str
        The word of each column.

    Returns
    -------
    callable
        ``counter(documents, n_threads=1)`` returns the documents' :class:`WordCounts`; words that are not in the
        vocabulary are passed over.
    """
    check_vocabulary(vocabulary)
    columns = {word: column for column, word in enumerate(vocabulary)}

    def count(documents: Sequence[str], n_threads: int = 1) -> WordCounts:
        check_documents(documents)
        words = (WORD.findall(document.lower()) for document in documents)
        return _in_columns([Counter(word for word in row if word in columns) for row in words], columns)

    return count


def _in_columns(found: Sequence[Counter[str]], columns: dict[str, int]) -> WordCounts:
    """Write each document's counts as a sparse row."""
    rows = [sorted((columns[word], count) for word, count in words.items()) for words in found]
    entries = [entry for row in rows for entry in row]
    return WordCounts(
        indptr=row_starts(np.array([len(row) for row in rows], np.int64)),
        indices=np.array([column for column, _ in entries], np.int32),
        data=np.array([count for _, count in entries], np.int64),
    )
