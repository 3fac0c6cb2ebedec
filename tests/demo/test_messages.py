"""The demo's messages: enough of them, varied, well formed, and leading nowhere."""

import re
from collections import Counter
from itertools import combinations

import pytest

from softcount.demo import load_messages


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return load_messages()[0]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def test_there_are_at_least_seven_hundred_messages_with_one_label_each() -> None:
    texts, labels = load_messages()
    assert len(texts) >= 700
    assert len(labels) == len(texts)


def test_both_classes_are_well_represented_and_there_is_no_third() -> None:
    sizes = Counter(load_messages()[1])
    assert set(sizes) == {"ham", "spam"}
    assert min(sizes.values()) >= 280


def test_the_order_of_the_messages_mixes_the_classes() -> None:
    labels = load_messages()[1]
    for start in range(0, len(labels) - 20, 20):
        assert set(labels[start : start + 20]) == {"ham", "spam"}


def test_every_message_has_between_8_and_300_characters(texts: list[str]) -> None:
    assert [text for text in texts if not 8 <= len(text) <= 300] == []


def test_every_message_is_one_line_without_spaces_around_it(texts: list[str]) -> None:
    assert [text for text in texts if text != " ".join(text.split())] == []


def test_no_message_occurs_twice(texts: list[str]) -> None:
    normalized = Counter(" ".join(_words(text)) for text in texts)
    assert [text for text, times in normalized.items() if times > 1] == []


def test_no_two_messages_share_most_of_their_words(texts: list[str]) -> None:
    vocabularies = [(text, frozenset(_words(text))) for text in texts]
    alike = [
        (first, second)
        for (first, first_words), (second, second_words) in combinations(vocabularies, 2)
        if len(first_words & second_words) >= 0.8 * len(first_words | second_words)
    ]
    assert alike == []


def test_no_more_than_four_messages_begin_with_the_same_four_words(texts: list[str]) -> None:
    beginnings = Counter(tuple(words[:4]) for words in map(_words, texts) if len(words) >= 4)
    assert [words for words, times in beginnings.items() if times > 4] == []


def test_every_web_and_mail_address_is_in_the_domain_reserved_for_examples(texts: list[str]) -> None:
    hosts = [host for text in texts for host in re.findall(r"\b[\w-]+\.[a-z]{3,}\b", text)]
    assert any(host.endswith(".example") for host in hosts)
    file_names = {"invoice.zip", "setup.exe"}
    assert [host for host in hosts if not host.endswith(".example") and host not in file_names] == []


def test_every_telephone_number_is_an_invented_one(texts: list[str]) -> None:
    numbers = [number for text in texts for number in re.findall(r"\b0\d[\d ]{5,}\d", text)]
    assert numbers
    assert [number for number in numbers if not number.startswith("0100 555 0")] == []
