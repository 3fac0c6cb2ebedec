"""Texts as counts of words and character n-grams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from softcount import kernels
from softcount._errors import InputError

__all__ = ["TextCounter", "TextOptions", "Vocabulary", "counted_rows"]

#: Most columns that hashing spreads words over.
MOST_HASHED = 2**24


@dataclass(frozen=True)
class TextOptions:
    r"""How texts are counted.

    Attributes
    ----------
    words : tuple of two int, or None
        Shortest and longest run of words that is counted; a word is what ``(?u)\b\w\w+\b`` finds in the lower-cased
        text. ``None`` counts no words.
    characters : tuple of two int, or None
        Shortest and longest run of characters that is counted, spaces included.
    stop_words : tuple of str
        Words that are left out.
    min_rows : int
        A word has to occur in as many texts to be counted.
    most : int or None
        Keep this many of the commonest words only.
    n_hashed : int or None
        Spread the words over this many columns instead of listing them: memory is then fixed, but the columns have no
        names any more.
    """

    words: tuple[int, int] | None = (1, 1)
    characters: tuple[int, int] | None = None
    stop_words: tuple[str, ...] = ()
    min_rows: int = 1
    most: int | None = None
    n_hashed: int | None = None

    def __post_init__(self) -> None:
        if self.words is None and self.characters is None:
            raise InputError("Texts are to be counted neither by words nor by characters; choose at least one of them.")
        for name, span in (("words", self.words), ("characters", self.characters)):
            if span is not None and not 1 <= span[0] <= span[1] <= 20:
                raise InputError(f"{name} is {span!r}; give the shortest and the longest run, such as (1, 2).")
        if self.min_rows < 1:
            raise InputError(f"min_rows is {self.min_rows!r}; give a whole number of 1 or more.")
        if self.most is not None and self.most < 1:
            raise InputError(f"most is {self.most!r}; give a whole number of 1 or more.")
        if self.n_hashed is not None and not 2 <= self.n_hashed <= MOST_HASHED:
            raise InputError(f"n_hashed is {self.n_hashed!r}; give a whole number from 2 to {MOST_HASHED}.")


@dataclass(frozen=True)
class Vocabulary:
    """Words as one run of UTF-8 bytes, so that a model file holds them in two arrays.

    Attributes
    ----------
    text : array of uint8
        All words, one after the other.
    ends : array of int64, shape (n_words,)
        Where each word ends in ``text``.
    """

    text: NDArray[np.uint8]
    ends: NDArray[np.int64]

    def __post_init__(self) -> None:
        ends = np.asarray(self.ends)
        if ends.ndim != 1 or np.asarray(self.text).ndim != 1 or np.asarray(self.text).dtype != np.uint8:
            raise ValueError("a vocabulary is a run of bytes and a list of ends")
        last = int(ends[-1]) if ends.size else 0
        if last != self.text.shape[0] or (np.diff(ends, prepend=0) < 0).any():
            raise ValueError("the ends of its words are out of order")

    @classmethod
    def of(cls, words: Sequence[str]) -> Vocabulary:
        """The vocabulary of these words."""
        joined = "".join(words)
        pieces = words if joined.isascii() else [word.encode("utf-8", "surrogatepass") for word in words]
        ends = np.cumsum(np.fromiter(map(len, pieces), dtype=np.int64, count=len(pieces)), dtype=np.int64)
        vocabulary = cls(np.frombuffer(joined.encode("utf-8", "surrogatepass"), dtype=np.uint8).copy(), ends)
        # Known already, so that nobody has to take the bytes apart again.
        vocabulary.__dict__["words"] = list(words)
        return vocabulary

    @cached_property
    def words(self) -> list[str]:
        """The words, in the order of their columns."""
        data = self.text.tobytes()
        starts = [0, *self.ends.tolist()]
        return [data[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(starts)]

    def __len__(self) -> int:
        return int(self.ends.shape[0])


@dataclass(frozen=True)
class TextCounter:
    """Counts what a vocabulary lists in texts.

    Attributes
    ----------
    options : TextOptions
    words, characters : Vocabulary or None
        What is counted; None where hashing needs no list, or nothing of the kind is counted.

    Examples
    --------
    >>> counter, counts = TextCounter.learn(["To be, or not to be", "Let it be"])
    >>> counter.feature_names()
    ['be', 'it', 'let', 'not', 'or', 'to']
    >>> counts.toarray().tolist()
    [[2, 0, 0, 1, 1, 2], [1, 1, 1, 0, 0, 0]]
    >>> counter.count(["be quick"]).toarray().tolist()
    [[1, 0, 0, 0, 0, 0]]
    """

    options: TextOptions
    words: Vocabulary | None = None
    characters: Vocabulary | None = None
    _prepared: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        # What was prepared for counting cannot be sent, and is made again where it is needed.
        return {**vars(self), "_prepared": {}}

    @classmethod
    def learn(
        cls, texts: Sequence[str], options: TextOptions | None = None, n_threads: int = 1
    ) -> tuple[TextCounter, csr_array]:
        """The counter of everything these texts hold, and their counts.

        Parameters
        ----------
        texts : sequence of str
        options : TextOptions, optional
        n_threads : int
            Threads to use; the answer does not depend on it.
        """
        options = TextOptions() if options is None else options
        if options.n_hashed is not None:
            counter = cls(options)
            return counter, counter.count(texts, n_threads)
        words = characters = None
        parts = []
        if options.words is not None:
            names, counts = _learn_words(texts, options, n_threads)
            words, counts = _pruned(names, counts, options)
            parts.append(counts)
        if options.characters is not None:
            vectorizer = _vectorizer("characters", options, None)
            names, counts = _learned(vectorizer, texts)
            characters, counts = _pruned(names, counts, options)
            parts.append(counts)
        return cls(options, words, characters), _side_by_side(parts)

    def count(self, texts: Sequence[str], n_threads: int = 1) -> csr_array:
        """Counts of each text, shape (n_texts, n_features), int64.

        Parameters
        ----------
        texts : sequence of str
        n_threads : int
            Threads to use; the answer does not depend on it.
        """
        if not len(texts):  # scikit-learn refuses no texts at all
            return csr_array((0, len(self.feature_names())), dtype=np.int64)
        parts = []
        if self.options.words is not None:
            parts.append(self._count_words(texts, n_threads))
        if self.options.characters is not None:
            parts.append(csr_array(self._with("characters", self.characters).transform(texts), dtype=np.int64))
        return _side_by_side(parts)

    def _count_words(self, texts: Sequence[str], n_threads: int) -> csr_array:
        if self.words is None or self.options.words != (1, 1):
            return csr_array(self._with("words", self.words).transform(texts), dtype=np.int64)
        if "counter" not in self._prepared:
            self._prepared["counter"] = kernels.word_counter(self.words.words)
        counts = self._prepared["counter"](texts, n_threads)
        return csr_array((counts.data, counts.indices, counts.indptr), shape=(len(texts), len(self.words)))

    def _with(self, kind: str, vocabulary: Vocabulary | None) -> Any:
        if kind not in self._prepared:
            self._prepared[kind] = _vectorizer(kind, self.options, vocabulary)
        return self._prepared[kind]

    def feature_names(self) -> list[str]:
        """What each column counts."""
        if self.options.n_hashed is not None:
            kinds = [kind for kind in ("words", "characters") if getattr(self.options, kind) is not None]
            return [f"{kind}#{j}" for kind in kinds for j in range(self.options.n_hashed)]
        names = [] if self.words is None else list(self.words.words)
        return names + ([] if self.characters is None else [f"{gram!r}" for gram in self.characters.words])


def _learn_words(texts: Sequence[str], options: TextOptions, n_threads: int) -> tuple[list[str], csr_array]:
    """All words, sorted, and their counts."""
    if options.words != (1, 1):
        return _learned(_vectorizer("words", options, None), texts)
    names, counts = kernels.learn_words(texts, n_threads)
    matrix = csr_array((counts.data, counts.indices, counts.indptr), shape=(len(texts), len(names)))
    left_out = set(options.stop_words)
    if left_out:
        kept = np.array([j for j, name in enumerate(names) if name not in left_out], dtype=np.int64)
        names, matrix = [names[j] for j in kept.tolist()], matrix[:, kept]
    return names, matrix


def counted_rows(texts: Sequence[str], options: TextOptions, n_threads: int = 1) -> tuple[dict[str, Counter[str]], int]:
    """In how many texts each word and each run of characters occurs, and how many counts that makes.

    Parameters
    ----------
    texts : sequence of str
    options : TextOptions
    n_threads : int

    Examples
    --------
    >>> found, stored = counted_rows(["to be or not to be", "let it be"], TextOptions())
    >>> found["words"]["be"], found["words"]["to"], stored
    (2, 1, 7)
    """
    if options.n_hashed is not None:
        return {}, int(TextCounter(options).count(texts, n_threads).nnz)
    found: dict[str, Counter[str]] = {}
    stored = 0
    for kind in ("words", "characters"):
        if getattr(options, kind) is None:
            continue
        if kind == "words":
            names, counts = _learn_words(texts, options, n_threads)
        else:
            names, counts = _learned(_vectorizer(kind, options, None), texts)
        rows = np.bincount(counts.indices, minlength=len(names))
        found[kind] = Counter(dict(zip(names, rows.tolist(), strict=True)))
        stored += int(counts.nnz)
    return found, stored


def _learned(vectorizer: Any, texts: Sequence[str]) -> tuple[list[str], csr_array]:
    try:
        counts = vectorizer.fit_transform(texts)
    except ValueError:
        # scikit-learn refuses texts without a single word; a column of such texts says nothing, which is no error.
        return [], csr_array((len(texts), 0), dtype=np.int64)
    return list(vectorizer.get_feature_names_out()), csr_array(counts, dtype=np.int64)


def _pruned(names: list[str], counts: csr_array, options: TextOptions) -> tuple[Vocabulary, csr_array]:
    """The words that occur in enough texts, and the commonest if only so many are wanted."""
    if options.min_rows == 1 and options.most is None:
        return Vocabulary.of(names), counts
    rows = np.bincount(counts.indices, minlength=len(names))
    kept = np.flatnonzero(rows >= options.min_rows)
    if options.most is not None and kept.size > options.most:
        commonest = np.argsort(-rows[kept], kind="stable")[: options.most]
        kept = np.sort(kept[commonest])
    if kept.size < len(names):
        names, counts = [names[j] for j in kept.tolist()], counts[:, kept]
    return Vocabulary.of(names), counts


def _vectorizer(kind: str, options: TextOptions, vocabulary: Vocabulary | None) -> Any:
    """scikit-learn's vectorizer of runs of words or characters."""
    from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

    shared: dict[str, Any] = (
        {"ngram_range": options.words, "stop_words": list(options.stop_words) or None}
        if kind == "words"
        else {"ngram_range": options.characters, "analyzer": "char"}
    )
    if options.n_hashed is not None:
        return HashingVectorizer(
            n_features=options.n_hashed, norm=None, alternate_sign=False, dtype=np.float64, **shared
        )
    if vocabulary is None:
        return CountVectorizer(dtype=np.int64, **shared)
    if not len(vocabulary):
        return _NoWords()
    return CountVectorizer(dtype=np.int64, vocabulary=vocabulary.words, **shared)


class _NoWords:
    """Stands in for a vectorizer whose vocabulary is empty, which scikit-learn refuses."""

    def transform(self, texts: Sequence[str]) -> csr_array:
        return csr_array((len(texts), 0), dtype=np.int64)


def _side_by_side(parts: list[csr_array]) -> csr_array:
    joined = parts[0] if len(parts) == 1 else csr_array(hstack(parts, format="csr"))
    joined.sort_indices()
    return joined
