"""Words and counts are those of scikit-learn's CountVectorizer, in every script."""

import re
import threading
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer

from tests.kernels.conftest import native_extension

# Letters of several scripts, digits, marks, capitals whose lower case is special, and what separates words.
ALPHABET = (
    "aBz09_ .-\n\0'ßÉñŒǅ\N{GREEK CAPITAL LETTER SIGMA}\N{GREEK SMALL LETTER SIGMA}ς\u0130\u0131\u212a\u212b"
    "Жж中文字ひカ한ﬁ²Ⅻ٣\u0307\u200d\u2019\ud800😀𝔸𐐀"
)
TEXTS = st.lists(st.one_of(st.text(ALPHABET, max_size=30), st.text(max_size=30)), max_size=8)


@pytest.fixture(scope="module", params=["fallback.text", "native_text"])
def text(request):
    """The module of one backend that counts words."""
    if request.param == "native_text":
        native_extension()
    return import_module(f"softcount.kernels.{request.param}")


def matrix(counts, n_columns):
    return csr_array((counts.data, counts.indices, counts.indptr), shape=(counts.indptr.size - 1, n_columns))


def assert_equal_to_count_vectorizer(vocabulary, counts, documents):
    expected = CountVectorizer().fit(documents)
    assert vocabulary == expected.get_feature_names_out().tolist()
    X = csr_array(expected.transform(documents))
    X.sort_indices()
    for got, wanted in ((counts.indptr, X.indptr), (counts.indices, X.indices), (counts.data, X.data)):
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)


@given(documents=TEXTS)
def test_words_and_counts_are_those_of_count_vectorizer(text, documents):
    documents = [*documents, "one word at least"]
    vocabulary, counts = text.learn_words(documents)
    assert_equal_to_count_vectorizer(vocabulary, counts, documents)


@given(learned=TEXTS, seen=TEXTS)
def test_counting_in_a_known_vocabulary_passes_over_other_words(text, learned, seen):
    vocabulary, _ = text.learn_words([*learned, "ab ab cd"])
    counts = text.word_counter(vocabulary)(seen)
    expected = CountVectorizer(vocabulary=vocabulary).transform(seen) if seen else csr_array((0, len(vocabulary)))
    np.testing.assert_array_equal(matrix(counts, len(vocabulary)).toarray(), expected.toarray())


def test_every_character_is_a_word_character_or_not_as_in_python(text):
    # Each character between two letters: one word of three characters, or no word at all.
    documents = [
        "".join(f"x{chr(code)}y " for code in range(first, first + 4096)) for first in range(0, 0x110000, 4096)
    ]
    vocabulary, counts = text.learn_words(documents)
    words = [re.findall(r"(?u)\b\w\w+\b", document.lower()) for document in documents]
    assert vocabulary == sorted({word for row in words for word in row})
    assert matrix(counts, len(vocabulary)).sum(axis=1).tolist() == [len(row) for row in words]


def test_capital_sigma_becomes_a_final_sigma_at_the_end_of_a_word_only(text):
    assert text.learn_words(["ΟΔΟΣ ΣΟΦΟΣ ΑΣΣ"])[0] == ["ασς", "οδος", "σοφος"]


@pytest.mark.parametrize(
    "documents", [[], [""], ["", "a b c", "!"], ["a"], ["ab"], ["x" * 100_000 + " " + "é" * 50_000], ["it it"] * 3]
)
def test_texts_with_few_or_huge_words_are_counted(text, documents):
    vocabulary, counts = text.learn_words(documents)
    found = [re.findall(r"(?u)\b\w\w+\b", document) for document in documents]
    assert vocabulary == sorted({word for row in found for word in row})
    assert counts.indptr.tolist() == [0, *np.cumsum([len(set(row)) for row in found])]
    assert counts.data.sum() == sum(map(len, found))


