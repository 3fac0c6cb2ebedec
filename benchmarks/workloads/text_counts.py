"""Texts to counts with the vocabulary learned from them, and with a known one; 50 MB of UTF-8."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.documents import texts
from benchmarks.measuring import OURS, Contest, Contestant, Goal, Setting

LETTERS = {"ASCII": "etaoinshrdlucmfw", "Cyrillic": "оеаинтсрвлкмдпуя"}
#: Texts of 100 words that make about 50 MB.
N_TEXTS = {"ASCII": 72_000, "Cyrillic": 39_000}
SKLEARN = "scikit-learn CountVectorizer"


def contests(setting: Setting, script: str) -> list[Contest]:
    """Learning and counting, and counting alone."""
    from softcount.estimators.table.text import TextCounter

    documents = texts(setting.rows(N_TEXTS[script]), LETTERS[script])
    megabytes = sum(len(document.encode()) for document in documents) / 1e6
    theirs = CountVectorizer()
    right = theirs.fit_transform(documents)
    right.sort_indices()
    names = theirs.get_feature_names_out().tolist()
    known, _ = TextCounter.learn(documents[: max(len(documents) // 50, 1)], n_threads=setting.threads)
    known_theirs = CountVectorizer(vocabulary=known.feature_names())
    right_known: list[Any] = []

    def same(found: Any, expected: Any) -> float:
        found = found.copy()
        found.sort_indices()
        if found.shape != expected.shape or found.nnz != expected.nnz:
            return float("inf")
        return float(
            sum((getattr(found, part) != getattr(expected, part)).sum() for part in ("indptr", "indices", "data"))
        )

    def learned(answer: Any) -> float:
        words, counts = answer
        listed = words.feature_names() if isinstance(words, TextCounter) else words.get_feature_names_out().tolist()
        return same(counts, right) + float(listed != names)

    def counted(answer: Any) -> float:
        if not right_known:
            right_known.append(known_theirs.transform(documents))
            right_known[0].sort_indices()
        return same(answer, right_known[0])

    def sklearn_learns() -> Any:
        vectorizer = CountVectorizer(dtype=np.int64)
        return vectorizer, vectorizer.fit_transform(documents)

    size = f"{megabytes:.0f} MB of {script} text"
    return [
        Contest(
            f"words and their counts, {size}",
            Contestant(OURS, lambda: TextCounter.learn(documents, n_threads=setting.threads), learned, 0.0),
            (Contestant(SKLEARN, sklearn_learns, learned, 0.0, goal=Goal(4.0, 8.0)),),
        ),
        Contest(
            f"counts of known words, {size}",
            Contestant(OURS, lambda: known.count(documents, setting.threads), counted, 0.0),
            (Contestant(SKLEARN, lambda: known_theirs.transform(documents), counted, 0.0),),
        ),
    ]


WORKLOADS = {f"text-{script.lower()}": partial(contests, script=script) for script in LETTERS}
