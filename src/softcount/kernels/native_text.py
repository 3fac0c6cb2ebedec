"""Words and their counts, found by the compiled kernels; the fallback says what a word is.

Documents go through in batches of UTF-8 bytes. Each thread has a vocabulary of its own; these are merged, sorted
and the entries renumbered at the end, so the answer does not depend on the number of threads.
"""

import os
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from softcount.kernels import _native
from softcount.kernels.word_counts import (
    WordCounter,
    WordCounts,
    check_documents,
    check_vocabulary,
    row_starts,
)

BATCH_CHARACTERS = 1 << 20
IS_WORD = np.uint32(0x8000_0000)
# Capitals whose lower case depends on what follows them, or has two characters.
SPECIAL_CAPITALS = "Σİ"

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Batch:
    """Words of some consecutive documents, by their numbers in the vocabulary of one thread."""

    row_lengths: NDArray[np.int64]
    numbers: NDArray[np.int32]
    counts: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class _Texts:
    """Documents, and how many characters each has."""

    texts: list[str]
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, documents: Sequence[str]) -> "_Texts":
        """Check that they are texts."""
        texts = documents if isinstance(documents, list) else [] if isinstance(documents, str) else list(documents)
        lengths = np.empty(len(texts), np.int64)
        if isinstance(documents, str) or _native.text_lengths(texts, lengths) >= 0:
            check_documents(documents)
        return cls(texts, lengths)

    def spans(self) -> list[tuple[int, int]]:
        """Cut the documents into batches of about a million characters."""
        if not self.texts:
            return []
        # A batch ends before the document in which another million is reached.
        last = np.flatnonzero(np.diff(np.cumsum(self.lengths) // BATCH_CHARACTERS, append=-1)) + 1
        return list(zip([0, *last[:-1].tolist()], last.tolist(), strict=True))


def learn_words(documents: Sequence[str], n_threads: int = 1) -> tuple[list[str], WordCounts]:
    """Find and count the words of each document; see the fallback."""
    texts = _Texts.of(documents)
    spans = texts.spans()
    n_lanes = max(1, min(n_threads, len(spans)))
    vocabularies = [_native.new_vocabulary(_seed()) for _ in range(n_lanes)]

    def lane(number: int) -> list[_Batch]:
        return [_count(vocabularies[number], texts, span, add=True) for span in spans[number::n_lanes]]

    by_lane = _in_threads(lane, n_lanes)
    batches = [by_lane[b % n_lanes][b // n_lanes] for b in range(len(spans))]
    others = [_merge(vocabularies[0], other) for other in vocabularies[1:]]
    # The first vocabulary has all words now, and its own have kept their numbers.
    column = np.empty(_native.vocabulary_size(vocabularies[0]), np.int32)
    words = _native.sorted_words(vocabularies[0], column).decode("utf-8").split("\n")[:-1]
    columns = [column, *(column[numbers] for numbers in others)]
    return words, _assemble(batches, [columns[b % n_lanes] for b in range(len(spans))], n_threads)


def split_lines(text: bytes, delimiter: str, n_columns: int) -> list[list[str]] | None:
    """Cut the lines of a table into cells; see the fallback."""
    if not delimiter.isascii():
        from softcount.kernels.fallback import lines

        return lines.split_lines(text, delimiter, n_columns)
    return _native.split_lines(text, ord(delimiter), n_columns)


def word_counter(vocabulary: Sequence[str]) -> WordCounter:
    """Return a function that counts the words of documents in the columns of a vocabulary; see the fallback."""
    check_vocabulary(vocabulary)
    words = _native.new_vocabulary(_seed())
    # Words are handed over one per line. One that has a line feed in it is never found, nor is what replaces it.
    entered = [f"\0{i}" if "\n" in word else word for i, word in enumerate(vocabulary)]
    columns = np.empty(len(entered), np.int32)
    text = "".join(f"{line}\n" for line in entered).encode("utf-8", "surrogatepass")
    _native.add_words(words, text, columns)

    def count(documents: Sequence[str], n_threads: int = 1) -> WordCounts:
        texts = _Texts.of(documents)
        spans = texts.spans()

        def one(b: int) -> _Batch:
            return _count(words, texts, spans[b], add=False)

        return _assemble(_in_threads(one, len(spans), n_threads), [columns] * len(spans), n_threads)

    return count


def _seed() -> int:
    """Return a number nobody can foresee, so that no text can be made whose words collide in the table."""
    return int.from_bytes(os.urandom(8), "little")


def _count(vocabulary: object, texts: _Texts, span: tuple[int, int], *, add: bool) -> _Batch:
    """Count the words of one batch."""
    first, last = span
    ends, characters = np.cumsum(texts.lengths[first:last]), None
    text = _native.join_ascii(texts.texts, first, texts.lengths[first:last])
    if text is None:
        pieces, characters = [_in_utf8(document) for document in texts.texts[first:last]], _characters()
        text, ends = b"".join(pieces), np.cumsum(np.fromiter(map(len, pieces), np.int64, len(pieces)))
    room = len(text) // 3 + ends.size
    numbers, counts = np.empty(room, np.int32), np.empty(room, np.int32)
    row_ends = np.empty(ends.size, np.int64)
    n = _native.count_tokens(vocabulary, text, ends, characters, add, numbers, counts, row_ends)
    return _Batch(np.diff(row_ends, prepend=0), numbers[:n].copy(), counts[:n].copy())


def _in_utf8(document: str) -> bytes:
    """The document as bytes, with capitals that need it in lower case."""
    if not document.isascii() and ("Σ" in document or "İ" in document):
        document = document.lower()
    return document.encode("utf-8", "surrogatepass")


def _merge(vocabulary: object, other: object) -> NDArray[np.int32]:
    """Add the words of another vocabulary; return the number each of its words has now."""
    lines = _native.vocabulary_words(other)
    numbers = np.empty(lines.count(b"\n"), np.int32)
    _native.add_words(vocabulary, lines, numbers)
    return numbers


def _assemble(batches: list[_Batch], columns: list[NDArray[np.int32]], n_threads: int) -> WordCounts:
    """Put the batches' rows below each other, columns in place of numbers and ascending."""
    lengths = [batch.row_lengths for batch in batches]
    ends = np.cumsum([0, *(batch.numbers.size for batch in batches)])
    indices, data = np.empty(ends[-1], np.int32), np.empty(ends[-1], np.int64)

    def sort(b: int) -> None:
        batch, part = batches[b], slice(ends[b], ends[b + 1])
        indptr = np.concatenate([[0], np.cumsum(batch.row_lengths)])
        _native.sort_rows(indptr, batch.numbers, batch.counts, columns[b], indices[part], data[part])

    _in_threads(sort, len(batches), n_threads)
    return WordCounts(row_starts(np.concatenate([np.empty(0, np.int64), *lengths])), indices, data)


def _in_threads(task: Callable[[int], _T], n_tasks: int, n_threads: int | None = None) -> list[_T]:
    """Do the numbered tasks and return their answers in order; by default, each in a thread of its own."""
    n_threads = n_tasks if n_threads is None else min(n_threads, n_tasks)
    if n_threads <= 1:
        return [task(number) for number in range(n_tasks)]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(task, range(n_tasks)))


@cache
def _characters() -> NDArray[np.uint32]:
    """For each code point that of its lower case, plus IS_WORD if the lower case is a word character."""
    lower_case = np.arange(0x110000, dtype="<u4")
    text = lower_case.tobytes().decode("utf-32-le", "surrogatepass")
    is_word = np.zeros(lower_case.size, bool)
    for run in re.finditer(r"\w+", text):
        is_word[run.start() : run.end()] = True
    ordinary = np.ones(lower_case.size, bool)
    ordinary[[ord(capital) for capital in SPECIAL_CAPITALS]] = False
    lowered = re.sub(f"[{SPECIAL_CAPITALS}]", "", text).lower()
    lower_case[ordinary] = np.frombuffer(lowered.encode("utf-32-le", "surrogatepass"), "<u4")
    return np.where(is_word[lower_case], lower_case | IS_WORD, lower_case).astype(np.uint32)