def many_documents():
    rng = np.random.default_rng(0)
    words = ["".join(chr(97 + letter) for letter in rng.integers(0, 26, size=rng.integers(1, 20))) for _ in range(5000)]
    words[::50] = [word + "é" for word in words[::50]]
    picks = (rng.random((400, 120)) ** 3 * len(words)).astype(int)
    return [" ".join(words[i] for i in row).capitalize() for row in picks]


def test_many_batches_give_the_same_with_one_thread_and_with_three(text, monkeypatch):
    monkeypatch.setattr(text, "BATCH_CHARACTERS", 10_000, raising=False)
    documents = many_documents()
    vocabulary, counts = text.learn_words(documents)
    assert_equal_to_count_vectorizer(vocabulary, counts, documents)
    again, with_three = text.learn_words(documents, n_threads=3)
    counted = text.word_counter(vocabulary)(documents, n_threads=3)
    assert again == vocabulary
    for other in (with_three, counted):
        np.testing.assert_array_equal(other.indptr, counts.indptr)
        np.testing.assert_array_equal(other.indices, counts.indices)
        np.testing.assert_array_equal(other.data, counts.data)


def test_one_counter_can_serve_several_threads_at_once(text):
    documents = many_documents()[:100]
    vocabulary, counts = text.learn_words(documents)
    counter, sums = text.word_counter(vocabulary), []
    threads = [threading.Thread(target=lambda: sums.append(counter(documents).data.sum())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums == [counts.data.sum()] * 4


def test_columns_follow_the_vocabulary_and_not_the_alphabet(text):
    counts = text.word_counter(["zz", "a\nb", "mm", "", "aa"])(["aa zz aa", "mm a\nb nothing"])
    np.testing.assert_array_equal(matrix(counts, 5).toarray(), [[1, 0, 0, 0, 2], [0, 0, 1, 0, 0]])
    assert counts.indices.tolist() == [0, 4, 2]


def test_a_word_with_two_columns_is_refused(text):
    with pytest.raises(ValueError, match="'aa' in column 0 and in column 2"):
        text.word_counter(["aa", "bb", "aa"])


@pytest.mark.parametrize(
    ("documents", "message"), [("one text", "single text"), (["ok", 3], r"documents\[1\] is of type int")]
)
def test_what_is_not_text_is_refused(text, documents, message):
    with pytest.raises(TypeError, match=message):
        text.learn_words(documents)
    with pytest.raises(TypeError, match=message):
        text.word_counter(["ok"])(documents)


def test_bytes_that_are_not_utf8_end_a_word_and_are_never_read_beyond_their_end():
    native = native_extension()
    vocabulary = native.new_vocabulary(1)
    characters = np.full(0x110000, 0x80000000, np.uint32) + np.arange(0x110000, dtype=np.uint32)
    for broken in (
        b"ab\xff",
        b"ab\xc3",
        b"ab\xe4\xb8",
        b"ab\xf0\x9f\x98",
        b"ab\xc0\xaf",
        b"ab\xf4\xbf\xbf\xbf",
        b"ab\x80cd",
    ):
        numbers, counts, ends = np.empty(8, np.int32), np.empty(8, np.int32), np.empty(1, np.int64)
        text_ends = np.array([len(broken)])
        native.count_tokens(vocabulary, broken, text_ends, characters, True, numbers, counts, ends)
    assert native.vocabulary_words(vocabulary) == b"ab\ncd\n"


@pytest.mark.parametrize(("ends", "room"), [([3, 2], 10), ([2, 9], 10), ([2, 5], 2)])
def test_ends_of_documents_and_room_for_words_are_checked(ends, room):
    native = native_extension()
    with pytest.raises(ValueError, match=r"ends\[1\]|numbers_out"):
        native.count_tokens(
            native.new_vocabulary(1), b"ab cd", np.array(ends), None, True,
            np.empty(room, np.int32), np.empty(room, np.int32), np.empty(2, np.int64),
        )  # fmt: skip
