"""Texts as counts."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from softcount._errors import InputError
from softcount.demo import load_messages
from softcount.estimators.table.text import TextCounter, TextOptions, Vocabulary

TEXTS, _ = load_messages()


@pytest.mark.parametrize(
    ("options", "rival"),
    [
        (TextOptions(), {}),
        (TextOptions((1, 2)), {"ngram_range": (1, 2)}),
        (TextOptions(None, (2, 4)), {"analyzer": "char", "ngram_range": (2, 4)}),
        (TextOptions(min_rows=3), {"min_df": 3}),
        (TextOptions(stop_words=("the", "to")), {"stop_words": ["the", "to"]}),
        (
            TextOptions((1, 2), stop_words=("the",), min_rows=2),
            {"ngram_range": (1, 2), "stop_words": ["the"], "min_df": 2},
        ),
    ],
    ids=["words", "pairs", "characters", "min_rows", "stop words", "all"],
)
def test_counts_are_those_of_scikit_learn(options: TextOptions, rival: dict[str, object]) -> None:
    vectorizer = CountVectorizer(**rival)
    expected = vectorizer.fit_transform(TEXTS[:200])
    counter, counts = TextCounter.learn(TEXTS[:200], options)
    assert (counts != expected).nnz == 0
    assert (counter.count(TEXTS[200:300]) != vectorizer.transform(TEXTS[200:300])).nnz == 0
    assert len(counter.feature_names()) == expected.shape[1] == counts.shape[1]


def test_the_commonest_words_are_kept_where_only_so_many_are_wanted() -> None:
    counter, counts = TextCounter.learn(["a1 b1 b1", "b1 c1", "b1 c1 d1"], TextOptions(most=2))
    assert counter.feature_names() == ["b1", "c1"]
    assert counts.toarray().tolist() == [[2, 0], [1, 1], [1, 1]]


def test_words_and_characters_stand_side_by_side() -> None:
    counter, counts = TextCounter.learn(["ab ab"], TextOptions((1, 1), (1, 1)))
    assert counter.feature_names() == ["ab", "' '", "'a'", "'b'"]
    assert counts.toarray().tolist() == [[2, 1, 2, 2]]


def test_hashing_has_a_fixed_width_and_needs_no_words() -> None:
    counter, counts = TextCounter.learn(TEXTS[:50], TextOptions(n_hashed=32))
    assert counts.shape == (50, 32)
    assert counter.words is None
    assert counts.sum() == CountVectorizer().fit_transform(TEXTS[:50]).sum()
    assert (counter.count(TEXTS[:50]) != counts).nnz == 0


@pytest.mark.parametrize(
    "options", [TextOptions(), TextOptions((1, 2)), TextOptions(None, (3, 4)), TextOptions(n_hashed=8)]
)
def test_texts_without_words_are_rows_of_zeros(options: TextOptions) -> None:
    counter, counts = TextCounter.learn(["", "", ""], options)
    assert counts.sum() == 0
    assert counter.count(["x", ""]).shape[0] == 2


@pytest.mark.parametrize("words", [[], [""], ["a", "", "é", "日本", "a\nb", "\ud800"], [f"w{i}" for i in range(1000)]])
def test_a_vocabulary_is_bytes_and_back(words: list[str]) -> None:
    found = Vocabulary.of(words)
    assert found.words == words
    assert Vocabulary(found.text, found.ends).words == words


@pytest.mark.parametrize("ends", [[2, 1, 3], [1, 2], [-1, 3], [9]])
def test_a_damaged_vocabulary_is_refused(ends: list[int]) -> None:
    with pytest.raises(ValueError, match="out of order"):
        Vocabulary(np.frombuffer(b"abc", dtype=np.uint8), np.array(ends))


@pytest.mark.parametrize(
    "wrong",
    [{"words": None}, {"words": (2, 1)}, {"characters": (0, 3)}, {"min_rows": 0}, {"most": 0}, {"n_hashed": 1}],
)
def test_options_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        TextOptions(**wrong)
